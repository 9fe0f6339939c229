"""The ``npukb`` group: which commands there are, found and imported only when they are used.

Two rules of spelling hold everywhere: ``_`` and ``-`` are alike in names of options and commands, and a command line
that starts with an option means ``run``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import click

from npukernelbench.cli.complete import names
from npukernelbench.cli.translated import help_in, language_option, translated
from npukernelbench.language import ENGLISH, Words

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["COMMANDS", "Command", "Group", "build_group"]


class _Lazy(NamedTuple):
    """A command that is imported when it is called: its module here, and the line that lists it."""

    module: str
    summary: str


#: Our own commands in the order of the help text. The attribute ``command`` of each module is the command.
COMMANDS: Mapping[str, _Lazy] = MappingProxyType(
    {
        "run": _Lazy("run", "Ask a model for kernels and judge them."),
        "judge": _Lazy("judge", "Judge a kernel's source."),
        "debug": _Lazy("debug", "Step through a kernel."),
        "profile": _Lazy("profile", "Show where a kernel's time goes."),
        "compare": _Lazy("compare", "Say whether runs differ, and by how much; or two profiles."),
        "overlap": _Lazy("overlap", "Compare answers with published kernels of the same operators."),
        "leaderboard": _Lazy("leaderboard", "Rank the models of many runs; ties stay ties."),
        "rejudge": _Lazy("rejudge", "Judge the answers of a run again, without its model."),
        "report": _Lazy("report", "Show the results of a finished run again."),
        "view": _Lazy("view", "Look at runs in a browser, also while they go on."),
        "merge": _Lazy("merge", "Put the shards of a run together."),
        "push": _Lazy("push", "Copy a run into object storage."),
        "pull": _Lazy("pull", "Fetch a run from object storage."),
        "export": _Lazy("export", "Write a run's samples and results for other tools."),
        "rewards": _Lazy("rewards", "Use the judge as a reward: policies, datasets, adapters."),
        "serve-judge": _Lazy("serve_judge", "Serve rewards over HTTP."),
        "ls": _Lazy("ls", "List tasks, backends and everything else that has a name."),
        "prompt": _Lazy("prompt", "Print the prompt of a task."),
        "api": _Lazy("api", "Look up names of the API."),
        "golden": _Lazy("golden", "Print a correct kernel."),
        "validate": _Lazy("validate", "Check that tasks are sound and gradeable."),
        "plugins": _Lazy("plugins", "Show installed and quarantined plugins."),
        "doctor": _Lazy("doctor", "Show what works on this machine, and how to repair the rest."),
        "docs": _Lazy("docs", "Open the documentation on this machine, or look up a name."),
        "completion": _Lazy("completion", "Print the completion script of a shell."),
    }
)

_LEVELS = ("debug", "info", "warning", "error", "critical")
_CONTEXT = {
    "help_option_names": ["-h", "--help"],
    "token_normalize_func": lambda name: name.replace("_", "-"),
    "max_content_width": 100,
}


class Command(click.Command):
    """A command with our spelling: ``-v`` takes a level but needs none, options in ``lists`` take several words."""

    lists: tuple[str, ...] = ()

    def __init__(self, *args: object, lists: tuple[str, ...] = (), **attributes: object) -> None:
        super().__init__(*args, **attributes)  # type: ignore[arg-type]
        self.lists = lists
        self.context_settings = {**_CONTEXT, **self.context_settings}
        for parameter in self.params:
            # Here, so that every command completes a name in the same way, those of plugins included.
            if (completer := names(parameter.name or "")) is not None:
                parameter._custom_shell_complete = completer

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, after the spellings click does not know have been written out."""
        return super().parse_args(ctx, _gather_lists(_spell_verbosity(args), self.lists))


class Group(click.Group):
    """``npukb`` itself. Commands of plugins come after ours and cannot take their names."""

    def __init__(self, *args: object, **attributes: object) -> None:
        super().__init__(*args, **attributes)  # type: ignore[arg-type]
        self._asked_plugins = False

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Ours in their own order, then those of plugins."""
        self._ask_plugins()
        return [*COMMANDS, *sorted(name for name in self.commands if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command; plugins are asked only for names that are not ours."""
        command: click.Command | None
        if cmd_name in COMMANDS:
            command = import_module(f"npukernelbench.cli.{COMMANDS[cmd_name].module}").command
        else:
            self._ask_plugins()
            command = super().get_command(ctx, cmd_name)
        return command and translated(command, _words(ctx))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names, or say which one was meant."""
        name = args[0]
        # click tries the other spelling only in its own method, which is called last.
        if self.get_command(ctx, name) is None and self.get_command(ctx, name.replace("_", "-")) is None:
            from difflib import get_close_matches

            near = get_close_matches(name, self.list_commands(ctx), n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else f"commands: {', '.join(self.list_commands(ctx))}"
            words = _words(ctx)
            raise click.UsageError(words.sentence(f"there is no command {name!r}; {words.sentence(hint)}"), ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """A line of options alone means ``run``; an empty line asks for help."""
        if not args:
            args = ["--help"]
        elif args[0].startswith("-") and args[0] not in ("-h", "--help", "--version"):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        """The help, in the reader's language."""
        words = _words(ctx)
        return super().get_help(ctx) if words is ENGLISH else help_in(words, self, ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands and our options; those of ``run`` too, as a line that begins with an option means that."""
        result = super().shell_complete(ctx, incomplete)
        run = self.get_command(ctx, "run") if incomplete.startswith("-") else None
        if run is not None:
            known = {item.value for item in result}
            run_items = run.shell_complete(click.Context(run, parent=ctx), incomplete)
            result += [item for item in run_items if item.value not in known]
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands without importing ours."""
        words, rows = _words(ctx), []
        for name in self.list_commands(ctx):
            command = None if name in COMMANDS else self.commands[name]
            summary = COMMANDS[name].summary if command is None else command.get_short_help_str(80)
            rows.append((name, words.text(summary)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _ask_plugins(self) -> None:
        if self._asked_plugins:
            return
        self._asked_plugins = True
        from npukernelbench.plugins import Plugins

        # `notify` keeps a plugin that fails from stopping our commands.
        Plugins.load().notify("register_commands", cli=self)


def build_group() -> Group:
    """A fresh ``npukb`` group; plugins add their commands to it when it is used."""
    group = Group(
        "npukb",
        help=(
            "Evaluate Ascend C kernels written by language models.\n\n"
            "Without a command, options mean run: npukb --model reference --tasks smoke. "
            "In option names _ and - are alike."
        ),
        context_settings=dict(_CONTEXT),
    )
    group.params.append(language_option())
    group.params.append(
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_show_version,
            help="Show the version and exit.",
        )
    )
    return group


def _words(ctx: click.Context) -> Words:
    """The words that the reader wants; a context without an application is a test's or a shell's."""
    console = getattr(ctx.obj, "console", None)
    return ENGLISH if console is None else console.words


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    # A shell that completes a line parses it without meaning to run it.
    if wanted and not ctx.resilient_parsing:
        from npukernelbench import __version__

        ctx.obj.console.out(f"npukernelbench {__version__}")
        ctx.exit()


def _spell_verbosity(args: list[str]) -> list[str]:
    """``-v`` without a level means ``-v debug``, whatever the next word is."""
    spelled: list[str] = []
    for position, word in enumerate(args):
        if word == "--":
            # Behind `--` there are only arguments, also such as look like options.
            return [*spelled, *args[position:]]
        spelled.append(word)
        following = args[position + 1].lower() if position + 1 < len(args) else ""
        # Click would else take the next word for the level, be it an option or a task.
        if word in ("-v", "--verbosity") and following not in _LEVELS:
            spelled.append("debug")
    return spelled


def _gather_lists(args: list[str], lists: tuple[str, ...]) -> list[str]:
    """``--tasks a b c`` becomes ``--tasks a,b,c`` for the options named in ``lists``."""
    gathered: list[str] = []
    words = iter(args)
    held: list[str] | None = None
    for word in words:
        if held is not None and not word.startswith("-"):
            held.append(word)
            continue
        gathered.extend([",".join(held)] if held else [])
        held = None
        name, equals, value = word.partition("=")
        # The dashes in front of the name were replaced as well.
        if name.replace("-", "_").replace("__", "--", 1) in lists:
            gathered.append(name)
            held = [value] if equals else []
        else:
            gathered.append(word)
            if word == "--":
                # The rest of the iterator, unread: behind `--` no word is an option of ours.
                gathered.extend(words)
    return [*gathered, *([",".join(held)] if held else [])]
