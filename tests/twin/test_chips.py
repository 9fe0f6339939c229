"""Chips of another architecture: their columns fit the tables, and kernels meet exactly what the chip has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
import yaml
from pydantic import ValidationError

from npukb_twin.compile.columns import Column, ColumnFile, column_of, columns
from npukb_twin.compile.instructions import instructions
from npukb_twin.compile.lacking import refused_somewhere
from npukb_twin.compile.messages import supported_names
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.operator.derive import Deriver
from npukb_twin.timing import machine
from npukb_twin.timing.intervals import UNCALIBRATED, Residuals, interval_of
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import CompileRequest, Diagnostic, Outcome, Severity, Track, Verdict
from npukernelbench.packaged import packaged_table
from npukernelbench.plugins import Plugins
from npukernelbench.tasks.goldens import golden_of, read_golden
from npukernelbench.tasks.making import Makers
from tests.suite import suite
from tests.twin.running import SMALL, Finished, Inputs, Twin, task_for

#: (task, edit of the text) -> verdict
Judged: TypeAlias = "Callable[[str, Callable[[str], str]], Verdict]"

ROOT = Path(__file__).parents[2]
CHIP = "ascend310p3"
PAGE = (ROOT / "docs" / "chips.md").read_text(encoding="utf-8")
X: Inputs = {"x": np.arange(256, dtype=np.float32)}
#: 256 floats in ``a`` of a buffer of 8 KiB: copied in, and out behind what a test does.
KERNEL = """
TPipe pipe; TBuf<> room; pipe.InitBuffer(room, 8192); LocalTensor<float> a = room.Get<float>();
GlobalTensor<float> from, to; from.SetGlobalBuffer((__gm__ float*)x, 256); to.SetGlobalBuffer((__gm__ float*)y, 256);
DataCopy(a, from, 256); PipeBarrier<PIPE_ALL>();
{body}
PipeBarrier<PIPE_ALL>(); DataCopy(to, a, 256);
"""
#: Moves of whole blocks in the place of DataCopyPad. Tensors of the judge have room for the rest of their last block.
WHOLE_BLOCKS = """
namespace AscendC {
template <typename To, typename From, typename... Padding>
__aicore__ inline void WholeBlocks(const To& to, const From& from, const DataCopyExtParams& p, const Padding&...) {
    DataCopy(to, from, DataCopyParams(p.blockCount, (p.blockLen + 31) / 32, 0, 0));
}
}  // namespace AscendC
#define DataCopyPad WholeBlocks
"""
#: Golden kernels that need nothing but whole blocks to run there, and others, by what else they would lack.
PORTABLE = ("AddCustom", "Muls", "Fill", "Swish")
HELD_BACK = {"Equal": "Cast: ", "Gelu": "Cast: ", "MseLoss": "SyncAll: "}


@pytest.fixture(scope="module")
def chip() -> Iterator[Twin]:
    twin = Twin(TwinExecutor(TwinArgs(soc=CHIP)))
    yield twin
    twin.executor.close()


@pytest.fixture(scope="module")
def column() -> Column:
    found = machine.load(CHIP).column
    assert found is not None
    return found


def test_columns_name_only_what_the_tables_have() -> None:
    rows = {row.name: row for row in instructions()}
    assert columns()
    for name in columns():
        there = column_of(name)
        assert there is not None
        known = supported_names()
        assert [word for word in there.named() if word not in known] == [], name
        for absence in there.absences:
            assert len(absence.message) < 240, absence  # as the runtime keeps it
            if absence.name in rows:
                assert any(
                    absence.dst in ("*", dst) and absence.src in ("*", src) for dst, src in rows[absence.name].pairs
                ), absence
        assert {absence.name for absence in there.absences} >= set(there.file.takes), (
            "an entry of 'takes' takes nothing away"
        )
        assert set(there.file.lacks).isdisjoint(there.file.otherwise)


def test_what_nothing_refuses_is_on_the_page(column: Column) -> None:
    """Functions without a trace in a compiled kernel: the page lists them, all and no other."""
    silent = {name for name in column.file.lacks if not refused_somewhere(name)}
    said = PAGE.partition("leave no trace in the compiled kernel:")[2].partition(".\n")[0]
    assert {word.strip("`") for word in said.replace("\n", " ").replace(" ", "").split(",")} == silent
    assert all(refused_somewhere(name) for name in (*column.file.otherwise, *column.file.takes))


def test_a_column_that_is_wrong_is_refused(column: Column) -> None:
    document = yaml.safe_load(column.text)
    ColumnFile.model_validate(document)
    for field, value, words in (
        ("no_types", ["F8"], "no element type F8"),
        ("takes", {"Cast": ["F16 to F32"]}, "'F16 to F32' is not of the form"),
        ("takes", {"Cast": ["F16 from F32: CAST_HYBRID"]}, "no mode CAST_HYBRID"),
        ("sides", [], "sides"),
        ("colour", "red", "colour"),
    ):
        with pytest.raises(ValidationError) as caught:
            ColumnFile.model_validate({**document, field: value})
        assert words in str(caught.value)


def test_the_default_machine_has_no_column() -> None:
    default = machine.load("ascend910b2")
    assert (default.column, default.calibrated, default.label) == (None, True, "ascend910b2")


def said(finished: Finished, severity: Severity = Severity.ERROR) -> list[Diagnostic]:
    return [diagnostic for diagnostic in finished.diagnostics if diagnostic.severity is severity]


def run(twin: Twin, body: str) -> Finished:
    return twin.run(KERNEL.replace("{body}", f"{body}  // here"), X)


def test_what_the_chip_has_runs_on_its_cores_in_its_memory(chip: Twin) -> None:
    done = chip.run(
        KERNEL.replace("{body}", "SetAtomicAdd<float>(); SetAtomicNone(); SetValue(a);").replace("8192", "200 * 1024"),
        X,
        before="""
        #if __NPU_ARCH__ != 2002 || __CCE_AICORE__ != 200 || defined(__DAV_C220_VEC__)
        #error "not compiled for the chip"
        #endif
        __aicore__ inline void SetValue(const LocalTensor<float>& a) {
            Duplicate(a, static_cast<float>(GetBlockNum()), 256);
            Cast(a.ReinterpretCast<int32_t>(), a, RoundMode::CAST_RINT, 256);
            Cast(a, a.ReinterpretCast<int32_t>(), RoundMode::CAST_NONE, 256);
        }
        """,
    )
    assert (done.output() == 8).all()
    assert done.diagnostics == ()
    assert done.seen is not None
    profile = done.seen.profile
    assert profile is not None
    assert profile.low_us is not None
    assert profile.high_us is not None
    assert profile.machine == "ascend310p3 (uncalibrated)"
    assert f"uncalibrated: {UNCALIBRATED}" in profile.bottleneck
    table = packaged_table("npukb_twin", "timing", "residuals.yaml")
    assert isinstance(table, dict)
    known = table.values()
    assert profile.low_us == pytest.approx(profile.time_us * min(entry["low"] for entry in known))
    assert profile.high_us == pytest.approx(profile.time_us * max(entry["high"] for entry in known))
    assert profile.low_us < profile.time_us < 3 * profile.time_us < profile.high_us


def test_what_the_chip_lacks_is_refused_by_name_at_its_line(chip: Twin) -> None:
    ran, compiled = Outcome.RULE_VIOLATION, Outcome.COMPILE_ERROR
    for body, outcome, message in (
        ("ShiftLeft(a.ReinterpretCast<int32_t>(), a.ReinterpretCast<int32_t>(), 1, 256);", ran, "ShiftLeft: "),
        ("Copy(a, a[64], 64, 1, {1, 1, 8, 8});", ran, "Copy: "),
        (
            "Cast(a.ReinterpretCast<half>(), a, RoundMode::CAST_RINT, 256);",
            ran,
            "half from float with CAST_NONE, CAST_ODD",
        ),
        ("Cast(a.ReinterpretCast<half>(), a, RoundMode::CAST_ODD, 256);", Outcome.OK, ""),
        (
            "WholeReduceMax(a, a, 64, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);",
            ran,
            "ORDER_VALUE_INDEX, ORDER_INDEX_VALUE only",
        ),
        (
            "CompareScalar(a.ReinterpretCast<uint8_t>(), a.ReinterpretCast<int32_t>(), 1, CMPMODE::EQ, 64);",
            ran,
            "from int32_t",
        ),
        ("SetAtomicMax<float>();", ran, "SetAtomicMax: "),
        ("SetAtomicType<int32_t>();", ran, "for int32_t"),
        ("DataCopyPad(a, from, DataCopyParams(1, 20, 0, 0), DataCopyPadParams());", compiled, "DataCopyPad: "),
        ("if (GetBlockIdx() == 9) { GlobalTensor<int32_t> w; SyncAll(w, room.Get<int32_t>()); }", Outcome.OK, ""),
        ("SyncAll();", compiled, "use the form of SyncAll with workspaces"),
        ("if (GetSystemCycle() == 0) return;", compiled, "GetSystemCycle: "),
        ("Duplicate(a.ReinterpretCast<bfloat16_t>(), bfloat16_t(1.0f), 8);", compiled, "no such element type"),
    ):
        done = run(chip, body)
        assert done.outcome is outcome, (body, [str(each) for each in done.diagnostics])
        for error in said(done):
            assert (error.rule, error.line) == ("chip_lacks", done.marked)
            assert message in error.message
            assert "Ascend 310P (NPU architecture 2002)" in error.message
            assert "docs/chips.md" in error.remedy
        assert len(said(done)) == (outcome is not Outcome.OK)
        assert outcome is not Outcome.OK or done.diagnostics == ()


def test_what_is_not_refused_is_warned_of(chip: Twin) -> None:
    done = run(
        chip, "if (GetBlockIdx() == 99) ShiftRight(a.ReinterpretCast<int32_t>(), a.ReinterpretCast<int32_t>(), 1, 8);"
    )
    assert done.outcome is Outcome.OK
    assert [(warning.rule, warning.line) for warning in done.diagnostics] == [("chip_lacks_named", done.marked)]
    assert "ShiftRight" in done.diagnostics[0].message


def test_what_the_twin_does_not_model_is_its_own_gap(chip: Twin) -> None:
    for body, message in (
        ("uint64_t n = 0; GatherMask(a, a, 1, true, 64, {1, 1, 8, 8}, n);", "the mask counts all elements"),
        ("LocalTensor<half> m; LoadData2DParams p; LoadData(m, m, p);", "does not model the cube unit"),
    ):
        done = run(chip, body)
        assert done.outcome is Outcome.INFRA_ERROR, body
        assert [error.rule for error in said(done)] == ["unsupported_api"]
        assert message in said(done)[0].message
    task = task_for({}, SMALL)
    candidate = candidate_of({"op_host/a.cpp": "", "op_kernel/a.cpp": ""})
    result = chip.executor.compile(CompileRequest(task, task.cases[0], Track.DYNAMIC, candidate, 30.0))
    assert result.outcome is Outcome.INFRA_ERROR
    assert "track static only" in result.diagnostics[0].message


def test_measured_kernels_take_the_label_away(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"name: mine\ndescription: measured\nextends: {CHIP}\n"
        "residuals: {rows: 9, low: 0.9, high: 1.2, shortest_us: 1.0, longest_us: 90.0}\n"
    )
    mine = machine.load(str(path))
    assert (mine.label, mine.calibrated, mine.column is not None) == ("mine", True, True)
    own = Residuals(rows=9, low=0.9, high=1.2, shortest_us=1.0, longest_us=90.0)
    assert interval_of({}, 10.0, own, calibrated=False).high_us == pytest.approx(12.0)
    assert interval_of({}, 10.0, calibrated=False).note == UNCALIBRATED


@pytest.fixture(scope="module")
def judged(chip: Twin) -> Iterator[Judged]:
    """Judges the golden kernel of a task, tiled for the chip and edited, on its smoke case."""
    plugins, deriver, makers = Plugins.load(autoload=False), Deriver(CHIP), Makers()
    judge = Judge(chip.executor, checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings())

    def verdict(name: str, edit: Callable[[str], str]) -> Verdict:
        task = suite()[name]
        [case] = [case for case in task.cases if "smoke" in case.profiles]
        golden = golden_of(task, Track.DYNAMIC)
        assert golden is not None
        files = read_golden(golden, makers)
        files = {path: text.replace('"ascend910b"', '"ascend310p"') for path, text in files.items()}
        source, why = deriver.source(task, case, files)
        assert not why
        return judge.judge(task, [case], Track.STATIC, candidate_of({"kernel.cpp": edit(source)}))

    yield verdict
    deriver.close()
    makers.close()


def whole_blocks(source: str) -> str:
    return source.replace("\n", f"\n{WHOLE_BLOCKS}", 1)


def diagnostics(verdict: Verdict) -> list[Diagnostic]:
    return [*verdict.diagnostics, *(said for case in verdict.cases for said in case.diagnostics)]


def test_goldens_with_what_the_chip_has_are_right_and_others_are_told_what_it_lacks(judged: Judged) -> None:
    for name in PORTABLE:
        refused = judged(name, str)
        assert refused.outcome is Outcome.COMPILE_ERROR
        assert [error.message.partition(":")[0] for error in diagnostics(refused)] == ["DataCopyPad"]
        verdict = judged(name, whole_blocks)
        assert verdict.outcome is Outcome.OK, (name, [str(each) for each in diagnostics(verdict)])
    for name, lacked in HELD_BACK.items():
        verdict = judged(name, whole_blocks)
        assert verdict.outcome in (Outcome.COMPILE_ERROR, Outcome.RULE_VIOLATION)
        errors = [each for each in diagnostics(verdict) if each.severity is Severity.ERROR]
        assert errors[0].rule == "chip_lacks"
        assert errors[0].message.startswith(lacked), name


def test_the_example_is_right(chip: Twin) -> None:
    plugins, task = Plugins.load(autoload=False), suite()["Sqrt"]
    judge = Judge(chip.executor, checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings())
    source = (ROOT / "examples" / CHIP[:-1] / "sqrt.cpp").read_text(encoding="utf-8")
    verdict = judge.judge(task, [task.case("smoke")], Track.STATIC, candidate_of({"kernel.cpp": source}))
    assert (verdict.outcome, diagnostics(verdict)) == (Outcome.OK, [])
