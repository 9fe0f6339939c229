"""The corpus of ugly answers: each with the files it holds, or with the outcome it comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.generate import candidate_of
from npukernelbench.generate.extract import extract, extract_from_reasoning
from npukernelbench.nouns import Candidate, Completion, FinishReason, Outcome, Track
from npukernelbench.plugins import Plugins
from npukernelbench.testing.tasks import tiny_task
from tests.tables import read_yaml

TASK = tiny_task("Sqrt")
ENTRY = 'extern "C" __global__ __aicore__ void sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace)'
PIECES = {
    "K": f'#include "kernel_operator.h"\nusing namespace AscendC;\n{ENTRY}\n{{\n    if (x < y) {{ Init(); }}\n}}\n',
    "OLD": f'#include "kernel_operator.h"\n{ENTRY}\n{{\n    // first try\n}}\n',
    "HOST": '#include "sqrt_tiling.h"\nnamespace optiling { int Tiling; }\n',
    "TILING": '#ifndef T_H\n#define T_H\n#include "register/tilingdata_base.h"\n#endif\n',
}
PIECES["KBARE"] = PIECES["K"].rstrip("\n")
PIECES |= {f"J{name}": json.dumps(PIECES[name]) for name in ("K", "HOST")}
FOLDER = Path(__file__).with_name("answers")
CORPUS: list[dict[str, Any]] = [
    {"set": path.stem, **entry} for path in sorted(FOLDER.glob("*.yaml")) for entry in read_yaml(path)
]


def filled(text: str) -> str:
    for name, piece in PIECES.items():
        text = text.replace(f"@{name}@", piece)
    return text


def test_there_are_enough_of_them() -> None:
    assert len(CORPUS) >= 60
    assert len({entry["name"] for entry in CORPUS}) == len(CORPUS)
    for entry in CORPUS:
        assert len(entry.keys() & {"files", "outcome", "from_reasoning"}) == 1, entry["name"]


@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: f"{entry['set']}: {entry['name']}")
def test_what_an_answer_holds(entry: dict[str, Any]) -> None:
    parser = Plugins.load(autoload=False, environ={}).parsers.find(entry.get("parser", "auto"))
    completion = Completion(
        filled(entry["text"]), FinishReason(entry.get("finish", "stop")), filled(entry.get("reasoning", ""))
    )
    track = Track(entry.get("track", "static"))
    extracted = extract(parser, completion, TASK, track)
    draft = extract_from_reasoning(parser, completion, TASK, track) if isinstance(extracted, Outcome) else None
    expected = entry.get("files") or entry.get("from_reasoning")
    if expected is None:
        assert extracted is Outcome(entry["outcome"])
        assert draft is None
        return
    taken = extracted if "files" in entry else draft
    assert isinstance(taken, Candidate), extracted
    assert taken == candidate_of({name: filled(text) for name, text in expected.items()})
