"""The committed page of results and the committed reasons belong together."""

from __future__ import annotations

from pathlib import Path

from npukb_conformance.misses import load_misses

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"


def test_our_page_and_our_reasons_are_in_step():
    text = PAGE.read_text(encoding="utf-8")
    for name, entries in load_misses().items():
        for entry in entries:
            assert f"| {name} |" in text
            assert " ".join(entry.why.split()).replace("|", "\\|") in text
    explained = text.partition("## Operators that miss")[2].partition("## Cases that do not reach")[0]
    rows = {line.split("|")[1].strip() for line in explained.splitlines() if line.startswith("| ")} - {"operator"}
    assert rows == set(load_misses())


def test_the_page_names_foreign_code_and_has_no_recipe_for_it():
    """Repository and commit are named; whoever wants the code decides how to get and build it."""
    text = PAGE.read_text(encoding="utf-8")
    assert "at the parent of commit `b20c563`" in text
    assert "```" not in text
    assert "git clone" not in text
