"""From an answer to a candidate: strip the thinking, let a parser find the files, decide what a missing file means.

A parser is a plain function ``text -> files by relative name`` (None: no code). Parsers never see reasoning and never
decide outcomes: :func:`extract` does, once, for all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from npukernelbench.errors import PluginError
from npukernelbench.generate.arrange import arranged
from npukernelbench.generate.fences import HEADER_SUFFIXES, relative_name
from npukernelbench.generate.parsers import DEVICE_SOURCE, has_unclosed_block
from npukernelbench.generate.thinking import split_thinking, without_thinking
from npukernelbench.nouns import Candidate, Completion, FinishReason, Outcome, Task, Track

if TYPE_CHECKING:
    from npukernelbench.plugins.registry import Registration

__all__ = [
    "DEVICE_SOURCE",
    "Parser",
    "candidate_of",
    "extract",
    "extract_from_reasoning",
    "extract_with",
    "without_thinking",
]

#: What a parser is: text (thinking already removed) to files by relative name, None when there is no code.
Parser: TypeAlias = Callable[[str], "Mapping[str, str] | None"]


def extract(parser: Registration, completion: Completion, task: Task, track: Track) -> Candidate | Outcome:
    """Take the candidate out of an answer; ``Outcome.TRUNCATED`` or ``Outcome.NO_CODE`` when there is none.

    Raises PluginError when the parser itself is broken: that is never the model's fault.
    """
    target = parser.load()
    who = f"parser '{parser.name}' of plugin '{parser.plugin}'"
    if not callable(target):
        raise PluginError(f"{who} is not a function but {type(target).__name__}")

    def parse(text: str) -> Mapping[str, str] | None:
        try:
            files = target(text)
        except Exception as error:  # the boundary between the harness and a plugin's parser
            raise PluginError(f"{who} raised {type(error).__name__}: {error}") from error
        return _validated(files, who)

    return extract_with(parse, completion, task, track)


def extract_from_reasoning(parser: Registration, completion: Completion, task: Task, track: Track) -> Candidate | None:
    """A kernel out of the reasoning, for parsers that have ``searches_reasoning``; None for others and without one.

    What it gives is a draft that the model did not answer with, so the verdict has to say where it comes from.
    """
    if not getattr(parser.load(), "searches_reasoning", False):
        return None
    # Backends give reasoning apart, or leave it in the text.
    thinking = f"{completion.reasoning}\n{split_thinking(completion.text).thinking}"
    # Whether the answer was cut off says nothing about a draft that came before it.
    extracted = extract(
        parser, replace(completion, text=thinking, reasoning="", finish_reason=FinishReason.STOP), task, track
    )
    # Reasoning is full of fragments: only one with an entry can be a kernel.
    if isinstance(extracted, Outcome) or not any("__global__" in text for text in extracted.files.values()):
        return None
    return extracted


def extract_with(parse: Parser, completion: Completion, task: Task, track: Track) -> Candidate | Outcome:
    """The same as :func:`extract` with the parser function in hand; what it raises comes through.

    An answer that ended at the token limit counts as truncated when no block was closed, when it stops inside a block,
    or when the source runs up to the very end of the text.
    """
    text = without_thinking(completion.text)
    cut_off = completion.finish_reason is FinishReason.LENGTH
    files = {name: source for name, source in (parse(text) or {}).items() if source.strip()}
    if not files:
        return Outcome.TRUNCATED if cut_off else Outcome.NO_CODE
    # A complete kernel before the limit counts: only what stopped inside the source is cut off.
    if cut_off and (has_unclosed_block(text) or any(text.rstrip().endswith(s.rstrip()) for s in files.values())):
        return Outcome.TRUNCATED
    if track is Track.STATIC and DEVICE_SOURCE not in files:
        files[DEVICE_SOURCE] = files.pop(_device_source(files, task))
    if track is Track.DYNAMIC:
        files = arranged(files)
    return candidate_of(files)


def candidate_of(files: Mapping[str, str]) -> Candidate:
    """A candidate with its content hash: sha256 over names and texts in the order of names."""
    digest = hashlib.sha256()
    ordered = dict(sorted(files.items()))
    # Each part with its length, so that text cannot move between name and content unnoticed.
    for part in (part for item in ordered.items() for part in item):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return Candidate(ordered, digest.hexdigest())


def _device_source(files: Mapping[str, str], task: Task) -> str:
    """Which file is the kernel: the last that defines the task's entry, else any entry, else the last source file."""

    def fitness(item: tuple[int, str]) -> tuple[bool, bool, bool, int]:
        position, name = item
        has_entry = "__global__" in files[name]
        is_source = not name.endswith(HEADER_SUFFIXES)
        return has_entry and task.kernel in files[name], has_entry, is_source, position

    return max(enumerate(files), key=fitness)[1]


def _validated(files: object, who: str) -> Mapping[str, str] | None:
    if files is None:
        return None
    if not isinstance(files, Mapping):
        raise PluginError(f"{who} returned {type(files).__name__}, expected a mapping of file names to text, or None")
    for name, source in files.items():
        if not isinstance(name, str) or not isinstance(source, str):
            raise PluginError(f"{who} returned {type(name).__name__}: {type(source).__name__}, expected str: str")
        # Files are written under these names, and none may lead out of its folder.
        if relative_name(name) != name:
            raise PluginError(f"{who} returned the file name {name!r}, which is not a plain relative path")
    return files
