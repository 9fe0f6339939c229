"""``npukb tile``: lower, check and explain tile programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import setting_options, shared_options
from npukernelbench.cli.session import find_case, only_task, open_session
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Track

if TYPE_CHECKING:
    from npukb_tile.ir import Program
    from npukernelbench.nouns import Case, Task

__all__ = ["tile"]

_FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_TASK = click.option("--task", "task_name", metavar="NAME", help="Task that the program answers.")
_CASE = click.option("--case", "case_id", metavar="ID", help="Case to lower or explain for.  [default: the smoke case]")


@click.group("tile", short_help="Lower, check and explain tile programs.")
def tile() -> None:
    """Programs in the tile language: see docs/tile.md."""


@tile.command("lower", cls=Command, short_help="Make Ascend C of a program.")
@_FILE
@_TASK
@_CASE
@click.option("--into", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER", help="Write files there.")
@setting_options("track")
@shared_options
@click.pass_obj
def lower(
    app: App, /, file: Path, task_name: str | None, case_id: str | None, into: Path | None, **options: Any
) -> None:
    """Print the Ascend C of the program in FILE, or write it into a folder.

    The dynamic track needs nothing else. On the static one, --task and --case say which numbers become constants.
    """
    from npukb_tile.checking import case_attributes, case_facts
    from npukb_tile.lowering import lower_dynamic, lower_static

    program = _parse(file)
    config = open_session(options).config
    # A dynamic program has no case: its host function finds the numbers at run time.
    if task_name is None or config.track is Track.DYNAMIC:
        files = lower_dynamic(program).files
    else:
        _, case = _task_case(task_name, case_id, options)
        files = lower_static(program, case_facts(program, case), case_attributes(program, case)).files
    for name, text in files.items():
        if into is None:
            if len(files) > 1:
                app.console.out(f"──── {name} ────")
            app.console.out(text.rstrip("\n"))
            continue
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        app.console.out(str(path))


@tile.command("check", cls=Command, short_help="Check a program, and what it computes for a task.")
@_FILE
@_TASK
@shared_options
@click.pass_obj
def check(app: App, /, file: Path, task_name: str | None, **options: Any) -> int:
    """Check the program in FILE: grammar, types, stages. With --task also names and types of the interface, memory on
    every case, and the results of the interpreter on small cases.
    """
    from npukb_tile.checking import MOST_ELEMENTS, check_budgets, check_interface, check_values, input_elements
    from npukb_tile.lowering import lower_dynamic

    program = _parse(file)
    lowered = lower_dynamic(program)
    lines = sum(len(text.splitlines()) for text in lowered.files.values())
    # Blank lines do not count, so that the comparison with the Ascend C is fair to both.
    own = len([line for line in program.source.splitlines() if line.strip()])
    app.console.out(f"{program.name}: {own} lines, {lines} of Ascend C")
    if task_name is None:
        return 0
    task = only_task(open_session(options), task_name).task
    check_interface(program, task)
    app.console.out(f"{task.name}: {check_budgets(program, task.cases)} bytes of the unified buffer at most")
    wrong = 0
    for case in task.cases:
        elements = input_elements(case)
        if elements > MOST_ELEMENTS:
            app.console.out(f"case {case.id}: not run, {elements} elements")
            continue
        compared = check_values(program, task, case)
        wrong += bool(compared.wrong)
        app.console.out(f"case {case.id}: {compared.wrong or 'right'}")
    return 1 if wrong else 0


@tile.command("explain", cls=Command, short_help="Show what the passes make of a program.")
@_FILE
@_TASK
@_CASE
@shared_options
@click.pass_obj
def explain(app: App, /, file: Path, task_name: str | None, case_id: str | None, **options: Any) -> None:
    """Show where the buffers of the program in FILE live, its temporaries and the instructions of its blocks; with a
    task also the numbers of a case.
    """
    from npukb_tile.explain import explain_case, explain_program

    program = _parse(file)
    for line in explain_program(program):
        app.console.out(line)
    if task_name is not None:
        _, case = _task_case(task_name, case_id, options)
        for line in explain_case(program, case):
            app.console.out(line)


@tile.command("tune", cls=Command, short_help="Choose tile length, buffering and cores by predicted time.")
@_FILE
@click.option("--task", "task_name", metavar="NAME", required=True, help="Task that the program answers.")
@click.option("--case", "case_id", metavar="ID", help="Case to tune for.  [default: the smoke case]")
@setting_options("executor", "executor_args")
@shared_options
@click.pass_obj
def tune_command(app: App, /, file: Path, task_name: str, case_id: str | None, **options: Any) -> None:
    """Judge variants of the program in FILE on one case, each predicted time in a line, the fastest one last.

    Nothing is written: the lines say what to change in the host function and in the declarations of buffers.
    """
    from npukb_tile.checking import case_attributes, case_facts
    from npukb_tile.lowering import lower_static
    from npukb_tile.tuning import tune
    from npukernelbench.generate.extract import candidate_of
    from npukernelbench.judge.executor import make_executor
    from npukernelbench.judge.pipeline import Judge, JudgeSettings
    from npukernelbench.nouns import Outcome

    program = _parse(file)
    session = open_session(options)
    task = only_task(session, task_name).task
    case = find_case(task, case_id, Track.STATIC)
    assert case is not None
    plugins, config = session.plugins, session.config
    executor = make_executor(plugins.executors.find(config.executor), config.executor_args)
    judge = Judge.of(executor, plugins, JudgeSettings(seed=config.seed))
    facts, attributes = case_facts(program, case), case_attributes(program, case)

    def measure(variant: Program) -> float | None:
        files = lower_static(variant, facts, attributes).files
        verdict = judge.judge(task, [case], Track.STATIC, candidate_of(dict(files)))
        # A variant that is not right has no time, however fast it is.
        profile = verdict.cases[0].profile if verdict.outcome is Outcome.OK else None
        return profile.time_us if profile is not None else None

    try:
        tried = list(tune(program, case, measure))
    finally:
        executor.close()
    # The last one repeats the best.
    for trial in tried[:-1]:
        app.console.out(f"{'does not do' if trial.time_us is None else f'{trial.time_us:9.2f} us'}  {trial.change}")
    first, best = tried[0].time_us, tried[-1]
    gain = f", {first / best.time_us:.2f} times as fast as written" if first and best.time_us else ""
    app.console.out(f"best: {best.change}{gain}")


def _parse(file: Path) -> Program:
    from npukb_tile.parse import parse_file

    return parse_file(file)


def _task_case(task_name: str, case_id: str | None, options: dict[str, Any]) -> tuple[Task, Case]:
    task = only_task(open_session(options), task_name).task
    case = find_case(task, case_id, Track.STATIC)
    if case is None:
        raise UsageError(f"task {task.name} has no case")
    return task, case
