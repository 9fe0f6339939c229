"""The judge as an agent reaches it: a door that counts calls, and the scripts of the workspace that knock there.

The scripts hold no case and no value; the files are read where the agent edits them, and what it is told passes the
redaction of the MCP server.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic
from urllib.parse import parse_qs, urlsplit

from npukb_agent.doors import Handler
from npukb_agent.proxy import Meter
from npukb_mcp.calling import broken_rules
from npukb_mcp.lookup import api_page, explained
from npukb_mcp.redact import told, words
from npukb_mcp.results import Told
from npukb_mcp.sessions import Session
from npukernelbench.errors import UsageError
from npukernelbench.generate.extract import candidate_of
from npukernelbench.generate.strategy import Bench
from npukernelbench.judge.speed import GOLDEN, SPEEDUPS
from npukernelbench.nouns import CallStatus, Owner, ToolCall, ToolResult

__all__ = ["Record", "judge_door", "scripts"]

_SCRIPT = """\
#!{python} -I
# {what} Every answer says what is left of the budget; --json gives all of it.
import json, sys, urllib.error, urllib.parse, urllib.request
asked = [word for word in sys.argv[1:] if word != "--json"]
query = urllib.parse.urlencode({{"name": " ".join(asked)}})
url = "http://127.0.0.1:{port}/{name}?" + query
try:
    answer = json.load(urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(url))
except urllib.error.HTTPError as error:
    answer = json.load(error)
print(json.dumps(answer, indent=1) if "--json" in sys.argv else answer["text"])
sys.exit(0 if answer["right"] else 1)
"""
_WHAT = {
    "check": "Compiles the kernel, and runs nothing. Costs a call.",
    "judge": "Judges the kernel on the public cases. Costs a call.",
    "explain": "Says what a rule, an outcome or a pattern means: ./explain NAME. Free.",
    "api": "Looks up a name of the API: ./api NAME. Free.",
}


def scripts(port: int) -> dict[str, str]:
    """The workspace's scripts by name, for the door at ``port``."""
    # The walls show the interpreter at its real path, not the link that may lead to it.
    python = Path(sys.executable).resolve()
    return {name: _SCRIPT.format(python=python, what=what, name=name, port=port) for name, what in _WHAT.items()}


@dataclass
class Record:
    """The calls of one agent, in order, with what it was told."""

    calls: list[ToolCall] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)


def judge_door(session: Session, bench: Bench, meter: Meter, record: Record) -> type[Handler]:
    """The handler of one agent's door to the judge. Calls are answered one after the other."""
    one = Lock()

    class Judge(Handler):
        def do_GET(self) -> None:  # noqa: N802 - of the base class
            parts = urlsplit(self.path)
            name = parts.path.strip("/")
            asked = parse_qs(parts.query).get("name", [""])[0]
            if name in ("explain", "api"):
                page = (explained if name == "explain" else api_page)(asked[:400], bench.documented)
                return self._tell(200, page.model_dump(exclude_defaults=True), right=True)
            if name not in ("check", "judge"):
                return self._tell(404, {"error": f"there is {', '.join(_WHAT)}"}, right=False)
            try:
                with one:
                    shown, right = _called(name, session, bench, meter, record)
            except UsageError as error:
                return self._tell(400, {"error": words(error)}, right=False)
            return self._tell(200, shown, right=right)

        def _tell(self, status: int, shown: Mapping[str, object], *, right: bool) -> None:
            budget = session.budget.model_dump()
            text = f"{_text(shown)}\n\nBudget: {json.dumps(budget)}"
            self.tell(status, {**shown, "budget": budget, "right": right, "text": text})

    return Judge


def _called(
    name: str, session: Session, bench: Bench, meter: Meter, record: Record
) -> tuple[Mapping[str, object], bool]:
    """One call that costs. UsageError when there is no kernel, or no call left."""
    call = ToolCall(f"c{len(record.calls)}", name, "{}")
    try:
        files = session.take(None)
    except UsageError as error:
        _keep(record, call, ToolResult(call.id, name, words(error), CallStatus.MALFORMED), meter)
        raise
    # The agent's call names no files, so the record keeps what was judged.
    call = call._replace(arguments=json.dumps({"files": files}, ensure_ascii=False))
    try:
        session.spend_call()
    except UsageError as error:
        _keep(record, call, ToolResult(call.id, name, words(error), CallStatus.REFUSED), meter)
        raise
    started = monotonic()
    verdict = (bench.check if name == "check" else bench.judge)(candidate_of(files))
    # A fault of the machine or the task is not the agent's: the call is given back.
    ours = verdict.owner in (Owner.INFRA, Owner.TASK)
    session.settle(monotonic() - started, refund=ours)
    page = told(verdict)
    shown = page.model_dump(mode="json", exclude_defaults=True)
    content = json.dumps(shown, ensure_ascii=False)
    result = ToolResult(call.id, name, content, CallStatus.FAULT)
    if not ours:
        result = ToolResult(
            call.id,
            name,
            content,
            CallStatus.ANSWERED,
            paid=True,
            outcome=verdict.outcome,
            compiled_only=name == "check",
            rules=broken_rules(page, bench.documented),
            time_us=page.time.time_us if page.time else 0.0,
            speedup=verdict.metrics.get(SPEEDUPS[GOLDEN], 0.0),
        )
    _keep(record, call, result, meter)
    return shown, page.outcome == "ok"


def _keep(record: Record, call: ToolCall, result: ToolResult, meter: Meter) -> None:
    from dataclasses import replace

    record.calls.append(call)
    record.results.append(replace(result, tokens=meter.spent, seconds=meter.seconds))


def _text(shown: Mapping[str, object]) -> str:
    """For a terminal."""
    if "outcome" not in shown:
        return "\n".join(f"{name}: {_value(value)}" for name, value in shown.items())
    page = Told.model_validate(shown)
    lines = [f"{page.outcome} at {page.stage}: {page.meaning}"]
    lines += [f"  case {case}: {outcome}" for case, outcome in page.cases.items()]
    for note in page.diagnostics:
        place = ":".join(str(part) for part in (note.file, note.line, note.column) if part)
        times = f" ({note.count} times)" if note.count > 1 else ""
        lines.append(f"{place}{': ' if place else ''}{note.severity}: {note.message}{times} [{note.rule}]")
        lines += [f"  Remedy: {note.remedy}"] if note.remedy else []
    if page.time is not None:
        word = "predicted" if page.time.predicted else "measured"
        lines.append(f"time: {page.time.time_us:.2f} us ({word}), {page.time.cores} cores. {page.time.bottleneck}")
        lines += [f"  faster: {suggestion}" for suggestion in page.time.suggestions]
    return "\n".join(lines)


def _value(value: object) -> str:
    return "\n  ".join(["", *map(str, value)]) if isinstance(value, list) else str(value)
