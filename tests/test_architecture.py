"""The house rules that a machine can check: import directions, sizes, who may print."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORE = sorted((ROOT / "npukernelbench").rglob("*.py"))
PLUGINS = sorted([*(ROOT / "plugins").rglob("*.py"), *(ROOT / "kernelgen_lm").rglob("*.py")])
FIRST_PARTY = {path.name for path in (ROOT / "plugins").iterdir() if path.is_dir()} | {"kernelgen_lm"}
HEAVY = {
    "aiohttp",
    "openai",
    "vllm",
    "torch",
    "torch_npu",
    "transformers",
    "ray",
    "trl",
    "datasets",
    "peft",
    "tokenizers",
}

#: Who may import whom inside the core: folders further right know nothing of those further left.
LAYERS = (
    {"cli"},
    {"conformance", "run", "report", "rewards"},
    {"generate", "judge", "store", "stats"},
    {"prompts", "tasks", "reference"},
    {"nouns"},
)


def imports(path: Path, *, top_level: bool = False) -> Iterator[str]:
    """Full names of the modules a file imports, those under ``TYPE_CHECKING`` left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    nodes = tree.body if top_level else ast.walk(tree)
    for node in nodes:
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


def layer_of(module: str) -> int | None:
    """Position of a core module in LAYERS; None for those that every layer may use."""
    parts = module.split(".")
    if parts[0] != "npukernelbench" or len(parts) < 2:
        return None
    return next((index for index, names in enumerate(LAYERS) if parts[1] in names), None)


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", CORE, ids=relative)
def test_the_core_knows_no_plugin_and_no_sdk(path: Path) -> None:
    roots = {name.split(".")[0] for name in imports(path)}
    assert not roots & (FIRST_PARTY | HEAVY)


@pytest.mark.parametrize("path", CORE, ids=relative)
def test_imports_point_one_way(path: Path) -> None:
    own = layer_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
    if own is None:
        pytest.skip("a module that every layer may use")
    backwards = {
        name for name in imports(path, top_level=True) if (other := layer_of(name)) is not None and other < own
    }
    assert not backwards


@pytest.mark.parametrize("path", PLUGINS, ids=relative)
def test_plugins_use_public_names_only(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    private = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("npukernelbench")
        for alias in node.names
        if alias.name.startswith("_") or any(part.startswith("_") for part in (node.module or "").split("."))
    ]
    assert not private


@pytest.mark.parametrize("path", PLUGINS, ids=relative)
def test_plugins_import_sdks_when_opened_only(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path, top_level=True)} & HEAVY


def test_no_file_and_no_function_grows_too_long() -> None:
    sources = [*CORE, *PLUGINS, *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    native = [p for p in (ROOT / "plugins").rglob("*") if p.suffix in {".h", ".cpp", ".def"}]
    long_files = [relative(p) for p in [*sources, *native] if len(p.read_text(encoding="utf-8").splitlines()) > 600]
    long_functions = [
        f"{relative(p)}:{node.name}"
        for p in sources
        for node in ast.walk(ast.parse(p.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno > 80
    ]
    assert not long_files
    assert not long_functions


def test_one_module_prints() -> None:
    printing = [
        relative(p)
        for p in [*CORE, *PLUGINS]
        if p.name != "console.py"
        for node in ast.walk(ast.parse(p.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not printing


def test_no_two_modules_need_each_other() -> None:
    """No circle of imports in the core, those for type checkers and those inside functions included."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in CORE}
    needs = {name: _imported(path) & names.keys() for name, path in names.items() if path.name != "__init__.py"}
    while leaves := [name for name, others in needs.items() if not others & needs.keys()]:
        for name in leaves:
            del needs[name]
    assert not needs


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
