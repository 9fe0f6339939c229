"""``npukb prompt``: what a model is asked, word for word."""

from __future__ import annotations

from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, setting_option, setting_options, shared_options
from npukernelbench.cli.session import find_case, only_task, open_session
from npukernelbench.generate.strategy import load_strategy
from npukernelbench.prompts import load_style, make_reference

__all__ = ["command"]


@click.command("prompt", cls=Command, short_help="Print the prompt of a task.")
@click.argument("task")
@click.option("--case", "case_id", metavar="ID", help="Case of the prompt.  [default: the smoke case]")
@setting_options("track", "hidden_seed", "strategy", "strategy_args")
@setting_option("prompt_style", also=("--style",))
@setting_options("knowledge", "checkout")
@json_option
@shared_options
@click.pass_obj
def command(app: App, /, task: str, case_id: str | None, as_json: bool, **options: Any) -> None:
    """Print the prompt of TASK."""
    from npukernelbench.nouns.codec import to_json

    session = open_session(options)
    config = session.config
    selected = only_task(session, task).task
    case = find_case(selected, case_id, config.track, session.hidden)
    reference = make_reference(config.knowledge, session.plugins.executors, config.executor)
    style = load_style(
        session.plugins.prompts.find(config.prompt_style), lambda: session.tasks, reference, config.checkout
    )
    strategy = load_strategy(session.plugins.strategies.find(config.strategy), config.strategy_args)
    prompt = strategy.opening(selected, case, config.track, style, lambda: session.tasks)
    if as_json:
        app.console.json(to_json(prompt))
        return
    for message in prompt.messages:
        if len(prompt.messages) > 1:
            app.console.out(f"──── {message.role} ────")
        app.console.out(message.content.rstrip("\n"))
        if message is not prompt.messages[-1]:
            app.console.out()
