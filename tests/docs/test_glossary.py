"""docs/glossary.md: the terms that a newcomer meets are explained, briefly and with a link to the right page."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TERMS = dict(
    re.findall(
        r"^### ([^\n]+)\n\n(.+?)(?=\n#|\Z)",
        (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
)
#: Terms that tables, messages and pages use without a further word.
REQUIRED = """
suite, task, case, reference, golden, track, backend, strategy, parser, candidate, stage, executor, artifact,
observation, rules, checker, outcome, owner, verdict, tier, predicted, compile@k, correct@k, pass@k, fast_p,
roofline, twin, AIC, AIV, GM, UB, L1, L0, pipe, block, repeat, mask, tile, tiling, workspace
""".replace("\n", " ")


def test_the_terms_of_the_field_are_explained() -> None:
    explained = {term.lower() for term in TERMS}
    assert [term for term in REQUIRED.split(",") if term.strip().lower() not in explained] == []


def test_an_entry_is_short_and_has_a_link() -> None:
    assert len(TERMS) >= 40
    long = {term: len(text.split()) for term, text in TERMS.items() if len(text.split()) > 70}
    assert long == {}
    assert [term for term, text in TERMS.items() if not re.search(r"\]\([a-z]+\.md(#[^)]+)?\)", text)] == []


def test_the_entrances_lead_to_the_glossary() -> None:
    assert "(docs/glossary.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(glossary.md)" in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
