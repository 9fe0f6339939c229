"""Pages of the site that are made from the code, and links of pages that lead out of ``docs/``. Hooks of MkDocs.

Nothing here is written by hand elsewhere: outcomes are the enum's, rules the executor's, fields the schema's, hooks and
names the docstrings'.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from npukernelbench import hookspecs
from npukernelbench.judge.documented import Documented
from npukernelbench.judge.executor import make_executor
from npukernelbench.nouns import Outcome
from npukernelbench.plugins import Plugins
from npukernelbench.tasks.schema import json_schema

#: The public packages, in the order in which a newcomer meets them.
PACKAGES = ("nouns", "tasks", "prompts", "generate", "plugins", "config", "store", "stats", "rewards", "testing")


def outcomes() -> str:
    """How a sample may end, and who answers for it."""
    rows = "\n".join(f"| `{one.value}` | {one.owner.value} | {one.meaning} |" for one in Outcome)
    return (
        "# Outcomes\n\nHow a sample ended. Only outcomes that the *model* owns count against it; those of *infra*, "
        "*task* and *user* are not counted ([metrics](../metrics.md#who-owns-an-outcome)).\n\n"
        f"| outcome | owner | meaning |\n|---|---|---|\n{rows}\n"
    )


def rules() -> str:
    """What the default executor checks."""
    plugins = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""})
    executor = make_executor(plugins.executors.find("twin"), {})
    try:
        assert isinstance(executor, Documented)
        rows = "\n".join(f"| `{one.rule}` | {one.severity} | {one.consequence} |" for one in executor.rule_entries())
    finally:
        executor.close()
    return (
        "# Rules of the twin\n\nWhat a kernel must not do, how a breach counts here, and what it does on the device. "
        "[The twin](../twin.md#how-the-hardwares-rules-appear) explains them.\n\n"
        f"| rule | here | on the device |\n|---|---|---|\n{rows}\n"
    )


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
        required = set(model.get("required", ()))
        about = f"\n{model['description'].strip()}\n" if model.get("description") else ""
        rows = [
            f"| `{field}` | {_kind(facts)} | {'required' if field in required else _default(facts)} |"
            for field, facts in model["properties"].items()
        ]
        parts.append(
            f"## {name.removesuffix('Model')}\n{about}\n| field | type | default |\n|---|---|---|\n"
            + "\n".join(rows)
            + "\n"
        )
    return "\n".join(parts)


def hooks() -> str:
    """The hooks of plugins with their signatures."""
    parts = [
        "# Hooks\n\nWhat a plugin may implement, as `npukernelbench.hookspecs` declares it. "
        "[Plugins](../plugins.md) has an example of each.\n"
    ]
    for name, function in vars(hookspecs).items():
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
    if path.endswith(".md") and path.count("/") == 0:
        return found.group()  # from a page below reference/ to a page beside it
    return f"{text} (`{path}`)" if text.strip("`") not in path else f"`{path}`"


def _about(thing: object) -> str:
    """A docstring as Markdown: roles of Sphinx as code."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    text = re.sub(r":\w+:`~?([^`]*)`", lambda found: f"`{found.group(1).rpartition('.')[2]}`", text)
    return re.sub(r"``([^`]*)``", r"`\1`", text).replace("::\n", ":\n")


def _signature(function: Callable[..., object]) -> str:
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
