"""Which Python runs the toolkit's own scripts: they import packages that the toolkit does not bring along.

Our environment comes first; where it lacks them, the user's ``python3``. Packages of a user's own folder do not count:
a build has another HOME. Not yet run with a toolkit.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

__all__ = ["NEEDED", "REMEDY", "Interpreter", "choose"]

#: What the scripts import, and the package that has it.
NEEDED: Mapping[str, str] = {"attr": "attrs", "decorator": "decorator", "psutil": "psutil"}
REMEDY = (
    f"{sys.executable} -m pip install attrs decorator psutil cython numpy sympy cffi pyyaml pathlib2 "
    "'protobuf==3.20.*' scipy requests absl-py"
)
_ASK = (
    "import importlib.util as i, json, sys; "
    "print(json.dumps([[n for n in sys.argv[1:] if i.find_spec(n) is None], [sys.prefix, sys.base_prefix, *sys.path]]))"
)
_ASK_S = 20.0
_OTHERS = ("/usr/local/bin/python3", "/usr/bin/python3")
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")


class Interpreter(NamedTuple):
    """A program, the folders that it reads, and the modules that it lacks."""

    program: Path
    folders: tuple[Path, ...]
    missing: tuple[str, ...]


def choose(environ: Mapping[str, str]) -> Interpreter:
    """Ours when it has everything, else the first ``python3`` of the user's that has, else ours. The first of the path
    is often that of an environment which has nothing of the toolkit's: all of the path are looked at.
    """
    # no folders: the walls let our own interpreter be read anyway
    own = Interpreter(Path(sys.executable), (), tuple(name for name in NEEDED if find_spec(name) is None))
    if not own.missing:
        return own
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    others = (*(shutil.which("python3", path=folder) for folder in folders if folder), *_OTHERS)
    for program in dict.fromkeys(filter(None, others)):
        # a tuple of pairs, since lru_cache needs arguments with a hash
        other = _asked(Path(program), tuple((name, environ[name]) for name in _PASSED_ON if name in environ))
        if other is not None and not other.missing:
            return other
    return own


@lru_cache(maxsize=16)
def _asked(program: Path, environ: tuple[tuple[str, str], ...]) -> Interpreter | None:
    """What another interpreter says of itself; None when it cannot be run."""
    command = [str(program), "-s", "-c", _ASK, *NEEDED]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_S, env=dict(environ))
        missing, folders = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    reach = dict.fromkeys((program.parent, *(Path(folder) for folder in folders if folder)))
    return Interpreter(program, tuple(path for path in reach if path.is_dir()), tuple(missing))
