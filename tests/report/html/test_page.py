"""The page as a file: what is in it, what is not, when it becomes a folder."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.nouns import Message, Outcome, Prompt, SampleKey, Track
from npukernelbench.report.comparison.records import record_of
from npukernelbench.report.html.detail import Block
from npukernelbench.report.html.highlight import KINDS, highlight
from npukernelbench.report.html.page import pack, write_page
from npukernelbench.report.links import sample_anchor
from npukernelbench.report.summary import sentences
from npukernelbench.store import Manifest, RunStore, read_run
from tests.report.whole_run import HOSTILE, SOURCE, a_search, judged

ASSETS = Path(__file__).resolve().parents[3] / "npukernelbench" / "report" / "html" / "assets"


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(b64decode(text)))


@pytest.fixture(scope="module")
def text(stored, tmp_path_factory) -> str:
    (path,) = write_page(stored, tmp_path_factory.mktemp("written") / "report.html")
    return path.read_text(encoding="utf-8")


def test_the_page_holds_the_run(text):
    index = unpacked(re.findall(r'id="index">([^<]+)<', text)[0])
    assert [row["outcome"] for row in index["rows"]] == ["ok", "compile_error", "infra_error"] * 3
    assert [row["turns"] for row in index["rows"][:3]] == [2, 1, 1]
    assert index["tiles"][0]["name"] == "correct@1"
    assert index["tiles"][0]["value"] == pytest.approx(0.5)
    assert (index["counted"], index["expected"]) == (6, 9)
    block = unpacked(re.findall(r'id="block-0">([^<]+)<', text)[0])
    first = block["samples"][index["places"][0][1]]
    assert [(turn["outcome"], turn["speaks"]) for turn in first["turns"]] == [("compile_error", False), ("ok", True)]
    assert [block["messages"][place] for place in first["turns"][1]["prompt"]][-1] == ["user", "Repair it."]
    assert len(block["messages"]) == 4  # what prompts share is there once
    (error,) = first["turns"][0]["diagnostics"]
    assert (error["file"], error["line"]) == ("kernel.cpp", 5)
    profile = first["turns"][1]["cases"][0]["profile"]
    assert profile["spans"] == [["V", 0.0, 1.5, "kernel.cpp:5"]]  # one core of two that did the same


def test_nothing_of_a_model_is_part_of_the_page_itself(text):
    assert "onerror=alert" not in text
    assert text.count("</script>") == text.count("<script")
    block = unpacked(re.findall(r'id="block-0">([^<]+)<', text)[0])
    assert block["samples"][1]["turns"][0]["answer"]["parts"] == [HOSTILE.replace("\ud800", "?")]


def test_an_answer_does_not_repeat_its_sources(tmp_path):
    key = SampleKey("Task0", "0", Track.STATIC, 0)
    text = f"Here:\n```cpp\n{SOURCE}```\nDone."
    block = Block()
    block.add([judged(key, Outcome.OK, text=text, prompt=Prompt((Message("user", "Add."),), "t@1", "h"))])
    (turn,) = json.loads(json.dumps(block.as_json()))["samples"][0]["turns"]
    assert turn["answer"]["parts"] == ["Here:\n```cpp\n", 0, "```\nDone."]
    assert turn["files"][0]["text"] == SOURCE


def test_the_page_needs_no_network(text):
    policy = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)[0]
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)', text)
    for path in ASSETS.glob("*.*"):
        assert not re.findall(r"https?://", path.read_text(encoding="utf-8")), path.name


def test_equal_runs_give_equal_pages(stored, text, tmp_path):
    (again,) = write_page(stored, tmp_path / "report.html")
    assert again.read_text(encoding="utf-8") == text


def test_a_large_run_becomes_a_page_and_a_folder(stored, tmp_path):
    page, block = write_page(stored, tmp_path / "report.html", most_bytes=100)
    assert block == tmp_path / "report_data" / "0000.js"
    assert 'data-mode="folder" data-where="report_data"' in page.read_text(encoding="utf-8")
    number, packed = re.fullmatch(r'npukbBlock\((\d+), "([^"]+)"\)\n', block.read_text()).groups()
    assert number == "0"
    assert len(unpacked(packed)["samples"]) == 9


def test_a_run_without_verdicts_says_so(tmp_path):
    with RunStore.open(tmp_path / "run", Manifest({"model": "m", "tasks": {}})):
        pass
    packed = pack(read_run(tmp_path / "run"))
    assert packed.blocks == ()
    assert packed.index["sentences"] == ["No sample says anything about the model yet."]


def test_runs_of_characters_cover_the_text():
    text, runs = highlight(SOURCE.replace("\n", "\r\n"), "kernel.cpp")
    assert text == SOURCE
    assert sum(runs[1::2]) == len(SOURCE)
    words, place = [], 0
    for kind, length in zip(runs[::2], runs[1::2], strict=True):
        words.append((KINDS[kind], text[place : place + length]))
        place += length
    assert ("comment", "// adds\n") in words
    assert ("type", "void") in words
    assert highlight("", "kernel.cpp") == ("", ())


def test_a_program_of_another_language_has_its_own_colours():
    text, runs = highlight("def f(x):\n    return x\n", "program.py")
    assert KINDS[runs[0]] == "keyword"
    assert text.startswith("def")


def test_anchors_of_python_and_of_the_page_agree():
    """``encodeURIComponent`` of data.js and ``quote`` of links.py, on names with every sort of character."""
    assert sample_anchor("Add Rms/Norm", "", "static", 2) == "/sample/Add%20Rms%2FNorm/*/static/2"
    assert '"#/sample/"' in (ASSETS / "data.js").read_text(encoding="utf-8")


def test_the_run_in_sentences(stored):
    said = [sentence.replace("\u00a0", " ") for sentence in sentences(record_of(stored))]
    assert said[0].startswith("3 of 6 counted samples are right: 50 %, with a 95 % interval from ")
    assert "Half of the right kernels reach 0.5 of the roofline or more" in said[1]
    assert said[2] == "3 of 3 right kernels are as fast as ours or faster."
    assert said[3].startswith("3 of 9 samples are not counted (infra_error 3)")
    assert said[4] == "The same command tries again what can be tried again."
    assert said[5] == "Times are predictions of tier twin; no device has measured them."


def test_tasks_without_a_counted_sample_are_not_among_those_of_the_interval(record):
    (said, *_) = sentences(record("run", {"Sqrt/0": "oo", "Abs/0": "ii"}))
    assert said.startswith("2 of 2 counted samples are right")
    assert "over 1 task;" in said.replace("\u00a0", " ")


def test_what_a_search_reached_stands_against_what_it_took(tmp_path):
    rows: Any = pack(read_run(a_search(tmp_path / "run"))).index["effort"]
    assert [(row["calls"], row["solved"], row["speedup"]) for row in rows] == [(1, 0, None), (2, 1, 1), (3, 1, 2)]
    assert [(row["tokens"], row["cost"]) for row in rows] == [(1000, 0.001), (2000, 0.002), (3000, 0.003)]
    # Two seconds for an answer, and a tenth for judging it.
    assert [row["seconds"] for row in rows] == pytest.approx([2.1, 4.2, 6.3])


def test_a_trajectory_says_what_each_call_came_to_and_which_kernels_a_guard_refused(tmp_path):
    (block,) = pack(read_run(a_search(tmp_path / "run", (4.0,), strategy="tools"))).blocks
    refused, right = json.loads(block)["samples"][0]["turns"][0]["calls"]
    assert (refused["outcome"], refused["refused"], refused["tokens"]) == ("guard_rejected", True, 900)
    assert (right["outcome"], right["refused"], right["time_us"]) == ("ok", False, 4.0)


def test_every_sample_of_a_run_has_its_place(stored):
    packed = pack(stored)
    assert packed.index["places"] == [[0, number] for number in range(9)]
