"""The stand-in's generator of operator projects, as toolkits without the CMake package ASC have it.

``msopgen gen -i OPERATOR.json -c ai_core-AscendXXX -lan cpp -out FOLDER``: a project with stubs, whose kernel is looked
for in one place, and whose settings name a toolkit that is not there.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(words: list[str]) -> None:
    """Write the project."""
    options = dict(zip(words[1::2], words[2::2], strict=True))
    if words[0] != "gen" or options["-lan"] != "cpp" or not options["-c"].startswith("ai_core-Ascend910"):
        sys.exit(f"msopgen: bad arguments {words}")
    [operator] = json.loads(Path(options["-i"]).read_text(encoding="utf-8"))
    if not operator["input_desc"] or not operator["output_desc"]:
        sys.exit("msopgen: an operator has inputs and outputs")
    out = Path(options["-out"])
    if out.exists():
        sys.exit(f"msopgen: {out} exists")
    shutil.copytree(HERE / "project", out)
    # The generator's stubs have to be replaced: one that is left over must not go unnoticed.
    for stub in ("op_host/stub.cpp", "op_host/stub_tiling.h", "op_kernel/stub.cpp"):
        (out / stub).write_text("#error a stub of the generator was compiled\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
