"""User's files as modules, with other numbers where they state sizes.

A size is a whole number that a file assigns to a name at its top level, alone or in a tuple (``dim = 4096``,
``input_shape = (512, 256)``), or writes inside ``get_inputs``. Sizes that are computed from others follow them. With
smaller ones the same file describes the same operator on smaller tensors. A bound of ``randint`` is a number of values
and no size, but where a size has the same number: then it may be the extent that indices go up to.
"""

from __future__ import annotations

import ast
import importlib
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["load_module", "member", "sizes_of"]

#: Smaller numbers are kernel sizes, strides, axes: structure, not size.
LEAST_SIZE = 8
_INPUTS = "get_inputs"


def load_module(target: Mapping[str, Any], sizes: Mapping[str, int] | None = None) -> types.ModuleType:
    """The module that ``target`` names by ``file`` or ``module``; ``sizes`` replace the file's own."""
    # Reversed, because each is put first: so they stay in their order.
    for entry in reversed(target.get("path", [])):
        if entry not in sys.path:
            sys.path.insert(0, entry)
    if "module" in target:
        return importlib.import_module(target["module"])
    path = Path(target["file"])
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    # Sizes are replaced in the tree and not in the text, so that lines stay those of the user's file.
    for key, holder, field, position in _places(tree):
        if sizes and key in sizes:
            value = ast.copy_location(ast.Constant(sizes[key]), holder)
            if position is None:
                setattr(holder, field, value)
            else:
                getattr(holder, field)[position] = value
    name = f"npukb_user_{path.stem}".replace("-", "_").replace(" ", "_")
    module = types.ModuleType(name)
    module.__file__ = str(path)
    # Dataclasses look their module up there.
    sys.modules[name] = module
    # The file may import what lies beside it.
    sys.path.insert(0, str(path.parent))
    # The user's own code, which runs as the user: docs/suites.md says so.
    exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), module.__dict__)
    return module


def member(module: types.ModuleType, name: str) -> Any:
    """The attribute ``name`` of the module; AttributeError lists what there is."""
    result: Any = module
    for part in name.split("."):
        if not hasattr(result, part):
            own = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
            raise AttributeError(f"there is no {name!r}; there are {', '.join(own[:12]) or 'no functions or classes'}")
        result = getattr(result, part)
    return result


def sizes_of(target: Mapping[str, Any]) -> dict[str, int]:
    """The sizes that a file states, by a key that names their place."""
    if "file" not in target:
        return {}
    path = Path(target["file"])
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    result, bounds = {}, set()
    for key, holder, field, position in _places(tree):
        node = getattr(holder, field)
        value = _number(node if position is None else node[position])
        if value is not None and value >= LEAST_SIZE:
            result[key] = value
            if _is_bound(holder, position):
                bounds.add(key)
    extents = {value for key, value in result.items() if key not in bounds}
    return {key: value for key, value in result.items() if key not in bounds or value in extents}


def _places(tree: ast.Module) -> Iterator[tuple[str, Any, str, int | None]]:
    """Where sizes are written: a key, the node that holds the number, its field, and the position in it."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            if _number(statement.value) is not None:
                yield name, statement, "value", None
            elif isinstance(statement.value, (ast.Tuple, ast.List)):
                for position, item in enumerate(statement.value.elts):
                    if _number(item) is not None:
                        yield f"{name}[{position}]", statement.value, "elts", position
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
            # Only where each name has its own number; a star or a call has none that could be told.
            if isinstance(statement.value, ast.Tuple) and len(statement.value.elts) == len(statement.targets[0].elts):
                for position, elt in enumerate(statement.targets[0].elts):
                    if isinstance(elt, ast.Name) and _number(statement.value.elts[position]) is not None:
                        yield elt.id, statement.value, "elts", position
        elif isinstance(statement, ast.FunctionDef) and statement.name == _INPUTS:
            yield from _inside(statement)


def _inside(function: ast.FunctionDef) -> Iterator[tuple[str, Any, str, int | None]]:
    """Numbers among the arguments of calls in ``get_inputs``, and in tuples there."""
    count = 0
    for node in ast.walk(function):
        lists = [("args", node.args)] if isinstance(node, ast.Call) else []
        lists += [("elts", node.elts)] if isinstance(node, (ast.Tuple, ast.List)) else []
        for field, items in lists:
            for position, item in enumerate(items):
                if _number(item) is not None:
                    count += 1
                    yield f"{_INPUTS}#{count}", node, field, position


def _is_bound(holder: ast.AST, position: int | None) -> bool:
    """Whether a number is the lower or the upper bound of ``randint``."""
    called = getattr(holder, "func", None)
    name = getattr(called, "attr", getattr(called, "id", ""))
    return name == "randint" and position in (0, 1)


def _number(node: ast.AST) -> int | None:
    """The value of a whole number, or of arithmetic on whole numbers."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp):
        left, right = _number(node.left), _number(node.right)
        if left is None or right is None:
            return None
        match node.op:
            case ast.Mult():
                return left * right
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.FloorDiv() if right:
                return left // right
            # Bounded: a text must not make numbers that fill the memory.
            case ast.Pow() if 0 <= right < 64:
                return int(left**right)
            case ast.LShift() if 0 <= right < 64:
                return left << right
    return None
