"""``npukb rewards``: the shaping policies, rows for trainers, and a trial of every adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, judging_options, setting_options, shared_options
from npukernelbench.cli.session import open_session
from npukernelbench.console import Paint

__all__ = ["command"]


@click.group("rewards", short_help="Use the judge as a reward: policies, datasets, adapters.")
def command() -> None:
    """Use the judge as a reward in training. See docs/rewards.md."""


@command.command("ls", cls=Command, short_help="List the shaping policies.")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Policies of a file of your own.")
@json_option
@click.pass_obj
def list_policies(app: App, /, file: Path | None, as_json: bool) -> int:
    """List the shaping policies."""
    from npukernelbench.nouns.codec import to_json
    from npukernelbench.rewards.policy import policies

    offered = policies(file) if file else policies()
    if as_json:
        app.console.json({policy.label: to_json(policy) for policy in offered.values()})
        return 0
    for policy in offered.values():
        app.console.out(f"{app.console.paint(policy.label, Paint.BOLD)}  {policy.about}")
    return 0


@command.command("dataset", cls=Command, lists=("--tasks",), short_help="Write rows for a trainer.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--format", "row_format", type=click.Choice(["trl", "verl"]), default="trl", show_default=True)
@setting_options("tasks", "track", "limit", "strategy", "prompt_style", "knowledge", "hidden_seed")
@shared_options
@click.pass_obj
def dataset(app: App, /, file: Path, row_format: str, **options: Any) -> int:
    """Write one row per question to FILE: JSON lines, or Parquet when its name ends so.

    Each row holds the prompt that `npukb run` would ask, and the question that rewards are computed for.
    """
    from npukernelbench.cli.plan import select_cases
    from npukernelbench.generate.strategy import load_strategy
    from npukernelbench.prompts import load_style, make_reference
    from npukernelbench.rewards.dataset import RowFormat, rows, write_rows
    from npukernelbench.run.selective import leave_out

    session = open_session(options)
    config = session.config
    selected = select_cases(session.tasks, config, session.hidden)
    reference = make_reference(config.knowledge, session.plugins.executors, config.executor)
    style = load_style(session.plugins.prompts.find(config.prompt_style), lambda: session.tasks, reference)
    strategy = load_strategy(session.plugins.strategies.find(config.strategy))
    selected, left_out = leave_out(selected, config.track, (strategy,))
    for reason, names in sorted(left_out.items()):
        app.console.err(f"left out, {reason}: {len(names)} tasks")
    made = rows(selected, config.track, style, RowFormat(row_format), strategy=strategy, tasks=lambda: session.tasks)
    count = write_rows(file, made)
    app.console.err(f"{count} rows: {file}")
    return 0


@command.command("check", cls=Command, short_help="Try every adapter on a right and a wrong answer.")
@click.option("--question", metavar="TASK[/CASE]", default="Sqrt", show_default=True, help="Question with a golden.")
@click.option("--policy", default="shaped", show_default=True, help="Shaping policy, or FILE:NAME.")
@click.option("--judge", metavar="URL", default="", help="Ask a server of npukb serve-judge.")
@judging_options
@click.pass_obj
def check(app: App, /, question: str, policy: str, judge: str, as_json: bool, **options: Any) -> int:
    """Call every adapter as its trainer calls it. The exit code is 1 when one does not do what it must."""
    from npukernelbench.nouns.codec import to_json
    from npukernelbench.rewards.contract import check_adapters, probe_for
    from npukernelbench.rewards.question import Question
    from npukernelbench.rewards.scorer import local_scorer

    config = open_session(options).config
    with local_scorer(config, policy) as scorer:
        probe = probe_for(scorer, Question.parse(question))
    settings = {"executor": config.executor, "executor_args": dict(config.executor_args)}
    findings = list(check_adapters(probe, policy=policy, judge=judge, settings={} if judge else settings))
    if as_json:
        app.console.json([to_json(finding) for finding in findings])
    else:
        marks = {True: ("✓", Paint.GOOD), False: ("✗", Paint.BAD), None: ("·", Paint.DIM)}
        for finding in findings:
            mark, paint = marks[finding.holds]
            app.console.out(f"{app.console.paint(mark, paint)} {finding.what}: {finding.detail}")
    return int(any(finding.holds is False for finding in findings))
