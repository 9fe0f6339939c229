"""The leash: a child ends with whoever holds its other end, and its exit code comes through."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from npukb_vllm import leash

LEASH = str(Path(leash.__file__))


def start(*command: str) -> tuple[subprocess.Popen[bytes], int]:
    """A child on a leash, and the end that we hold."""
    far, near = os.pipe()
    child = subprocess.Popen(
        [sys.executable, LEASH, str(far), *command], pass_fds=(far,), start_new_session=True, stdout=subprocess.PIPE
    )
    os.close(far)
    return child, near


def test_the_exit_code_comes_through() -> None:
    child, near = start("sh", "-c", "exit 3")
    with child:
        assert child.wait(60) == 3
    os.close(near)


def test_a_child_and_its_children_end_when_the_other_end_is_closed() -> None:
    # The grandchild takes no notice of a polite request; the pipe's end is seen when nobody holds it any more.
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    program = f"{deaf}; print('up', flush=True); time.sleep(600)"
    child, near = start("sh", "-c", f'{sys.executable} -c "{program}" & wait')
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        os.close(near)
        assert child.stdout.read() == b""
        assert child.wait(60) != 0
