"""The application beside a script: a program with a ``main`` that calls the operator through its generated interface
(``aclnnNameGetWorkspaceSize``). It is compiled and run here, confined, with the host's memory in the place of the
device's; nothing is launched. Its calls say which file is which tensor, in which shape, and every attribute.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from npukernelbench.nouns import DType

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["PROGRAM", "Call", "compile_application", "read_calls"]

#: What loads and so runs it: ``python -c PROGRAM IMAGE``.
PROGRAM = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
_CALLS = "npukb_calls.jsonl"
_HEADER = "npukb_calls.h"
_STUB = "npukb_stub.cpp"
_TIMEOUT_S = 120.0
_CALL = re.compile(r"\b(?P<name>acl\w+?)GetWorkspaceSize\s*\((?P<arguments>[^;]*)\)\s*;")
_INCLUDE = re.compile(r'#\s*include\s*[<"](?P<name>[\w/.-]+)[>"]')
#: Element types by their numbers in the interface.
_NUMBERED = {dtype.ge_number: dtype for dtype in DType}


@dataclass(frozen=True)
class Call:
    """One call: its name without ``GetWorkspaceSize``, its arguments, and how each is written in the source.

    A tensor is an array, a list of tensors a list of arrays; what nothing is known of is ``...``.
    """

    name: str
    arguments: tuple[Any, ...]
    written: tuple[str, ...] = ()


def compile_application(folder: Path, work: Path) -> tuple[Path, str] | None:
    """The image of the program in ``folder``, made in ``work``, and what its calls look like; None where there is no
    such program, or it does not compile.
    """
    from npukb_twin.compile.build import source_root
    from npukb_twin.compile.cxxlib import ensure_library
    from npukb_twin.compile.toolchain import find
    from npukb_twin.operator.host_build import build_image, confined_host, host_flags
    from npukernelbench.config import default_cache_dir

    files = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="surrogateescape")
        for path in sorted(folder.rglob("*"))
        # A link may lead out of the folder.
        if path.suffix in (".cpp", ".cc", ".h", ".hpp") and path.is_file() and not path.is_symlink()
    }
    text = "\n".join(files.values())
    names = {match["name"] for match in _CALL.finditer(text)}
    units = [name for name in files if name.endswith((".cpp", ".cc"))]
    # Nothing says which of several programs is the application.
    if not names or sum(re.search(r"\bmain\s*\(", files[name]) is not None for name in units) != 1:
        return None
    wanted = {match["name"] for match in _INCLUDE.finditer(text)}
    # Only headers of generated interfaces, which are not there; others are the project's own.
    stands_in = {
        f"include/{name}": f'#include "{_HEADER}"\n' for name in wanted if re.search(r"(?:^|/)aclnn\w*_", name)
    }
    # This one is the toolkit's own, which the twin has.
    stands_in.pop("include/aclnn/acl_meta.h", None)
    calls = "".join(f"NPUKB_CALL({name})\n" for name in sorted(names))
    # Samples are started in a build folder, and name their files from there.
    start = "build" if '"../' in text else "."
    files |= stands_in | {
        f"include/{_HEADER}": f'#pragma once\n#include "twin_direct/application.h"\n{calls}',
        _STUB: f'#include "twin_direct/application.h"\nNPUKB_APPLICATION_IN("{start}")\n',
    }
    toolchain, cache = find(), default_cache_dir()
    library = ensure_library(toolchain, cache)
    folders = [*dict.fromkeys(str(Path(name).parent) for name in files), "include"]
    folders += [str(source_root() / name) for name in ("include_direct", "include_host", "include")]
    # Renamed, because the image is loaded and not started: the stub calls its main.
    defined = ("-DNPUKB_DIRECT_HOST=1", "-DNPUKB_APPLICATION=1", "-Dmain=npukb_main")
    work.mkdir()
    runtime = confined_host(toolchain, cache)
    with closing(runtime.sandbox):
        made = build_image(
            files,
            [*units, _STUB],
            (*toolchain.compile, *host_flags(toolchain), *defined, *(f"-I{name}" for name in folders)),
            toolchain=toolchain,
            runtime=runtime,
            work=work,
            timeout_s=_TIMEOUT_S,
            include=tuple({path.parent for path in library}),
            linked=tuple(map(str, library)),
        )
    return None if made.image is None else (made.image, text)


def read_calls(folder: Path, text: str) -> tuple[Call, ...]:
    """The calls that the application noted in ``folder``; none where the notes are not what it writes. ``text`` is its
    source.
    """
    from npukb_twin.compile.dialect import at_commas

    notes = folder / _CALLS
    if not notes.is_file():
        return ()
    # The last two arguments are the workspace's size and the executor.
    written = {match["name"]: at_commas(match["arguments"])[:-2] for match in _CALL.finditer(text)}
    calls = []
    try:
        for told in map(json.loads, StringIO(notes.read_text(encoding="utf-8", errors="replace"))):
            arguments = tuple(_value(argument, folder) for argument in told["arguments"])
            calls.append(Call(told["call"], arguments, tuple(written[told["call"]])))
    # The program shares a process with them, and may have written others.
    except (KeyError, TypeError, ValueError, IndexError, OSError, RecursionError):
        return ()
    return tuple(calls)


def _value(told: Any, folder: Path) -> Any:
    if isinstance(told, Sequence) and not isinstance(told, str):
        return [_value(one, folder) for one in told]
    if not isinstance(told, Mapping):
        return told
    dtype = _NUMBERED.get(told.get("type", -1))
    if dtype is None:
        return ...
    if "scalar" in told:
        return np.frombuffer(bytes.fromhex(told["scalar"]), dtype.numpy())[0].item()
    return _tensor(told, dtype, folder)


def _tensor(told: Mapping[str, Any], dtype: DType, folder: Path) -> Array | Any:
    """The tensor as an operator gets it: in order, from its first element."""
    shape, kept = tuple(told["shape"]), folder / Path(told["tensor"]).name
    steps = [int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape))]
    # The program may have put a link there, which leads out of the folder.
    if not told["tensor"] or kept.is_symlink() or told["offset"] or (told["strides"] and told["strides"] != steps):
        return ...
    values = np.fromfile(kept, dtype.numpy())
    size = int(np.prod(shape, dtype=np.int64))
    return ... if values.size < size else values[:size].reshape(shape or (1,))
