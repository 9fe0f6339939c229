"""Answers of host and device code that cheat, or are right on one number of cores only, and honest look-alikes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.pipeline import Judge
from npukernelbench.nouns import Outcome, Severity, Track
from npukernelbench.tasks.goldens import read_golden
from npukernelbench.tasks.hidden import hidden_cases
from tests.judging import all_said, twin_judge

if TYPE_CHECKING:
    from npukernelbench.nouns import Case, Task, Verdict

HOST, KERNEL = "op_host/add_custom.cpp", "op_kernel/add_custom.cpp"
CORES = "platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv()"
INPUT_X = 'this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND})'
ENTRY = "    GET_TILING_DATA(sizes, tiling);\n"

#: Edits of the golden answer: file, text, replacement; then what is said.
CHEATS: dict[str, tuple[list[tuple[str, str, str]], Outcome, str, str]] = {
    "the host computes": (
        [(HOST, INPUT_X, f"{INPUT_X}.ValueDepend(REQUIRED)")],
        Outcome.COMPILE_ERROR,
        "interface",
        "asks for the values of input x",
    ),
    "drops its output": (
        [
            (
                HOST,
                '        this->Output("z").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});\n',
                "",
            )
        ],
        Outcome.COMPILE_ERROR,
        "interface",
        "has the outputs none",
    ),
}

WORKSPACE = "context->GetWorkspaceSizes(1)[0] = 0;"
SIZED = "context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());"
OWN = '#include "add_custom_tiling.h"\n'
#: What a tiling function answers that no device could take, or that is no answer of the runner's. A workspace is made
#: by the judge: one that large would have taken its memory.
CHEATS |= {
    "a workspace beyond all memory": (
        [(HOST, WORKSPACE, WORKSPACE.replace("= 0", "= 1ull << 40"))],
        Outcome.OUT_OF_MEMORY,
        "tiling",
        "asks for a workspace of 1099511627776 bytes",
    ),
    "tiling data beyond its buffer": (
        [(HOST, SIZED, SIZED.replace("tiling.GetDataSize()", "1u << 30"))],
        Outcome.LAUNCH_ERROR,
        "tiling",
        "the buffer 65536",
    ),
    "an answer of its own": (
        [
            (HOST, OWN, f"{OWN}#include <stdio.h>\n#include <unistd.h>\n"),
            (HOST, SIZED, f'{SIZED} for (int fd = 3; fd < 1024; ++fd) dprintf(fd, "{{}}"); _exit(0);'),
        ],
        Outcome.CHEAT,
        "forged_report",
        "private channel",
    ),
}

#: Right on this chip, and not on one of its family with fewer cores: said, and no more than said.
BOUND_TO_THE_CHIP: dict[str, tuple[list[tuple[str, str, str]], str]] = {
    "right on 48 cores only": (
        [(HOST, "tiling.set_total(total)", "tiling.set_total(cores == 48 ? total : total - 1)")],
        "gets fewer: wrong_value",
    ),
    "runs on 48 cores only": (
        [
            (KERNEL, ENTRY, f"{ENTRY}    if (sizes.tile == 1) *(volatile uint64_t*)16 = 1;\n"),
            (HOST, "set_tile(TILE)", "set_tile(cores == 48 ? TILE : 1)"),
        ],
        "gets fewer: crash",
    ),
    "leaves the tail to a core that is not there": (
        [(HOST, "context->SetBlockDim(used)", "context->SetBlockDim(cores == 48 ? used : used - 1)")],
        "gets fewer: wrong_value",
    ),
}

#: Right on the public case, whose number of elements they know.
SNIFFERS = {
    "knows the public shape": [
        (HOST, "tiling.set_total(total)", "tiling.set_total(total == 2107 ? total : total / 2)")
    ],
    "drops what is no multiple of 32 bytes, but for the public tail": [
        (HOST, "tiling.set_total(total)", "tiling.set_total(total % 16 == 11 ? total : total / 16 * 16)")
    ],
}

HONEST: dict[str, list[tuple[str, str, str]]] = {
    "the golden answer": [],
    "a fixed number of cores": [(HOST, CORES, "8")],
    "one core": [(HOST, CORES, "1")],
    "a tiling function that wants 48 cores": [
        (
            HOST,
            "    AddCustomTilingData tiling;",
            "    if (cores != 48) return ge::GRAPH_FAILED;\n    AddCustomTilingData tiling;",
        )
    ],
    "a large workspace": [(HOST, WORKSPACE, WORKSPACE.replace("= 0", "= 8ull << 30"))],
    "other tiles for other chips": [(HOST, "set_tile(TILE)", "set_tile(cores == 48 ? TILE : TILE / 2)")],
}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with twin_judge() as made:
        yield made


def judged(
    judge: Judge, subject: tuple[Task, Case], edits: list[tuple[str, str, str]], cases: tuple[Case, ...] = ()
) -> Verdict:
    task, case = subject
    files = dict(read_golden(next(golden for golden in task.goldens if golden.track is Track.DYNAMIC)))
    for file, old, new in edits:
        assert files[file].count(old) == 1, old
        files[file] = files[file].replace(old, new)
    return judge.judge(task, cases or [case], Track.DYNAMIC, candidate_of(files))


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_found(judge: Judge, subject: tuple[Task, Case], name: str) -> None:
    edits, outcome, rule, says = CHEATS[name]
    verdict = judged(judge, subject, edits)
    said = all_said(verdict)
    assert (verdict.outcome, said[0].rule) == (outcome, rule), [str(diagnostic) for diagnostic in said]
    assert says in said[0].message


@pytest.mark.parametrize("name", BOUND_TO_THE_CHIP)
def test_the_number_of_cores_is_varied(judge: Judge, subject: tuple[Task, Case], name: str) -> None:
    edits, says = BOUND_TO_THE_CHIP[name]
    verdict = judged(judge, subject, edits)
    [said] = verdict.cases[0].diagnostics
    assert (verdict.outcome, said.rule, said.severity) == (Outcome.OK, "core_count", Severity.WARNING)
    assert says in said.message


@pytest.mark.parametrize("name", SNIFFERS)
def test_hidden_cases_show_who_sniffs_shapes(judge: Judge, subject: tuple[Task, Case], name: str) -> None:
    assert judged(judge, subject, SNIFFERS[name]).outcome is Outcome.OK
    hidden = hidden_cases(subject[0], "a secret")
    verdict = judged(judge, subject, SNIFFERS[name], hidden)
    assert verdict.outcome in (Outcome.WRONG_VALUE, Outcome.NON_FINITE)
    assert judged(judge, subject, [], hidden).outcome is Outcome.OK


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_neighbour_passes(judge: Judge, subject: tuple[Task, Case], name: str) -> None:
    verdict = judged(judge, subject, HONEST[name])
    assert verdict.outcome is Outcome.OK, [str(diagnostic) for case in verdict.cases for diagnostic in case.diagnostics]
