"""Installs the stand-in: toolkit, driver, device nodes and a Python that has what the toolkit's scripts import."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

__all__ = ["PACKAGES", "Toolkit", "install"]

_HERE = Path(__file__).parent
#: What the toolkit's scripts import beside what they bring along.
PACKAGES = ("attr", "decorator", "psutil")
_NODES = ("davinci_manager", "devmm_svm", "hisi_hdc")


class Toolkit(Enum):
    """What a toolkit of a version offers, and where. Values are the versions that it says."""

    CANN_82 = "8.2.RC1"  # functions for direct launch, a generator of operator projects, no package ASC
    CANN_91 = "9.1.0"  # the CMake package ASC

    @property
    def home(self) -> str:
        """The toolkit's folder below the root."""
        return f"usr/local/Ascend/{'cann' if self is Toolkit.CANN_91 else 'ascend-toolkit/latest'}"


def install(
    root: Path,
    *,
    nodes: Sequence[int] = (0,),
    packages: Sequence[str] = PACKAGES,
    toolkit: Toolkit = Toolkit.CANN_91,
) -> Path:
    """Make everything below ``root``; the toolkit's folder. Needs CMake and the system's compilers.

    ``nodes`` are the numbers of device nodes, ``packages`` what ``root/bin/python3`` can import.
    """
    home = root / toolkit.home
    for folder in ("bin", "lib64", "include/acl", "opp/vendors"):
        (home / folder).mkdir(parents=True)
    # A copy below the root, so that whatever may see the toolkit may see what its scripts call.
    own = shutil.copytree(_HERE, home / "standin", ignore=shutil.ignore_patterns("__pycache__"))
    (home / "set_env.sh").touch()
    (root / "bin").mkdir()
    if toolkit is Toolkit.CANN_91:
        _package(home, own, toolkit.value)
        _cmake(root / "bin/cmake", own)
    else:
        _functions(home, own, toolkit.value)
    _script(home / "bin/msprof", f'exec "{sys.executable}" "{own}/msprof.py" "$@"')
    shutil.copy(own / "acl.h", home / "include/acl/acl.h")
    _python(root, packages)
    (root / "usr/local/Ascend/driver").mkdir()
    (root / "usr/local/Ascend/driver/version.info").write_text("Version=25.2.0\n", encoding="utf-8")
    (root / "dev").mkdir()
    for node in (*_NODES, *(f"davinci{number}" for number in nodes)):
        (root / "dev" / node).touch()
    return home


def _package(home: Path, own: Path, version: str) -> None:
    """The CMake package and its compiler."""
    _text(home / "share/info/runtime/version.info", f"Version={version}\n")
    _script(home / "bin/bisheng", f'exec "{sys.executable}" "{own}/bisheng.py" "$@"')
    shutil.copytree(
        own / "cmake", home / "compiler/tikcpp/ascendc_kernel_cmake", ignore=shutil.ignore_patterns("ascendc.cmake")
    )
    _libraries(home, own, "libacl_rt.so")


def _functions(home: Path, own: Path, version: str) -> None:
    """What toolkits have that lack the package, and a runtime that counts time-outs in seconds."""
    _text(home / "compiler/version.info", f"Version={version}\n")
    _script(home / "compiler/ccec_compiler/bin/bisheng", f'exec "{sys.executable}" "{own}/bisheng.py" "$@"')
    functions = home / "tools/tikcpp/ascendc_kernel_cmake/ascendc.cmake"
    _text(functions, (own / "cmake/ascendc.cmake").read_text(encoding="utf-8"))
    _script(home / "python/site-packages/bin/msopgen", f'exec "{sys.executable}" "{own}/msopgen.py" "$@"')
    _libraries(home, own, "libascendcl.so", "-DSTANDIN_SECONDS")


def _cmake(path: Path, own: Path) -> None:
    """The system's CMake, which is told of the compilers when it configures a project: it need not try them."""
    if real := shutil.which("cmake"):
        configures = f'case $1 in -S) exec "{real}" -C "{own}/cmake/known.cmake" "$@" ;; esac'
        _script(path, f'{configures}\nexec "{real}" "$@"')


def _libraries(home: Path, own: Path, name: str, *flags: str) -> None:
    runtime = home / "lib64" / name
    subprocess.run(["cc", "-shared", "-fPIC", *flags, "-o", runtime, own / "runtime.c"], check=True)
    shutil.copy(runtime, home / "lib64/libnnopbase.so")


def _python(root: Path, packages: Sequence[str]) -> None:
    """``root/bin/python3``: this interpreter, with empty packages of those names and without those of ours."""
    folder = root / "lib/site"
    folder.mkdir(parents=True)
    for name in packages:
        (folder / f"{name}.py").write_text(f'"""A stand-in of {name}."""\n', encoding="utf-8")
    _script(root / "bin/python3", f'PYTHONPATH="{folder}:$PYTHONPATH" exec "{sys.executable}" "$@"')


def _script(path: Path, line: str) -> None:
    _text(path, f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def _text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
