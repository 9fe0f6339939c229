"""The interface out of an operator definition of a kernel repository: compiled as the twin compiles it, and asked."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from npukb_suites.signature import REST, Attribute, Tensor
from npukernelbench.errors import SourceLocation, TaskError, UsageError
from npukernelbench.nouns import DType, Presence

if TYPE_CHECKING:
    from npukb_twin.operator.host_types import OpAttribute, OperatorDescription

__all__ = ["Interface", "interface_of", "read_definition"]

_DTYPES = {dtype.ge: dtype.value for dtype in DType}
_TIMEOUT_S = 120.0
_TYPES = ("int", "float", "bool", "str", "list_int", "list_float")

#: Name, inputs, outputs, attributes.
Interface = tuple[str, tuple[Tensor, ...], tuple[Tensor, ...], tuple[Attribute, ...]]


def read_definition(path: Path, include: Sequence[Path] = ()) -> Interface:
    """The operator that a file, or the ``op_host`` sources of a folder, define. TaskError with the compiler's words."""
    return interface_of(_described(_sources(path), path, include), path)


def interface_of(described: OperatorDescription, path: Path) -> Interface:
    """The interface that a definition in ``path`` tells. TaskError for what no task has."""
    outputs = tuple(_tensor(output.name, output.dtypes, output.presence, path) for output in described.outputs)
    inputs = tuple(_tensor(entry.name, entry.dtypes, entry.presence, path) for entry in described.inputs)
    if any(entry.listed for entry in inputs):
        # Extents of a list's tensors differ: what stands beside a list is most often a scalar.
        inputs, outputs = (tuple(map(_alone, tensors)) for tensors in (inputs, outputs))
    made = tuple(_made(output, inputs) for output in outputs)
    attributes = tuple(attribute for told in described.attributes if (attribute := _attribute(told, path)))
    return described.name, inputs, made, attributes


def _attribute(told: OpAttribute, path: Path) -> Attribute | None:
    """An attribute as a task says it; None for one of a type that tasks do not have, which keeps its default."""
    kind = "str" if told.type == "string" else told.type
    if kind in _TYPES:
        return Attribute(told.name, kind, list(told.default) if isinstance(told.default, tuple) else told.default)
    if told.required:
        message = f"the attribute {told.name} is a {told.type}, which no task has"
        raise TaskError(message, location=SourceLocation(path), remedy=f"attributes are {', '.join(_TYPES)}")
    return None


def _made(output: Tensor, inputs: Sequence[Tensor]) -> Tensor:
    """An output as a task says it. One that has the name of an input is that input, written in place."""
    if any(entry.name == output.name for entry in inputs):
        return Tensor(f"{output.name}_ref", (), None, output.name, inplace=True, listed=output.listed)
    # Most operators' outputs are like their first input; anything else has to be stated by the user.
    if inputs and (output.dtypes, output.listed) == (inputs[0].dtypes, inputs[0].listed):
        return Tensor(output.name, (), None, inputs[0].name, listed=output.listed)
    # A task has one type for an output that follows no input, and the first is a definition's usual one.
    return Tensor(output.name, output.dtypes[:1], output.shape, listed=output.listed)


def _alone(tensor: Tensor) -> Tensor:
    return tensor if tensor.listed else replace(tensor, shape=())


def _tensor(name: str, dtypes: Sequence[str], presence: Presence, path: Path) -> Tensor:
    # A definition lists a type for each combination, so types come again.
    known = tuple(dict.fromkeys(_DTYPES[dtype] for dtype in dtypes if dtype in _DTYPES))
    if not known:
        told = ", ".join(dict.fromkeys(dtypes)) or "none"
        raise TaskError(f"{name} has no element type that tasks have: {told}", location=SourceLocation(path))
    listed = presence is Presence.DYNAMIC
    return Tensor(name, known, (REST,), optional=presence is Presence.OPTIONAL, listed=listed)


def _sources(path: Path) -> dict[str, str]:
    """The host sources, under the names that compilers of operators give them."""
    if path.is_dir():
        home = path / "op_host" if (path / "op_host").is_dir() else path
        # Headers, too: definitions include tiling headers that lie beside them.
        paths = sorted(
            source for source in home.rglob("*") if source.suffix in (".cpp", ".cc", ".h", ".hpp") and source.is_file()
        )
    else:
        home, paths = path.parent, [path]
    if not paths:
        raise UsageError(
            f"there is no source in {path}", field="--op_def", remedy="name the file with class …: public OpDef"
        )
    # Comments may be in another encoding, which compilers do not look at.
    return {
        f"op_host/{source.relative_to(home).as_posix()}": source.read_text(encoding="utf-8", errors="surrogateescape")
        for source in paths
    }


def _described(files: dict[str, str], path: Path, include: Sequence[Path]) -> OperatorDescription:
    from npukb_twin.compile.toolchain import find
    from npukb_twin.operator.host_build import compile_host, confined_host
    from npukb_twin.operator.host_side import describe
    from npukb_twin.operator.host_types import HostFailure
    from npukernelbench.config import default_cache_dir

    toolchain = find()
    runtime = confined_host(toolchain, default_cache_dir())
    # Nothing of the compilation is kept: a definition is asked once.
    with closing(runtime.sandbox), tempfile.TemporaryDirectory(prefix="npukb-definition-") as work:
        compiled = compile_host(
            files, toolchain=toolchain, runtime=runtime, work=Path(work), timeout_s=_TIMEOUT_S, include=tuple(include)
        )
        image = compiled.image
        result = describe(image, runtime) if image is not None else None
    if result is None or isinstance(result, HostFailure):
        first = next(iter((result or compiled).diagnostics), None)
        # The compiler knows the file by the name that it was given here.
        name = path if path.is_file() else path / (first.file.removeprefix("op_host/") if first else "")
        place = SourceLocation(name, first.line if first else 0)
        message, remedy = (first.message, first.remedy) if first else ("it does not compile", "")
        raise TaskError(message, location=place, remedy=remedy or None)
    return result
