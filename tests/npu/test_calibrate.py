"""``npukb calibrate`` with the twin in the place of the device: what is fitted is what the machine file says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from zlib import crc32

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from npukb_npu.calibrate import Stopwatch, base_of, overlay, summary
from npukb_npu.fitting import Fit, Measured, Taken, fit
from npukb_npu.rows import Enters, Row, kernel_text, table
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.timing import machine
from npukernelbench.errors import ConfigError, UsageError
from npukernelbench.nouns import Core

BASE = machine.load("ascend910b2")
CLOCK_HZ = BASE.numbers["clock_hz"]
#: Instructions whose throughput the twin is asked for; the others have the same form.
RATES = (
    "Add.b32", "Mul.b32", "Add.b16", "Exp.b16", "Cast.b32", "WholeReduceSum.b32", "BlockReduceSum.b32", "Compare.b16",
    "Select.b32",
)  # fmt: skip


def other(names: Mapping[str, float]) -> dict[str, float]:
    """Numbers of another machine: a fifth to two fifths less or more, each its own way."""
    return {name: value * (0.7, 0.8, 1.3, 1.4)[crc32(name.encode()) % 4] for name, value in names.items()}


def chosen() -> list[Row]:
    """Rows for all numbers, of those that hold the same numbers the first and the last, and the rows of ``RATES``."""
    alike: dict[frozenset[str], list[Row]] = {}
    for row in table().measured:
        if row.cost:
            alike.setdefault(frozenset(row.cost), []).append(row)
    costs = [row for rows in alike.values() for row in (rows if len(rows) < 3 else (rows[0], rows[-1]))]
    return [*costs, *(next(row for row in table().measured if row.rate == name) for name in RATES)]


def test_the_numbers_of_another_machine_come_back(tmp_path: Path) -> None:
    """The twin with altered numbers is the device. Rows know nothing of it but what they take."""
    numbers = other({name: BASE.numbers[name] for name in table().numbers})
    rates = {name: 0.8 * value for name, value in machine.documented_rates().items() if name in RATES}
    device = tmp_path / "device.yaml"
    given = Fit(
        {name: Measured(value, "any", "given") for name, value in numbers.items()},
        {name: Measured(value, "any", "given") for name, value in rates.items()},
        {},
    )
    device.write_text(overlay("device", "altered", "ascend910b2", given, "test"))
    twin = TwinExecutor(TwinArgs(soc=str(device)))
    try:
        stopwatch = Stopwatch(twin, (64, 128))
        stopwatch.prepare(chosen(), 2)
        found = fit(table(), chosen(), stopwatch, CLOCK_HZ)
    finally:
        twin.close()
    assert found.numbers.keys() == table().numbers.keys()
    assert found.rates.keys() == set(RATES)
    assert not found.unfitted
    for name, value in {**numbers, **rates}.items():
        assert {**found.numbers, **found.rates}[name].value == pytest.approx(value, rel=0.1), name
    assert max(map(abs, found.misfits.values())) < 0.1


def synthetic(values: Mapping[str, float], cores: int) -> tuple[list[str], object]:
    """A device whose rows take exactly what their costs say."""
    known = table()
    by_name = {row.what: row for row in known.measured if row.cost}
    asked: list[str] = []

    def share(name: str) -> float:
        value = values[name]
        return {
            Enters.CYCLES: value / CLOCK_HZ,
            Enters.SECONDS: value,
            Enters.FACTOR: value,
            Enters.DIVISOR: 1 / value,
            Enters.BYTES_PER_SECOND: 1 / value,
        }.get(known.enters(name), 1 / (value * CLOCK_HZ))

    def seconds(row: Row, count: int) -> float:
        if row.rate and not row.cost:
            return count * share(row.rate)
        total = 0.0
        for name, text in row.cost.items():
            if name == "cycles":
                total += float(text) / CLOCK_HZ
            elif str(text).startswith("row "):
                total += share(name) * seconds(by_name[str(text).removeprefix("row ")], 0)
            else:
                factor = cores if str(text).endswith(" cores") else 1
                total += float(str(text).removesuffix(" cores")) * factor * share(name)
        return total

    def timer(row: Row, count: int) -> Taken:
        asked.append(row.what)
        # Launches of cube and of vector cores are told apart by how many cores there are.
        number = cores // 2 if row.runs_on is Core.CUBE else cores
        return Taken(seconds(row, count), number) if not row.whole else Taken(launch(number), number)

    def launch(number: int) -> float:
        return BASE.numbers["start_s"] + share("launch_s") + number * share("launch_per_core_s")

    return asked, timer


def test_a_whole_launch_holds_the_start_of_the_cores() -> None:
    """Which no row tells apart from the launch: the rows of launches take the machine file's as known."""
    known = [row for row in table().measured if row.whole]
    assert known
    for row in known:
        assert float(row.cost["cycles"]) / CLOCK_HZ == pytest.approx(BASE.numbers["start_s"])


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([40, 48, 50]))
def test_every_number_is_determined_by_its_rows(seed: int, cores: int) -> None:
    """All rows, all numbers and throughputs, on a device of exact times."""
    known = table()
    names = {name for row in known.measured for name in (*row.cost, row.rate) if name not in ("", "cycles")}
    values = {
        name: (BASE.numbers.get(name) or machine.documented_rates()[name])
        * (0.5 + crc32(f"{name} {seed}".encode()) / 2**32)
        for name in sorted(names)
    }
    asked, timer = synthetic(values, cores)
    found = fit(known, known.measured, timer, CLOCK_HZ)  # type: ignore[arg-type]
    assert not found.unfitted
    assert set(asked) == {row.what for row in known.measured}
    for name, value in values.items():
        assert {**found.numbers, **found.rates}[name].value == pytest.approx(value, rel=1e-4), name


def test_every_number_is_measured_or_says_why_not() -> None:
    known = table()
    assert not known.numbers.keys() & known.unmeasured.keys()
    assert known.numbers.keys() | known.unmeasured.keys() == BASE.numbers.keys()
    assert all(known.rows_of(name) for name in known.numbers)
    assert {name for row in known.measured for name in row.cost if "." not in name} == {*known.numbers, "cycles"}
    rated = {row.rate for row in known.measured if row.rate}
    assert len(rated) > 70
    assert rated <= machine.documented_rates().keys()
    names = [row.what for row in known.measured]
    assert len(names) == len(set(names))


def test_the_page_says_how_much_is_measured() -> None:
    page = (Path(__file__).parents[2] / "docs" / "npu.md").read_text(encoding="utf-8")
    known = table()
    rated = {row.rate for row in known.measured if row.rate}
    assert f"Of the {len(BASE.numbers)} numbers of a machine file {len(known.numbers)} are measured" in " ".join(
        page.split()
    )
    assert f"the throughputs of {len(rated)} pairs" in page
    named = re.search(r"keep the documented throughput: ([\w,\s]+)\.", page)
    assert named is not None
    without = {name.partition(".")[0] for name in machine.documented_rates().keys() - rated}
    assert set(re.findall(r"\w+", named[1])) == without


def test_numbers_have_the_units_of_machine_files() -> None:
    folder = files("npukb_twin") / "machines"
    packaged = yaml.safe_load((folder / "cores/arch2201.yaml").read_text(encoding="utf-8"))
    packaged |= yaml.safe_load((folder / "ascend910b2.yaml").read_text(encoding="utf-8"))["numbers"]
    assert {name: packaged[name]["unit"] for name in table().numbers} == {
        name: number.unit for name, number in table().numbers.items()
    }


def two_rows(**cost: float | str) -> list[Row]:
    return [
        Row(what="one", body="", type="half", cost={"barrier_cycles": 1}),
        Row(what="two", body="", type="half", cost=cost),
    ]


def test_what_rows_do_not_tell_apart_is_not_fitted() -> None:
    rows = two_rows(barrier_cycles=1, flag_cycles=1, sync_all_s=1)
    found = fit(table(), rows, lambda row, count: Taken(1e-8 if row.what == "one" else 5e-8, 1), 1e9)
    assert found.numbers["barrier_cycles"].value == pytest.approx(10)
    assert found.numbers.keys() == {"barrier_cycles"}
    assert found.unfitted.keys() == {"flag_cycles", "sync_all_s"}
    assert set(found.unfitted.values()) == {"the rows cannot separate it from other numbers"}


@pytest.mark.parametrize(
    ("seconds", "why"),
    [
        (0.0, "two: no time was measured"),
        (-1e-9, "two: no time was measured"),
        (0.5e-8, "the measured times leave nothing for it"),
    ],
)
def test_a_senseless_number_is_not_written(seconds: float, why: str) -> None:
    rows = two_rows(barrier_cycles=1, flag_cycles=1)
    found = fit(table(), rows, lambda row, count: Taken(1e-8 if row.what == "one" else seconds, 1), 1e9)
    assert found.numbers.keys() == {"barrier_cycles"}
    assert found.unfitted["flag_cycles"] == why


def test_the_user_is_told_what_was_measured_and_what_not() -> None:
    rows = [*two_rows(barrier_cycles=2), Row(what="three", body="", type="half", rate="Add.b16")]

    def timer(row: Row, count: int) -> Taken:
        return Taken({"one": 1e-8, "two": 4e-8, "three": count * 1e-11}[row.what], 1)

    found = fit(table(), rows, timer, 1e9)
    text = "\n".join(summary(found, table()))
    assert re.search(r"measured \(1 numbers, 1 throughputs\)", text)
    assert re.search(r"Add\.b16 +100 elements/cycle +three", text)
    assert re.search(r"barrier_cycles +\d+\S* cycles +one, two", text)
    assert re.search(r"not measured, value and grade stay as they are \(\d+\):\n", text)
    for name, why in table().unmeasured.items():
        assert re.search(rf"{name} +{re.escape(why)}", text)
    assert re.search(r"rows that the numbers miss by more than 10% \(2\):\n +[+-]\d+%  (one|two)", text)


def test_micro_kernels_are_shipped_with_the_plugin() -> None:
    for row in (*table().rows, *table().probes):
        assert 'extern "C" __global__' in kernel_text(row.kernel)
        assert row.source_text().count("#define BODY ") == 1


def test_an_overlay_is_a_machine_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    found = Fit(
        {"barrier_cycles": Measured(19.5, "cycles", "how")}, {"Add.b16": Measured(99, "elements/cycle", "x")}, {}
    )
    path.write_text(overlay("mine", "d", "ascend910b3", found, "s"))
    loaded = machine.load(str(path))
    assert (loaded.name, loaded.chip, loaded.vector_cores) == ("mine", "ascend910b3", 40)
    assert loaded.numbers["barrier_cycles"] == 19.5
    assert loaded.grades["barrier_cycles"] == "B"
    assert loaded.grades["flag_cycles"] == machine.load("ascend910b3").grades["flag_cycles"] != "B"
    assert loaded.rates == {"Add.b16": 99}
    assert loaded.digest != machine.load("ascend910b3").digest


@pytest.mark.parametrize(
    ("chip", "file"),
    [("910B3", "ascend910b3"), ("Ascend910B4-1", "ascend910b4_1"), ("Ascend910_9362", "ascend910_9362")],
)
def test_the_chip_tells_which_file_is_extended(chip: str, file: str) -> None:
    assert base_of(chip) == file
    assert file in machine.available()


def test_an_unknown_chip_is_asked_about() -> None:
    with pytest.raises(UsageError, match="310P") as caught:
        base_of("310P")
    assert "--base" in str(caught.value.remedy)


def mine(number: str, base: str = "ascend910b3", rate: str = "") -> str:
    measured = Measured(1, "s", "h")
    return overlay("x", "d", base, Fit({number: measured}, {rate: measured} if rate else {}, {}), "s")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("name: x", ConfigError),
        ("name: [", ConfigError),
        (mine("no_such_number"), ConfigError),
        (mine("barrier_cycles", rate="Add.b64"), ConfigError),
        (mine("barrier_cycles", base="nobody"), UsageError),
        (None, UsageError),
    ],
)
def test_a_wrong_overlay_is_refused(tmp_path: Path, text: str | None, error: type[Exception]) -> None:
    path = tmp_path / "wrong.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(error):
        machine.load(str(path))
