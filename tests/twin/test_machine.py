"""Machine files: complete, explained number by number, and understood by the runtime."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from pydantic import ValidationError

from npukb_twin.compile.instructions import instructions
from npukb_twin.compile.kinds import CUBE_ONLY, VECTOR_ONLY
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.operator import dynamic
from npukb_twin.timing import machine
from npukb_twin.timing.machine import MachineFile
from npukernelbench.errors import ConfigError, UsageError

OVERLAY = """
name: my_server
description: measured
extends: ascend910b3
numbers:
  barrier_cycles: {value: 20, unit: cycles, source: test, grade: B}
rates:
  Add.b16: {value: 99.5, unit: elements/cycle, source: test, grade: B}
"""


def test_a_machine_that_extends_another_is_still_that_chip(tmp_path: Path) -> None:
    """Definitions of operators name chips: a machine file of one's own is no other chip."""
    path = tmp_path / "mine.yaml"
    path.write_text(OVERLAY)
    mine = machine.load(str(path))
    assert (mine.name, mine.chip, mine.rates) == ("my_server", "ascend910b3", {"Add.b16": 99.5})
    for socs, other in ((("ascend910b",), False), (("ascend310p",), True)):
        described = SimpleNamespace(name="Operator", socs=socs)
        assert (dynamic.other_chip(described, mine, {}) is not None) == other  # type: ignore[arg-type]


def test_a_machine_may_extend_another_of_ones_own_but_not_itself(tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(OVERLAY)
    second.write_text(OVERLAY.replace("ascend910b3", str(first)).replace("Add", "Sub"))
    assert machine.load(str(second)).rates == {"Add.b16": 99.5, "Sub.b16": 99.5}
    first.write_text(OVERLAY.replace("ascend910b3", str(second)))
    with pytest.raises(ConfigError, match=r"second\.yaml extends itself"):
        machine.load(str(second))


@pytest.mark.parametrize("name", ["ascend910_9382", "ascend910b2"])
def test_a_definition_for_one_family_does_for_the_other(name: str) -> None:
    """A2 and A3 have the same cores: golden operators, which name ascend910b, are predicted for 910_93 as well."""
    loaded = machine.load(name)
    for socs, other in ((("ascend910b",), False), (("ascend910_93",), False), (("ascend310p",), True)):
        described = SimpleNamespace(name="Operator", socs=socs)
        assert (dynamic.other_chip(described, loaded, {}) is not None) == other, socs  # type: ignore[arg-type]


def test_documented_rates_are_those_of_the_instruction_table() -> None:
    rates = machine.documented_rates()
    assert rates["Add.b16"] == 128
    assert rates["Exp.b32"] == 32
    assert "And.b32" not in rates  # there is no such instruction
    assert {name.partition(".")[0] for name in rates} == {row.name for row in instructions()}


@pytest.fixture
def document() -> dict[str, dict[str, dict[str, object]]]:
    """The machine file of the default chip, as plain data."""
    text = (files("npukb_twin") / "machines" / "ascend910b2.yaml").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, dict[str, object]]] = yaml.safe_load(text)
    return loaded


@pytest.mark.parametrize("name", machine.available())
def test_every_machine_gives_exactly_the_numbers_of_the_runtime(name: str) -> None:
    source = (files("npukb_twin") / "runtime" / "time" / "machine.def").read_text(encoding="utf-8")
    wanted = set(re.findall(r"^NPUKB_(?:NUMBER|SIZE)\((\w+)\)$", source, re.MULTILINE))
    loaded = machine.load(name)
    assert wanted
    assert set(loaded.numbers) == wanted
    none = {key for key, value in loaded.numbers.items() if value <= 0}
    assert none <= ({"bt_bytes", "fb_bytes"} if loaded.column else set())  # memories that its cores do not have
    assert loaded.name == name
    assert set(loaded.grades) == wanted


def test_the_default_chip() -> None:
    chip = machine.load("Ascend910B2")
    assert (chip.blocks(VECTOR_ONLY), chip.blocks(CUBE_ONLY)) == (48, 24)
    assert chip.numbers["ub_bytes"] == 192 * 1024


def test_unknown_chip_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        TwinExecutor(TwinArgs(soc="ascend310"))
    assert "ascend310" in str(caught.value.message)
    assert "ascend910b2" in str(caught.value.remedy)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data["numbers"]["clock_hz"].pop("source"),
        lambda data: data["numbers"]["clock_hz"].update(grade="F"),
        lambda data: data["numbers"]["clock_hz"].update(value="fast"),
        lambda data: data["cores"].pop("vector"),
        lambda data: data.update(colour="red"),
        lambda data: data["numbers"].clear(),
    ],
    ids=["no source", "unknown grade", "no number", "no cores", "unknown field", "no numbers"],
)
def test_a_machine_file_says_where_every_number_comes_from(document, spoil) -> None:  # type: ignore[no-untyped-def]
    MachineFile.model_validate(document)
    spoil(document)
    with pytest.raises(ValidationError):
        MachineFile.model_validate(document)


@pytest.mark.parametrize("name", machine.available())
def test_sources_of_numbers_are_explained(name: str) -> None:
    folder = files("npukb_twin") / "machines"
    data = MachineFile.model_validate(yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8")))
    shared = yaml.safe_load((folder / "cores" / f"{data.core}.yaml").read_text(encoding="utf-8"))
    page = Path(__file__).parents[2].joinpath("docs", "twin.md").read_text(encoding="utf-8").partition("Source keys")[2]
    sources = [number.source for number in data.numbers.values()] + [number["source"] for number in shared.values()]
    keys = {key for source in sources for key in source.split()} - {"assumption"}
    assert keys <= set(re.findall(r"[A-Z0-9]+", page))
