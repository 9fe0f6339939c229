"""Every rule of the checker: a kernel that breaks it and nothing else, and is told so at the line that breaks it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from npukb_twin.compile.build import runtime_sources
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker, Switch
from npukernelbench.nouns import Allocation, DType, Outcome, Severity
from tests.twin.breaches import CUBE_SETUP, SETUP, Breach, breaches
from tests.twin.cubes import CUBE
from tests.twin.running import Inputs, Twin

if TYPE_CHECKING:
    from collections.abc import Iterator

INPUTS: Inputs = {
    "x": np.arange(512, dtype=np.float32),
    "table": [np.zeros((2, 3), np.float32), np.ones(1, np.float32)],
}
OUTPUTS = {"y": ((512,), DType.FLOAT32), "ragged": ((5,), DType.FLOAT32)}


#: Arguments of the twins that breaches are tried on.
TWINS = {
    "fast": TwinArgs(),
    "full": TwinArgs(checker=Checker.FULL),
    "strict": TwinArgs(checker=Checker.FULL, auto_sync=Switch.OFF),
}

BREACHES = breaches()


@pytest.fixture(scope="module")
def twins() -> Iterator[dict[str, Twin]]:
    """A twin for each of TWINS, and one whose memory is that of a framework."""
    made = {name: Twin(TwinExecutor(args)) for name, args in TWINS.items()}
    made["pooled"] = Twin(TwinExecutor(TWINS["fast"]), Allocation.POOLED)
    yield made
    for twin in made.values():
        twin.executor.close()


@pytest.mark.parametrize("breach", BREACHES, ids=lambda b: f"{b.rule}-{re.sub(r'[^a-z0-9]+', '_', b.says.lower())}")
def test_breach_is_reported_at_its_line(twins: dict[str, Twin], breach: Breach) -> None:
    finished = twins[breach.twin].run(breach.text, INPUTS, OUTPUTS, before=breach.before, block=breach.block)
    assert finished.found == [(breach.rule, finished.marked)], [str(diagnostic) for diagnostic in finished.diagnostics]
    [said] = finished.diagnostics
    assert breach.says in said.message
    assert said.file == "kernel.cpp"
    assert said.remedy.endswith(".")
    assert said.severity is (Severity.WARNING if breach.warning else Severity.ERROR)
    assert finished.outcome is (Outcome.OK if breach.warning else Outcome.RULE_VIOLATION)


@pytest.mark.parametrize("name", TWINS)
def test_setup_breaks_no_rule(twins: dict[str, Twin], name: str) -> None:
    finished = twins[name].run(SETUP, INPUTS, OUTPUTS)
    assert (finished.outcome, finished.found) == (Outcome.OK, [])
    cube = twins[name].run(CUBE_SETUP, INPUTS, OUTPUTS, before=CUBE, block=None)
    assert (cube.outcome, cube.found) == (Outcome.OK, [])


#: Rules of library functions, each of which is broken in the tests of the functions that have it.
OF_LIBRARY = {"scratch_too_small", "bad_tiling", "matmul_misuse", "regist_late"}


def test_every_rule_of_the_runtime_is_tested() -> None:
    assert rules_in_sources() - OF_LIBRARY == {breach.rule for breach in BREACHES} - OF_LIBRARY


def test_every_rule_is_documented() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "twin.md").read_text(encoding="utf-8")
    rows = page.partition("| rule id |")[2].partition("\n\n")[0].splitlines()[2:]
    assert {rule for row in rows for rule in re.findall(r"`(\w+)`", row.split("|")[1])} == rules_in_sources()


def rules_in_sources() -> set[str]:
    """Rule ids that the C++ sources can report: the first argument of Violate and Warn, or the variable behind it."""
    rules: set[str] = set()
    for path in runtime_sources():
        text = path.read_text(encoding="utf-8")
        for argument in re.findall(r"[.>]\s*(?:Violate|Fault|Warn)\(([^,]+),|^\s*Warn\(([^,]+),", text, re.MULTILINE):
            word = "".join(argument).strip()
            if word.startswith('"'):
                rules.add(word.strip('"'))
            else:
                [values] = re.findall(rf"const char\* {word} = ([^;]+);", text)
                rules.update(re.findall(r'"(\w+)"', values))
    return rules
