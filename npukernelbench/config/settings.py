"""Configuration: defaults < file < environment < command line, resolved once, frozen, each value knowing its origin.

The fields of :class:`Config` are the table of settings; the file's keys, the environment variables, the options and the
documentation all follow from it. The file is ``npukb.yaml`` in the current folder or the one that ``--config`` names;
paths written in it are relative to it. A list or mapping of a stronger source takes the place of a weaker one whole.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from npukernelbench.config import values
from npukernelbench.config.values import redact
from npukernelbench.errors import ConfigError, NpukbError, SourceLocation, UsageError
from npukernelbench.nouns.codec import JSON, dumps, to_json
from npukernelbench.nouns.knowledge import Hints, Knowledge
from npukernelbench.nouns.outcomes import Track
from npukernelbench.plugins.registry import did_you_mean

if TYPE_CHECKING:
    from npukernelbench.config.file import Entry

__all__ = ["FILE_NAME", "Config", "Setting", "default_cache_dir", "redact", "resolve", "settings"]

#: The configuration file that is read when none is named.
FILE_NAME = "npukb.yaml"
#: Variables that are read elsewhere and are not settings.
OTHER_VARIABLES = ("NPUKB_LOAD_PLUGINS", "NPUKB_TRACE_PLUGINS", "NPUKB_LANG")

_log = logging.getLogger(__name__)


class Setting(NamedTuple):
    """One line of the table.

    ``default`` is a function of the environment, ``default_text`` its description. ``option`` is the long option, or
    empty when the command line has none.
    """

    name: str
    read: Callable[[object], object]
    default: Callable[[Mapping[str, str]], object]
    default_text: str
    help: str
    option: str

    @property
    def environment(self) -> str:
        """The environment variable of this setting."""
        return f"NPUKB_{self.name.upper()}"


class _About(NamedTuple):
    """What a field of :class:`Config` knows beside its type; with ``computed``, ``default`` is a description only."""

    read: Callable[[object], object]
    default: object
    help: str
    option: str | None
    computed: Callable[[Mapping[str, str]], object] | None


def _about(
    read: Callable[[object], object],
    default: object,
    help_text: str,
    *,
    option: str | None = None,
    computed: Callable[[Mapping[str, str]], object] | None = None,
) -> dict[str, _About]:
    return {"about": _About(read, default, help_text, option, computed)}


def _cpu_count(environ: Mapping[str, str]) -> int:
    del environ
    # `os.cpu_count` also counts processors that this process may not use.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def default_cache_dir() -> Path:
    """Where what can be rebuilt is kept, unless an option or a file says otherwise."""
    own = os.environ.get("NPUKB_CACHE_DIR")
    return Path(own) if own else _cache_dir(os.environ)


def _cache_dir(environ: Mapping[str, str]) -> Path:
    # HOME of `environ` first: a caller may hand in another environment than the process's.
    base = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return Path(base) / "npukernelbench"


_EMPTY: Mapping[str, JSON] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The resolved configuration. Comes out of :func:`resolve`; attributes are typed, :meth:`get` takes a name."""

    model: str | None = field(metadata=_about(values.text, None, "Backend that answers, by name."))
    model_args: Mapping[str, JSON] = field(metadata=_about(values.mapping, _EMPTY, "Arguments of the backend."))
    tasks: tuple[str, ...] = field(
        metadata=_about(values.names, (), "Tasks, levels, categories, tags, groups or globs.")
    )
    track: Track = field(metadata=_about(values.choice(Track), Track.STATIC, "What the model must write."))
    executor: str = field(
        metadata=_about(values.text, "twin", "What compiles and runs kernels; auto: the best that works here.")
    )
    executor_args: Mapping[str, JSON] = field(metadata=_about(values.mapping, _EMPTY, "Arguments of the executor."))
    strategy: str = field(
        metadata=_about(values.text, "direct", "What the model writes, and how it becomes a kernel, by name.")
    )
    strategy_args: Mapping[str, JSON] = field(metadata=_about(values.mapping, _EMPTY, "Arguments of the strategy."))
    prompt_style: str = field(metadata=_about(values.text, "default", "Style of the prompts, by name."))
    knowledge: Knowledge = field(
        metadata=_about(values.choice(Knowledge), Knowledge.STYLE, "How much of the API and the rules a prompt tells.")
    )
    rules: str = field(
        metadata=_about(values.text, "default", "By whose rules tasks are judged: ours, or a benchmark's.")
    )
    checkout: Path | None = field(
        metadata=_about(values.path, None, "Folder of the benchmark itself, which its rules and prompts are read from.")
    )
    parser: str = field(metadata=_about(values.text, "auto", "How code is taken from an answer, by name."))
    num_samples: int = field(metadata=_about(values.positive_whole, 1, "Samples per task and case."))
    turns: int = field(
        metadata=_about(values.positive_whole, 1, "Answers per sample: after a wrong one the model is asked again.")
    )
    hints: Hints = field(
        metadata=_about(values.choice(Hints), Hints.DIAGNOSTICS, "What a model is told about its kernel between turns.")
    )
    limit: int | float | None = field(
        metadata=_about(values.fraction_or_count, None, "Only the first cases of each task: a count, or a fraction.")
    )
    samples: Mapping[str, tuple[str, ...]] = field(
        metadata=_about(values.cases_by_task, MappingProxyType({}), "Only these cases: task name to list of case ids.")
    )
    shard: str | None = field(
        metadata=_about(values.shard, None, "Only this part of the samples: the I-th of N, counted from 1.")
    )
    gen_kwargs: Mapping[str, JSON] = field(metadata=_about(values.mapping, _EMPTY, "Sampling parameters."))
    use_cache: Path | None = field(
        metadata=_about(values.path, None, "File that caches answers, so that none is paid for twice.")
    )
    prices: Path | None = field(metadata=_about(values.path, None, "File with prices of models, used before ours."))
    max_cost: float | None = field(
        metadata=_about(values.positive_number, None, "Stop when the answers of the run have cost this much.")
    )
    max_tokens_total: int | None = field(
        metadata=_about(values.positive_whole, None, "Stop when the run has used so many tokens, prompts included.")
    )
    max_time_s: float | None = field(
        metadata=_about(values.positive_number, None, "Stop after so many seconds.", option="--max_time")
    )
    seed: int = field(
        metadata=_about(
            values.whole,
            0,
            "Seed of sampling and inputs; unless given, a run draws its inputs from a secret of its own.",
        )
    )
    # Not in `repr`, which ends up in logs.
    hidden_seed: str | None = field(
        repr=False, metadata=_about(values.secret, None, "Secret that hidden cases are drawn from; never stored.")
    )
    jobs: int = field(
        metadata=_about(
            values.positive_whole, "number of CPUs", "Kernels compiled and run at the same time.", computed=_cpu_count
        )
    )
    compile_timeout_s: float = field(
        metadata=_about(values.positive_number, 60.0, "Seconds one compilation may take.", option="--compile_timeout")
    )
    run_timeout_s: float = field(
        metadata=_about(values.positive_number, 60.0, "Seconds one kernel may run on one case.", option="--run_timeout")
    )
    output_path: Path = field(metadata=_about(values.path, Path("results"), "Folder that holds one folder per run."))
    include_path: tuple[Path, ...] = field(metadata=_about(values.paths, (), "More folders with task files."))
    predict_only: bool = field(metadata=_about(values.flag, False, "Ask and store answers, judge nothing."))
    fail_under: str | None = field(
        metadata=_about(
            values.threshold, None, "Exit code 1 below this: METRIC=VALUE or a fraction of correct samples."
        )
    )
    disabled_plugins: tuple[str, ...] = field(metadata=_about(values.names, (), "Plugins to leave out.", option="-p"))
    cache_dir: Path = field(
        metadata=_about(
            values.path,
            "`$XDG_CACHE_HOME/npukernelbench` or `~/.cache/npukernelbench`",
            "Folder for what can be rebuilt.",
            option="",
            computed=_cache_dir,
        )
    )
    origins: Mapping[str, str] = field(repr=False)

    @property
    def input_seed(self) -> int | None:
        """What inputs are drawn from where a seed was given; None where every run or batch draws its own secret."""
        # The value does not tell: 0 is the default, and may be what somebody asked for.
        return None if self.origin("seed") == "default" else self.seed

    def get(self, name: str) -> object:
        """The value of a setting. KeyError when there is none of that name."""
        # For its KeyError: `getattr` alone would find methods, too.
        self.origins[name]
        value: object = getattr(self, name)
        return value

    def origin(self, name: str) -> str:
        """Where the value comes from: ``default``, ``npukb.yaml:12``, ``environment NPUKB_JOBS`` or ``--jobs``."""
        return self.origins[name]

    def as_dict(self) -> dict[str, JSON]:
        """All settings as JSON values without credentials, to be saved beside results."""
        # By `origins`, which has exactly the settings.
        redacted = redact({name: to_json(getattr(self, name)) for name in self.origins})
        return dict(redacted) if isinstance(redacted, Mapping) else {}


def settings() -> tuple[Setting, ...]:
    """The table of settings in its documented order."""
    # `origins` is no setting, and has no metadata.
    return tuple(_as_setting(f.name, f.metadata["about"]) for f in fields(Config) if f.metadata)


def resolve(
    *,
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, object] | None = None,
) -> Config:
    """Read every source once.

    ``file`` is what ``--config`` names; without it ``npukb.yaml`` of the current folder is read if it is there.
    ``environ`` defaults to the process environment, where an empty variable counts as unset. ``options`` holds what was
    given on the command line by setting name; None counts as not given. ConfigError for a wrong file or variable,
    UsageError for a wrong option, both naming the place, the field and a value that would do.
    """
    environ = os.environ if environ is None else environ
    table = {setting.name: setting for setting in settings()}
    chosen: dict[str, object] = {name: setting.default(environ) for name, setting in table.items()}
    origins = dict.fromkeys(table, "default")
    # The order is the precedence: later sources win.
    for source in (_from_file(file, table), _from_environment(environ, table), _from_options(options or {}, table)):
        for name, (value, origin) in source.items():
            chosen[name] = _frozen(value)
            origins[name] = origin
    return Config(**chosen, origins=MappingProxyType(origins))  # type: ignore[arg-type]


class _Found(NamedTuple):
    value: object
    origin: str


def _as_setting(name: str, about: _About) -> Setting:
    return Setting(
        name=name,
        read=about.read,
        default=about.computed or (lambda _: about.default),
        default_text=str(about.default) if about.computed else _default_text(about.default),
        help=about.help,
        # None means the usual name; the empty text means that there is no option.
        option=f"--{name}" if about.option is None else about.option,
    )


def _default_text(default: object) -> str:
    encoded = to_json(default)
    if encoded in (None, {}, []):
        return "none"
    return f"`{encoded}`" if isinstance(encoded, str) else f"`{dumps(encoded)}`"


def _from_file(file: Path | None, table: Mapping[str, Setting]) -> dict[str, _Found]:
    path = file or Path(FILE_NAME)
    # Only a file that was named must be there.
    if file is None and not path.is_file():
        return {}
    # Here, as PyYAML is needed only where there is a file.
    from npukernelbench.config.file import read_config_file

    return {key: _read_entry(key, entry, path, table) for key, entry in read_config_file(path).items()}


def _read_entry(key: str, entry: Entry, path: Path, table: Mapping[str, Setting]) -> _Found:
    where = SourceLocation(path, entry.line)
    if key not in table:
        raise ConfigError(
            "there is no such setting",
            location=where,
            field=key,
            remedy=did_you_mean(key, list(table)) or f"settings: {', '.join(table)}",
        )
    try:
        value = table[key].read(entry.value)
    except values.Wrong as wrong:
        raise ConfigError(
            f"expected {wrong.expected}, got {values.shown(entry.value)}",
            location=where,
            field=key,
            remedy=f"write for instance: {key}: {wrong.example}",
        ) from None
    # Only here: paths of the environment and of options are relative to the current folder.
    return _Found(_relative_to(path.parent, value), str(where))


def _from_environment(environ: Mapping[str, str], table: Mapping[str, Setting]) -> dict[str, _Found]:
    variables = {setting.environment: setting for setting in table.values()}
    result = {}
    for variable, raw in environ.items():
        if not variable.startswith("NPUKB_") or not raw.strip() or variable in OTHER_VARIABLES:
            continue
        if variable not in variables:
            _warn_of_misspelling(variable, list(variables))
            continue
        setting = variables[variable]
        origin = f"environment {variable}"
        result[setting.name] = _Found(_read_text(setting, raw, origin, ConfigError, f"{variable}="), origin)
    return result


def _warn_of_misspelling(variable: str, known: list[str]) -> None:
    # Not an error: plugins read variables of their own with the same prefix.
    from difflib import get_close_matches

    # High, as plugins' own variables may be similar to ours without being meant as one.
    near = get_close_matches(variable, known, n=1, cutoff=0.9)
    if near:
        _log.warning("environment variable %s is not a setting; did you mean %s?", variable, near[0])


def _from_options(options: Mapping[str, object], table: Mapping[str, Setting]) -> dict[str, _Found]:
    result = {}
    for name, raw in options.items():
        if name not in table:
            raise UsageError(f"there is no setting {name!r}", remedy=did_you_mean(name, list(table)))
        if raw is not None:
            origin = table[name].option or f"option {name}"
            result[name] = _Found(_read_text(table[name], raw, origin, UsageError, f"{origin} "), origin)
    return result


def _read_text(setting: Setting, raw: object, origin: str, error: type[NpukbError], prefix: str) -> object:
    try:
        return setting.read(raw)
    except values.Wrong as wrong:
        raise error(
            f"expected {wrong.expected}, got {values.shown(raw)}",
            field=origin,
            remedy=f"write for instance: {prefix}{_quoted(wrong.example)}",
        ) from None


def _quoted(example: str) -> str:
    from shlex import quote

    return quote(example)


def _relative_to(folder: Path, value: object) -> object:
    """Paths of a file are relative to the file's folder."""
    if isinstance(value, Path):
        return folder / value
    if isinstance(value, tuple) and value and isinstance(value[0], Path):
        return tuple(folder / item for item in value)
    return value


def _frozen(value: object) -> object:
    # A frozen dataclass does not keep its mappings from being changed.
    return MappingProxyType(value) if isinstance(value, dict) else value
