"""The host side of an operator: its definition and its tiling function, compiled and called.

An operator's ``op_host`` sources are compiled against the twin's host headers into one shared image
(``host_build.compile_host``). A small runner program loads the image in a sandboxed child and answers two questions
about it: what the operator looks like (:func:`describe`) and how it cuts a given set of shapes (:func:`tile`). Nothing
of the image runs in this process.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from npukb_twin.compile.lines import LineTable, Place
from npukb_twin.compile.toolchain import clean_environment
from npukb_twin.launch.process import Finished, Limits, run
from npukb_twin.operator.host_types import (
    AttributeValue,
    HostFailure,
    HostLimits,
    HostRuntime,
    OpArgument,
    OpAttribute,
    OperatorDescription,
    SocNumbers,
    TensorArgument,
    TilingField,
    TilingRequest,
    TilingResult,
    TilingStruct,
)
from npukernelbench.errors import ExecutorError
from npukernelbench.nouns import Diagnostic, Outcome, Presence, Severity

__all__ = ["call_direct", "describe", "tile"]

_FILE_BYTES = 1 << 20
_QUOTED_LINES = 5
#: Levels of tiling structures: what walks them takes a frame or two for each.
_MOST_NESTED = 100


def describe(
    image: Path, runtime: HostRuntime, *, operator: str = "", limits: HostLimits | None = None
) -> OperatorDescription | HostFailure:
    """What the image registers. ``operator`` chooses when it registers several."""
    lines = [f"operator {operator}"] if operator else []
    try:
        answer = _ask("describe", image, lines, SocNumbers(), runtime, limits or HostLimits())
        return answer if isinstance(answer, HostFailure) else _description(answer[0])
    # JSON's reader raises it as well, for what is nested deeper still
    except RecursionError:
        message = f"tiling structures are nested more than {_MOST_NESTED} levels deep"
        diagnostic = Diagnostic(Severity.ERROR, "tiling", message, remedy="Write fields into the structure itself.")
        return HostFailure(Outcome.LAUNCH_ERROR, (diagnostic,))


def tile(
    image: Path, request: TilingRequest, runtime: HostRuntime, *, limits: HostLimits | None = None
) -> TilingResult | HostFailure:
    """Call the operator's tiling parse function, if any, and its tiling function."""
    with tempfile.TemporaryDirectory(prefix="values-", dir=image.parent) as folder:
        lines = list(_request_lines(request, Path(folder)))
        answer = _ask("tile", image, lines, request.soc, runtime, limits or HostLimits())
    if isinstance(answer, HostFailure):
        return answer
    cut, log = answer
    return TilingResult(
        tiling_key=int(cut["tiling_key"]),
        block_dim=int(cut["block_dim"]),
        workspace_bytes=tuple(int(size) for size in cut["workspace_bytes"]),
        data=bytes.fromhex(cut["data"]),
        schedule_mode=int(cut["schedule_mode"]),
        log=log,
    )


def call_direct(
    image: Path, lines: Sequence[str], soc: SocNumbers, runtime: HostRuntime, limits: HostLimits
) -> tuple[Mapping[str, Any], str] | HostFailure:
    """Call the host function of a direct launch with the arguments in ``lines``: what it did, and what it printed."""
    return _ask("direct", image, lines, soc, runtime, limits)


def _request_lines(request: TilingRequest, folder: Path) -> Iterator[str]:
    yield f"operator {request.operator}"
    yield f"deterministic {int(request.deterministic)}"
    values = 0
    for side, arguments in (("input", request.inputs), ("output", request.outputs)):
        for argument in arguments:
            if argument is None:
                yield f"{side} none"
                continue
            tensors = argument if isinstance(argument, tuple) else (argument,)
            if isinstance(argument, tuple):
                yield f"{side} list {len(argument)}"
            for tensor in tensors:
                values += 1
                word = "item" if isinstance(argument, tuple) else side
                yield f"{word} {_tensor(tensor, folder / f'value-{values}')}"
    for name, value in request.attributes:
        tokens = list(_tokens(value))
        yield " ".join(("attribute", name, str(len(tokens)), *tokens))


def _tensor(tensor: TensorArgument, path: Path) -> str:
    shape = " ".join(map(str, (len(tensor.shape), *tensor.shape)))
    if tensor.data is None:
        # not 0, which are the values of an empty tensor
        return f"{tensor.dtype} {tensor.format} {shape} -1"
    path.write_bytes(tensor.data)
    return f"{tensor.dtype} {tensor.format} {shape} {len(tensor.data)} {path}"


def _tokens(value: AttributeValue) -> Iterator[str]:
    """An attribute's value in the runner's notation."""
    if isinstance(value, str):
        # in hexadecimal: a text may hold what parts words and lines; the x keeps an empty one a word
        yield "x" + value.encode("utf-8", "surrogateescape").hex()
    elif isinstance(value, tuple):
        for item in value:
            yield from _tokens(item)
            if isinstance(item, tuple):
                yield ";"
    elif isinstance(value, float):
        yield repr(value)
    else:
        yield str(int(value))


def _ask(
    verb: str, image: Path, lines: Sequence[str], soc: SocNumbers, runtime: HostRuntime, limits: HostLimits
) -> tuple[Mapping[str, Any], str] | HostFailure:
    """Start the runner on ``image`` and take its answer and what the host code printed."""
    own = Limits(wall_s=limits.wall_s, memory_bytes=limits.memory_bytes, file_bytes=_FILE_BYTES)
    read, write = os.pipe()
    token = secrets.token_hex(16)
    chip = {name: getattr(soc, name) for name in SocNumbers.__slots__}
    script = [
        f"report {write} {token}",
        *(f"limit {name} {value}" for name, value in own.numbers().items()),
        *runtime.sandbox.directives(),
        *(f"chip {key} {value}" for key, value in chip.items()),
        *lines,
        # last: the runner loads the image, and with it the candidate's code, as soon as it reads this
        f"{verb} {image}",
    ]
    with tempfile.TemporaryDirectory(prefix="tiling-", dir=image.parent) as folder:
        work = Path(folder)
        request = work / "request"
        request.write_text("\n".join(script) + "\n", encoding="utf-8")
        command = (str(runtime.runner), str(request))
        done = run(
            command,
            work=work,
            environment=clean_environment(work),
            limits=own,
            report=(read, write),
            inherited=runtime.sandbox.inherited,
        )
    return _judge(done, token, image, limits)


def _judge(done: Finished, token: str, image: Path, limits: HostLimits) -> tuple[Mapping[str, Any], str] | HostFailure:
    """What the runner's end and answer mean."""
    opening = f'{{"token":"{token}",'.encode()
    lines = done.report.splitlines()
    # first of all: whoever forges answers may also choose how the process ends
    if not all(line.startswith(opening) for line in lines):
        return _failure(Outcome.CHEAT, "forged_report", "the host code wrote to the runner's private channel", done)
    if done.timed_out or done.returncode == -signal.SIGXCPU:
        message = f"the host code did not end within {limits.wall_s:g} s"
        return _failure(Outcome.TIMEOUT, "timeout", message, done, remedy="Check loop bounds.")
    if len(lines) != 1:
        return _failure(Outcome.CRASH, "crash", _silent_end(done), done)
    answer: Mapping[str, Any] = json.loads(lines[0])
    if answer["status"] in ("described", "tiled", "noted"):
        return answer, done.output
    if answer["status"] == "signal":
        return _crash(answer, image, done)
    if answer["status"] == "launch_error":
        return _failure(Outcome.LAUNCH_ERROR, "tiling", str(answer["message"]), done)
    raise ExecutorError(f"the host-side runner failed: {answer.get('message', answer['status'])}")


def _failure(outcome: Outcome, rule: str, message: str, done: Finished, remedy: str = "") -> HostFailure:
    """A failure whose message quotes the last that the host code printed."""
    printed = [line for line in done.output.splitlines() if line.strip()][-_QUOTED_LINES:]
    if printed:
        message += "; it printed: " + " | ".join(printed)
    return HostFailure(outcome, (Diagnostic(Severity.ERROR, rule, message, remedy=remedy),), done.output)


def _silent_end(done: Finished) -> str:
    if done.returncode < 0:
        return f"the host code was ended by {signal.Signals(-done.returncode).name}"
    return f"the host code ended the process with code {done.returncode}"


def _crash(answer: Mapping[str, Any], image: Path, done: Finished) -> HostFailure:
    number = signal.Signals(int(answer["signal"]))
    place = _own_place(image, [int(pc) for pc in answer["pcs"]])
    message = f"the host code was ended by {number.name}"
    if answer["stack_overflow"]:
        message += ": its stack is used up"
    elif number in (signal.SIGSEGV, signal.SIGBUS):
        message += f" at address {int(answer['address']):#x}"
    remedy = "Check pointers for nullptr: an absent input and a list's end are null."
    diagnostic = Diagnostic(Severity.ERROR, "crash", message, file=place.file, line=place.line, remedy=remedy)
    return HostFailure(Outcome.CRASH, (diagnostic,), done.output)


def _own_place(image: Path, pcs: Sequence[int]) -> Place:
    """The innermost place in the candidate's own files, which lie beside the image; headers are not theirs."""
    own = {path.relative_to(image.parent).as_posix() for path in image.parent.rglob("*") if path.is_file()}
    table = LineTable(image)
    places = (table.place(pc) for pc in pcs)
    return next((place for place in places if place.line and place.file in own), Place("", 0))


def _description(answer: Mapping[str, Any]) -> OperatorDescription:
    return OperatorDescription(
        name=str(answer["name"]),
        inputs=tuple(_argument(entry) for entry in answer["inputs"]),
        outputs=tuple(_argument(entry) for entry in answer["outputs"]),
        attributes=tuple(
            OpAttribute(entry["name"], entry["type"], entry["required"], _default(entry["default"], entry["type"]))
            for entry in answer["attributes"]
        ),
        socs=tuple(answer["socs"]),
        tiling={entry["key"]: _struct(entry["struct"]) for entry in answer["tiling"]},
    )


def _argument(entry: Mapping[str, Any]) -> OpArgument:
    return OpArgument(
        name=entry["name"],
        presence=Presence(entry["presence"]),
        dtypes=tuple(entry["dtypes"]),
        formats=tuple(entry["formats"]),
        scalar=entry["scalar"],
        scalar_list=entry["scalar_list"],
        value_depend=entry["value_depend"],
        depends_on_compute=entry["depends_on_compute"],
        # JSON has neither infinities nor NaN: they come as text
        initial=tuple(float(value) if isinstance(value, str) else value for value in entry["initial"]),
    )


def _default(value: Any, kind: str) -> Any:
    """JSON to the value's type: infinities and NaN come as text, lists become tuples."""
    if isinstance(value, list):
        return tuple(_default(item, kind.removeprefix("list_")) for item in value)
    return float(value) if value is not None and kind == "float" else value


def _struct(entry: Mapping[str, Any], depth: int = 0) -> TilingStruct:
    """RecursionError for one that is nested too deep."""
    if depth > _MOST_NESTED:
        raise RecursionError
    nested: dict[str, TilingStruct] = {}
    for inner in (_struct(other, depth + 1) for other in entry["nested"]):
        nested |= {inner.name: inner, **inner.nested}
    fields = tuple(
        TilingField(
            name=member["name"],
            ctype=member["type"],
            count=member["count"],
            struct=member["type"] if member["nested"] else "",
            offset=member["offset"],
        )
        for member in entry["fields"]
    )
    return TilingStruct(entry["name"], entry["bytes"], fields, nested)
