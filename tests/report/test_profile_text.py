"""Profiles as text and as files."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

from npukernelbench.nouns import Analysis, CoreCost, LineCost, Profile, Span, Suggestion, Tier
from npukernelbench.report.profile import render_profile, timeline
from npukernelbench.report.profile_files import write_profile

PIPES = {"V": 2.0, "S": 1.0, "MTE2": 6.0, "MTE3": 3.0}
COUNTERS = {
    "aiv_time": 8.0,
    "aiv_total_cycles": 14400.0,
    "aiv_mte2_time": 6.0,
    "aiv_mte2_ratio": 0.75,
    "aiv_mte2_wait_ratio": 0.1,
    "aiv_mte2_instructions": 96.0,
    "launch_time": 2.0,
    "path_memory_time": 6.0,
    "path_vector_time": 2.0,
    "path_banks_time": 0.0,
    "GM_to_UB_datas_kb": 96.0,
    "aiv_gm_to_ub_bw_usage_rate": 0.125,
}
SPANS = (Span(0, "MTE2", "kernel.cpp", 2, 0.0, 4.0, 1024), Span(0, "V", "kernel.cpp", 3, 4.0, 8.0, 0))
ANALYSIS = Analysis(
    (Suggestion("use two buffers", 5.0),),
    (LineCost("kernel.cpp", 2, "MTE2", 96, 300.0, 1.0, 98304),),
    (CoreCost(0, 48, 8.0, PIPES, PIPES),),
    SPANS,
)
PROFILE = Profile(
    10.0, True, "m", 48, COUNTERS, low_us=9.0, high_us=11.5, bottleneck="mostly memory", analysis=ANALYSIS
)


def plain(text: str, _: object) -> str:
    return text


def test_a_profile_in_words() -> None:
    source = {"kernel.cpp": "first\n    DataCopy(a, b, n);\n"}
    text = "\n".join(render_profile(PROFILE, source, Tier.TWIN, plain))
    assert "predicted 10.00 µs, between 9.00 and 11.50 on m (tier twin)" in text
    assert "mostly memory" in text
    assert "aiv_mte2          6.00    75.0%    10.0%             96" in text
    assert "memory            6.00    60.0%" in text
    assert "banks" not in text
    assert "2.00×  5.00 µs: use two buffers" in text
    assert "kernel.cpp:2  DataCopy(a, b, n);" in text


def test_time_of_plain_code_is_told_where_it_matters() -> None:
    def text(scalar_us: float) -> str:
        busy = {**PIPES, "S": scalar_us}
        lines = (LineCost("kernel.cpp", 2, "S", 48, 24.0, 0.0, 0),)
        analysis = replace(ANALYSIS, lines=lines, cores=(CoreCost(0, 48, 8.0, busy, PIPES),))
        return "\n".join(render_profile(replace(PROFILE, analysis=analysis), {}, Tier.TWIN, plain))

    assert "264.00 µs  S     plain C++ between calls" in text(6.0)
    assert "plain C++" not in text(1.0)


def test_a_measured_profile_has_no_interval_and_no_analysis() -> None:
    text = "\n".join(render_profile(Profile(3.0, False, "npu", 2), {}, Tier.NPU, plain))
    assert "measured 3.00 µs on npu (tier npu)" in text
    assert "faster" not in text


def test_control_characters_of_the_source_do_not_reach_the_terminal() -> None:
    text = "\n".join(render_profile(PROFILE, {"kernel.cpp": "a\n\x1b[2Jb\n"}, Tier.TWIN, plain))
    assert "\x1b" not in text


def test_the_timeline_of_the_pipes() -> None:
    rows = {line.split()[0]: line.split()[1] for line in list(timeline(SPANS, plain))[1:]}
    assert rows["MTE2"] == "#" * 36 + "." * 36
    assert rows["V"] == "." * 36 + "#" * 36
    assert list(timeline((), plain)) == []


def test_files(tmp_path: Path) -> None:
    files = write_profile(PROFILE, "add", tmp_path / "out")
    assert {file.name for file in files} == {
        "trace.json",
        "OpBasicInfo.csv",
        "PipeUtilization.csv",
        "ResourceConflictRatio.csv",
        "Memory.csv",
        "code_exe.csv",
    }
    events = json.loads((tmp_path / "out" / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert [(span["tid"], span["ts"], span["dur"]) for span in spans] == [("MTE2", 0.0, 4.0), ("V", 4.0, 4.0)]
    texts = {file.name: file.read_text(encoding="utf-8") for file in files if file.suffix == ".csv"}
    tables = {name: list(csv.DictReader(text.splitlines())) for name, text in texts.items()}
    assert tables["OpBasicInfo.csv"][0]["Task Duration(us)"] == "10.000"
    [core] = tables["PipeUtilization.csv"]
    assert (core["alike"], core["aiv_mte2_ratio"], core["aiv_total_cycles"]) == ("48", "0.750", "14400")
    assert tables["OpBasicInfo.csv"][0]["Op Type"] == "vector"
    assert tables["ResourceConflictRatio.csv"][0]["aiv_vec_wait_ratio"] == "0.250"
    assert tables["Memory.csv"] == [{"GM_to_UB_datas(KB)": "96.000", "GM_to_UB_bw_usage_rate(%)": "12.500"}]
    assert tables["code_exe.csv"][0]["call_count"] == "96"


def test_files_of_a_kernel_on_both_kinds_of_cores(tmp_path: Path) -> None:
    counters = {**COUNTERS, "aic_time": 4.0, "aic_total_cycles": 7200.0}
    pipes = dict.fromkeys(("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"), 1.0)
    cores = (CoreCost(0, 24, 4.0, pipes, pipes, "cube"), CoreCost(1, 48, 8.0, pipes, pipes, "vector"))
    analysis = Analysis((), (), cores, ())
    write_profile(Profile(10.0, True, "m", 24, counters, analysis=analysis), "mixed", tmp_path)
    read = {
        name: list(csv.DictReader((tmp_path / f"{name}.csv").read_text(encoding="utf-8").splitlines()))
        for name in ("OpBasicInfo", "PipeUtilization")
    }
    assert read["OpBasicInfo"][0]["Op Type"] == "mix"
    cube, vector = read["PipeUtilization"]
    assert (cube["aic_cube_ratio"], cube["aic_fixpipe_time(us)"], cube["aiv_vec_ratio"]) == ("0.250", "1.000", "")
    assert (vector["aiv_vec_ratio"], vector["aic_cube_ratio"]) == ("0.125", "")
