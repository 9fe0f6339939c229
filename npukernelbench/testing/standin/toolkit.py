"""Installs the stand-in: toolkit, driver, device nodes and a Python that has what the toolkit's scripts import."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["PACKAGES", "install"]

_HERE = Path(__file__).parent
#: What the toolkit's scripts import beside what they bring along.
PACKAGES = ("attr", "decorator", "psutil")
_NODES = ("davinci_manager", "devmm_svm", "hisi_hdc")
_CMAKE = "compiler/tikcpp/ascendc_kernel_cmake"


def install(root: Path, *, nodes: Sequence[int] = (0,), packages: Sequence[str] = PACKAGES) -> Path:
    """Make everything below ``root``; the toolkit's folder. Needs CMake and the system's compilers.

    ``nodes`` are the numbers of device nodes, ``packages`` what ``root/bin/python3`` can import.
    """
    home = root / "usr/local/Ascend/cann"
    for folder in ("bin", "lib64", _CMAKE, "share/info/runtime", "include/acl", "opp/vendors"):
        (home / folder).mkdir(parents=True)
    own = shutil.copytree(_HERE, home / "standin", ignore=shutil.ignore_patterns("__pycache__"))
    (home / "set_env.sh").touch()
    (home / "share/info/runtime/version.info").write_text("Version=9.1.0\n", encoding="utf-8")
    _script(home / "bin/bisheng", f'exec "{sys.executable}" "{own}/bisheng.py" "$@"')
    _script(home / "bin/msprof", f'exec "{sys.executable}" "{own}/msprof.py" "$@"')
    runtime = home / "lib64/libacl_rt.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", runtime, own / "runtime.c"], check=True)
    shutil.copy(runtime, home / "lib64/libnnopbase.so")
    shutil.copy(own / "acl.h", home / "include/acl/acl.h")
    shutil.copytree(own / "cmake", home / _CMAKE, dirs_exist_ok=True)
    _python(root, packages)
    (root / "usr/local/Ascend/driver").mkdir()
    (root / "usr/local/Ascend/driver/version.info").write_text("Version=25.2.0\n", encoding="utf-8")
    (root / "dev").mkdir()
    for node in (*_NODES, *(f"davinci{number}" for number in nodes)):
        (root / "dev" / node).touch()
    return home


def _python(root: Path, packages: Sequence[str]) -> None:
    """``root/bin/python3``: this interpreter, with empty packages of those names and without those of ours."""
    folder = root / "lib/site"
    folder.mkdir(parents=True)
    (root / "bin").mkdir()
    for name in packages:
        (folder / f"{name}.py").write_text(f'"""A stand-in of {name}."""\n', encoding="utf-8")
    _script(root / "bin/python3", f'PYTHONPATH="{folder}:$PYTHONPATH" exec "{sys.executable}" "$@"')


def _script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)
