"""Looking up words: rules, outcomes, patterns of wrong elements, names of the API. What is not known is said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from npukb_mcp.results import ApiPage, Explained
from npukernelbench.errors import UsageError
from npukernelbench.judge.documented import Documented
from npukernelbench.nouns import Outcome

__all__ = ["api_page", "explained"]

_MOST_CHARACTERS = 4000


def explained(words: str, documented: Documented | None) -> Explained:
    """What ``words`` are about: the name of a rule, an outcome or a pattern, or a message that has one in it."""
    _require(words, "name")
    meanings = _meanings(documented)
    asked = re.findall(r"\w+", words)
    # Of a whole message the last known name: diagnostics end with their rule.
    name = next((name for name in reversed(asked) if name in meanings), None)
    if name is not None:
        return Explained(name=name, known=True, text=meanings[name])
    near = get_close_matches(words, sorted(meanings), n=5, cutoff=0.5)
    text = "Nothing is known about this name beyond the message and the remedy of the diagnostic itself."
    return Explained(name=words[:80], known=False, text=text, near=near)


def api_page(name: str, documented: Documented | None) -> ApiPage:
    """What the executor says about a name of the API."""
    _require(name, "name")
    if documented is None:
        notes = ["The executor that judges here does not document its interface."]
        return ApiPage(name=name[:80], status="unknown", notes=notes)
    # Models write names as they use them, with namespace, arguments or template parameters.
    plain = name.strip().removeprefix("AscendC::").partition("(")[0].partition("<")[0]
    entry = documented.api_entry(plain)
    if entry is None:
        near = get_close_matches(plain, documented.api_names(), n=5, cutoff=0.6)
        notes = ["This name is not Ascend C as far as the executor knows: a kernel that uses it does not compile."]
        return ApiPage(name=plain[:80], status="unknown", notes=notes, near=near)
    notes = list(entry.notes)
    if not (notes or entry.declarations or entry.usage):
        notes = ["It exists; nothing more is known about it."]
    return ApiPage(
        name=entry.name,
        status=entry.status.value,
        header=entry.header,
        declarations=list(entry.declarations),
        notes=notes,
        usage=list(entry.usage),
    )


def _require(words: str, field: str) -> None:
    if not words.strip() or len(words) > _MOST_CHARACTERS:
        raise UsageError(f"{len(words)} characters", field=field, remedy=f"give 1 to {_MOST_CHARACTERS}")


def _meanings(documented: Documented | None) -> Mapping[str, str]:
    from npukernelbench.judge.patterns import Pattern

    meanings = {pattern.value: f"A pattern of wrong elements. {pattern.remedy}".strip() for pattern in Pattern}
    meanings |= {outcome.value: f"An outcome. {outcome.meaning}" for outcome in Outcome}
    rules = () if documented is None else documented.rule_entries()
    # Rules last: where one has the name of an outcome, the rule says more.
    return meanings | {
        rule.rule: f"A rule of the hardware. Here: {rule.severity}. On the device: {rule.consequence}."
        for rule in rules
    }
