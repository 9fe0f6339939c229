"""First pass, host: the numbers of a launch as a tiling structure and function, or as constants of one case."""

from __future__ import annotations

import re

from npukb_tile.cpp import TYPES, Writer, literal, render, safe
from npukb_tile.dtypes import DTYPES
from npukb_tile.ir import (
    Assign,
    Attribute,
    Expr,
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
from npukb_tile.launching import Number, Planned
from npukb_tile.loops import loop_head
from npukb_tile.multiplying import CUT_PRODUCT, cut_products
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
    "UnifiedBufferBytes": """\
int64_t UnifiedBufferBytes(gert::TilingContext* context) {
    uint64_t bytes = 0;
    platform_ascendc::PlatformAscendC(context->GetPlatformInfo())
        .GetCoreMemSize(platform_ascendc::CoreMemType::UB, bytes);
    return static_cast<int64_t>(bytes);
}""",
    "CutProduct": CUT_PRODUCT,
}
_SETTERS = {Kind.INT: ("GetInt", "Int"), Kind.FLOAT: ("GetFloat", "Float"), Kind.BOOL: ("GetBool", "Bool")}


def constants(program: Program, planned: Planned, attributes: dict[str, Number]) -> str:
    """The launch numbers and attributes of one case, as C++ constants."""
    lines = ["// The numbers of this case, as the host function computed them."]
    for name, attribute in program.attributes.items():
        lines.append(f"constexpr {TYPES[attribute.kind]} {safe(name)} = {literal(attributes[name], attribute.kind)};")
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
    kinds = {**{a.name: a.kind for a in program.attributes.values()}, **program.numbers}
    lines += [f"TILING_DATA_FIELD_DEF({TYPES[kind]}, {field});" for field, kind in kinds.items()]
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
    for name in program.attributes:
        writer.line(f"tiling.set_{name}({safe(name)});")
    for name, value in program.launch.numbers:
        writer.line(f"tiling.set_{name}({render(value)});")
    for line in cut_products(program):
        writer.line(line)
    writer.line("gert::TilingData* raw = context->GetRawTilingData();")
    writer.line("tiling.SaveToBuffer(raw->GetData(), raw->GetCapacity());")
    writer.line("raw->SetDataSize(tiling.GetDataSize());")
    blocks = render(program.launch.cores, level=6 if program.multipliers else 0)
    writer.line(f"context->SetBlockDim(static_cast<uint32_t>({blocks}{' / 2' if program.multipliers else ''}));")
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
        f'#include "{program.name}_tiling.h"',
        '#include "register/op_def_registry.h"',
        '#include "tiling/platform/platform_ascendc.h"',
        *(['#include "tiling/tiling_api.h"'] if program.multipliers else []),
        "",
    ]
    if common:
        parts += ["namespace {", common, "}  // namespace", ""]
    parts += ["namespace optiling {", tiling.rstrip(), "}  // namespace optiling", "", inference, "", _opdef(program)]
    return "\n".join(parts)


def _arguments(program: Program, writer: Writer, *, tiling: bool) -> None:
    """What the host function knows: shapes, sizes of elements, attributes, as far as it uses them."""
    text = _texts(program, tiling)
    for index, tensor in enumerate(program.of_role(TensorRole.INPUT)):
        if f"{tensor.name}Shape" in text:
            source = f"context->GetInputShape({index})"
            value = f"{source}->GetStorageShape()" if tiling else f"*{source}"
            writer.line(f"const gert::Shape& {tensor.name}Shape = {value};")
        if f"{tensor.name}Bytes" in text:
            writer.line(
                f"const int64_t {tensor.name}Bytes = "
                f"ge::GetSizeByDataType(context->GetInputDesc({index})->GetDataType());"
            )
    for index, attribute in enumerate(program.attributes.values()):
        name = safe(attribute.name)
        if not tiling and not re.search(rf"\b{name}\b", text):
            continue
        kind, (getter, _) = TYPES[attribute.kind], _SETTERS[attribute.kind]
        held = f"context->GetAttrs()->{getter}({index})"
        fallback = literal(attribute.default if attribute.default is not None else 0, attribute.kind)
        writer.line(f"const {kind}* {name}Given = {held};")
        writer.line(f"const {kind} {name} = {name}Given == nullptr ? {fallback} : *{name}Given;")


def _texts(program: Program, tiling: bool) -> str:
    """All that the function will say, to look for names in."""
    body = program.host if tiling else _needed(program)
    texts = [render(part) for statement in body for part in expressions(statement)]
    if tiling:
        texts += [render(value) for _, value in program.launch.numbers] + [render(program.launch.cores)]
        shapes = [shape for shape in program.shapes if program.tensors[shape.tensor].role is TensorRole.WORKSPACE]
    else:
        shapes = [shape for shape in program.shapes if program.tensors[shape.tensor].role is TensorRole.OUTPUT]
    for shape in shapes:
        for part in shape.shape:
            texts.append(f"{part.tensor}Shape")
            texts += [render(inner) for inner in (part.extent, part.first, part.last) if inner is not None]
    return " ".join(texts)


def _variables(writer: Writer, body: tuple[Statement, ...]) -> set[str]:
    """Variables that more than one place assigns, declared where the function begins; their names."""
    nested: dict[str, Kind] = {}

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
            sizes.append(f"{extents} * {DTYPES[tensor.dtype].itemsize}")
    return " + ".join([system, *sizes])


def _needed(program: Program) -> tuple[Statement, ...]:
    """Statements of the host function on which shapes of outputs depend."""
    shapes = [shape for shape in program.shapes if program.tensors[shape.tensor].role is TensorRole.OUTPUT]
    wanted = {name for shape in shapes for name in _names_of_shape(shape.shape)}
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


def _names_of_shape(shape: ShapeExpr) -> set[str]:
    names: set[str] = set()
    for part in shape:
        for inner in (part.extent, part.first, part.last):
            if inner is not None:
                names |= {part.name for part in _expression_parts(inner) if isinstance(part, Name)}
    return names


def _expression_parts(node: Expr) -> list[Expr]:
    return list(expressions(Assign("", node, 0)))


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
        like = next(
            (number for number, other in enumerate(inputs) if other.dtype == tensor.dtype in program.types), None
        )
        value = f"context->GetInputDataType({like})" if like is not None else DTYPES[tensor.dtype].ge
        writer.line(f"context->SetOutputDataType({index}, {value});")
    writer.line("return GRAPH_SUCCESS;")
    writer.close()
    writer.line("}  // namespace ge")
    return writer.text().rstrip()


def _inference_of_lists(program: Program, writer: Writer) -> None:
    """Every tensor of the one list of outputs is like that of the list of inputs that the program names."""
    [output] = program.of_role(TensorRole.OUTPUT)
    shape = next(candidate for candidate in program.shapes if candidate.tensor == output.name)
    inputs = program.of_role(TensorRole.INPUT)
    at = next(number for number, tensor in enumerate(inputs) if tensor.name == shape.shape[0].tensor)
    like = next((number for number, other in enumerate(inputs) if other.dtype == output.dtype in program.types), None)
    value = DTYPES[output.dtype].ge if like is None else f"context->GetDynamicInputDataType({like}, k)"
    for name, context, line in (
        ("InferShape", "InferShapeContext", f"*context->GetOutputShape(k) = *context->GetDynamicInputShape({at}, k);"),
        ("InferDataType", "InferDataTypeContext", f"context->SetOutputDataType(k, {value});"),
    ):
        writer.open(f"static graphStatus {name}(gert::{context}* context)")
        writer.open("for (size_t k = 0; k < context->GetComputeNodeOutputNum(); ++k)")
        writer.line(line)
        writer.close()
        writer.line("return GRAPH_SUCCESS;")
        writer.close()
        writer.line()
    writer.line("}  // namespace ge")


def _output_shape(shape: OutputShape, index: int, writer: Writer) -> None:
    held = f"context->GetOutputShape({index})"
    first = shape.shape[0] if shape.shape else None
    if len(shape.shape) == 1 and first and first.extent is None and first.first is None and first.last is None:
        writer.line(f"*{held} = {first.tensor}Shape;")
        return
    writer.line(f"gert::Shape* {shape.tensor}Shape = {held};")
    writer.line(f"{shape.tensor}Shape->SetDimNum(0);")
    for part in shape.shape:
        if part.extent is not None:
            writer.line(f"{shape.tensor}Shape->AppendDim({render(part.extent)});")
        else:
            begin = render(part.first) if part.first is not None else "0"
            end = render(part.last) if part.last is not None else f"{part.tensor}Shape.GetDimNum()"
            writer.line(f"AppendAxes({shape.tensor}Shape, {part.tensor}Shape, {begin}, {end});")


def _opdef(program: Program) -> str:
    rows = max((len(members) for members in program.types.values()), default=1)
    writer = Writer()
    writer.line("namespace ops {")
    writer.lines.append(f"class {program.operator} : public OpDef {{")
    writer.lines.append("  public:")
    writer.lines.append(f"    explicit {program.operator}(const char* name) : OpDef(name) {{")
    for role, word in ((TensorRole.INPUT, "Input"), (TensorRole.OUTPUT, "Output")):
        for tensor in program.of_role(role):
            writer.lines += _slot(program, tensor, word, rows)
    writer.lines += [_attribute(attribute) for attribute in program.attributes.values()]
    writer.lines += [
        "        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);",
        "        this->AICore().SetTiling(optiling::TilingFunc);",
        '        this->AICore().AddConfig("ascend910b");',
        "    }",
        "};",
        f"OP_ADD({program.operator});",
        "}  // namespace ops",
    ]
    return writer.text()


def _slot(program: Program, tensor: Tensor, word: str, rows: int) -> list[str]:
    members = program.members(tensor.dtype)
    # Definitions pair the element types of arguments by position, so every list has the length of the longest.
    types = ", ".join(DTYPES[member].ge for member in (members if len(members) == rows else members * rows))
    formats = ", ".join(["ge::FORMAT_ND"] * rows)
    return [
        f'        this->{word}("{tensor.name}")',
        f"            .ParamType({'DYNAMIC' if tensor.listed else 'REQUIRED'})",
        f"            .DataType({{{types}}})",
        f"            .Format({{{formats}}});",
    ]


def _attribute(attribute: Attribute) -> str:
    setter = _SETTERS[attribute.kind][1]
    if attribute.default is None:
        return f'        this->Attr("{attribute.name}").AttrType(REQUIRED).{setter}();'
    value = (
        # The setter takes a float literal without its suffix.
        literal(attribute.default, attribute.kind).rstrip("f")
        if attribute.kind is Kind.FLOAT
        else literal(attribute.default, attribute.kind)
    )
    return f'        this->Attr("{attribute.name}").AttrType(OPTIONAL).{setter}({value});'
