"""Building the runtime library in an empty cache: the clock and processor time, against the promise of 90 s."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.twin.measure import of_children, spent
from npukb_twin.compile import build, toolchain

PROMISE_S = 90.0


def main() -> int:
    chosen = toolchain.find()
    with tempfile.TemporaryDirectory() as name:
        started = of_children()
        seconds = spent(time.monotonic, lambda: build.ensure(chosen, Path(name)))
        processor = of_children() - started
    met = seconds <= PROMISE_S
    print(
        f"runtime library: {seconds:.1f} s, processor time {processor:.1f} s "
        f"(target <= {PROMISE_S:g} s: {'met' if met else 'MISSED'})"
    )
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
