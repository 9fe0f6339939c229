"""Exports: what other tools read is what was judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from npukernelbench.plugins import Plugins
from npukernelbench.report.comparison.records import record_of
from npukernelbench.report.html.index import index_of
from npukernelbench.report.reporter import load_reporter, write
from npukernelbench.report.results import summarise
from npukernelbench.store import Manifest, StoredRun, read_run


def export(name: str, run: StoredRun, target: Path) -> list[Path]:
    reporter = load_reporter(Plugins.load(autoload=False, environ={}).reporters.find(name))
    return list(write(reporter, name, run, summarise(run.manifest, run.samples.values()), target))


def test_an_inspect_log_holds_every_sample_with_its_conversation_and_scores(stored: StoredRun, tmp_path: Path) -> None:
    (path,) = export("inspect", stored, tmp_path / "logs")
    log = json.loads(path.read_text())
    assert (log["version"], log["status"]) == (2, "success")
    assert log["stats"]["started_at"] <= log["stats"]["completed_at"]
    assert log["eval"]["model"] == "simulated"
    assert log["eval"]["metadata"] == {
        "machine": "m1",
        "rules": "ours",
        "tier": "twin",
        "track": "static",
    }
    assert (log["results"]["total_samples"], len(log["samples"])) == (9, 9)
    right, wrong, ours = log["samples"][:3]
    assert [message["role"] for message in right["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert right["messages"][-1]["content"][0] == {"type": "reasoning", "reasoning": "think twice"}
    assert (right["id"], right["epoch"], right["scores"]["correct"]["value"]) == ("Task0/0", 1, "C")
    assert (wrong["epoch"], wrong["scores"]["correct"]["value"]) == (2, "I")
    assert "no function Copy" in wrong["scores"]["correct"]["explanation"]
    assert "scores" not in ours
    assert ours["error"]["message"].startswith("infra_error")
    accuracy = next(score for score in log["results"]["scores"] if score["name"] == "correct")["metrics"]
    assert accuracy["accuracy"]["value"] == 0.5
    assert accuracy["ci_low"]["value"] <= 0.5 <= accuracy["ci_high"]["value"]


def test_whatever_shows_a_run_names_the_rules_of_a_benchmark(folder: Any, tmp_path: Path) -> None:
    """Rates by other limits look the same. Rows of samples alone name none: their task's hash holds the rules."""
    rules = {"name": "others", "comparable": False, "source": "ours: not comparable", "weights": {"1": 1.0}}
    run = read_run(folder("ruled", {"Sqrt/0": "ow", "Abs/0": "o"}, rules=rules))
    ours = read_run(folder("ours", {"Sqrt/0": "ow", "Abs/0": "o"}))
    for name in Plugins.load(autoload=False, environ={}).reporters:
        if name in ("jsonl", "parquet"):
            continue
        texts = []
        for kind in (run, ours):
            paths = export(name, kind, tmp_path / f"{kind.directory.name}-{name}")
            texts.append("".join(path.read_text() for path in paths if path.suffix != ".jsonl"))
        # The page keeps its data compressed: its index is looked at below.
        told = ["others" in text and "not comparable" in text for text in texts]
        assert name == "html" or told == [True, False], name
    record = record_of(run)
    assert index_of(record, {}, [], [], None)["rules"] == "others (not comparable)"
    assert index_of(record_of(ours), {}, [], [], None)["rules"] == ""


def test_inspects_own_reader_opens_the_log(stored: StoredRun, tmp_path: Path) -> None:
    reader = pytest.importorskip("inspect_ai.log", reason="inspect_ai is not installed")
    (path,) = export("inspect", stored, tmp_path / "logs")
    assert [Path(eval_log.name).name for eval_log in reader.list_eval_logs(str(tmp_path / "logs"))] == [path.name]
    log = reader.read_eval_log(str(path))
    assert (log.status, len(log.samples)) == ("success", 9)
    assert log.samples[0].output.completion == "second try"
    assert log.samples[0].scores["correct"].value == "C"
    assert log.samples[2].error.message.startswith("infra_error")
    assert log.results.scores[0].metrics["accuracy"].value == 0.5
    assert reader.read_eval_log(str(path), header_only=True).eval.model == "simulated"


def test_a_run_that_is_not_finished_is_no_success(folder: Any, tmp_path: Path) -> None:
    run = read_run(folder("part", {"Sqrt/0": "ow", "Abs/0": "o"}))
    (path,) = export("inspect", run, tmp_path / "logs")
    assert json.loads(path.read_text())["status"] == "cancelled"


def test_junit_tells_failures_errors_and_what_is_missing_apart(stored: StoredRun, folder: Any, tmp_path: Path) -> None:
    (path,) = export("junit", stored, tmp_path / "junit.xml")
    root = ElementTree.parse(path).getroot()
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "9", "failures": "3", "errors": "3", "skipped": "0",
    }  # fmt: skip
    assert [suite.get("name") for suite in root] == ["Task0", "Task1", "Task2"]
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(names)) == 9
    assert names[0] == ("Task0", "0[0]")
    failure = next(root.iter("failure"))
    assert (failure.get("type"), failure.get("message")) == ("compile_error", "compile_error: no function Copy")
    assert "kernel.cpp:5: no function Copy\ncandidate: DataCopy" in (failure.text or "")
    unfinished = read_run(folder("part", {"Sqrt/0": "ow", "Abs/0": "o"}))
    (path,) = export("junit", unfinished, tmp_path / "part.xml")
    assert ElementTree.parse(path).getroot().get("skipped") == "1"


def test_junit_has_no_character_that_xml_forbids(folder: Any, tmp_path: Path) -> None:
    from npukernelbench.report.export.junit import _clean

    assert _clean("a\x00b\x1b[0m\ud800\tc\n") == "a�b�[0m�\tc\n"


def test_a_pull_requests_text_holds_the_numbers_and_nothing_that_markdown_would_run(
    stored: StoredRun, tmp_path: Path
) -> None:
    (path,) = export("pr", stored, tmp_path / "pr.md")
    text = path.read_text()
    assert text.startswith("### simulated on npukernelbench (tier twin, track static)\n")
    assert "3 of 6 counted samples are right" in text
    assert "<details><summary>9 problems</summary>" not in text
    assert "<details><summary>3 problems</summary>" in text
    assert "○ Task0/0/2  infra_error" in text
    assert text.count("```") == 2
    assert len(text) < 65536


def test_a_dataset_folder_has_a_card_and_one_file_format(stored: StoredRun, tmp_path: Path) -> None:
    card, *data = export("hf-dataset", stored, tmp_path / "set")
    head, _, text = card.read_text().removeprefix("---\n").partition("---\n")
    configs = {config["config_name"]: config["data_files"][0]["path"] for config in yaml.safe_load(head)["configs"]}
    assert configs == {"samples": "samples.jsonl", "tasks": "tasks.jsonl"}
    assert sorted(path.name for path in data) == sorted(configs.values())
    assert "Times are predicted; no device has measured them." in text
    for path in data:
        assert "\\ud800" not in path.read_text()
        rows = [json.loads(line) for line in path.read_text().strip().split("\n")]
        assert rows
        assert len({tuple(row) for row in rows}) == 1
        for name in rows[0]:
            kinds = {type(row[name]) for row in rows} - {type(None)}
            assert len(kinds) <= 1
            assert kinds.isdisjoint({dict, list})


def test_lm_evals_files_of_tasks_of_optimising_lie_in_one_folder(folder: Any, tmp_path: Path) -> None:
    run = read_run(folder("run", {"Sqrt/0": "ow"}))
    samples = {
        key: replace(sample, key=key)
        for key, sample in (
            (replace(sample.key, task=f"optimise/{sample.key.task}"), sample) for sample in run.samples.values()
        )
    }
    results, only = export("lm-eval", replace(run, samples=samples), tmp_path / "lm")
    assert only.parent == results.parent
    assert only.name.startswith("samples_optimise__Sqrt_")


@pytest.mark.parametrize("k", [1, 2])
def test_lm_evals_standard_errors_count_what_the_rate_is_a_mean_of(folder: Any, tmp_path: Path, k: int) -> None:
    run = read_run(folder("run", {"Sqrt/0": "oowwww", "Sqrt/1": "owwwww", "Abs/0": "wwwwww"}))
    (path, *_) = export("lm-eval", run, tmp_path / "lm")
    level = json.loads(path.read_text())["groups"]["level1"]
    if k == 1:
        assert level["pass@1,none"] == level["correct@1,none"] == pytest.approx(3 / 18)
        assert (
            level["pass@1_stderr,none"] == level["correct@1_stderr,none"] == pytest.approx((1 / 6 * 5 / 6 / 18) ** 0.5)
        )
    else:
        # 1 - C(4,2)/C(6,2), 1 - C(5,2)/C(6,2) and 0: a mean over three problems
        shares = [0.6, 1 / 3, 0.0]
        mean = sum(shares) / 3
        error = (sum((share - mean) ** 2 for share in shares) / 2) ** 0.5 / 3**0.5
        assert level["pass@2,none"] == pytest.approx(mean)
        assert level["pass@2_stderr,none"] == pytest.approx(error)
        one = json.loads(path.read_text())["results"]["Abs"]
        assert one["pass@2_stderr,none"] == "N/A"


def test_lm_evals_group_of_tasks_whose_level_is_unknown_holds_them(folder: Any, tmp_path: Path) -> None:
    run = read_run(folder("run", {"Sqrt/0": "ow", "Abs/0": "ww"}))
    facts = {
        name: {key: value for key, value in known.items() if key != "level"}
        for name, known in run.manifest.identity["tasks"].items()  # type: ignore[attr-defined]
    }
    bare = replace(run, manifest=Manifest({**run.manifest.identity, "tasks": facts}))
    written = json.loads(export("lm-eval", bare, tmp_path / "lm")[0].read_text())
    assert written["group_subtasks"] == {"levelunknown": ["Abs", "Sqrt"]}
    assert written["groups"]["levelunknown"]["pass@2_stderr,none"] == pytest.approx(0.5)
