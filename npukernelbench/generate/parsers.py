"""The built-in parsers: functions from text to files by relative name, None when there is no code.

``fenced``   fenced code blocks, one kernel or several named files
``tagged``   ``<kernel_impl>…</kernel_impl>`` and its kin, as KernelGen-LM answers
``strings``  files as strings of a Python module (MultiKernelBench's six) or of a JSON object
``auto``     tagged, else strings, else fenced, else the whole text when it is plainly source (the default)
``auto-reasoning``  auto, and as a last resort the same in the model's reasoning, which the verdict then says

When an answer holds several blocks, the last one that defines a kernel (``__global__``) is the answer; without such a
block the last tagged one, then the last untagged one. Block and tag contents are returned exactly as they were written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from npukernelbench.generate.fences import Block, scan
from npukernelbench.generate.strings import strings

__all__ = ["AUTO_REASONING", "DEVICE_SOURCE", "auto", "fenced", "has_unclosed_block", "strings", "tagged"]

#: Name of the device source on the static track, and of source that carries no name.
DEVICE_SOURCE = "kernel.cpp"

_ENTRY = "__global__"
#: What prose about kernels does not have: the header's inclusion, or the beginning of a function on the AI core.
_SOURCE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]kernel_operator\.h|__aicore__[^;{}()`]{0,200}\(', re.MULTILINE)
# Bounded like the pattern above, so that both are linear in any text.
_TAG = re.compile(r"<(/?)(kernel_impl|kernel_code|kernel)(?:[ \t][^<>\n]{0,200})?>", re.IGNORECASE)


def fenced(text: str) -> Mapping[str, str] | None:
    """Files out of fenced blocks: every block that carries a file name, plus the best of those that carry none."""
    blocks = [block for block in scan(text).blocks if block.is_source and block.text.strip()]
    named = [block for block in blocks if block.name]
    files = {block.name: block.text for block in named}
    best = _best([block for block in blocks if not block.name])
    if best is None:
        return files or None
    if not files:
        return {DEVICE_SOURCE: best.text}
    entries = [block for block in named if _ENTRY in block.text]
    if _ENTRY in best.text and (not entries or best.position > entries[-1].position):
        # A later kernel without a name corrects the named one before it.
        files[entries[-1].name if entries else DEVICE_SOURCE] = best.text
    return files


def tagged(text: str) -> Mapping[str, str] | None:
    """The last complete ``<kernel_impl>…</kernel_impl>`` (``kernel``, ``kernel_code``); fences in it are unpacked."""
    contents = [content for content in _tag_contents(text) if content.strip()]
    if not contents:
        return None
    with_entry = [content for content in contents if _ENTRY in content]
    content = (with_entry or contents)[-1]
    inside = fenced(content)
    return inside if inside is not None else {DEVICE_SOURCE: content}


def auto(text: str) -> Mapping[str, str] | None:
    """Tagged, else strings, else fenced, else the whole text when it is plainly a kernel's source."""
    files = tagged(text)
    if files is None:
        files = strings(text)
    if files is None:
        files = fenced(text)
    if files is None and _is_source(text):
        files = {DEVICE_SOURCE: text}
    return files


class LastResort:
    """:func:`auto` that may also be used on the model's reasoning when its answer holds no code."""

    searches_reasoning = True

    def __call__(self, text: str) -> Mapping[str, str] | None:
        """As :func:`auto`."""
        return auto(text)


AUTO_REASONING = LastResort()


def has_unclosed_block(text: str) -> bool:
    """Whether ``text`` ends inside a fence or a kernel tag."""
    if scan(text).unclosed:
        return True
    # An opening tag in the middle of a line may be one that prose mentions.
    tags = [match for match in _TAG.finditer(text) if match.group(1) or _begins_line(text, match.start())]
    return bool(tags) and not tags[-1].group(1)


def _best(blocks: Sequence[Block]) -> Block | None:
    return max(blocks, key=lambda block: (_ENTRY in block.text, bool(block.language), block.position), default=None)


def _tag_contents(text: str) -> list[str]:
    contents: list[str] = []
    opening: re.Match[str] | None = None
    for match in _TAG.finditer(text):
        if not match.group(1):
            opening = match
        elif opening is not None and opening.group(2).lower() == match.group(2).lower():
            # The line break after the tag belongs to the tag, not to the source.
            contents.append(re.sub(r"\A[ \t]*\r?\n", "", text[opening.end() : match.start()], count=1))
            opening = None
    return contents


def _is_source(text: str) -> bool:
    scanned = scan(text)
    plain = not scanned.blocks and not scanned.unclosed and not _TAG.search(text)
    return plain and _SOURCE.search(text) is not None


def _begins_line(text: str, position: int) -> bool:
    window = text[max(0, position - 100) : position]  # bounded: a long line of tags must not cost its length squared
    return not window.rpartition("\n")[2].strip() and (position <= 100 or "\n" in window)
