"""Pages of the site that are made from the code, and links of pages that lead out of ``docs/``. Hooks of MkDocs.

Nothing here is written by hand elsewhere: outcomes are the enum's, rules the executor's, fields the schema's, hooks and
names the docstrings'.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import Any

import yaml

from npukernelbench import hookspecs
from npukernelbench.judge.documented import Documented
from npukernelbench.judge.executor import make_executor
from npukernelbench.nouns import Outcome
from npukernelbench.plugins import Plugins
from npukernelbench.tasks.schema import json_schema

#: The public packages, in the order in which a newcomer meets them.
PACKAGES = ("nouns", "tasks", "prompts", "generate", "plugins", "config", "store", "stats", "rewards", "testing")

#: Kernels that break a rule; tests run them.
_RULES = Path(__file__).resolve().parents[1] / "docs" / "rules"
#: What a block of the page shows without scrolling.
_COLUMNS = 82
#: What has to be switched on for a rule, by the twin that an example is for.
_CHECKED = {
    "fast": "",
    "full": " Found with `--checker full`.",
    "310p": " Found with `--soc ascend310p3`.",
    "pooled": " Found where all tensors lie in one pool, as in a framework's memory.",
}


def outcomes() -> str:
    """How a sample may end, and who answers for it."""
    rows = "\n".join(f"| `{one.value}` | {one.owner.value} | {one.meaning} |" for one in Outcome)
    return (
        "# Outcomes\n\nHow a sample ended. Only outcomes that the *model* owns count against it; those of *infra*, "
        "*task* and *user* are not counted ([metrics](../metrics.md#who-owns-an-outcome)).\n\n"
        f"| outcome | owner | meaning |\n|---|---|---|\n{rows}\n"
    )


def rules() -> str:
    """What the default executor checks, each rule with a kernel that breaks it."""
    # Third-party plugins, which a developer may have installed, could offer another twin.
    plugins = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""})
    executor = make_executor(plugins.executors.find("twin"), {})
    try:
        assert isinstance(executor, Documented)
        entries = executor.rule_entries()
    finally:
        executor.close()
    examples = _examples()
    names = {
        entry.rule: f"[`{entry.rule}`](#{entry.rule})" if entry.rule in examples else f"`{entry.rule}`"
        for entry in entries
    }
    rows = "\n".join(f"| {names[entry.rule]} | {entry.severity} | {entry.consequence} |" for entry in entries)
    parts = [
        "# Rules of the twin\n\nWhat a kernel must not do, how a breach counts here, and what it does on the device. "
        "[The twin](../twin.md#how-the-hardwares-rules-appear) explains them.\n\n"
        f"| rule | here | on the device |\n|---|---|---|\n{rows}\n\n## Examples\n\nOne kernel that breaks each rule "
        "and no other, and what the twin says at the line marked `here`. Tests run all of them. Statements of a vector "
        f"core stand behind these:\n\n{_block('cpp', _setup('vector'))}\nThose of a cube core stand behind these, "
        f"where `Cube` has a buffer in every memory:\n\n{_block('cpp', _setup('cube'))}"
    ]
    shown = (
        entry for entry in entries if entry.rule in examples
    )  # of a launch, the host's compiler is first to refuse it
    parts += [_section(one.rule, one.severity, one.consequence, examples[one.rule]) for one in shown]
    return "\n".join(parts)


def _setup(core: str) -> str:
    return (_RULES / f"{core}_setup.cpp").read_text("utf-8")


def _examples() -> Mapping[str, Mapping[str, Any]]:
    """A breach of every rule: those that say all that the twin says of them."""
    rows = (row for path in sorted(_RULES.glob("*.yaml")) for row in yaml.safe_load(path.read_text("utf-8")))
    return {row["rule"]: row for row in rows if "remedy" in row}


def _section(rule: str, severity: str, consequence: str, example: Mapping[str, Any]) -> str:
    kind = "warning" if example.get("warning") else "error"
    twin = _CHECKED[example.get("twin", "fast")]
    told = (f"{kind}: {example['says']} [{rule}]", f"  remedy: {example['remedy']}")
    said = "\n".join(fill(line, _COLUMNS, subsequent_indent="    ", break_long_words=False) for line in told)
    numbers = "".join(f"// {name} of the tiling is {value}\n" for name, value in example.get("numbers", {}).items())
    return (
        f"### {rule}\n\nHere: {severity}. On the device: {consequence}.{twin}\n\n"
        f"{_block('cpp', numbers + example['body'])}\n{_block('text', said)}"
    )


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def task_file() -> str:
    """The fields of ``task.yaml``."""
    schema = json_schema()
    models: Mapping[str, Any] = {"task.yaml": schema, **schema.get("$defs", {})}
    parts = [
        "# task.yaml\n\nEvery field, from the schema that reads the file. [Tasks](../tasks.md) explains how to write "
        "one.\n"
    ]
    for name, model in models.items():
        if "properties" not in model:
            continue
        # A file that includes others may leave what is required to them.
        required = set(model.get("required") or model.get("then", {}).get("required", ()))
        about = f"\n{model['description'].strip()}\n" if model.get("description") else ""
        rows = [
            f"| `{field}` | {_kind(facts)} | {'required' if field in required else _default(facts)} "
            f"| {_meaning(facts)} |"
            for field, facts in model["properties"].items()
        ]
        parts.append(
            f"## {name.removesuffix('Model')}\n{about}\n| field | type | default | meaning |\n|---|---|---|---|\n"
            + "\n".join(rows)
            + "\n"
        )
    return "\n".join(parts)


def _meaning(facts: Mapping[str, Any]) -> str:
    return " ".join(str(facts.get("description", "")).replace("``", "`").split())


def hooks() -> str:
    """The hooks of plugins with their signatures."""
    parts = [
        "# Hooks\n\nWhat a plugin may implement, as `npukernelbench.hookspecs` declares it. "
        "[Plugins](../plugins.md) has an example of each.\n"
    ]
    for name, function in vars(hookspecs).items():
        # pluggy marks the specifications of a project with an attribute of this name.
        if inspect.isfunction(function) and hasattr(function, "npukernelbench_spec"):
            parts.append(f"## {name}\n\n```python\n{name}{_signature(function)}\n```\n\n{_about(function)}\n")
    return "\n".join(parts)


def api() -> str:
    """Public names of the public packages."""
    parts = ["# Python API\n\nWhat the packages export. Everything else may change without a word.\n"]
    for package in PACKAGES:
        module = import_module(f"npukernelbench.{package}")
        parts.append(f"## npukernelbench.{package}\n\n{_about(module)}\n")
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                parts.append(f"### {name}\n\n{_code(name, thing)}{_about(thing)}\n")
    return "\n".join(parts)


ROOT = Path(__file__).resolve().parents[1]
#: What is made, by its place in the site.
PAGES: Mapping[str, Callable[[], str]] = {
    "reference/outcomes.md": outcomes,
    "reference/rules.md": rules,
    "reference/task.md": task_file,
    "reference/hooks.md": hooks,
    "reference/api.md": api,
}


def on_files(files: Any, config: Any) -> Any:
    """MkDocs: add what is made."""
    from mkdocs.structure.files import File

    for place, make in PAGES.items():
        files.append(File.generated(config, place, content=make()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """MkDocs: a link to a file of the repository that is no page becomes its path."""
    return re.sub(r"\[([^\]]*)\]\((?:\.\./)+((?!reference/)[\w./-]+)(?:#[\w-]*)?\)", _as_path, markdown)


def _as_path(found: re.Match[str]) -> str:
    text, path = found.groups()
    if "/" not in path and (ROOT / "docs" / path).exists():
        return found.group()  # from a page below reference/ to a page beside it
    return f"{text} (`{path}`)" if text.strip("`") not in path else f"`{path}`"


def _about(thing: object) -> str:
    """A docstring as Markdown: roles of Sphinx as code."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    text = re.sub(r":\w+:`~?([^`]*)`", lambda found: f"`{found.group(1).rpartition('.')[2]}`", text)
    return re.sub(r"``([^`]*)``", r"`\1`", text).replace("::\n", ":\n")


def _signature(function: Callable[..., object]) -> str:
    # Annotations are not evaluated here, so that `signature` shows them as quoted text.
    return str(inspect.signature(function)).replace("'", "")


def _code(name: str, thing: Any) -> str:
    try:
        return f"```python\n{name}{_signature(thing)}\n```\n\n"
    except ValueError:
        return ""


def _kind(facts: Mapping[str, Any]) -> str:
    return " or ".join(dict.fromkeys(_kinds(facts))) or "any"


def _kinds(facts: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in facts:
        name = facts["$ref"].rpartition("/")[2]
        yield (
            f"[{name.removesuffix('Model')}](#{name.removesuffix('Model').lower()})" if name.endswith("Model") else name
        )
    for other in (*facts.get("anyOf", ()), *facts.get("oneOf", ())):
        yield from _kinds(other)
    if "enum" in facts:
        yield ", ".join(f"`{value}`" for value in facts["enum"])
    elif facts.get("type") == "array":
        yield f"list of {_kind(facts.get('items', {}))}"
    elif "type" in facts:
        yield str(facts["type"])


def _default(facts: Mapping[str, Any]) -> str:
    return f"`{facts['default']}`" if facts.get("default") not in (None, "", [], {}) else ""
