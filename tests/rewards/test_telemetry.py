"""What a judge tells those who run it: metrics, a board for them, a line per request."""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.rewards import Answer, JudgeServer, Question, RemoteScorer, telemetry
from npukernelbench.rewards.callers import Caller, Callers
from npukernelbench.rewards.servers import CALLER_VARIABLE, TOKEN_VARIABLE
from tests.rewards.conftest import MakeScorer, answer

SCALE = Path(__file__).resolve().parents[2] / "examples" / "scale"
TOKEN = "0123456789abcdef"


@pytest.fixture
def server(make_scorer: MakeScorer, tmp_path: Path) -> Iterator[JudgeServer]:
    """A judge that knows one caller."""
    path = tmp_path / "callers.yaml"
    path.write_text(f"trainer: {{token: {TOKEN}}}")
    made = JudgeServer(make_scorer(), callers=Callers.read(path))
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def scrape(server: JudgeServer) -> str:
    asked = urllib.request.Request(server.url + "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(asked, timeout=30) as reply:
        assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return reply.read().decode()


def ask(server: JudgeServer, *words: str) -> None:
    RemoteScorer(server.url).score([Answer(Question("TinyOne"), answer(word)) for word in words])


def test_metrics_count_what_was_judged_and_for_whom(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = pytest.importorskip("prometheus_client.parser", reason="prometheus-client is not installed")
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    monkeypatch.setenv(CALLER_VARIABLE, "somebody else")  # a token says more than a name
    ask(server, "ok", "ok", "zeros", "raise")
    families = {family.name: family for family in parser.text_string_to_metric_families(scrape(server))}
    assert set(telemetry.METRICS) <= set(families)
    assert {name: families[name].type for name in telemetry.METRICS} == {
        name: kind.lower() for name, (kind, _, _) in telemetry.METRICS.items()
    }
    found = {
        (sample.name.removeprefix("npukb_judge_"), *sorted(sample.labels.values())): sample.value
        for family in families.values()
        for sample in family.samples
    }
    assert found["answers_total", "ok", "trainer"] == 2
    assert found["answers_total", "infra_error", "trainer"] == found["faults_total", "trainer"] == 1
    assert found["repeated_total", "trainer"] == 1
    assert found["requests_total", "200"] == found["request_seconds_count",] == 1
    assert found["wait_seconds_count",] == 4
    assert found["stage_seconds_count", "compile"] >= 2
    assert (found["pending", "trainer"], found["jobs",]) == (0, 2)
    assert TOKEN not in scrape(server)


def test_names_that_callers_give_themselves_do_not_fill_the_memory(make_scorer: MakeScorer) -> None:
    pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
    told = telemetry.Telemetry(1)
    for number in range(500):
        told.request(Callers().find("", str(number), "::1"), 503, 2, 0.1)
    text = (told.text or b"").decode()
    assert len(re.findall(r"^npukb_judge_turned_away_total\{", text, re.M)) == 65
    assert 'npukb_judge_turned_away_total{caller="others"} 872.0' in text


def test_without_the_library_a_judge_judges_and_says_what_is_missing(
    make_scorer: MakeScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    server = JudgeServer(make_scorer())
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    ask(server, "ok")
    with pytest.raises(urllib.error.HTTPError) as caught:
        scrape(server)
    with caught.value as error:
        assert (error.code, json.load(error)["error"]["message"]) == (501, "prometheus-client is not installed")
    server.shutdown()
    server.server_close()


def test_a_line_of_json_per_request(server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = logging.getLogger(telemetry.__name__)
    monkeypatch.setattr(log, "handlers", [])
    path = tmp_path / "judge.jsonl"
    telemetry.log_requests(path)
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    ask(server, "ok", "zeros")
    path.rename(tmp_path / "rotated.jsonl")
    ask(server, "raise")
    lines: list[dict[str, Any]] = []
    for one in (tmp_path / "rotated.jsonl", path):
        lines += [json.loads(line) for line in one.read_text().splitlines()]
    assert [(line["event"], line["caller"], line["status"], line["answers"], line["faults"]) for line in lines] == [
        ("request", "trainer", 200, 2, 0),
        ("request", "trainer", 200, 1, 1),
    ]
    assert lines[0]["outcomes"] == {"ok": 1, "wrong_value": 1}
    assert lines[0]["taken_s"] >= lines[0]["waited_s"] >= 0
    log.handlers[0].close()


def test_a_status_is_counted_as_a_number() -> None:
    """Python 3.10 writes the members of HTTPStatus as names."""
    pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")

    class Status(IntEnum):
        OK = 200

        def __str__(self) -> str:
            return "Status.OK"

    told = telemetry.Telemetry(1)
    told.request(Caller("somebody"), Status.OK, 1, 0.1)
    assert b'status="200"' in (told.text or b"")


def test_the_board_asks_for_metrics_that_there_are() -> None:
    board = json.loads((SCALE / "grafana.json").read_text())
    suffixes = {"Counter": ("_total",), "Gauge": ("",), "Histogram": ("_bucket", "_sum", "_count")}
    series = {f"{name}{end}" for name, (kind, _, _) in telemetry.METRICS.items() for end in suffixes[kind]}
    labels = {name: set(labels) for name, (_, _, labels) in telemetry.METRICS.items()}
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked = [*queries, *(one["query"] for one in board["templating"]["list"] if one["type"] == "query")]
    named = {name for text in asked for name in re.findall(r"\bnpukb_\w+", text)}
    assert named <= series
    assert {name for name in telemetry.METRICS if any(one.startswith(name) for one in named)} == set(labels)
    for text in queries:
        assert text.count("(") == text.count(")")
        by = {label for group in re.findall(r"\bby \((\w+)\)", text) for label in [group]} - {"le"}
        known = {label for name in labels if name in text for label in labels[name]}
        assert by <= known, text
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    variables = {one["name"] for one in board["templating"]["list"]}
    assert {used for text in json.dumps(board).split('"') for used in re.findall(r"\$\{?(\w+)", text)} <= variables | {
        "__rate_interval",
        "__all",
    }
