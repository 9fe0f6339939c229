"""First pass, host: the numbers of a launch as a tiling structure and function, or as constants of one case."""

from __future__ import annotations

import re
from collections.abc import Mapping

from npukb_tile.cpp import TYPES, Writer, literal, render, safe
from npukb_tile.definition import SETTERS, escaped, operator_definition
from npukb_tile.dtypes import DTYPES
from npukb_tile.fault import ProgramError
from npukb_tile.ir import (
    Assign,
    Attribute,
    For,
    If,
    Kind,
    Name,
    OutputShape,
    Program,
    ShapeExpr,
    Statement,
    Tensor,
    TensorRole,
)
from npukb_tile.launching import Planned, Setting
from npukb_tile.limits import MOST_ITEMS
from npukb_tile.loops import loop_head
from npukb_tile.multiplying import CUT_PRODUCT, CUT_PRODUCT_WITH_BIAS, cut_products
from npukb_tile.storage import expressions

__all__ = ["constants", "write_definition", "write_tiling_header"]

_FUNCTIONS = {
    "Least": """\
template <typename T>
T Least(T a, T b) {
    return a < b ? a : b;
}""",
    "Greatest": """\
template <typename T>
T Greatest(T a, T b) {
    return a > b ? a : b;
}""",
    "Magnitude": """\
template <typename T>
T Magnitude(T a) {
    return a < 0 ? -a : a;
}""",
    "CeilDiv": """\
int64_t CeilDiv(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}""",
    "RoundUp": """\
int64_t RoundUp(int64_t a, int64_t b) {
    return (a + b - 1) / b * b;
}""",
    "Extent": """\
// Extent of an axis, counted from the end where it is negative.
int64_t Extent(const gert::Shape& shape, int64_t axis) {
    return shape.GetDim(axis < 0 ? axis + static_cast<int64_t>(shape.GetDimNum()) : axis);
}""",
    "Product": """\
// Product of the extents of the axes from first to last, counted from the end where they are negative.
int64_t Product(const gert::Shape& shape, int64_t first, int64_t last) {
    const int64_t rank = static_cast<int64_t>(shape.GetDimNum());
    first = first < 0 ? first + rank : first;
    last = last < 0 ? last + rank : last;
    int64_t product = 1;
    for (int64_t axis = first; axis < last && axis < rank; ++axis) {
        product *= shape.GetDim(axis);
    }
    return product;
}""",
    "AppendAxes": """\
// Adds the axes from first to last of one shape to another.
void AppendAxes(gert::Shape* to, const gert::Shape& from, int64_t first, int64_t last) {
    const int64_t rank = static_cast<int64_t>(from.GetDimNum());
    first = first < 0 ? first + rank : first;
    last = last < 0 ? last + rank : last;
    for (int64_t axis = first; axis < last && axis < rank; ++axis) {
        to->AppendDim(from.GetDim(axis));
    }
}""",
    "VectorCores": """\
int64_t VectorCores(gert::TilingContext* context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
}""",
    "CubeCores": """\
int64_t CubeCores(gert::TilingContext* context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAic();
}""",
    "UnifiedBufferBytes": """\
int64_t UnifiedBufferBytes(gert::TilingContext* context) {
    uint64_t bytes = 0;
    platform_ascendc::PlatformAscendC(context->GetPlatformInfo())
        .GetCoreMemSize(platform_ascendc::CoreMemType::UB, bytes);
    return static_cast<int64_t>(bytes);
}""",
    "CutProduct": CUT_PRODUCT,
    "CutProductWithBias": CUT_PRODUCT_WITH_BIAS,
}


def constants(program: Program, planned: Planned, attributes: Mapping[str, Setting]) -> str:
    """The launch numbers and attributes of one case, as C++ constants."""
    lines = ["// The numbers of this case, as the host function computed them."]
    for name, attribute in program.numeric.items():
        value = attributes[name]
        assert not isinstance(value, str | tuple)
        lines.append(f"constexpr {TYPES[attribute.kind]} {safe(name)} = {literal(value, attribute.kind)};")
    for name in program.listed_attributes:
        items = attributes[name]
        assert isinstance(items, tuple)
        # An array needs an element; nothing reads this one.
        lines.append(f"constexpr int64_t {name}[] = {{{', '.join(map(str, items or (0,)))}}};")
        lines.append(f"constexpr int64_t {name}Count = {len(items)};")
    for name, kind in program.numbers.items():
        lines.append(f"constexpr {TYPES[kind]} {safe(name)} = {literal(planned.numbers[name], kind)};")
    return "\n".join(lines)


def write_tiling_header(program: Program) -> str:
    """The tiling structure: what the tiling function tells the kernel."""
    name = program.operator
    guard = f"{program.name.upper()}_TILING_H"
    lines = [
        f"// What the tiling function of {name} tells the kernel. Lowered from a tile program.",
        f"#ifndef {guard}",
        f"#define {guard}",
        '#include "register/tilingdata_base.h"',
        *(['#include "tiling/tiling_api.h"'] if program.multipliers else []),
        "",
        "namespace optiling {",
        f"BEGIN_TILING_DATA_DEF({name}TilingData)",
    ]
    # Attributes travel in the tiling structure too: a kernel gets no attributes of its own.
    kinds = {**{a.name: a.kind for a in program.numeric.values()}, **program.numbers}
    lines += [f"TILING_DATA_FIELD_DEF({TYPES[kind]}, {field});" for field, kind in kinds.items()]
    for listed in program.listed_attributes:
        lines += [
            f"TILING_DATA_FIELD_DEF_ARR(int64_t, {MOST_ITEMS}, {listed});",
            f"TILING_DATA_FIELD_DEF(int64_t, {listed}Count);",
        ]
    lines += [f"TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, {held}Cube);" for held in program.multipliers]
    lines += [
        "END_TILING_DATA_DEF;",
        "",
        f"REGISTER_TILING_DATA_CLASS({name}, {name}TilingData)",
        "}  // namespace optiling",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def write_definition(program: Program) -> str:
    """The host file: tiling function, shape and type inference, definition."""
    writer = Writer()
    writer.open("static ge::graphStatus TilingFunc(gert::TilingContext* context)")
    _arguments(program, writer, tiling=True)
    _host_body(program.host, writer, _variables(writer, program.host))
    writer.line(f"{program.operator}TilingData tiling;")
    for name in program.numeric:
        writer.line(f"tiling.set_{name}({safe(name)});")
    for name in program.listed_attributes:
        _hand_on_list(name, writer)
    for name, value in program.launch.numbers:
        writer.line(f"tiling.set_{name}({render(value)});")
    for line in cut_products(program):
        writer.line(line)
    writer.line("gert::TilingData* raw = context->GetRawTilingData();")
    writer.line("tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());")
    writer.line("raw->SetDataSize(tiling.GetDataSize());")
    # A mixed kernel is launched in groups of one cube core and two vector cores; a program counts vector cores.
    mixed = bool(program.multipliers) and not program.launch.cube
    # In brackets where the number is a sum, as it is divided by two.
    blocks = render(program.launch.cores, level=6 if mixed else 0)
    writer.line(f"context->SetBlockDim(static_cast<uint32_t>({blocks}{' / 2' if mixed else ''}));")
    # The first workspace is the only one: a kernel gets one address.
    writer.line(f"context->GetWorkspaceSizes(1)[0] = {_workspace(program)};")
    writer.line("return ge::GRAPH_SUCCESS;")
    writer.close()
    tiling = writer.text()
    inference = _inference(program)
    used = set(re.findall(r"[A-Za-z_]\w*", tiling))
    shared = set(re.findall(r"[A-Za-z_]\w*", inference))
    # Only what is used: a lowered file is read by people, and by models as an example.
    common = "\n\n".join(text for name, text in _FUNCTIONS.items() if name in used | shared)
    parts = [
        f"// {program.operator} on the host: tiling, shapes and types, definition. Lowered from a tile program.",
        *([f"// {line}" for line in program.summary.strip().splitlines()[:1]]),
        *(["#include <cmath>", ""] if "std::pow" in tiling else []),
        *(["#include <cstring>", ""] if "std::strcmp" in tiling + inference else []),
        f'#include "{program.name}_tiling.h"',
        '#include "register/op_def_registry.h"',
        '#include "tiling/platform/platform_ascendc.h"',
        *(['#include "tiling/tiling_api.h"'] if program.multipliers else []),
        "",
    ]
    if common:
        parts += ["namespace {", common, "}  // namespace", ""]
    parts += [
        "namespace optiling {",
        tiling.rstrip(),
        "}  // namespace optiling",
        "",
        inference,
        "",
        operator_definition(program),
    ]
    return "\n".join(parts)


def _arguments(program: Program, writer: Writer, *, tiling: bool) -> None:
    """What the host function knows: shapes, sizes of elements, attributes, as far as it uses them."""
    text = _texts(program, tiling)
    # Without a word to it inputs are counted as they are given, and absent ones not at all.
    required = "Required" if program.by_instance else ""
    for index, tensor in enumerate(program.of_role(TensorRole.INPUT)):
        if tensor.optional:
            _optional_input(tensor, index, text, writer, tiling=tiling)
            continue
        if f"{tensor.name}Shape" in text:
            source = f"context->Get{required}InputShape({index})"
            value = f"{source}->GetStorageShape()" if tiling else f"*{source}"
            writer.line(f"const gert::Shape& {tensor.name}Shape = {value};")
        if re.search(rf"\b{tensor.name}Values\b", text):
            cpp = DTYPES[tensor.dtype].cpp
            held = f"context->Get{required}InputTensor({index})->GetData<{cpp}>()"
            writer.line(f"const {cpp}* {tensor.name}Values = {held};")
        if f"{tensor.name}Bytes" in text:
            writer.line(
                f"const int64_t {tensor.name}Bytes = "
                f"ge::GetSizeByDataType(context->Get{required}InputDesc({index})->GetDataType());"
            )
    for index, attribute in enumerate(program.attributes.values()):
        name = safe(attribute.name)
        if attribute.kind is Kind.TEXT:
            _text_attribute(attribute, index, text, writer)
            continue
        # The tiling function hands every attribute on; inference needs those that shapes depend on.
        if not tiling and not re.search(rf"\b{name}(Count)?\b", text):
            continue
        if attribute.kind is Kind.INTS:
            writer.line(f"const auto* {name}Held = context->GetAttrs()->GetListInt({index});")
            writer.line(f"const int64_t* {name} = {name}Held->GetData();")
            writer.line(f"const int64_t {name}Count = static_cast<int64_t>({name}Held->GetSize());")
            continue
        kind, (getter, _) = TYPES[attribute.kind], SETTERS[attribute.kind]
        held = f"context->GetAttrs()->{getter}({index})"
        default = attribute.default
        assert not isinstance(default, str | tuple)
        fallback = literal(default if default is not None else 0, attribute.kind)
        writer.line(f"const {kind}* {name}Given = {held};")
        writer.line(f"const {kind} {name} = {name}Given == nullptr ? {fallback} : *{name}Given;")


def _hand_on_list(name: str, writer: Writer) -> None:
    """A list of integers into the tiling structure, which has room for a fixed number."""
    # A longer list would be written past the structure's array.
    writer.open(f"if ({name}Count > {MOST_ITEMS})")
    writer.line("return ge::GRAPH_FAILED;")
    writer.close()
    # The setter of such a field reads a whole array, however many elements are meant.
    writer.line(f"int64_t {name}All[{MOST_ITEMS}] = {{}};")
    writer.open(f"for (int64_t item = 0; item < {name}Count; ++item)")
    writer.line(f"{name}All[item] = {name}[item];")
    writer.close()
    writer.line(f"tiling.set_{name}({name}All);")
    writer.line(f"tiling.set_{name}Count({name}Count);")


def _optional_input(tensor: Tensor, index: int, text: str, writer: Writer, *, tiling: bool) -> None:
    """An input that may be absent: whether it is there, and its shape and size of elements, empty if not."""
    name = tensor.name
    known = [f"{name}{fact}" for fact in ("Given", "Shape", "Bytes") if re.search(rf"\b{name}{fact}\b", text)]
    if not known:
        return
    writer.line(f"const auto* {name}Held = context->GetOptionalInputShape({index});")
    if f"{name}Given" in known:
        writer.line(f"const bool {name}Given = {name}Held != nullptr;")
    if f"{name}Shape" in known:
        value = f"{name}Held->GetStorageShape()" if tiling else f"*{name}Held"
        writer.line(f"const gert::Shape {name}Shape = {name}Held == nullptr ? gert::Shape() : {value};")
    if f"{name}Bytes" in known:
        held = f"ge::GetSizeByDataType(context->GetOptionalInputDesc({index})->GetDataType())"
        writer.line(f"const int64_t {name}Bytes = {name}Held == nullptr ? 0 : {held};")


def _text_attribute(attribute: Attribute, index: int, text: str, writer: Writer) -> None:
    """A text: whether it is any of those that the program compares it with."""
    flags = sorted(set(re.findall(rf"\b{attribute.name}Is_\w+", text)))
    if not flags:
        return
    name = f"{attribute.name}Text"
    writer.line(f"const char* {name} = context->GetAttrs()->GetStr({index});")
    for flag in flags:
        # Back from the flag's name, in which letters are spelled by their numbers.
        wanted = re.sub(r"_(\d+)_", lambda code: chr(int(code[1])), flag.removeprefix(f"{attribute.name}Is_"))
        fallback = "true" if attribute.default == wanted else "false"
        compared = f'std::strcmp({name}, "{escaped(wanted)}") == 0'
        writer.line(f"const bool {flag} = {name} == nullptr ? {fallback} : {compared};")


def _texts(program: Program, tiling: bool) -> str:
    """All that the function will say, to look for names in."""
    body = program.host if tiling else _needed(program)
    texts = [render(part) for statement in body for part in expressions(statement)]
    if tiling:
        texts += [render(value) for _, value in program.launch.numbers] + [render(program.launch.cores)]
        texts += [render(extent) for held in program.multipliers.values() for extent in (held.rows, held.inner)]
        shapes = [shape for shape in program.shapes if program.tensors[shape.tensor].role is TensorRole.WORKSPACE]
    else:
        shapes = [shape for shape in program.shapes if program.tensors[shape.tensor].role is TensorRole.OUTPUT]
    for shape in shapes:
        texts += [f"{part.tensor}Shape" for part in shape.parts]
        texts += [render(inner) for inner in expressions(shape)]
    return " ".join(texts)


def _variables(writer: Writer, body: tuple[Statement, ...]) -> set[str]:
    """Variables that more than one place assigns, declared where the function begins; their names."""
    nested: dict[str, Kind] = {}

    # What is assigned inside a body may be read behind it, where a C++ variable of that body would be gone.
    def visit(inner: tuple[Statement, ...], deep: bool) -> None:
        for statement in inner:
            if isinstance(statement, Assign):
                if deep or statement.name in seen:
                    nested[statement.name] = statement.value.kind
                seen.add(statement.name)
            elif isinstance(statement, For):
                visit(statement.body, True)
            elif isinstance(statement, If):
                visit(statement.then, True)
                visit(statement.otherwise, True)

    seen: set[str] = set()
    visit(body, False)
    for name, kind in nested.items():
        writer.line(f"{TYPES[kind]} {safe(name)} = 0;")
    return set(nested)


def _host_body(body: tuple[Statement, ...], writer: Writer, declared: set[str]) -> None:
    for statement in body:
        if isinstance(statement, Assign):
            kind = "" if statement.name in declared else f"const {TYPES[statement.value.kind]} "
            writer.line(f"{kind}{safe(statement.name)} = {render(statement.value)};")
        elif isinstance(statement, If):
            writer.open(f"if ({render(statement.condition)})")
            _host_body(statement.then, writer, declared)
            if statement.otherwise:
                writer.between("} else {")
                _host_body(statement.otherwise, writer, declared)
            writer.close()
        elif isinstance(statement, For):
            writer.open(loop_head(statement))
            _host_body(statement.body, writer, declared)
            writer.close()


def _workspace(program: Program) -> str:
    """Bytes of the tensors in the workspace, after those that belong to the system."""
    system = "platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetLibApiWorkSpaceSize()"
    sizes = []
    for shape in program.shapes:
        tensor = program.tensors[shape.tensor]
        if tensor.role is TensorRole.WORKSPACE:
            extents = " * ".join(render(part.extent, level=6) for part in shape.shape if part.extent is not None)
            sizes.append(f"{extents} * {DTYPES[program.members(tensor.dtype)[0]].itemsize}")
    # Beside others every workspace begins at a place of its own.
    sizes = [f"RoundUp({size}, 512)" for size in sizes] if len(sizes) > 1 else sizes
    return " + ".join([system, *sizes])


def _needed(program: Program) -> tuple[Statement, ...]:
    """Statements of the host function on which shapes of outputs depend."""
    shapes = [shape for shape in program.shapes if program.tensors[shape.tensor].role is TensorRole.OUTPUT]
    wanted = {part.name for shape in shapes for part in expressions(shape) if isinstance(part, Name)}
    kept: list[Statement] = []
    # From the end, as a statement is needed if a later one reads what it assigns.
    for statement in reversed(program.host):
        assigned = _assigns(statement)
        if assigned & wanted:
            kept.append(statement)
            wanted |= {part.name for part in expressions(statement) if isinstance(part, Name)}
    return tuple(reversed(kept))


def _assigns(statement: Statement) -> set[str]:
    if isinstance(statement, Assign):
        return {statement.name}
    if isinstance(statement, For):
        return {name for inner in statement.body for name in _assigns(inner)}
    if isinstance(statement, If):
        return {name for inner in (*statement.then, *statement.otherwise) for name in _assigns(inner)}
    return set()


def _inference(program: Program) -> str:
    writer = Writer()
    writer.line("namespace ge {")
    if program.lists:
        _inference_of_lists(program, writer)
        return writer.text().rstrip()
    writer.open("static graphStatus InferShape(gert::InferShapeContext* context)")
    _arguments(program, writer, tiling=False)
    body = _needed(program)
    _host_body(body, writer, _variables(writer, body))
    for index, tensor in enumerate(program.of_role(TensorRole.OUTPUT)):
        shape = next(candidate for candidate in program.shapes if candidate.tensor == tensor.name)
        _output_shape(shape, index, writer)
    writer.line("return GRAPH_SUCCESS;")
    writer.close()
    writer.line()
    writer.open("static graphStatus InferDataType(gert::InferDataTypeContext* context)")
    inputs = program.of_role(TensorRole.INPUT)
    for index, tensor in enumerate(program.of_role(TensorRole.OUTPUT)):
        # The type of an output that has a variable is known only from an input with the same variable.
        like = next((number for number, other in enumerate(inputs) if _tells_type(program, other, tensor)), None)
        required = "Required" if program.by_instance else ""
        value = f"context->Get{required}InputDataType({like})" if like is not None else _only_type(program, tensor)
        writer.line(f"context->SetOutputDataType({index}, {value});")
    writer.line("return GRAPH_SUCCESS;")
    writer.close()
    writer.line("}  // namespace ge")
    return writer.text().rstrip()


def _inference_of_lists(program: Program, writer: Writer) -> None:
    """Tensors of a list of outputs are like those of the list of inputs that the program names."""
    for name, context, write in (
        ("InferShape", "InferShapeContext", _listed_shape),
        ("InferDataType", "InferDataTypeContext", _listed_type),
    ):
        outputs = program.of_role(TensorRole.OUTPUT)
        writer.open(f"static graphStatus {name}(gert::{context}* context)")
        if name == "InferShape" and any(not output.listed for output in outputs):
            _arguments(program, writer, tiling=False)
            body = _needed(program)
            _host_body(body, writer, _variables(writer, body))
        if len(outputs) == 1:
            writer.open("for (size_t k = 0; k < context->GetComputeNodeOutputNum(); ++k)")
            write(program, outputs[0], "k", writer)
            writer.close()
        else:
            writer.line("size_t next = 0;  // output")
            for output in outputs:
                if output.listed:
                    count = f"context->GetIrInputInstanceInfo({_listed_like(program, output)})->GetInstanceNum()"
                    writer.open(f"for (size_t k = 0; k < {count}; ++k, ++next)")
                write(program, output, "next", writer)
                if output.listed:
                    writer.close()
                else:
                    writer.line("++next;")
        writer.line("return GRAPH_SUCCESS;")
        writer.close()
        writer.line()
    writer.line("}  // namespace ge")


def _listed_like(program: Program, output: Tensor) -> int:
    """The number of the list of inputs whose shapes a list of outputs has."""
    shape = next(candidate for candidate in program.shapes if candidate.tensor == output.name)
    inputs = program.of_role(TensorRole.INPUT)
    return next(number for number, tensor in enumerate(inputs) if tensor.name == shape.shape[0].tensor)


def _listed_shape(program: Program, output: Tensor, place: str, writer: Writer) -> None:
    if output.listed:
        at = _listed_like(program, output)
        writer.line(f"*context->GetOutputShape({place}) = *context->GetDynamicInputShape({at}, k);")
        return
    _output_shape(next(shape for shape in program.shapes if shape.tensor == output.name), place, writer)


def _listed_type(program: Program, output: Tensor, place: str, writer: Writer) -> None:
    inputs = program.of_role(TensorRole.INPUT)
    like = next((number for number, other in enumerate(inputs) if _tells_type(program, other, output)), None)
    if like is None:
        value = _only_type(program, output)
    elif inputs[like].listed:
        value = f"context->GetDynamicInputDataType({like}, {'k' if output.listed else '0'})"
    else:
        value = f"context->GetRequiredInputDataType({like})"
    writer.line(f"context->SetOutputDataType({place}, {value});")


def _tells_type(program: Program, given: Tensor, output: Tensor) -> bool:
    """Whether an input always tells which element type an output has."""
    return given.dtype == output.dtype in program.types and not given.optional


def _only_type(program: Program, output: Tensor) -> str:
    """The element type of an output like no input."""
    members = program.members(output.dtype)
    if len(members) > 1:
        raise ProgramError(
            "interface",
            f"no input says which of {', '.join(members)} {output.name} is",
            line=output.line,
            remedy="name one element type, or that of an input that is always given",
        )
    return DTYPES[members[0]].ge


def _output_shape(shape: OutputShape, index: str | int, writer: Writer) -> None:
    held = f"context->GetOutputShape({index})"
    if shape.condition is None and _whole(shape.shape):
        writer.line(f"*{held} = {shape.shape[0].tensor}Shape;")
        return
    writer.line(f"gert::Shape* {shape.tensor}Shape = {held};")
    if shape.condition is None:
        _append(shape.tensor, shape.shape, writer)
        return
    writer.open(f"if ({render(shape.condition)})")
    _append(shape.tensor, shape.shape, writer)
    writer.between("} else {")
    _append(shape.tensor, shape.otherwise, writer)
    writer.close()


def _whole(shape: ShapeExpr) -> bool:
    """Whether a shape is that of a tensor."""
    return len(shape) == 1 and shape[0].extent is None and shape[0].first is None and shape[0].last is None


def _append(tensor: str, shape: ShapeExpr, writer: Writer) -> None:
    """Fill the shape of an output axis by axis."""
    # Axes are appended to those that are there.
    writer.line(f"{tensor}Shape->SetDimNum(0);")
    for part in shape:
        if part.extent is not None:
            if part.times is not None:
                writer.open(f"for (int64_t axis = 0; axis < {render(part.times, level=5)}; ++axis)")
            writer.line(f"{tensor}Shape->AppendDim({render(part.extent)});")
            if part.times is not None:
                writer.close()
        else:
            begin = render(part.first) if part.first is not None else "0"
            end = render(part.last) if part.last is not None else f"{part.tensor}Shape.GetDimNum()"
            writer.line(f"AppendAxes({tensor}Shape, {part.tensor}Shape, {begin}, {end});")
