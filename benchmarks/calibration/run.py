"""Regenerates ``docs/calibration.md``: published figures of the machine against what the twin predicts.

    python -m benchmarks.calibration.run [--check]

The figures are those that the machine files were fitted to, so that agreement here says that the model has the right
form, and nothing about kernels it has not seen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import median

from scipy.stats import spearmanr

from benchmarks.calibration import device, sensitivity
from benchmarks.calibration.compared import Compared, compare
from benchmarks.calibration.harness import Bench
from benchmarks.calibration.heldout import HeldOut, held_out
from benchmarks.calibration.silicon import residuals
from benchmarks.calibration.steps import Step, steps
from npukb_npu.rows import table

__all__ = ["main", "render"]

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "calibration.md"


def render(
    rows: list[Compared],
    pairs: list[Step],
    unseen: list[HeldOut],
    rebuilt: list[sensitivity.Change],
    excluded: Iterable[Mapping[str, str]],
) -> str:
    """The page: ``page.md`` with its tables filled in."""
    changes = [*sensitivity.changes(pairs, unseen, {row.what: row for row in rows}), *rebuilt]
    errors = [abs(row.error) for row in rows]
    # 1.7 is vector throughputs: the model has them as its inputs, and gives them back.
    fitted = [abs(row.error) for row in rows if row.section != "1.7"]
    # Rounded as the page prints them, so that ties there are ties here.
    rank = spearmanr([row.published for row in rows], [float(f"{row.predicted:.4g}") for row in rows]).statistic
    return (
        (HERE / "page.md")
        .read_text(encoding="utf-8")
        .format(
            rows=len(rows),
            median=median(errors),
            fitted=len(fitted),
            fitted_median=median(fitted),
            worst=max(errors),
            rank=rank,
            pairs=len(pairs),
            worst_pair=max(abs(pair.error) for pair in pairs),
            steps="\n".join(_steps(pairs)),
            unseen=len(unseen),
            first_median=median(abs(kernel.first.error) for kernel in unseen),
            first_close=sum(abs(kernel.first.error) <= 0.15 for kernel in unseen),
            now_median=median(abs(kernel.error) for kernel in unseen),
            now_close=sum(abs(kernel.error) <= 0.15 for kernel in unseen),
            unfitted=sum(not kernel.fitted for kernel in unseen),
            unfitted_median=median(abs(kernel.error) for kernel in unseen if not kernel.fitted),
            held_out="\n".join(_held_out(unseen)),
            silicon=residuals.section(),
            device=device.section(),
            changes=sensitivity.section(changes),
            unknown=sensitivity.unknown(changes),
            machine="\n".join(_sections(rows)),
            excluded="\n".join(f"| {row['what']} | {row['why']} |" for row in excluded),
        )
    )


def _percent(error: float) -> str:
    """With its sign, and without one for what rounds to zero."""
    text = f"{error:+.1%}"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text


def _steps(pairs: list[Step]) -> Iterator[str]:
    for i, pair in enumerate(pairs):
        before = pairs[i - 1] if i else None
        ratios = ("", "") if before is None else (pair.published / before.published, pair.predicted / before.predicted)
        shown = " | ".join(ratio if isinstance(ratio, str) else f"{ratio:.3g}" for ratio in ratios)
        yield f"| {pair.what} | {pair.published:,.1f} | {pair.predicted:,.1f} | {_percent(pair.error)} | {shown} |"


def _held_out(unseen: list[HeldOut]) -> Iterator[str]:
    for kernel in unseen:
        first = f"{kernel.first.predicted:,.1f} | {_percent(kernel.first.error)}"
        now = f"{kernel.predicted:,.1f} | {_percent(kernel.error)}"
        yield f"| {kernel.what} | {kernel.published:,.1f} | {first} | {now} | {kernel.fitted} | {kernel.source} |"


def _sections(rows: list[Compared]) -> Iterator[str]:
    for section, title in _TITLES.items():
        yield from ("", f"### {title}", "", "| what | published | predicted | unit | error | source | grade |")
        yield "|---|---|---|---|---|---|---|"
        for row in rows:
            if row.section == section:
                figures = f"{row.published:.4g} | {row.predicted:.4g} | {row.unit} | {_percent(row.error)}"
                yield f"| {row.what} | {figures} | {row.source} | {row.grade} |"


_TITLES = {
    "1.3": "Data paths of a core",
    "1.4": "Transfers",
    "1.5": "Alignment",
    "1.6": "Banks of the unified buffer",
    "1.7": "Vector throughput",
    "1.8": "Vector instructions",
    "1.9": "Cube unit",
    "1.10": "Scalar unit",
    "1.12": "Order",
    "6.2": "Pairs of one instruction",
}


def main() -> None:
    known = table()
    bench = Bench()
    try:
        rows = [compare(bench, row) for row in known.rows]
        pairs, more = steps(bench)
        unseen = list(held_out(bench))
        rebuilt = list(sensitivity.rebuilt(bench))
    finally:
        bench.close()
    more_rows = [Compared(**asdict(comparison), grade="B") for comparison in more]
    text = render([*rows, *more_rows], pairs, unseen, rebuilt, known.excluded)
    if "--check" in sys.argv:
        sys.exit(text != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
