"""The house rules that a machine can check: import directions, circles, sizes, rooms, who may print.

Every file is parsed once; every test names all offenders at once.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from npukernelbench.nouns.machine import DEFAULT_MACHINE

ROOT = Path(__file__).resolve().parent.parent
#: A comment of at least a short sentence, before anything else.
_OPENING = re.compile(r"// \S.{20,}")
CORE = sorted((ROOT / "npukernelbench").rglob("*.py"))
PLUGINS = sorted([*(ROOT / "plugins").rglob("*.py"), *(ROOT / "kernelgen_lm").rglob("*.py")])
NATIVE = sorted(path for path in (ROOT / "plugins").rglob("*") if path.suffix in {".h", ".cpp", ".def"})
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
    {"api"},
    {"cli"},
    {"run", "report", "rewards"},
    {"generate", "judge", "store", "stats"},
    {"prompts", "tasks", "reference"},
    {"nouns"},
)

#: What a kernel author needs to know of the default SoC.
MACHINE = ROOT / "npukernelbench" / "nouns" / "machine.py"

MOST_LINES, MOST_LINES_OF_A_FUNCTION, MOST_LOOSE_MODULES, MOST_SOURCES_OF_A_FOLDER = 600, 80, 8, 40


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


class Parsed(NamedTuple):
    """What the rules ask of a file's syntax tree: its nodes, those for type checkers only, those of the top level."""

    nodes: tuple[ast.AST, ...]
    typing_only: frozenset[int]
    top_level: frozenset[int]


@cache
def parsed(path: Path) -> Parsed:
    tree = ast.parse(text_of(path))
    nodes = tuple(ast.walk(tree))
    typing = (node for node in nodes if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    typing_only = frozenset(id(inner) for node in typing for inner in ast.walk(node))
    return Parsed(nodes, typing_only, frozenset(map(id, tree.body)))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_of(path: Path) -> str:
    """The name that a file is imported by."""
    base = ROOT / "plugins" if path.is_relative_to(ROOT / "plugins") else ROOT
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path, *, top_level: bool = False) -> Iterator[str]:
    """Full names of the modules a file imports, those under ``TYPE_CHECKING`` left out."""
    nodes, typing_only, top = parsed(path)
    for node in nodes:
        if id(node) in typing_only or (top_level and id(node) not in top):
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


def test_the_core_knows_no_plugin_and_no_sdk() -> None:
    known = FIRST_PARTY | HEAVY
    offenders = [f"{relative(path)}: {name}" for path in CORE for name in imports(path) if name.split(".")[0] in known]
    assert not offenders


def test_imports_point_one_way() -> None:
    offenders = [
        f"{relative(path)}: {name}"
        for path in CORE
        if (own := layer_of(module_of(path))) is not None
        for name in imports(path, top_level=True)
        if (other := layer_of(name)) is not None and other < own
    ]
    assert not offenders


def test_plugins_use_public_names_only() -> None:
    offenders = [
        f"{relative(path)}: {node.module}.{alias.name}"
        for path in PLUGINS
        for node in parsed(path).nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("npukernelbench")
        for alias in node.names
        if any(part.startswith("_") for part in (alias.name, *(node.module or "").split(".")))
    ]
    assert not offenders


def test_the_models_of_kernels_use_the_core_only() -> None:
    """``kernelgen_lm`` reaches what plugins offer through the core's registries, never by import."""
    plugins = FIRST_PARTY - {"kernelgen_lm"}
    offenders = [
        f"{relative(path)}: {name}"
        for path in PLUGINS
        if path.is_relative_to(ROOT / "kernelgen_lm")
        for name in imports(path)
        if name.split(".")[0] in plugins
    ]
    assert not offenders


def test_plugins_import_sdks_when_opened_only() -> None:
    offenders = [
        f"{relative(path)}: {name}"
        for path in PLUGINS
        for name in imports(path, top_level=True)
        if name.split(".")[0] in HEAVY
    ]
    assert not offenders


def test_no_file_and_no_function_grows_too_long() -> None:
    tests = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    sources = [*CORE, *PLUGINS, *tests]
    long_files = [relative(p) for p in [*sources, *NATIVE] if len(text_of(p).splitlines()) > MOST_LINES]
    long_functions = [
        f"{relative(p)}:{node.name}"
        for p in sources
        for node in parsed(p).nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno > MOST_LINES_OF_A_FUNCTION
    ]
    assert not long_files
    assert not long_functions


def test_rooms_stay_small() -> None:
    """A newcomer reads a folder's listing: few loose modules at the top of the core, no folder of many sources."""
    loose = [path.name for path in CORE if path.parent.name == "npukernelbench" and not path.name.startswith("__")]
    assert len(loose) <= MOST_LOOSE_MODULES, loose
    counts = Counter(relative(path.parent) for path in [*CORE, *PLUGINS, *NATIVE])
    assert not {folder: count for folder, count in counts.items() if count > MOST_SOURCES_OF_A_FOLDER}


def test_the_pages_name_every_room() -> None:
    """docs/architecture.md and the table of README say the layout that there is."""
    rooms = {path.name for path in (ROOT / "npukernelbench").iterdir() if (path / "__init__.py").is_file()}
    plugins = {path.name for path in (ROOT / "plugins").iterdir() if path.is_dir() and any(path.glob("*.py"))}
    twin = {path.name for path in (ROOT / "plugins/npukb_twin/runtime").iterdir() if path.is_dir()}
    page, readme = text_of(ROOT / "docs" / "architecture.md"), text_of(ROOT / "README.md")
    assert not {name for name in rooms | twin if f"{name}/" not in page}
    assert not {name for name in rooms | plugins if f"`{name}`" not in readme}


def test_native_sources_open_with_what_they_are_about() -> None:
    """A sentence or two with the mental model comes first, and no line is too long to be read beside another."""
    twin = ROOT / "plugins" / "npukb_twin"
    rooms = [twin / "runtime", twin / "host", twin / "launcher", twin / "include" / "twin"]
    sources = [path for room in rooms for path in room.rglob("*") if path.suffix in {".h", ".cpp", ".def"}]
    texts = {relative(path): path.read_text(encoding="utf-8") for path in sources}
    assert texts
    silent = [name for name, text in texts.items() if not _OPENING.match(text)]
    native = [path for path in (ROOT / "plugins").rglob("*") if path.suffix in {".h", ".cpp", ".def"}]
    wide = [relative(p) for p in native if max(map(len, p.read_text(encoding="utf-8").splitlines()), default=0) > 120]
    assert not silent
    assert not wide


def test_every_room_of_the_runtime_is_described() -> None:
    page = (ROOT / "docs" / "twin.md").read_text(encoding="utf-8")
    rooms = {path.name for path in (ROOT / "plugins" / "npukb_twin" / "runtime").iterdir() if path.is_dir()}
    assert rooms
    assert {room for room in rooms if f"| `{room}/` |" not in page} == set()


def test_one_module_prints() -> None:
    offenders = [
        f"{relative(path)}:{node.lineno}"
        for path in [*CORE, *PLUGINS]
        if path.name != "console.py"
        for node in parsed(path).nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not offenders


def test_no_two_modules_need_each_other() -> None:
    """No circle of imports anywhere, those for type checkers and those inside functions included."""
    names = {module_of(path): path for path in [*CORE, *PLUGINS]}
    needs = {name: imported(path) & names.keys() for name, path in names.items() if path.name != "__init__.py"}
    # What needs nothing that is left, or is needed by nothing that is left, is in no circle.
    while ends := [
        name
        for name, others in needs.items()
        if not others & needs.keys() or not any(name in theirs for theirs in needs.values())
    ]:
        for name in ends:
            del needs[name]
    assert not {name: sorted(others & needs.keys()) for name, others in needs.items()}


def test_one_place_knows_the_default_machine() -> None:
    """Its usable bytes of unified buffer and its vector cores; files of machines and of calibration rows are data."""
    number = str(DEFAULT_MACHINE.vector_cores)
    templates = sorted(path for path in (ROOT / "npukernelbench").rglob("*.j2"))
    sources = [path for path in [*CORE, *PLUGINS, *NATIVE, *templates] if path != MACHINE]
    offenders = [
        f"{relative(path)}:{line}: {text.strip()}"
        for path in sources
        for line, text in enumerate(text_of(path).splitlines(), 1)
        if str(DEFAULT_MACHINE.ub_usable_bytes) in text
        or ("core" in text.lower() and re.search(rf"(?<![#\w.]){number}(?![\w.])", text))
    ]
    assert not offenders
    assert text_of(MACHINE).count(str(DEFAULT_MACHINE.ub_usable_bytes)) == 1
    assert len(re.findall(rf"\b{number}\b", text_of(MACHINE))) == 1


def imported(path: Path) -> set[str]:
    """Every module that a file imports, wherever in it."""
    modules: set[str] = set()
    for node in parsed(path).nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return modules
