"""Host code written in a test, compiled and asked: source text in, description or tiling out."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from npukb_twin.compile import toolchain
from npukb_twin.operator.host_build import compile_host, confined_host
from npukb_twin.operator.host_side import describe, tile
from npukb_twin.operator.host_types import (
    AttributeValue,
    HostFailure,
    HostLimits,
    HostResult,
    HostRuntime,
    OperatorDescription,
    TensorArgument,
    TilingRequest,
    TilingResult,
)
from npukernelbench.config import default_cache_dir

HEAD = """#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "tiling/platform/platform_ascendc.h"
"""

#: A definition of an operator named Probe around the statements of its constructor.
DEFINITION = """namespace ops {{
class Probe : public OpDef {{
public:
    explicit Probe(const char* name) : OpDef(name) {{
{body}
    }}
}};
OP_ADD(Probe);
}}
"""

#: How a tiling function ends that launches one core and hands on its structure.
ONE_CORE = """
    context->SetBlockDim(1);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    return ge::GRAPH_SUCCESS;
}
}
"""

#: A tiling function around its statements; one structure with one field for what it wants to say.
TILING = """namespace optiling {{
BEGIN_TILING_DATA_DEF(ProbeTilingData)
TILING_DATA_FIELD_DEF_ARR(int64_t, 8, said);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Probe, ProbeTilingData)
{before}
static ge::graphStatus TilingFunc(gert::TilingContext* context)
{{
    ProbeTilingData tiling;
    int64_t* said = tiling.get_said();
{body}""" + ONE_CORE.replace("}", "}}")

FLOAT = "ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND})"
#: One float input and output, tiled by TilingFunc.
PLAIN = f"""this->Input("x").{FLOAT};
this->Output("y").{FLOAT};
this->AICore().SetTiling(optiling::TilingFunc);
this->AICore().AddConfig("ascend910b");"""

VECTOR = TensorArgument((64,), "DT_FLOAT")


@dataclass
class Hosting:
    """A host runtime and a folder for images."""

    runtime: HostRuntime
    compiler: toolchain.Toolchain
    folder: Path
    limits: HostLimits = field(default_factory=lambda: HostLimits(wall_s=10.0))

    @classmethod
    def ready(cls, folder: Path) -> Hosting:
        compiler = toolchain.find()
        return cls(confined_host(compiler, default_cache_dir()), compiler, folder)

    def compile(self, files: Mapping[str, str] | str) -> HostResult:
        sources = {"op_host/probe.cpp": HEAD + files} if isinstance(files, str) else files
        work = Path(tempfile.mkdtemp(dir=self.folder))
        return compile_host(sources, toolchain=self.compiler, runtime=self.runtime, work=work, timeout_s=60.0)

    def image(self, files: Mapping[str, str] | str) -> Path:
        compiled = self.compile(files)
        assert compiled.image is not None, [str(diagnostic) for diagnostic in compiled.diagnostics]
        return compiled.image

    def describe(self, definition: str, *, before: str = "") -> OperatorDescription | HostFailure:
        """The operator whose constructor holds these statements."""
        return describe(self.image(before + DEFINITION.format(body=definition)), self.runtime, limits=self.limits)

    def described(self, definition: str, *, before: str = "") -> OperatorDescription:
        description = self.describe(definition, before=before)
        assert isinstance(description, OperatorDescription), description
        return description

    def tile_source(self, source: str, request: TilingRequest) -> TilingResult | HostFailure:
        return tile(self.image(source), request, self.runtime, limits=self.limits)

    def tile(
        self, body: str, request: TilingRequest | None = None, *, before: str = "", definition: str = PLAIN
    ) -> TilingResult | HostFailure:
        """What a tiling function of these statements answers."""
        source = TILING.format(body=body, before=before) + DEFINITION.format(body=definition)
        return self.tile_source(source, request or TilingRequest("Probe", (VECTOR,), (VECTOR,)))

    def said(
        self, body: str, request: TilingRequest | None = None, *, before: str = "", definition: str = PLAIN
    ) -> tuple[int, ...]:
        """The eight numbers that the tiling function put into ``said``."""
        result = self.tile(body, request, before=before, definition=definition)
        assert isinstance(result, TilingResult), result
        return struct.unpack("<8q", result.data)


def request(*inputs: TensorArgument | tuple[TensorArgument, ...] | None, **attributes: AttributeValue) -> TilingRequest:
    """A call of Probe with one output."""
    return TilingRequest("Probe", inputs, (VECTOR,), tuple(attributes.items()))
