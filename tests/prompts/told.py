"""What ten prompts said when somebody last read them, section by section: a change shows as a difference of text.

    python -m tests.prompts.told     renews the files, after a look at the prompts

``told/NAME.md`` holds every wording of the sections of that heading, and ``told.json`` how prompts are made of them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from npukb_twin.teaching import topics
from npukernelbench.nouns import Task, Track
from npukernelbench.nouns.knowledge import Knowledge
from npukernelbench.prompts import PromptStyle
from npukernelbench.prompts.knowledge import Reference, count_tokens
from npukernelbench.prompts.style import DEFAULT
from tests.suite import suite

#: Those whose prompts have styles and worked examples; the launch track has a text of its own.
OPERATOR_TRACKS = (Track.STATIC, Track.DYNAMIC)
#: Ten tasks, one for every class that topics tell apart.
TEN = (
    "Sqrt", "Swish", "RmsNorm", "CrossEntropyLoss", "GatherV3", "TopKV3", "ForeachAddScalar", "BasicMatmul",
    "QuantMatmul", "Mla",
)  # fmt: skip
LEVELS = tuple(known for known in Knowledge if known is not Knowledge.STYLE)

_PROMPTS = Path(__file__).with_name("told.json")
_SECTIONS = Path(__file__).with_name("told")
_HEADING = re.compile(r"(?m)^(?=###? )")
#: Stands before each wording of a section. No prompt has such a line.
_MARK = "=" * 20 + " {name}\n"
_MARKED = re.compile(r"(?m)^={20} (.+)\n")


def text(style: PromptStyle, task: Task, track: Track) -> str:
    """The messages of a prompt."""
    return "\n".join(message.content for message in style.render(task, task.usual_case, track).messages)


def level(known: Knowledge) -> PromptStyle:
    """The default style with so much of the API told."""
    return DEFAULT.with_knowledge(Reference(known, topics()))


def prompts() -> dict[str, str]:
    """The prompts of ten tasks, on both tracks and every level."""
    tasks = suite()
    return {
        f"{name} {track.value} {known.value}": text(level(known), tasks[name], track)
        for name in TEN
        for track in OPERATOR_TRACKS
        for known in LEVELS
    }


def kept() -> dict[str, str]:
    """The prompts that the files hold."""
    sections: dict[str, str] = {}
    for path in sorted(_SECTIONS.glob("*.md")):
        _, *parts = _MARKED.split(path.read_text(encoding="utf-8"))
        # A mark begins a line; the last newline before it is the file's, not the section's.
        sections |= {name: section[:-1] for name, section in zip(parts[::2], parts[1::2], strict=True)}
    made = json.loads(_PROMPTS.read_text(encoding="utf-8"))
    return {name: "".join(sections[part] for part in row["sections"]) for name, row in made.items()}


def keep(told: dict[str, str]) -> None:
    """Write the files anew."""
    names: dict[str, str] = {}
    by_heading: dict[str, list[str]] = {}
    rows = []
    for prompt, whole in told.items():
        parts = _HEADING.split(whole)
        for part in parts:
            heading = _slug(part)
            if part not in names:
                by_heading.setdefault(heading, []).append(part)
                names[part] = f"{heading} {len(by_heading[heading])}"
        row = {"tokens": count_tokens(whole), "sections": [names[part] for part in parts]}
        rows.append(f"{json.dumps(prompt)}: {json.dumps(row)}")
    _PROMPTS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    _SECTIONS.mkdir(exist_ok=True)
    for old in _SECTIONS.glob("*.md"):
        old.unlink()
    for heading, parts in by_heading.items():
        pieces = (_MARK.format(name=names[part]) + part + "\n" for part in parts)
        (_SECTIONS / f"{heading}.md").write_text("".join(pieces), encoding="utf-8")


def _slug(section: str) -> str:
    first = section.split("\n", 1)[0]
    return re.sub(r"[^a-z0-9]+", "-", first.lstrip("# ").lower()).strip("-") if first.startswith("#") else "opening"


if __name__ == "__main__":
    keep(prompts())
