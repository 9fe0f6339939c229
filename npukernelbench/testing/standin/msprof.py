"""The stand-in's profiler: ``msprof op [simulator] [--option=value …] PROGRAM …``.

Without ``--kernel-name`` it takes the first kernel that the program launches; without ``--warm-up`` the slow first
launch is what it measures; a program that ends without giving back the device leaves no tables.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HELP = "--output --application --kernel-name --launch-count --warm-up --aic-metrics\n"
#: The table of the launch as two versions of the tool write it: other orders, other names.
BASIC = {
    "8.0": "Op Name,Op Type,Task Duration(us),Block Dim,Device Id,Pid,Current Freq,Rated Freq",
    "9.1": "Device Id,Pid,Op Type,Op Name,Block Num,Mix Block Num,Task Duration(us),Current Freq,Rated Freq",
}
PIPES = {
    "8.0": "block_id,sub_block_id,aiv_time(us),aiv_vec_ratio\n0,vector0,3,0.5\n",
    "9.1": "sub_block_id,block_id,aiv_vec_ratio,aiv_vec_active_bw(GB/s),aiv_time(us)\nvector0,0,0.5,12,3\n",
}


def launches(program: list[str], file: Path) -> list[tuple[str, float]]:
    """Kernels that ``program`` launched, and their times; none when it did not end in an orderly way."""
    code = subprocess.run(program, check=False, env={**os.environ, "ASCEND_STANDIN_LAUNCHES": str(file)}).returncode
    # As the tool does: a program that fails leaves no tables.
    if code:
        sys.exit(code)
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return [(name, float(us)) for name, us in map(str.split, lines)]


def main(words: list[str]) -> None:
    """Run the program, write tables."""
    words = words[1:]
    simulated = bool(words) and words[0] == "simulator"
    words = words[1:] if simulated else words
    if "--help" in words:
        sys.stdout.write(HELP)
        return
    # The program's own options come behind its name and are not the profiler's.
    split = next(i for i, word in enumerate(words) if not word.startswith("--"))
    options = dict(word.removeprefix("--").split("=", 1) for word in words[:split])
    out = Path(options["output"]) / "OPPROF_20260101000000_STANDIN"
    out.mkdir(parents=True)
    kernels = launches(words[split:], out / "launches")
    if os.environ.get("ASCEND_STANDIN_EMPTY"):
        return
    if simulated:
        (out / "core0_code_exe.csv").write_text("code,running_time(us)\na,1.5\nb,2\n", encoding="utf-8")
        return
    wanted = options.get("kernel-name", "").split("|")
    # Without the option the only prefix is empty, and every name begins with it.
    taken = [kernel for kernel in kernels if any(kernel[0].startswith(prefix) for prefix in wanted)]
    if not taken:
        sys.stdout.write("[WARN] no kernel was profiled\n")
        return
    version = os.environ.get("ASCEND_STANDIN_MSPROF", "8.0")
    # µs, far beyond any kernel here: a caller that forgets the warm-up measures something absurd.
    slow = 0.0 if int(options.get("warm-up", "0")) else 2000.0
    row = {
        "Op Name": taken[0][0], "Op Type": "vector", "Task Duration(us)": str(taken[0][1] + slow), "Block Dim": "4",
        "Block Num": "4", "Current Freq": "1800", "Rated Freq": "1850",
    }  # fmt: skip
    cells = ",".join(row.get(name, "0") for name in BASIC[version].split(","))
    (out / "OpBasicInfo.csv").write_text(f"{BASIC[version]}\n{cells}\n", encoding="utf-8")
    (out / "PipeUtilization.csv").write_text(PIPES[version], encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
