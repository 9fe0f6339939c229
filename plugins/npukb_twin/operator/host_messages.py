"""What a compiler says about host code, in words for its author: own lines, and whose gap a missing name is."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files as resource
from typing import cast

from npukb_twin.compile.messages import GAP, Message, messages_of, missing_header, supplied_by
from npukernelbench.nouns import Diagnostic, Severity
from npukernelbench.packaged import packaged_table

__all__ = ["begins_with_gap", "explain_host", "host_names", "known_gaps"]

_VENDOR_SCOPE = re.compile(r"'(?:gert|ge|fe|ops|optiling|platform_ascendc|AscendC|matmul_tiling)(?:::\w+)*")
_GAP_REMEDY = "Not the host code's fault: use another executor."


def explain_host(output: str, files: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Diagnostics out of a compiler's ``output`` on the host sources among ``files``."""
    messages = list(messages_of(output, files.keys()))
    if not messages and output.strip():
        return (Diagnostic(Severity.ERROR, "compile", output.strip()[:2000]),)
    return tuple(_diagnostic(message) for message in messages)


def begins_with_gap(diagnostics: Collection[Diagnostic]) -> bool:
    """Whether the first error is a gap of the twin. What follows it is mostly its consequence: a structure that lacks a
    member makes an error of every use.
    """
    errors = [diagnostic.rule for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
    return bool(errors) and errors[0] == GAP


def _diagnostic(message: Message) -> Diagnostic:
    place = (message.file, message.line, message.column)
    if message.kind == "warning":
        return Diagnostic(Severity.WARNING, "compile", message.text, *place)
    known = known_gaps()
    if name := missing_header(message.text):
        text = f"{name} is not among the host headers of the twin, nor beside the source"
        if name.partition("/")[0] in known["headers"]:
            return Diagnostic(Severity.ERROR, GAP, text, *place, remedy=_GAP_REMEDY)
        return Diagnostic(Severity.ERROR, "compile", text, *place, remedy=supplied_by(name))
    missing = message.missing
    if missing in known["names"] or missing in known["namespaces"]:
        text = f"{missing} is documented host API, but the twin does not support it yet"
        return Diagnostic(Severity.ERROR, GAP, text, *place, remedy=_GAP_REMEDY)
    if missing:
        near = get_close_matches(missing, sorted(host_names()), n=3, cutoff=0.7)
        remedy = f"Nearest names that exist: {', '.join(near)}." if near else ""
        text = message.text
        if _VENDOR_SCOPE.search(text):
            text += "; the twin's host headers have no such name"
        return Diagnostic(Severity.ERROR, "compile", text, *place, remedy=remedy)
    return Diagnostic(Severity.ERROR, "compile", message.text, *place)


@cache
def known_gaps() -> Mapping[str, frozenset[str]]:
    """Documented host API that the headers lack: ``names``, ``namespaces`` and first folders of ``headers``."""
    table = cast("Mapping[str, list[str]]", packaged_table("npukb_twin", "unsupported_host_api.yaml"))
    return {key: frozenset(names) for key, names in table.items()}


@cache
def host_names() -> frozenset[str]:
    """Names that the host headers offer."""
    names: set[str] = set()
    for path in (resource("npukb_twin") / "include_host/twin_host").iterdir():
        text = path.read_text(encoding="utf-8")
        names.update(re.findall(r"\b([A-Z]\w{3,})\b", text))
    return frozenset(name for name in names if not name.startswith("NPUKB"))
