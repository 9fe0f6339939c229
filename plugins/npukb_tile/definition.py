"""The definition of an operator: its arguments with their element types, its attributes, and what else it names."""

from __future__ import annotations

import itertools

from npukb_tile.cpp import Writer, literal
from npukb_tile.dtypes import DTYPES
from npukb_tile.ir import Attribute, HostValue, Kind, Program, Tensor, TensorRole
from npukb_tile.storage import expressions, parts_of

__all__ = ["SETTERS", "escaped", "operator_definition"]

#: How attributes of a kind are read, and what they are in a definition.
SETTERS = {
    Kind.INT: ("GetInt", "Int"),
    Kind.FLOAT: ("GetFloat", "Float"),
    Kind.BOOL: ("GetBool", "Bool"),
    Kind.TEXT: ("GetStr", "String"),
    Kind.INTS: ("GetListInt", "ListInt"),
}


def escaped(text: str) -> str:
    """A text between the quotes of C++."""
    return "".join(letter if letter.isalnum() and letter.isascii() else _octal(letter) for letter in text)


def _octal(letter: str) -> str:
    # Three octal digits always: hexadecimal escapes of C++ would take the letters that follow as digits, too.
    return letter if letter in " -+/.,:_" else "".join(f"\\{byte:03o}" for byte in letter.encode("utf-8"))


def operator_definition(program: Program) -> str:
    rows = _type_rows(program)
    places = [part for statement in (*program.host, *program.shapes) for part in expressions(statement)]
    places += [part for _, value in program.launch.numbers for part in parts_of(value)]
    # Only inputs whose values the host function reads must be there before the launch.
    read = {part.tensor for part in places if isinstance(part, HostValue)}
    writer = Writer()
    writer.line("namespace ops {")
    writer.lines.append(f"class {program.operator} : public OpDef {{")
    writer.lines.append("  public:")
    writer.lines.append(f"    explicit {program.operator}(const char* name) : OpDef(name) {{")
    for role, word in ((TensorRole.INPUT, "Input"), (TensorRole.OUTPUT, "Output")):
        for tensor in program.of_role(role):
            writer.lines += _slot(tensor, word, rows, valued=tensor.name in read)
    writer.lines += [_attribute(attribute) for attribute in program.attributes.values()]
    writer.lines += [
        "        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);",
        "        this->AICore().SetTiling(optiling::TilingFunc);",
        # One family will do: executors register it for ascend910_93 as well, whose cores are the same.
        '        this->AICore().AddConfig("ascend910b");',
        "    }",
        "};",
        f"OP_ADD({program.operator});",
        "}  // namespace ops",
    ]
    return writer.text()


def _type_rows(program: Program) -> list[dict[str, str]]:
    """The element types that type variables may have together: definitions pair those of arguments by position."""
    used = {tensor.dtype for tensor in program.tensors.values()}
    free = {name: members for name, members in program.types.items() if name in used}
    # Without variables the product is one empty row, so that every argument still has its one type.
    return [dict(zip(free, row, strict=True)) for row in itertools.product(*free.values())]


def _slot(tensor: Tensor, word: str, rows: list[dict[str, str]], *, valued: bool) -> list[str]:
    types = ", ".join(DTYPES[row.get(tensor.dtype, tensor.dtype)].ge for row in rows)
    formats = ", ".join(["ge::FORMAT_ND"] * len(rows))
    # What the host function reads must be there before the launch.
    depends = ".ValueDepend(REQUIRED)" if valued else ""
    presence = "DYNAMIC" if tensor.listed else "OPTIONAL" if tensor.optional else "REQUIRED"
    return [
        f'        this->{word}("{tensor.name}")',
        f"            .ParamType({presence}){depends}",
        f"            .DataType({{{types}}})",
        f"            .Format({{{formats}}});",
    ]


def _attribute(attribute: Attribute) -> str:
    setter = SETTERS[attribute.kind][1]
    if isinstance(attribute.default, str):
        text = escaped(attribute.default)
        return f'        this->Attr("{attribute.name}").AttrType(OPTIONAL).String("{text}");'
    if isinstance(attribute.default, tuple):
        items = ", ".join(map(str, attribute.default))
        return f'        this->Attr("{attribute.name}").AttrType(OPTIONAL).ListInt({{{items}}});'
    if attribute.default is None:
        return f'        this->Attr("{attribute.name}").AttrType(REQUIRED).{setter}();'
    value = (
        # The setter takes a float literal without its suffix.
        literal(attribute.default, attribute.kind).rstrip("f")
        if attribute.kind is Kind.FLOAT
        else literal(attribute.default, attribute.kind)
    )
    return f'        this->Attr("{attribute.name}").AttrType(OPTIONAL).{setter}({value});'
