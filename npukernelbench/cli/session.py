"""What a command works with: configuration, plugins and tasks, resolved once from its options.

``open_session`` takes the options of :func:`~npukernelbench.cli.options.shared_options` and any option that is a
setting; nothing is loaded before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npukernelbench.config import Config, resolve
from npukernelbench.errors import UsageError
from npukernelbench.plugins import Plugins

if TYPE_CHECKING:
    from npukernelbench.judge.automatic import Choice
    from npukernelbench.nouns import Case, Task, Track
    from npukernelbench.tasks import Selected, TaskRegistry
    from npukernelbench.tasks.hidden import HiddenCases

__all__ = ["Session", "find_case", "only_task", "open_session"]


@dataclass(frozen=True)
class Session:
    """Configuration and plugins of one command; tasks are loaded on first use."""

    config: Config
    plugins: Plugins

    @cached_property
    def tasks(self) -> TaskRegistry:
        """Every task there is."""
        from npukernelbench.tasks import load_registry

        return load_registry(self.plugins, self.config.include_path, cache_dir=self.config.cache_dir)

    @cached_property
    def executor(self) -> Choice:
        """The executor that the configuration names or, with ``auto``, the one that works here."""
        from npukernelbench.judge.automatic import choose

        return choose(self.plugins.executors, self.config.executor, self.config.executor_args)

    @cached_property
    def hidden(self) -> HiddenCases | None:
        """The hidden cases of ``--hidden_seed``; None without one."""
        if self.config.hidden_seed is None:
            return None
        from npukernelbench.tasks.hidden import HiddenCases

        return HiddenCases(self.config.hidden_seed, self.config.track)


def open_session(options: Mapping[str, object]) -> Session:
    """Resolve the configuration, load the plugins, tell them the configuration."""
    # Options that were not given are None, or an empty tuple where they may be repeated.
    given = {name: value for name, value in options.items() if value is not None and value != ()}
    file = given.pop("config_file", None)
    switches = given.pop("plugin_switches", ())
    no_plugins = bool(given.pop("no_plugins", False))
    short: dict[str, object] = {name: given.pop(name) for name in ("soc", "checker", "sandbox") if name in given}
    disabled = tuple(_disabled(word) for word in _words(switches))
    if disabled:
        given["disabled_plugins"] = disabled
    config = resolve(file=file if isinstance(file, Path) else None, options=given)
    # They are merged into arguments that may come from the file, and so are known only now.
    if short:
        config = resolve(
            file=file if isinstance(file, Path) else None,
            options={**given, "executor_args": dict(config.executor_args) | short},
        )
    plugins = Plugins.load(disabled=config.disabled_plugins, autoload=not no_plugins)
    plugins.configure(config)
    return Session(config, plugins)


def only_task(session: Session, expression: str) -> Selected:
    """The single task that ``expression`` names; UsageError when it names several."""
    selected = session.tasks.select([expression])
    if len(selected) != 1:
        names = ", ".join(chosen.task.name for chosen in selected[:6]) + (", …" if len(selected) > 6 else "")
        raise UsageError(f"{expression!r} names {len(selected)} tasks, one is needed", field="TASK", remedy=names)
    return selected[0]


def find_case(
    task: Task, case_id: str | None, track: Track, hidden: Callable[[Task], tuple[Case, ...]] | None = None
) -> Case | None:
    """The case that is named, ``hidden`` ones among them; else none on the dynamic track, and the smoke case (or the
    first) on the static one."""
    if case_id is not None:
        cases = (*task.cases, *(hidden(task) if hidden else ()))
        for case in cases:
            if case.id.lower() == case_id.lower():
                return case
        known = [case.id for case in cases]
        listed = ", ".join(known[:20]) + (f", … ({len(known)} in all)" if len(known) > 20 else "")
        secret = "hidden cases need --hidden_seed; " if hidden is None and case_id.lower().startswith("hidden") else ""
        raise UsageError(f"task {task.name} has no case {case_id!r}", field="--case", remedy=f"{secret}cases: {listed}")
    if not track.per_case:
        return None
    return task.usual_case


def _words(value: Any) -> Sequence[str]:
    return [str(word) for word in value]


def _disabled(word: str) -> str:
    prefix, colon, name = word.partition(":")
    if prefix != "no" or not colon or not name:
        raise UsageError(f"{word!r} is no plugin switch", field="-p", remedy="write -p no:NAME; see npukb plugins")
    return name
