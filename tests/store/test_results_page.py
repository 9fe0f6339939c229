"""docs/results.md: its table of events is what the store writes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from npukernelbench.nouns import Sample
from npukernelbench.store import Manifest, RunStore

PAGE = Path(__file__).parents[2] / "docs" / "results.md"


def test_the_table_of_events(directory: Path, manifest: Manifest, make: Callable[..., Sample]) -> None:
    sample = make(0)
    assert sample.completion is not None
    sample = replace(sample, completion=replace(sample.completion, seconds=1.5))
    RunStore.open(directory, manifest).close()
    with RunStore.open(directory, Manifest(manifest.identity, {"harness": "another"})) as store:
        store.add_completion(sample.key, sample.prompt, sample.completion)
        store.add_sample(sample)
    text = PAGE.read_text(encoding="utf-8")
    section = text[text.index("## The event log") : text.index("## Damage")]
    described = {
        row[0]: set(re.findall(r"`(\w+)`", row[1])) for row in re.findall(r"(?m)^\| `(\w+)` \| (.*) \|$", section)
    }

    events = [json.loads(line) for line in (directory / "events.jsonl").read_bytes().splitlines()]
    assert {event["type"] for event in events} == set(described)
    for event in events:
        fields = set(event) - {"type"}
        assert fields <= described[event["type"]]
        inner = {name for field in fields if isinstance(event[field], dict) for name in event[field]}
        assert described[event["type"]] <= fields | inner
