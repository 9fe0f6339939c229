"""Answers that carry files as strings: assignments of a Python module, or a JSON object of file names and texts.

MultiKernelBench and NPUKernelBench ask for six Python strings (project, tiling, operator, kernel, binding, model). The
project, the binding and the model have no meaning here and are left out; the others become the files of an operator.
Nothing is executed: the module is parsed, and only plain string constants count.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping

from npukernelbench.generate.arrange import DEVICE_FOLDER, HOST_FOLDER
from npukernelbench.generate.fences import HEADER_SUFFIXES, relative_name, scan

__all__ = ["strings"]

_NAMES = ("host_tiling_src", "host_operator_src", "kernel_src")
_SOURCES = (".cpp", ".cc", ".cxx", ".c", ".cce", ".asc", *HEADER_SUFFIXES)
_ASSIGNED = re.compile(
    r"^[ \t]*(host_tiling_src|host_operator_src|kernel_src)[ \t]*(?::[ \t]*str[ \t]*)?=[ \t]*[rR]?(\"\"\"|''')(.*?)\2",
    re.DOTALL | re.MULTILINE,
)
# Both orders of the two attributes are valid.
_ENTRY = re.compile(r"__global__\s+__aicore__\s+void\s+([A-Za-z_]\w*)|__aicore__\s+__global__\s+void\s+([A-Za-z_]\w*)")
_INCLUDED = re.compile(r'#include\s+"(?:[^"\n]*/)?([A-Za-z0-9_]+\.h)"')


def strings(text: str) -> Mapping[str, str] | None:
    """The files of the last block (or of the whole text) that assigns a kernel's source to a string or maps names to
    sources; None when there is none.
    """
    blocks = [block.text for block in scan(text).blocks if block.language in ("python", "py", "json", "")]
    # The last block first: models correct themselves at the end.
    for candidate in (*reversed(blocks), text):
        files = _of_module(candidate) or _of_object(candidate)
        if files:
            return files
    return None


def _of_module(text: str) -> dict[str, str] | None:
    if "kernel_src" not in text:
        return None
    # The pattern is for answers whose Python does not parse, often because they were cut off.
    assigned = _parsed(text) or {match.group(1): match.group(3) for match in _ASSIGNED.finditer(text)}
    kernel = assigned.get("kernel_src", "")
    if not kernel.strip():
        return None
    entry = _ENTRY.search(kernel)
    name = next((part for part in entry.groups() if part), "kernel") if entry else "kernel"
    files = {f"{DEVICE_FOLDER}/{name}.cpp": _trimmed(kernel)}
    operator = assigned.get("host_operator_src", "")
    if operator.strip():
        files[f"{HOST_FOLDER}/{name}.cpp"] = _trimmed(operator)
    tiling = assigned.get("host_tiling_src", "")
    if tiling.strip():
        # The answer's own name for the header counts, or its include would find nothing.
        headers = [header for header in _INCLUDED.findall(operator + kernel) if "tiling" in header]
        files[f"{HOST_FOLDER}/{headers[0] if headers else f'{name}_tiling.h'}"] = _trimmed(tiling)
    return files


def _parsed(text: str) -> dict[str, str]:
    """String constants that a module assigns to the names that matter; empty when it is no valid module."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # C++ in a string that is not raw: its escapes do not concern us
            body = ast.parse(text).body
    # Deeply nested text exhausts the parser's stack or memory.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    assigned: dict[str, str] = {}
    for node in body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            assigned |= {t.id: value.value for t in targets if isinstance(t, ast.Name) and t.id in _NAMES}
    return assigned


def _of_object(text: str) -> dict[str, str] | None:
    """``{"op_kernel/a.cpp": "…"}``, the same under ``files``, or a list of objects with a name and a text."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return None
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = next((value[key] for key in ("files", "sources") if isinstance(value.get(key), dict | list)), value)
    if isinstance(value, list):
        value = {_first(item, "name", "path", "file"): _first(item, "content", "text", "code") for item in value}
    named = (
        {name: source for name, source in value.items() if isinstance(source, str)} if isinstance(value, dict) else {}
    )
    files = {relative_name(name): source for name, source in named.items() if name.endswith(_SOURCES)}
    return {name: source for name, source in files.items() if name and source.strip()} or None


def _first(item: object, *keys: str) -> str:
    values = [item.get(key) for key in keys] if isinstance(item, dict) else []
    return next((value for value in values if isinstance(value, str)), "")


def _trimmed(source: str) -> str:
    """A source without the line break behind the opening quotes."""
    return source[1:] if source.startswith("\n") else source
