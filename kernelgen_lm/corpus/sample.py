"""One line of a corpus: a conversation, what it is about, where it comes from, and the judge's word on it."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from npukernelbench.errors import SourceLocation, UsageError
from npukernelbench.generate.fences import scan, wrap
from npukernelbench.generate.parsers import DEVICE_SOURCE
from npukernelbench.strict import Strict

__all__ = [
    "Message",
    "Sample",
    "answer_files",
    "answer_text",
    "code_of",
    "files_of",
    "read_samples",
    "sha256",
    "source_of",
    "write_lines",
]


class Message(Strict):
    """One message of the conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Sample(Strict):
    """One sample; the last message is the answer that is learned.

    ``kind``: ``kernel`` (a question and its kernel), ``repair`` (a wrong kernel with the judge's diagnostics and the
    right one), ``golden`` (a kernel of ours or of a repository), ``document`` (a section of documentation), ``chat``
    (a conversation about anything). ``style`` is filled in corpora that were built before version 4, whose kernels were
    written in several ways. ``verdict`` is the judge's on the kernel in the answer; empty where there is none.
    ``provenance["benchmark"]`` names the benchmark's task that a sample was made from: such a sample is contaminated.
    """

    id: str
    kind: Literal["kernel", "repair", "golden", "document", "chat"]
    family: str
    operator: str
    dtype: str
    shape: tuple[int, ...]
    track: Literal["static", "dynamic"] = "static"
    messages: tuple[Message, ...]
    question: Mapping[str, Any] = Field(default_factory=dict)
    style: Mapping[str, Any] = Field(default_factory=dict)
    provenance: Mapping[str, Any]
    licence: str
    hashes: Mapping[str, str]
    verdict: Mapping[str, Any] = Field(default_factory=dict)

    @property
    def prompt(self) -> tuple[Message, ...]:
        """Everything but the answer."""
        return self.messages[:-1]

    @property
    def answer(self) -> str:
        """What is learned."""
        return self.messages[-1].content

    def line(self) -> str:
        """As one line of JSON."""
        # Sorted, so that equal samples are equal lines; not escaped, so that people can read Chinese in them.
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, sort_keys=True) + "\n"


def sha256(text: str) -> str:
    """Hash of a text."""
    # Answers of models may hold lone surrogates.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def answer_text(thinking: str, source: str) -> str:
    """An answer as the model is to give it: thinking in its tags, then the one fenced block."""
    return f"<think>\n{thinking.strip()}\n</think>\n\n```cpp\n{source.rstrip()}\n```\n"


def answer_files(thinking: str, files: Mapping[str, str]) -> str:
    """An answer of the dynamic track: thinking in its tags, then one block for every file, which names it."""
    blocks = "\n".join(wrap(text, name=name) for name, text in files.items())
    return f"<think>\n{thinking.strip()}\n</think>\n\n{blocks}"


def files_of(answer: str) -> dict[str, str]:
    """The files in an answer: the one of the static track, or all of the dynamic one; empty without code."""
    blocks = [block for block in scan(_after_thinking(answer)).blocks if block.is_source]
    if len(blocks) == 1 and not blocks[0].name:
        return {DEVICE_SOURCE: blocks[0].text}
    return {block.name: block.text for block in blocks if block.name}


def code_of(answer: str) -> str:
    """All code in an answer, one block after the other."""
    return "\n".join(block.text for block in scan(_after_thinking(answer)).blocks)


def _after_thinking(answer: str) -> str:
    # The last closing tag: thinking may quote the tags.
    return answer.rpartition("</think>")[2]


def source_of(answer: str) -> str:
    """The fenced source of an answer that :func:`answer_text` made."""
    return answer.split("```cpp\n", 1)[1].rsplit("\n```", 1)[0] + "\n"


def read_samples(path: Path) -> Iterator[Sample]:
    """Samples of a file (``.jsonl``, also ``.gz``) or of a folder of them. UsageError with file and line."""
    files = sorted([*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")]) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise UsageError(f"{path} holds no samples", field="corpus", remedy="make some: kernelgen-lm corpus build")
    for file in files:
        for number, line in enumerate(_lines(file), 1):
            try:
                yield Sample.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(str(part) for part in first["loc"])
                raise UsageError(first["msg"], location=SourceLocation(file, number), field=field) from None


def _lines(file: Path) -> Iterator[bytes]:
    """Lines as bytes: text would be decoded many lines ahead, and an error could not name its line."""
    number = 1
    # Line by line: a corpus may be larger than the memory.
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
        try:
            for line in lines:
                yield line
                number += 1
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UsageError(f"it cannot be unpacked: {error}", location=SourceLocation(file, number)) from None


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside the file, as a rename is atomic within one file system only.
    partial = path.with_suffix(path.suffix + ".partial")
    # Models may write lone surrogates, which JSON can hold and UTF-8 cannot: these become question marks.
    with partial.open("w", encoding="utf-8", errors="replace") as file:
        file.writelines(lines)
    partial.replace(path)
