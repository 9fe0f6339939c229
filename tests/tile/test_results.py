"""The published table says what the results beside it say."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "results" / "tile-golden-twin"
RESULTS = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_table_by_category() -> None:
    groups = {**RESULTS["aggregates"]["categories"], "all": RESULTS["aggregates"]["all"]}
    for name, group in groups.items():
        fast = group["fast_p"]["roofline"]
        values = [group["compile@1"], group["correct@1"], *(fast[p] for p in ("0.2", "0.5", "0.8", "1.0"))]
        shares = " | ".join(f"{100 * value['all']['value']:.1f}" for value in values)
        assert f"| {name} | {group['samples']} | {shares} |" in PAGE


def test_every_operator_has_its_time() -> None:
    assert len(RESULTS["samples"]) == 52
    for sample in RESULTS["samples"]:
        assert sample["correct"]
        assert sample["tier"] == "twin"
        assert f"| {sample['task']} | {sample['predicted_time_us']:.2f} |" in PAGE
