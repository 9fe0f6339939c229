"""Exit codes and messages: what went wrong, where, and what to do."""

from __future__ import annotations

import io
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npukernelbench.cli.boundary import guarded
from npukernelbench.console import Console, ConsoleHandler
from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.report import listing


def run(*argv: str) -> tuple[int, str, str]:
    """A command line on a console of strings."""
    out, err = io.StringIO(), io.StringIO()
    code = guarded(list(argv), Console(stdout=out, stderr=err, environ={}))
    return code, out.getvalue(), err.getvalue()


def failing(error: BaseException):
    """A listing that raises."""

    def listing_(*_: object) -> None:
        raise error

    return listing_


@pytest.fixture
def broken(monkeypatch):
    """``broken(error)`` makes ``npukb ls groups`` raise it."""

    def install(error: BaseException) -> None:
        monkeypatch.setattr(listing, "KINDS", {**listing.KINDS, "groups": failing(error)})

    return install


def test_an_error_names_place_field_and_remedy(broken):
    broken(TaskError("is bad", location=SourceLocation(Path("a/task.yaml"), 3, 7), field="cases.0", remedy="mend it"))
    code, out, err = run("ls", "groups")
    assert (code, out) == (3, "")
    assert err == "error: a/task.yaml:3:7: cases.0: is bad\n  remedy: mend it\n"


def test_the_traceback_of_an_error_is_for_the_verbose(broken):
    broken(TaskError("is bad"))
    assert "Traceback" not in run("ls", "groups")[2]
    assert "Traceback" in run("ls", "groups", "-v")[2]


def test_an_unexpected_exception_leaves_a_log(broken):
    broken(ZeroDivisionError("oh"))
    code, _, err = run("ls", "groups")
    assert code == 4
    assert "unexpected ZeroDivisionError: oh" in err
    assert "Traceback" not in err
    log = Path(err.rsplit(" ", 1)[1].strip())
    assert "npukb ls groups" in log.read_text()
    assert "ZeroDivisionError: oh" in log.read_text()
    assert log.is_relative_to(os.environ["XDG_CACHE_HOME"])


def test_the_log_finds_another_place_when_the_cache_cannot_be_written(broken, monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    broken(ZeroDivisionError("oh"))
    log = Path(run("ls", "groups")[2].rsplit(" ", 1)[1].strip())
    assert log.parent == tmp_path


def test_an_interruption_ends_with_130(broken):
    broken(KeyboardInterrupt())
    code, _, err = run("ls", "groups")
    assert code == 130
    assert err == "\ninterrupted\n"


def test_log_records_follow_the_verbosity(npukb, plugin):
    plugin(
        "talker",
        """
        import logging
        from npukernelbench import hookimpl

        @hookimpl
        def register_metrics(register):
            logging.getLogger("npukb_talker").warning("a warning of mine")
            logging.getLogger("npukernelbench.any").info("a detail")
        """,
    )
    quiet = npukb("ls", "metrics")
    assert "warning: a warning of mine" in quiet.err
    assert "a detail" not in quiet.err
    assert "info: npukernelbench.any: a detail" in npukb("ls", "metrics", "-v", "info").err
    assert "warning" not in npukb("ls", "metrics", "-v", "error").err


def test_a_closed_pipe_is_no_error():
    listing_ = subprocess.Popen(
        [sys.executable, "-m", "npukernelbench", "ls", "tasks", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert listing_.stdout is not None
    assert listing_.stderr is not None
    listing_.stdout.close()
    error = listing_.stderr.read()
    listing_.stderr.close()
    assert listing_.wait() == 141
    assert error == b""


def test_ctrl_c_during_a_run_says_how_to_go_on(fake, tmp_path):
    log = tmp_path / "calls"
    command = [sys.executable, "-m", "npukernelbench", "run", "--model", "fake", "--executor", "fake"]
    command += ["--model_args", f"delay_s=0.2,log={log}", "--tasks", "smoke"]
    # A shell starts what runs in its background with the signal ignored, and children inherit that.
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not log.exists():
        assert started.poll() is None, started.communicate()
        time.sleep(0.02)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate()
    assert started.returncode == 130, err
    assert "resume with the same command" in err
    assert "Traceback" not in err + out


def test_messages_survive_a_stream_without_unicode(monkeypatch):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    Console(stdout=out, environ={}).out("✓ 3 µs … naïve")
    out.flush()
    assert raw.getvalue() == b"+ 3 us ... na?ve\n"


def test_surrogates_of_a_broken_file_can_be_shown():
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8")
    Console(stdout=out, environ={}).out(b"a\xffb".decode("utf-8", "surrogateescape"))
    out.flush()
    assert raw.getvalue() == b"a?b\n"


def test_colours_are_for_terminals():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    from npukernelbench.console import Paint

    assert Console(stdout=Terminal(), environ={}).paint("x", Paint.BOLD) == "\x1b[1mx\x1b[0m"
    assert Console(stdout=Terminal(), environ={"NO_COLOR": "1"}).paint("x", Paint.BOLD) == "x"
    assert Console(stdout=Terminal(), environ={"TERM": "dumb"}).paint("x", Paint.BOLD) == "x"
    assert Console(stdout=io.StringIO(), environ={}).paint("x", Paint.BOLD) == "x"
    assert Console(stdout=io.StringIO(), environ={"FORCE_COLOR": "1"}).paint("x", Paint.BOLD) == "\x1b[1mx\x1b[0m"


def test_the_traceback_in_an_errors_detail_is_announced_and_shown(broken):
    broken(TaskError("is bad", detail="Traceback of a plugin"))
    code, _, err = run("ls", "groups")
    assert (code, err) == (3, "error: is bad\n  -v shows the traceback\n")
    assert run("ls", "groups", "-v")[2].endswith("error: is bad\nTraceback of a plugin\n")


def test_a_record_with_an_exception_is_one_line_unless_all_is_wanted():
    for level, shown in ((logging.WARNING, ""), (logging.DEBUG, "Traceback (most recent call last)")):
        err = io.StringIO()
        handler = ConsoleHandler(Console(stdout=io.StringIO(), stderr=err, environ={}), level)
        try:
            raise ValueError("no such project\nand more")
        except ValueError:
            handler.emit(logging.LogRecord("npukernelbench", logging.WARNING, "", 1, "it raised", (), sys.exc_info()))
        if shown:
            assert shown in err.getvalue()
        else:
            assert err.getvalue() == "warning: it raised: ValueError: no such project (-v shows the traceback)\n"
