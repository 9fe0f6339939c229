"""Made-up operators on the dynamic track: one kernel for all sizes, and the host code that tells it the sizes.

The kernel is the static one of :mod:`kernelgen_lm.corpus.kernels` with its constants read from the tiling data; the
tiling function computes them as the writer does, from the shape and the number of cores that the platform has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from random import Random
from typing import NamedTuple

from kernelgen_lm.corpus.emit import Constant, laid_out, render
from kernelgen_lm.corpus.kernels import flat_writer
from kernelgen_lm.corpus.measures import CORES, Kernel, Numbers
from kernelgen_lm.corpus.movement import Movement
from kernelgen_lm.corpus.program import Kind, Program
from kernelgen_lm.corpus.questions import draw_shape
from kernelgen_lm.corpus.reasoning import on_a_tile
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.style import Partition, Style
from npukernelbench.nouns import DType, Task
from npukernelbench.prompts.style import describe_case

__all__ = ["TILED", "Tiled", "draw_shapes", "tiled_task", "write_tiled"]

#: Families whose kernels can be told their sizes.
TILED = ("elementwise", "cast", "integer", "rows")
_BLOCK = 32
#: Rows that no share of a core exceeds, to see what the largest tile needs.
_MANY_ROWS = 100_000
_MOST_ROWS = 128
_GE = {
    DType.FLOAT32: "ge::DT_FLOAT",
    DType.FLOAT16: "ge::DT_FLOAT16",
    DType.BFLOAT16: "ge::DT_BF16",
    DType.INT32: "ge::DT_INT32",
}


class Tiled(NamedTuple):
    """Host and device code by file name, and the thinking before them."""

    files: Mapping[str, str]
    thinking: str


@dataclass(frozen=True, slots=True)
class _TiledStyle(Style):
    """A style whose sizes are variables, not constants."""

    def constant(self, *words: str) -> str:
        return words[0] + "".join(word.capitalize() for word in words[1:])


def draw_shapes(rng: Random, spec: Spec, count: int) -> tuple[tuple[int, ...], ...]:
    """Different shapes that the question can be asked for, its own first. Rows get no longer, so values stay finite."""
    shapes = [spec.shape]
    while len(shapes) < count:
        shape = draw_shape(rng)
        if spec.family == "rows":
            shape = (rng.randint(1, 600), rng.randint(1, spec.columns))
        if shape not in shapes:
            shapes.append(shape)
    return tuple(shapes)


def tiled_task(spec: Spec, shapes: Sequence[tuple[int, ...]]) -> Task:
    """The question for several shapes as one task, with one case each."""
    task = spec.task()
    cases = [replace(replace(spec, shape=shape).task().cases[0], id=str(at)) for at, shape in enumerate(shapes)]
    rows = "Tensors are matrices: i counts rows, j counts columns. " if spec.family == "rows" else ""
    sizes = "x".join(str(extent) for shape in shapes for extent in shape)
    return replace(
        task,
        cases=tuple(cases),
        description=f"{rows}{spec.values_text()}",
        content_hash=f"{task.content_hash}+{sizes}",
    )


def write_tiled(spec: Spec, shapes: Sequence[tuple[int, ...]], style: Style) -> Tiled | None:
    """Host and device code for ``spec`` in all ``shapes``; None where the style does not fit."""
    if isinstance(spec.body, Movement) or spec.family not in TILED:
        return None
    values = {field.name: getattr(style, field.name) for field in fields(Style)}
    tiled = _TiledStyle(**{**values, "plain_copies": False, "literal": False})
    writers = [_Sized(replace(spec, shape=shape), spec.body, tiled) for shape in shapes]
    # The tile of a launch is at most this one, so its buffers decide whether a kernel fits.
    largest = _Sized(replace(spec, shape=(_MANY_ROWS, spec.columns)), spec.body, tiled)
    kernels = [writer.write() for writer in (*writers, largest)]
    written = [kernel for kernel in kernels if kernel is not None]
    # One source must serve all shapes: a difference means that a size is still a constant.
    if len(written) < len(kernels) or len({kernel.source for kernel in written}) > 1:
        return None
    host = _Host(spec, spec.body, tiled, largest.sizes)
    name = spec.kernel
    files = {
        f"op_host/{name}_tiling.h": host.header(),
        f"op_host/{name}.cpp": host.source(),
        f"op_kernel/{name}.cpp": written[0].source,
    }
    task = tiled_task(spec, shapes)
    told = [describe_case(case) for case in task.cases]
    numbers = [kernel.numbers for kernel in written[:-1]]
    return Tiled(files, _thinking(spec, tiled, written[-1], list(zip(told, numbers, strict=True))))


class _Sized:
    """A static writer whose constants become members that the entry reads from the tiling data."""

    def __init__(self, spec: Spec, program: Program, style: Style) -> None:
        self._writer = flat_writer(spec, program, style)
        self.sizes: list[Constant] = []

    def write(self) -> Kernel | None:
        """The kernel, the same for every size."""
        writer = self._writer
        fitted = writer.fit()
        if fitted is None:
            return None
        parts = writer.parts
        self.sizes = list(parts.constants)
        parts.constants = []
        parts.arguments = (*parts.arguments, "tiling")
        parts.members = [*(("uint32_t", size.name) for size in self.sizes), *parts.members]
        read = [f"{size.name} = tilingData.{size.name};" for size in self.sizes]
        parts.setup = ["GET_TILING_DATA(tilingData, tiling);", *read, *parts.setup]
        return Kernel(render(parts, writer.style), *fitted, parts)


class _Host:
    """Definition, shape inference and tiling function."""

    def __init__(self, spec: Spec, program: Program, style: Style, sizes: Sequence[Constant]) -> None:
        self.spec, self.program, self.style, self.sizes = spec, program, style, sizes
        self.name = "".join(part.capitalize() for part in spec.kernel.split("_"))
        #: The input whose shape decides.
        self.full = program.inputs.index(Kind.FULL)
        self.block = _BLOCK // min(spec.dtype.itemsize, spec.result.itemsize)

    def header(self) -> str:
        """The tiling data."""
        guard = f"{self.spec.kernel.upper()}_TILING_H"
        lines = [
            f"#ifndef {guard}",
            f"#define {guard}",
            '#include "register/tilingdata_base.h"',
            "",
            "namespace optiling {",
        ]
        lines.append(f"BEGIN_TILING_DATA_DEF({self.name}TilingData)")
        for size in self.sizes:
            comment = f"  // {size.meaning}" if self.style.comments else ""
            lines.append(f"TILING_DATA_FIELD_DEF(uint32_t, {size.name});{comment}")
        lines += ["END_TILING_DATA_DEF;", "", f"REGISTER_TILING_DATA_CLASS({self.name}, {self.name}TilingData)"]
        return laid_out([*lines, "}  // namespace optiling", "#endif"], self.style)

    def source(self) -> str:
        """Everything else of the host side."""
        lines = [f'#include "{self.spec.kernel}_tiling.h"', '#include "register/op_def_registry.h"']
        lines += ['#include "tiling/platform/platform_ascendc.h"', "", *self._tiling(), "", *self._inference(), ""]
        return laid_out([*lines, *self._definition()], self.style)

    def _tiling(self) -> list[str]:
        body = [
            f"const gert::Shape& shape = context->GetInputShape({self.full})->GetStorageShape();",
            "const uint32_t cores = platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();",
            *(self._rows() if self.spec.family == "rows" else self._flat()),
            "",
            f"{self.name}TilingData tiling;",
            *(f"tiling.set_{size.name}({size.name});" for size in self.sizes),
            "auto* raw = context->GetRawTilingData();",
            "tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());",
            "raw->SetDataSize(tiling.GetDataSize());",
            "context->SetBlockDim(blocks);",
            "context->GetWorkspaceSizes(1)[0] = 0;",
            "return ge::GRAPH_SUCCESS;",
        ]
        head = "static ge::graphStatus TilingFunc(gert::TilingContext* context)"
        return ["namespace optiling {", *_function(head, body), "}  // namespace optiling"]

    def _flat(self) -> list[str]:
        tile = next(size.value for size in self.sizes if size.name == "tile")
        share = "share" in {size.name for size in self.sizes}
        lines = ["const uint32_t total = shape.GetShapeSize();", f"const uint32_t tile = {tile};"]
        if not share:
            return [*lines, "const uint32_t tiles = (total + tile - 1) / tile;", _least("blocks", "tiles", "cores")]
        lines += [f"const uint32_t pieces = (total + {self.block} - 1) / {self.block};"]
        lines += [f"const uint32_t share = (pieces + cores - 1) / cores * {self.block};"]
        return [*lines, "const uint32_t blocks = (total + share - 1) / share;"]

    def _rows(self) -> list[str]:
        share = "share" in {size.name for size in self.sizes}
        lines = [
            "const uint32_t columns = shape.GetDim(shape.GetDimNum() - 1);",
            "const uint32_t rows = shape.GetShapeSize() / columns;",
            f"const uint32_t pitch = (columns + {self.block} - 1) / {self.block} * {self.block};",
            "const uint32_t share = (rows + cores - 1) / cores;",
            f"uint32_t tileRows = {self.style.tile_bytes // 4} / pitch;",
            f"tileRows = tileRows < {_MOST_ROWS} ? tileRows : {_MOST_ROWS};",
            "tileRows = tileRows < share ? tileRows : share;",
            "if (tileRows == 0) {",
            "    return ge::GRAPH_FAILED;",
            "}",
            "const uint32_t area = (tileRows * pitch + 63) / 64 * 64;",
        ]
        if share:
            return [*lines, "const uint32_t blocks = (rows + share - 1) / share;"]
        return [*lines, "const uint32_t tiles = (rows + tileRows - 1) / tileRows;", _least("blocks", "tiles", "cores")]

    def _inference(self) -> list[str]:
        shape = [f"*context->GetOutputShape(0) = *context->GetInputShape({self.full});"]
        if self.program.result is Kind.ROW:
            shape.append("context->GetOutputShape(0)->SetDimNum(context->GetOutputShape(0)->GetDimNum() - 1);")
        dtype = f"context->SetOutputDataType(0, {_GE[self.spec.result]});"
        shape_head = "static graphStatus InferShape(gert::InferShapeContext* context)"
        dtype_head = "static graphStatus InferDataType(gert::InferDataTypeContext* context)"
        return [
            "namespace ge {",
            *_function(shape_head, [*shape, "return GRAPH_SUCCESS;"]),
            "",
            *_function(dtype_head, [dtype, "return GRAPH_SUCCESS;"]),
            "}  // namespace ge",
        ]

    def _definition(self) -> list[str]:
        def argument(kind: str, name: str, dtype: DType) -> str:
            form = f"DataType({{{_GE[dtype]}}}).Format({{ge::FORMAT_ND}})"
            return f'this->{kind}("{name}").ParamType(REQUIRED).{form};'

        body = [argument("Input", name, self.spec.dtype) for name in self.spec.names[:-1]]
        body += [argument("Output", self.spec.names[-1], self.spec.result)]
        body += ["this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);"]
        body += ["this->AICore().SetTiling(optiling::TilingFunc);", 'this->AICore().AddConfig("ascend910b");']
        constructor = _function(f"explicit {self.name}(const char* name) : OpDef(name)", body)
        lines = ["namespace ops {", f"class {self.name} : public OpDef {{", "public:"]
        lines += [f"    {line}" for line in constructor]
        return [*lines, "};", f"OP_ADD({self.name});", "}  // namespace ops"]


def _function(head: str, body: Sequence[str]) -> list[str]:
    return [f"{head} {{", *(f"    {line}" if line else "" for line in body), "}"]


def _least(name: str, left: str, right: str) -> str:
    return f"const uint32_t {name} = {left} < {right} ? {left} : {right};"


def _thinking(spec: Spec, style: Style, largest: Kernel, cases: Sequence[tuple[str, Numbers]]) -> str:
    """What the host decides and what the kernel, then the numbers of every case, then what a tile is made of."""
    rows = spec.family == "rows"
    lines = ["Sizes are known at the launch: the tiling function computes them, the kernel reads them."]
    if style.partition is Partition.STRIPES:
        lines.append("Tiles in turn: core k takes tiles k, k + number of blocks, ...")
    else:
        lines.append(f"Every core takes one share of whole {'rows' if rows else 'blocks of 32 bytes'}.")
    for text, numbers in cases:
        tile = f"{numbers.tile} {numbers.unit} per tile"
        if style.partition is Partition.STRIPES:
            count = -(-numbers.total // numbers.tile)
            lines.append(f"- {text}: {count} tiles, {tile}, on {min(count, CORES)} of {CORES} cores.")
        else:
            part = f"{numbers.share} {numbers.unit} per core on {numbers.cores} of {CORES} cores"
            lines.append(f"- {text}: {part}, {tile}.")
    lines.append("No length need be whole blocks of 32 bytes: DataCopyPad.")
    if rows:
        lines.append("Rows lie whole blocks apart in the unified buffer; the tile has as many as fit its bytes.")
    return "\n".join([*lines, *(part for part in on_a_tile(spec, style, largest) if part)])
