"""The stand-in's compiler: turns a launch into a call between its brackets and hands the rest to the system's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def translated(source: str) -> str:
    """A copy of ``source`` in plain C++, with the lines of the original."""
    text = Path(source).read_text(encoding="utf-8")
    # Of `<<<blocks, memory, stream>>>` only the blocks mean something on the host.
    launch = r'StandinLaunch bracket("\1"); standin_blocks = (\2); \1('
    text = re.sub(r"(\w+)<<<([^,]+),[^,]+,[^>]+>>>\(", launch, text)
    out = Path(os.environ["TMPDIR"]) / f"standin-{os.getpid()}.cpp"
    # The original's file and lines, so that messages of the compiler name what a user wrote.
    out.write_text(f'#include "{HERE}/kernel.h"\n#line 1 "{source}"\n{text}', encoding="utf-8")
    return str(out)


def main(arguments: list[str]) -> int:
    """The exit code of the system's compiler."""
    kept: list[str] = []
    for word in arguments:
        if word.startswith("--npu-arch="):
            assert word == "--npu-arch=dav-2201", word
        elif word.endswith((".asc", ".cpp")):
            # The copy lies elsewhere, and a source includes files beside itself.
            kept += ["-I", str(Path(word).parent), translated(word)]
        else:
            kept.append(word)
    # Without warnings: the copy is not what the user wrote.
    command = ["c++", "-fPIC", "-w", "-std=c++17", "-I", str(HERE / "include"), *kept]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
