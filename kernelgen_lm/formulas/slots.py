"""What a small model reads and writes instead of the harness's text: the varying part alone, with slots for names.

The rule is the same for every prompt. Of a question for a tile program it keeps the formula and the interface: element
types, extents and attributes. Everything else stands in every prompt or is prose. The names of inputs, outputs,
attributes and of the kernel become ``<i0>``, ``<o0>``, ``<a0>`` and ``<k>`` by their place in the interface, numbers of
more than one digit ``<n0>``, equal extents the same ``<d0>``, other names of the formula ``<v0>`` where they are
assigned and ``<u0>`` where they are not, all by order of appearance. In the formula an input is ``<f0>``: its values,
and in a program the buffer that holds them as float32; a letter that the formula does not explain is the one input that
begins with it. Indices of elements and of sums are dropped, bars become ``abs``, single digits floats. An answer has
the same slots; filling them gives the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from npukernelbench.nouns import Message

__all__ = ["FORMAT", "SLOT", "SLOTS", "Slotted", "fill", "slotted"]

#: Lies in a checkpoint that reads and writes slots, and says which rule it knows.
SLOTS = "slots.json"
#: Rises when the rule gives another text.
FORMAT = 2
SLOT = re.compile(r"<(?:[ifoandvu]\d+|k)>")
#: Words of formulas that are no names.
WORDS = frozenset(
    re.findall(
        r"\w+",
        """exp ln log log2 log10 log1p expm1 sqrt rsqrt abs sin cos tan tanh sinh cosh atan asin acos asinh acosh atanh
        arctan arcsin arccos sigmoid relu erf erfc floor ceil round trunc sign max min sum mean prod if else otherwise
        over of where and or along the last axis all elements infinity pi clamp in as softplus silu var""",
    )
)
_INPUT = re.compile(r"- (input|output) (\w+): (.+)")
_ATTRIBUTE = re.compile(r"Attribute (\w+): (\w+)")
#: The e of 1e-8 is no name.
_NAME = re.compile(r"(?<![0-9.])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*")
_NUMBER = re.compile(r"(?<![A-Za-z0-9_>])(?:\d+\.\d*(?:e-?\d+)?|\d+e-?\d+|\d{2,})(?![A-Za-z0-9_])")
#: The index of an element: of a tensor, or of a tensor of a list.
_ELEMENT = re.compile(r"(?<=>)(?:\[k\]_i|\[k\]\[i\]|_[a-z]{1,4}\b|\[[ij]\])")
_FOLD = re.compile(r"\b(sum|mean|max|min|prod)_[a-z]{1,4}\b")
_BARS = re.compile(r"\|([^|\n]*)\|")
_DIGIT = re.compile(r"(?<![\w.^<>\[])\d(?![\w.\]>])")
_INDEX = re.compile(r"(?:_(?:[a-z]{1,4}|\d))?$")
_KERNEL = re.compile(r"(?:kernel function is(?: called)?|called) `(\w+)`")


class Slotted(NamedTuple):
    """A question with slots, and what they stand for."""

    text: str
    names: Mapping[str, str]


def slotted(messages: Sequence[Message]) -> Slotted | None:
    """A question for a tile program in slots; None for a text that is none."""
    # The last one: earlier turns may be worked examples.
    asked = next((message.content for message in reversed(messages) if message.role == "user"), "")
    kernel = _KERNEL.search(asked)
    # The question begins with its heading, behind what the harness says in every prompt.
    start = asked.find("\n# ") + 1 if not asked.startswith("# ") else 0
    formula = re.search(r"\n    (\S.*?)\n\n", asked[start:], re.DOTALL)
    rows = _INPUT.findall(asked, start)
    if kernel is None or formula is None or not rows:
        return None
    names, roles = {"<k>": kernel[1]}, dict[str, str]()
    for letter, given in (
        ("i", [name for kind, name, _ in rows if kind == "input"]),
        ("o", [name for kind, name, _ in rows if kind == "output"]),
        ("a", [name for name, _ in _ATTRIBUTE.findall(asked, start)]),
    ):
        for place, name in enumerate(given):
            names[f"<{letter}{place}>"] = name
            # The first role wins: a name that is an input and an output is an input in the formula.
            roles.setdefault(name, f"<{'f' if letter == 'i' else letter}{place}>")
    lines = [_formula(formula[1], {**_initials(formula[1], roles), **roles}, names)]
    extents: dict[str, str] = {}
    for kind, name, what in rows:
        letter = "i" if kind == "input" else "o"
        slot = next(slot for slot, held in names.items() if slot[1] == letter and held == name)
        lines.append(f"{slot} {_tensor(what, extents)}")
    lines += [f"{roles[name]} {kind}" for name, kind in _ATTRIBUTE.findall(asked, start)]
    return Slotted("\n".join(lines) + "\n", names)


def fill(text: str, names: Mapping[str, str]) -> str:
    """An answer with the names for the slots; slots that stand for nothing become plain names."""

    def held(match: re.Match[str]) -> str:
        if match[0][1] == "f" and (name := names.get(f"<i{match[0][2:]}")):
            return f"{name}_f"
        return names.get(match[0], match[0][1:-1])

    return SLOT.sub(held, text)


def _tensor(text: str, extents: dict[str, str]) -> str:
    """Element type and extents of a tensor, or the element type of a list."""
    if text.startswith("absent"):
        return "absent"
    listed = re.match(r"list of \d+ (\w+)", text)
    if listed:
        return f"list {listed[1]}"
    shape = re.match(r"(\w+) \[([^\]]*)\]", text)
    if not shape:
        return "unknown"
    sizes = [part.strip() for part in shape[2].split(",") if part.strip()]
    # An extent of 1 stays: it says what is broadcast, which no other size does.
    held = [size if size == "1" else extents.setdefault(size, f"<d{len(extents)}>") for size in sizes]
    return " ".join([shape[1], "".join(held)]).rstrip()


def _initials(formula: str, roles: Mapping[str, str]) -> dict[str, str]:
    """Letters that stand for an input: the only one that begins so, which the formula does not name otherwise."""
    said = {word.split("_")[0] for word in _NAME.findall(formula)} | set(_NAME.findall(formula))
    assigned = {match[0].split("_")[0] for match in _NAME.finditer(formula) if _begins(formula, match)}
    inputs = [name for name, slot in roles.items() if slot[1] == "f"]
    letters = {name[0]: roles[name] for name in inputs if name not in said}
    return {
        letter: slot
        for letter, slot in letters.items()
        if letter in said - assigned - set(roles)
        # Usual letters of indices.
        and letter not in "ijkncr"
        # Two tensors with the same initial leave the letter without a meaning.
        and sum(name[0] == letter for name in roles) == 1
    }


def _formula(text: str, roles: Mapping[str, str], names: dict[str, str]) -> str:
    """The formula with slots; wide gaps become line ends."""
    lines = [" ".join(part.split()) for line in text.split("\n") for part in re.split(r"\s{3,}", line.strip())]
    seen: dict[str, str] = dict(roles)

    def slot(letter: str, held: str) -> str:
        found = f"<{letter}{sum(key[1] == letter for key in names)}>"
        # A program calls its values as the slot is called; numbers alone are written as the formula has them.
        names[found] = held if letter == "n" else found[1:-1]
        return found

    def base(word: str) -> tuple[str, str]:
        """A name and the index after it."""
        if word in seen or word in WORDS:
            return word, ""
        index = _INDEX.search(word)
        assert index is not None
        return word[: index.start()], word[index.start() :]

    def word_slot(match: re.Match[str]) -> str:
        line = match.string
        word, index = base(match[0])
        if word in seen:
            return seen[word] + index
        if word in WORDS or (index == "" and len(word) == 1 and word in "ijkncr" and not _assigned(line, match)):
            return match[0]
        seen[word] = slot("v" if _assigned(line, match) else "u", word)
        return seen[word] + index

    numbers: dict[str, str] = {}

    def number_slot(match: re.Match[str]) -> str:
        if match[0] not in numbers:
            numbers[match[0]] = slot("n", match[0])
        return numbers[match[0]]

    made = []
    for line in lines:
        made.append(_NUMBER.sub(number_slot, _NAME.sub(word_slot, line)))
    return _plain("\n".join(made))


def _plain(text: str) -> str:
    """One notation: no indices of elements, ``abs`` for bars, single digits as floats."""
    text = _FOLD.sub(r"\1", _ELEMENT.sub("", text))
    # Bars may stand inside of others: each pass turns those that have none inside.
    while (found := _BARS.sub(r"abs(\1)", text)) != text:
        text = found
    return _DIGIT.sub(r"\g<0>.0", text)


def _begins(text: str, match: re.Match[str]) -> bool:
    """Whether a name of several lines is assigned."""
    line = re.split(r"\n|\s{3,}", text[: match.start()])[-1]
    return line.strip() == "" and re.match(r"(?:\[\w\])?\s*=(?!=)", text[match.end() :]) is not None


def _assigned(line: str, match: re.Match[str]) -> bool:
    """Whether a name stands alone before the first equals sign of its line."""
    return line[: match.start()].strip() == "" and re.match(r"(?:\[\w\])?\s*=(?!=)", line[match.end() :]) is not None
