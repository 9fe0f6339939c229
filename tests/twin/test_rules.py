"""Every rule of the checker: a kernel that breaks it and nothing else, and is told so at the line that breaks it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from npukb_twin.compile.build import runtime_sources
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker, Switch
from npukernelbench.nouns import Allocation, Outcome
from tests.twin.breaches import CUBE_SETUP, INPUTS, OUTPUTS, SETUP, Breach, breaches, breaches_of_objects, broken_calls
from tests.twin.cubes import CUBE
from tests.twin.running import Twin

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Arguments of the twins that breaches are tried on.
TWINS = {
    "fast": TwinArgs(),
    "full": TwinArgs(checker=Checker.FULL),
    "310p": TwinArgs(soc="ascend310p3"),
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
    breach.check(finished)


#: What calls of the cube core may use beside the setup.
MORE = """
    MmadParams wide(16, 4000, 16, 0, false, true);
    LoadData3DParamsV2<half> map;
    map.l1H = 1, map.l1W = 16, map.channelSize = 16, map.kExtension = 16, map.mExtension = 16;
"""


@pytest.mark.parametrize(("core", "blocks"), [("cube", 24), ("vector", 48)])
def test_broken_calls_are_reported_at_their_lines(twins: dict[str, Twin], core: str, blocks: int) -> None:
    """As many calls to a kernel as a launch has cores of their kind."""
    every = [broken_call for broken_call in broken_calls() if broken_call.core == core]
    setup = CUBE_SETUP.replace("if (GetBlockIdx() != 0) return;", MORE) if core == "cube" else SETUP
    before = CUBE if core == "cube" else ""
    for at in range(0, len(every), blocks):
        calls = every[at : at + blocks]
        lines = "".join(f"if (GetBlockIdx() == {i}) {{ {broken_call.call}; }}\n" for i, broken_call in enumerate(calls))
        done = twins["fast"].run(setup + lines, INPUTS, OUTPUTS, before=before, block=None)
        first = next(i for i, line in enumerate(done.source.splitlines(), 1) if "GetBlockIdx() == 0)" in line)
        said = {error.line - first: error for error in done.errors}
        for i, call in enumerate(calls):
            assert i in said, (call, [str(error) for error in done.diagnostics])
            assert (said[i].rule, call.says in said[i].message) == (call.rule, True), (call, str(said[i]))


@pytest.mark.parametrize("name", TWINS)
def test_setup_breaks_no_rule(twins: dict[str, Twin], name: str) -> None:
    finished = twins[name].run(SETUP, INPUTS, OUTPUTS)
    assert (finished.outcome, finished.found) == (Outcome.OK, [])
    if name == "310p":  # of which the twin models the vector side
        return
    cube = twins[name].run(CUBE_SETUP, INPUTS, OUTPUTS, before=CUBE, block=None)
    assert (cube.outcome, cube.found) == (Outcome.OK, [])


def test_every_rule_of_the_runtime_is_tested_and_shown_once() -> None:
    """But for ``launch``, a second look at what the compiler of a host function has refused already."""
    every = (*BREACHES, *breaches_of_objects())
    rules = rules_in_sources() - {"launch"}
    assert {breach.rule for breach in every} == rules
    assert sorted(breach.rule for breach in every if breach.remedy) == sorted(rules)


def test_every_rule_is_documented() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "twin.md").read_text(encoding="utf-8")
    rows = page.partition("| rule id |")[2].partition("\n\n")[0].splitlines()[2:]
    assert {rule for row in rows for rule in re.findall(r"`(\w+)`", row.split("|")[1])} == rules_in_sources()


def rules_in_sources() -> set[str]:
    """Rule ids that the C++ sources can report: the first argument of Violate and Warn, or the variable behind it."""
    rules: set[str] = set()
    for path in runtime_sources():
        text = path.read_text(encoding="utf-8")
        calls = r"[.>]\s*(?:Violate|Fault|Warn)\(([^,]+),|^\s*(?:Warn|Fault)\(([^,]+),"
        for argument in re.findall(calls, text, re.MULTILINE):
            word = "".join(argument).strip()
            if word.startswith('"'):
                rules.add(word.strip('"'))
            else:
                [values] = re.findall(rf"const char\* {word} = ([^;]+);", text)
                rules.update(re.findall(r'"(\w+)"', values))
    return rules
