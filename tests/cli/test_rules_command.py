"""``--rules``: a run names the rules it was judged by, can be judged again by others, and is compared with none."""

from __future__ import annotations

import json
from pathlib import Path


def test_a_run_names_its_rules_and_is_not_compared_with_others(npukb, tmp_path: Path) -> None:
    ran = npukb("run", "--model", "reference", "--tasks", "Sqrt:1", "--json", "-o", str(tmp_path / "ours"))
    ours = Path(json.loads(ran.out)["directory"])
    judged = npukb("rejudge", str(ours), "--rules", "npukernelbench", "-o", str(tmp_path / "theirs"))
    assert judged.code == 0
    [theirs] = (path.parent for path in (tmp_path / "theirs").rglob("manifest.json"))
    assert "Score by the rules of npukernelbench" in judged.out
    assert "level 1: 100.0; no total, levels are missing" in judged.out
    manifest = json.loads((theirs / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["identity"]["rules"]["name"] == "npukernelbench"
    refused = " ".join(npukb("compare", str(ours), str(theirs)).out.split())
    assert "Success rates are not compared" in refused
    assert "were judged by different rules: rules" in refused
    again = npukb("rejudge", str(theirs), "-o", str(tmp_path / "again"), "--json")
    assert json.loads(again.out)["identity"]["rules"]["name"] == "npukernelbench"
