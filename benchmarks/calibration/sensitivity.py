"""Published steps of optimisation: by what factor each changes a kernel's time, beside the predicted factor.

    python -m benchmarks.calibration.sensitivity

Each step is a pair of kernels of ours, before and after. The page of the calibration shows the same tables.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.calibration.compared import compare
from benchmarks.calibration.harness import Bench
from benchmarks.calibration.heldout import HeldOut, held_out
from benchmarks.calibration.pairs import PAIRS, predicted
from benchmarks.calibration.prediction import Prediction
from benchmarks.calibration.steps import Step, steps
from npukb_npu.rows import table

__all__ = ["Change", "changes", "rebuilt", "reductions", "section", "unknown"]


@dataclass(frozen=True, slots=True)
class Change(Prediction):
    """What a step does to a kernel's time: the time after it divided by that before it.

    ``missing`` says why the model does not know what the step changes, if so.
    """

    step: str
    kernel: str
    missing: str = ""

    @classmethod
    def between(cls, step: str, kernel: str, before: Prediction, after: Prediction) -> Change:
        """The step from one kernel to another."""
        published, predicted = after.published / before.published, after.predicted / before.predicted
        return cls(published, predicted, after.source, step, kernel)


#: By the title of the step on the page.
_STEPS = (
    ("vector instructions instead of a scalar loop", "1: vector Add of 8 KB tiles, one core"),
    ("all cores", "2: 48 cores"),
    ("larger tiles", "3: tiles of 32 KB"),
    ("double buffering", "4: double buffering"),
    ("inputs past the L2 cache", "5: inputs past the L2 cache"),
    ("sources in different bank groups", "6: x and y in different bank groups"),
)
#: Title, kernel before, kernel after.
_UNSEEN = (
    ("longer pieces of a transfer", "GM→UB, pieces of 128 B", "GM→UB, 64 pieces of 2 KiB"),
    ("rows at multiples of 512 bytes", "GM→UB, 64 pieces of 2 KiB, rows of 24,574 B", "GM→UB, 64 pieces of 2 KiB"),
    ("parts that stay in L2", "GM→UB, all four times", "GM→UB, a quarter at a time, four times"),
    (
        "cores begin at different places",
        "GM→UB, 6 MiB by every core, in the same order",
        "GM→UB, 6 MiB by every core, each from its own part on",
    ),
    ("larger tiles into L1", "GM→L1, tiles of 64 × 64", "GM→L1, tiles of 64 × 256"),
    (
        "rows at multiples of 512 bytes, into L1",
        "GM→L1, tiles of 64 × 256, rows of 24,574 B",
        "GM→L1, tiles of 64 × 256",
    ),
    (
        "strides that are no multiple of 16 blocks",
        "into the order of fractals, block columns 144 apart",
        "into the order of fractals, block columns 145 apart",
    ),
)
_SUMS = (
    ("blocks first, then a repeat", "256 floats to one: repeats twice", "256 floats to one: blocks, then a repeat"),
    ("a repeat after blocks", "256 floats to one: blocks three times", "256 floats to one: blocks, then a repeat"),
)


def changes(pairs: Sequence[Step], unseen: Sequence[HeldOut], sums: Mapping[str, Step]) -> Iterator[Change]:
    """The published steps among kernels that the page shows for another reason."""
    names = [pair.what for pair in pairs]
    for title, after in _STEPS:
        at = names.index(after)
        # A step is what makes a row out of the one before it.
        before, then = pairs[at - 1], pairs[at]
        what = f"Add of 8192 × 8192 halfs, {before.what.partition(': ')[2] or before.what}"
        yield Change.between(title, what, before, then)
    kernels = {kernel.what: kernel for kernel in unseen}
    for title, first, second in _UNSEEN:
        yield Change.between(title, first, kernels[first], kernels[second])
    yield from reductions(sums)


def reductions(sums: Mapping[str, Step]) -> Iterator[Change]:
    """The steps that are about reductions, out of rows by name."""
    for title, first, second in _SUMS:
        yield Change.between(title, first, sums[first], sums[second])


def rebuilt(bench: Bench) -> Iterator[Change]:
    """The steps whose both kernels were written after a description."""
    for pair in PAIRS:
        before, after = pair.published_us
        yield Change(after / before, predicted(bench, pair), "BEST", pair.step, pair.kernel, pair.missing)


def section(made: Sequence[Change]) -> str:
    """The table of the page, of the steps that the model knows."""
    return _table("source", [(change, change.source) for change in made if not change.missing])


def unknown(made: Sequence[Change]) -> str:
    """The table of the page, of the steps that it does not know."""
    return _table("what is missing", [(change, change.missing) for change in made if change.missing])


def _table(last: str, rows: Sequence[tuple[Change, str]]) -> str:
    lines = [
        f"| step | kernel before it | published ratio | predicted ratio | error | {last} |",
        "|---|---|---|---|---|---|",
    ]
    for change, said in rows:
        error = f"{change.error:+.0%}"
        figures = f"{change.published:.3g} | {change.predicted:.3g} | {'0%' if error in ('+0%', '-0%') else error}"
        lines.append(f"| {change.step} | {change.kernel} | {figures} | {said} |")
    return "\n".join(lines)


def main() -> int:
    """Print the tables."""
    bench = Bench()
    try:
        pairs, _ = steps(bench)
        sums = {row.what: compare(bench, row) for row in table().rows if row.what.startswith("256 floats")}
        made = [*changes(pairs, list(held_out(bench)), sums), *rebuilt(bench)]
        print(section(made), unknown(made), sep="\n\n")
    finally:
        bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
