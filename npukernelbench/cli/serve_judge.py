"""``npukb serve-judge``: a judge that stays, for trainers and other machines of a cluster."""

from __future__ import annotations

import os
from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import executor_options, setting_options, shared_options
from npukernelbench.cli.session import open_session

__all__ = ["command"]


@click.command("serve-judge", cls=Command, short_help="Serve rewards over HTTP.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8970, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--policy", default="shaped", show_default=True, help="Shaping policy, or FILE:NAME.")
@setting_options("strategy", "parser", "hidden_seed", "seed", "jobs")
@executor_options
@shared_options
@click.pass_obj
def command(app: App, /, host: str, port: int, policy: str, **options: Any) -> int:
    """Score answers over HTTP until interrupted.

    Only this machine can reach it unless --host says otherwise; then NPUKB_JUDGE_TOKEN must hold a secret that callers
    send. Equal code for one question is judged once.
    """
    from npukernelbench.rewards.client import TOKEN_VARIABLE
    from npukernelbench.rewards.scorer import local_scorer
    from npukernelbench.rewards.service import JudgeServer

    session = open_session(options)
    with local_scorer(session.config, policy, session.plugins) as scorer:
        server = JudgeServer(scorer, host, port, token=os.environ.get(TOKEN_VARIABLE, ""))
        app.console.out(server.url)
        app.console.err(f"judging with {scorer.jobs} jobs, policy {scorer.policy.label}; stop with Ctrl-C")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            app.console.err("stopped")
        finally:
            server.server_close()
    return 0
