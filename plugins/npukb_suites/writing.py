"""The files of a task's folder as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from npukb_suites.drafts import Draft

__all__ = ["reference_text", "task_text", "torch_folder"]

_WIDTH = 140


class _Dumper(yaml.SafeDumper):
    """YAML as people write it: text of several lines as a block, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  PyYAML's signature
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def task_text(task: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """``task.yaml``, with comments at its head."""
    head = "".join(f"# {line}\n" for comment in comments for line in comment.splitlines())
    # A copy, since the description is changed below.
    plain = json.loads(json.dumps(task))
    if "description" in plain:
        # YAML has no block style for text with tabs or with blanks at the ends of lines, as PyYAML writes it.
        plain["description"] = (
            "\n".join(line.rstrip() for line in plain["description"].expandtabs(4).splitlines()) + "\n"
        )
    # default_flow_style=None: what holds no lists and mappings stands on one line.
    return head + yaml.dump(
        plain, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=_WIDTH, allow_unicode=True
    )


def reference_text(name: str, facts: Mapping[str, Any]) -> str:
    """``reference.py`` of a task whose reference torch computes."""
    what = facts["target"].get("file") or facts["target"]["module"]
    # Three quotes would end the text that holds them.
    values = json.dumps(facts, indent=4).replace("'''", r"''\u0027")
    return (
        f'"""Reference of {name}: {facts["target"]["name"]} of {what}, run by torch in double precision."""\n\n'
        f"import json\n\nfrom npukb_suites.references import TorchReference\n\n"
        f"reference = TorchReference(__file__, json.loads(r'''\n{values}\n'''))\n"
        f"draw = reference.draw\n"
    )


def torch_folder(draft: Draft, model: Path | None, comments: Sequence[str] = ()) -> dict[str, str]:
    """The files of a task that was made of a survey; ``model`` is the user's file."""
    files = {
        "task.yaml": task_text(draft.task, comments),
        "reference.py": reference_text(draft.task["name"], draft.facts),
    }
    if model is not None:
        files["model.py"] = model.read_text(encoding="utf-8")
    return files
