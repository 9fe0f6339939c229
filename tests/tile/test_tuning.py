"""The search for a better cut: what it tries, what it leaves out, what it keeps."""

from __future__ import annotations

from pathlib import Path

from npukb_tile.checking import case_attributes, case_facts
from npukb_tile.ir import Program
from npukb_tile.launching import plan
from npukb_tile.parse import parse_file, parse_program
from npukb_tile.tuning import tune
from npukernelbench.nouns import Case, Task
from tests.suite import suite


def planned(program: Program, case: Case):
    return plan(program, case_facts(program, case), case_attributes(program, case))


SUITE = suite()


def of(name: str) -> tuple[Task, Program, Case]:
    task = SUITE[name]
    return task, parse_file(Path(task.path.parent / "golden" / "tile.py")), task.case("cpu")


def test_it_keeps_the_fastest_that_fits() -> None:
    _, program, case = of("CraftGelu")

    def measure(variant: Program) -> float:
        plan = planned(variant, case)
        depth = variant.buffers["x_tile"].depth
        return abs(int(plan.numbers["tile"]) - 2048) + 10.0 * (depth == 2) + abs(plan.cores - 24)

    tried = list(tune(program, case, measure))
    best = planned(tried[-1].program, case)
    assert (best.numbers["tile"], best.cores, tried[-1].program.buffers["x_tile"].depth) == (2048, 24, 1)
    assert tried[-1].change == "tile of 2048, depth 1, cut for 24 cores"
    assert any("16384" in trial.change and trial.time_us is None for trial in tried)
    assert tried[0].change == "as written"


def test_nothing_better_leaves_the_program_alone() -> None:
    _, program, case = of("CraftRelu")
    tried = list(tune(program, case, lambda variant: 1.0 if variant == program else 2.0))
    assert tried[-1].program == program
    assert len(tried) > 5


def test_cores_that_meet_stay_all_there() -> None:
    _, program, case = of("CraftMseLoss")
    assert not [trial for trial in tune(program, case, lambda _: 1.0) if "cores" in trial.change]


def test_what_is_not_right_is_never_kept() -> None:
    _, program, case = of("CraftRelu")
    tried = list(tune(program, case, lambda variant: 1.0 if variant == program else None))
    assert tried[-1].change == "as written"


def test_programs_of_cube_cores_alone_are_varied() -> None:
    task = SUITE["BasicMatmul"]
    text = (task.path.parent / "golden" / "tile.py").read_text(encoding="utf-8")
    program = parse_program(text.replace("wide=wide", "wide=min(wide, 256)"))
    tried = list(tune(program, task.usual_case, lambda _: 1.0))
    assert [trial for trial in tried[1:-1] if trial.time_us is not None]
