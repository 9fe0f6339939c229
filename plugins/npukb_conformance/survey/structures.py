"""Tiling structures by themselves: what the declarations of a host side say where the rest of it does not compile.

A device file needs the structures and nothing else of the host side. The declarations are put into one source of their
own, with the constants that they count by, so that the twin's host compiler lays them out as always.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

__all__ = ["structures_source"]

_STRUCTURE = re.compile(r"\bBEGIN_TILING_DATA_DEF\s*\(\s*(?P<name>\w+)\s*\).*?\bEND_TILING_DATA_DEF\b\s*;?", re.DOTALL)
_REGISTERED = re.compile(r"\bREGISTER_TILING_DATA_CLASS\s*\(\s*(?P<key>\w+)\s*,\s*(?P<name>\w+)\s*\)")
_CONSTANT = re.compile(
    r"^[ \t]*(?:#[ \t]*define[ \t]+(?P<macro>\w+)[ \t]+[^\n]|"
    r"(?:static\s+|inline\s+)*(?:constexpr|const)\s+(?:static\s+)?[\w:]+\s+(?P<name>\w+)\s*=)[^;\n]*;?[^\n]*$",
    re.MULTILINE,
)
#: What a structure needs: the lengths of arrays, and other structures.
_NEEDS = re.compile(r"\bTILING_DATA_FIELD_DEF_(?:ARR\s*\([^,]+,(?P<length>[^,]+),|STRUCT\s*\(\s*(?P<name>\w+))")
_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_HEAD = """#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"
"""
_OPERATOR = """namespace ops {{
class {name} : public OpDef {{
  public:
    explicit {name}(const char* name) : OpDef(name) {{}}
}};
OP_ADD({name});
}}
"""


def structures_source(texts: Iterable[str], operator: str) -> str:
    """A host source that registers the structures of ``operator`` and of its tiling keys; "" where there are none."""
    codes = [_COMMENT.sub(" ", text) for text in texts if "TILING_DATA" in text]
    registered = {match["key"]: match["name"] for code in codes for match in _REGISTERED.finditer(code)}
    # A structure for one tiling key is registered under the operator's name with the key behind it.
    own = {key: name for key, name in registered.items() if re.fullmatch(rf"{operator}(?:_\d+)?", key)}
    declared = {match["name"]: match.group() for code in codes for match in _STRUCTURE.finditer(code)}
    constants = {match["macro"] or match["name"]: match.group() for code in codes for match in _CONSTANT.finditer(code)}
    wanted = list(dict.fromkeys(part for name in own.values() for part in _parts(name, declared, constants)))
    # A structure that no plain text declares, such as one that a macro writes.
    if not own or not set(own.values()) <= set(wanted):
        return ""
    lines = [declared.get(name) or constants[name] for name in wanted]
    lines += [f"REGISTER_TILING_DATA_CLASS({key}, {name})" for key, name in registered.items() if name in wanted]
    body = "\n".join(lines)
    return f"{_HEAD}namespace optiling {{\n{body}\n}}\n{_OPERATOR.format(name=operator)}"


def _parts(name: str, declared: Mapping[str, str], constants: Mapping[str, str]) -> Iterator[str]:
    """What a structure or a constant is made of, in the order in which it can be declared, itself last."""
    if name in declared:
        needs = " ".join(match["length"] or match["name"] for match in _NEEDS.finditer(declared[name]))
    elif name in constants:
        needs = constants[name]
    else:
        return
    # Words that are neither, such as types, yield nothing.
    for word in _WORD.findall(needs):
        if word != name:
            yield from _parts(word, declared, constants)
    yield name
