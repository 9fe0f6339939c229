"""A fake of the vendor's compiler for tests: turns a launch into a call and hands the rest to the system's compiler."""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def translated(source: str) -> str:
    text = Path(source).read_text()
    text = re.sub(r"(\w+)<<<([^,]+),[^,]+,[^>]+>>>\(", r"fake_blocks = (\2), \1(", text)
    out = Path(os.environ["TMPDIR"]) / f"fake-{os.getpid()}.cpp"
    out.write_text(f'#include "{HERE}/fake_kernel.h"\n#line 1 "{source}"\n{text}')
    return str(out)


def main(arguments: list[str]) -> int:
    kept = []
    for word in arguments:
        if word.startswith("--npu-arch="):
            assert word == "--npu-arch=dav-2201", word
        elif word.endswith(".asc"):
            kept += ["-I", str(Path(word).parent), translated(word)]
        else:
            kept.append(word)
    return subprocess.run(
        ["c++", "-fPIC", "-w", "-std=c++17", "-I", str(HERE / "include"), *kept], check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
