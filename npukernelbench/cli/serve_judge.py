"""``npukb serve-judge``: a judge that stays, for trainers and other machines of a cluster."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import executor_options, setting_options, shared_options
from npukernelbench.cli.session import Session, open_session
from npukernelbench.errors import UsageError

if TYPE_CHECKING:
    from npukernelbench.rewards.replicas import Replicas

__all__ = ["command"]


@click.command("serve-judge", cls=Command, short_help="Serve rewards over HTTP.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8970, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--policy", default="shaped", show_default=True, help="Shaping policy, or FILE:NAME.")
@click.option(
    "--callers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Who may ask, by a token of its own each, and how much of each may wait.",
)
@click.option(
    "--log",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Append a JSON object per request.",
)
@click.option(
    "--cache",
    metavar="FOLDER|URL",
    default="",
    help="Share verdicts with other judges there: a folder, or s3://…, gs://….",
)
@click.option(
    "--replicas",
    metavar="N|N-M",
    help="Serve from so many replicas on a cluster, as many as what waits asks for; needs --executor ray.",
)
@setting_options("strategy", "parser", "hidden_seed", "seed", "jobs")
@executor_options
@shared_options
@click.pass_obj
def command(
    app: App,
    /,
    host: str,
    port: int,
    policy: str,
    callers: Path | None,
    log: Path | None,
    cache: str,
    replicas: str | None,
    **options: Any,
) -> int:
    """Score answers over HTTP until interrupted.

    Only this machine can reach it unless --host says otherwise; then NPUKB_JUDGE_TOKEN must hold a secret that callers
    send, or --callers a token for each. Callers take turns. Equal code for one question is judged once. With --replicas
    and --executor ray several judges of a cluster stand behind one address.
    """
    from npukernelbench.rewards.callers import Callers
    from npukernelbench.rewards.client import TOKEN_VARIABLE
    from npukernelbench.rewards.replicas import Count, Replicas, settings_of
    from npukernelbench.rewards.scorer import local_scorer
    from npukernelbench.rewards.service import JudgeServer, require_guard
    from npukernelbench.rewards.telemetry import log_requests

    # Not an option: other users of a machine can read its command lines.
    who = Callers(os.environ.get(TOKEN_VARIABLE, "")) if callers is None else Callers.read(callers)
    session = open_session(options)
    config = session.config
    if replicas is not None:
        if log is not None:
            raise UsageError(
                "replicas are on many machines", field="--log", remedy="leave it out: Ray keeps their logs"
            )
        require_guard(who, host)
        # The default was counted on this machine, and replicas are on others: 0 lets the executor decide.
        jobs = 0 if config.origin("jobs") == "default" else config.jobs
        count, shared = Count.parse(replicas), settings_of(config)
        return _serve_replicas(app, session, Replicas(host, port, count, policy, who, shared, jobs, cache))
    if log is not None:
        log_requests(log)
    with local_scorer(config, policy, session.plugins, cache=cache) as scorer:
        server = JudgeServer(scorer, host, port, callers=who)
        app.console.out(server.url)
        app.console.flush()
        app.console.err(f"judging with {scorer.jobs} jobs, policy {scorer.policy.label}; stop with Ctrl-C")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            app.console.err("stopped")
        finally:
            server.server_close()
    return 0


def _serve_replicas(app: App, session: Session, replicas: Replicas) -> int:
    """The same from several replicas, where the executor knows a cluster."""
    from npukernelbench.judge.executor import make_executor
    from npukernelbench.rewards.replicas import Replicating

    if replicas.port == 0:
        raise UsageError("replicas need a port that is known before", field="--port", remedy="name one")
    executor = make_executor(session.executor.registration, session.config.executor_args)
    if not isinstance(executor, Replicating):
        raise UsageError(
            f"executor {executor.name!r} knows no cluster",
            field="--replicas",
            remedy="use --executor ray, or start several judges and give trainers all addresses",
        )
    with executor.serve(replicas) as address:
        app.console.out(address)
        app.console.flush()
        least, most = replicas.count
        app.console.err(f"judging with {least} to {most} replicas, policy {replicas.policy}; stop with Ctrl-C")
        try:
            Event().wait()
        except KeyboardInterrupt:
            app.console.err("stopped")
    return 0
