"""The package lists the names of its modules, which do not list them themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from npukernelbench import nouns


def defined(module: str) -> Iterator[str]:
    path = Path(nouns.__file__).with_name(f"{module}.py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            yield ast.unparse(target)


def test_every_public_name_of_a_listed_module_is_offered() -> None:
    for module, names in nouns._MODULES.items():
        assert sorted(name for name in defined(module) if not name.startswith("_")) == sorted(names), module
