"""Writes into task files which golden kernels their makers make now: the digests that hold them to the byte.

    python -m benchmarks.golden_digests [--check]

For whoever changes a tile program or the lowering. The kernels are other ones then: judge and time them anew
(``tests/goldens``, ``python -m benchmarks.golden_times``). ``--check`` names the tasks and writes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.goldens import DERIVED, read_golden
from npukernelbench.tasks.making import Makers, digest_of


def main(arguments: Sequence[str]) -> int:
    """Renew what has changed."""
    plugins, changed = Plugins.load(), 0
    makers = Makers(plugins.goldens)
    for task in load_registry(plugins).values():
        for golden in task.goldens:
            # Kernels that no digest holds are whatever their makers make now.
            if golden.maker in ("", DERIVED) or not golden.sha256:
                continue
            # Without the old digest, which `read_golden` would hold against what is made now.
            digest = digest_of(read_golden(replace(golden, sha256=""), makers))
            if digest == golden.sha256:
                continue
            changed += 1
            print(f"{task.name}: {golden.sha256} is now {digest}")
            if "--check" not in arguments:
                text = task.path.read_text(encoding="utf-8")
                # As text: a YAML writer would lose comments and layout.
                task.path.write_text(text.replace(golden.sha256, digest), encoding="utf-8")
    return 1 if changed and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
