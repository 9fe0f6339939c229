"""Measured kernels for the twin: ``npukb calibrate --rows FILE`` takes the rows that ``npukb compare --rows`` writes.

A row has the predicted and the measured time of one kernel on one case. No number of a machine is fitted to whole
kernels: their times have too many causes. What the rows tell is how far a prediction may be off on this very machine,
and that is what is written: an interval that holds nine in ten of them. Not yet run on hardware.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from npukb_npu.profiles import machine_name
from npukernelbench.errors import UsageError
from npukernelbench.report.parity import ParityRow, read_rows, summary
from npukernelbench.stats import nine_in_ten

__all__ = ["LEAST_ROWS", "command", "machine_file"]

#: Of fewer kernels nobody can say where nine in ten lie.
LEAST_ROWS = 12
_MOST_SHOWN = 5
_PACKAGED = re.compile(r"ascend910(b\d|_\d+)")
_SECTION = re.compile(r"(?m)^(?:# from \d+ kernels.*\n)?residuals:.*\n?")


def command(rows: str, out: str, base: str) -> Iterator[str]:
    """Write the machine file ``out``; lines for the user. UsageError for rows that are not of one machine."""
    measured = read_rows(Path(rows))
    text = machine_file(measured, Path(out).stem.lower().replace("-", "_"), base)
    Path(out).write_text(text, encoding="utf-8")
    yield summary(measured)
    for row in sorted(measured, key=lambda row: -abs(row.error))[:_MOST_SHOWN]:
        yield f"  {row.error:+7.0%}  {row.task}:{row.track}:{row.case}"
    yield f"wrote {out}: use it with --executor_args soc={out}"


def machine_file(rows: Sequence[ParityRow], name: str, base: str) -> str:
    """The machine that predicted ``rows`` with their interval: the file ``base``, or one upon a packaged machine."""
    machine, measured_on = _one(rows, "machine"), _one(rows, "measured_on")
    if len(rows) < LEAST_ROWS:
        raise _refusal(f"{len(rows)} kernels are too few for an interval", f"judge at least {LEAST_ROWS} cases on both")
    if base:
        text = _own_file(Path(base), machine)
    elif _PACKAGED.match(machine):
        text = f"name: {name}\ndescription: {machine}, with kernels measured on {measured_on}\nextends: {machine}\n"
    else:
        raise _refusal(f"the times were predicted with {machine}, a file of your own", "name that file with --base")
    chip = str(yaml.safe_load(text)["extends"])
    if machine_name(chip) != measured_on:
        raise _refusal(f"predicted for {chip}, but measured on {measured_on}", "predict with --executor_args soc=CHIP")
    low, high = nine_in_ten([row.measured_us / row.predicted_us for row in rows])
    times = [row.predicted_us for row in rows]
    return (
        # a file that was written by this command before has such a section already
        f"{_SECTION.sub('', text)}# from {len(rows)} kernels measured on {measured_on}: measured over predicted times\n"
        f"residuals: {{rows: {len(rows)}, low: {low:.4g}, high: {high:.4g}, "
        f"shortest_us: {min(times):.4g}, longest_us: {max(times):.4g}}}\n"
    )


def _own_file(path: Path, machine: str) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        machine_file = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"machine file {path} cannot be read: {error}", field="--base") from error
    if not isinstance(machine_file, dict) or machine_file.get("name") != machine or "extends" not in machine_file:
        raise _refusal(f"{path} is not the machine {machine} that predicted the times", "name that machine's file")
    return text


def _one(rows: Sequence[ParityRow], field: str) -> str:
    names = sorted({str(getattr(row, field)) for row in rows})
    if len(names) != 1:
        raise _refusal(f"{field} has to be one: {', '.join(names) or 'there are no rows'}", "one file per machine")
    return names[0]


def _refusal(message: str, remedy: str) -> UsageError:
    return UsageError(message, field="--rows", remedy=remedy)
