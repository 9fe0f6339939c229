"""Machine files: complete, explained number by number, and understood by the runtime."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
import yaml
from pydantic import ValidationError

from npukb_twin import machine
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.machine import MachineFile
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Core


@pytest.fixture
def document() -> dict[str, dict[str, dict[str, object]]]:
    """The machine file of the default chip, as plain data."""
    text = (files("npukb_twin") / "machines" / "ascend910b2.yaml").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, dict[str, object]]] = yaml.safe_load(text)
    return loaded


@pytest.mark.parametrize("name", machine.available())
def test_every_machine_gives_exactly_the_numbers_of_the_runtime(name: str) -> None:
    source = (files("npukb_twin") / "runtime" / "machine.h").read_text(encoding="utf-8")
    wanted = set(re.findall(r"(?:double|uint32_t) (\w+) = 0;", source))
    loaded = machine.load(name)
    assert wanted
    assert set(loaded.numbers) == wanted
    assert all(value > 0 for value in loaded.numbers.values())
    assert loaded.name == name


def test_the_default_chip() -> None:
    found = machine.load("Ascend910B2")
    assert (found.blocks(Core.VECTOR), found.blocks(Core.CUBE)) == (48, 24)
    assert found.numbers["ub_bytes"] == 192 * 1024


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
    from pathlib import Path

    text = (files("npukb_twin") / "machines" / f"{name}.yaml").read_text(encoding="utf-8")
    page = Path(__file__).parents[2].joinpath("docs", "twin.md").read_text(encoding="utf-8").partition("Source keys")[2]
    data = MachineFile.model_validate(yaml.safe_load(text))
    keys = {key for number in data.numbers.values() for key in number.source.split()} - {"assumption"}
    assert keys <= set(re.findall(r"[A-Z0-9]+", page))
