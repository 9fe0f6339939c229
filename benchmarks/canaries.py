"""Writes the canary into task files and golden kernels, and says where it is missing.

python -m benchmarks.canaries [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from npukernelbench.tasks.canary import CANARY, canary_line

__all__ = ["lacking"]

_TASKS = Path(__file__).parents[1] / "tasks"
_SUFFIXES = frozenset((".yaml", ".py", ".cpp", ".h"))


def lacking(root: Path = _TASKS) -> Iterator[Path]:
    """The files of the suites that do not end with the canary."""
    for path in sorted(root.rglob("*")):
        if path.suffix in _SUFFIXES and path.is_file():
            lines = path.read_text(encoding="utf-8").rstrip("\n").splitlines()
            if not lines or lines[-1] != canary_line(path.suffix):
                yield path


def main(arguments: Sequence[str]) -> int:
    """Add what is missing, or name it."""
    paths = list(lacking())
    for path in paths:
        print(path)
        text = path.read_text(encoding="utf-8")
        if "--check" not in arguments:
            if CANARY in text:
                raise SystemExit(f"{path}: the canary stands elsewhere than at the end")
            path.write_text(f"{text.rstrip()}\n{canary_line(path.suffix)}\n", encoding="utf-8")
    return 1 if paths and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
