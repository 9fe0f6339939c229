"""``kill -9`` at a hundred random moments: what was lost, what was counted twice. Run from the repository's root.

python -m benchmarks.judge.endurance [KILLS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.endurance.storm import storm


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        seen = storm(Path(name), kills, 1)
    print(f"{seen.kills} kills over {seen.runs} runs in {time.monotonic() - started:.0f} s")
    print(f"lost {seen.lost}, twice {seen.twice}, runs with other results {seen.different}")
    return int(seen.lost + seen.twice + seen.different != 0)


if __name__ == "__main__":
    sys.exit(main())
