"""The process that has imported torch once: every question is answered by a fork of it, which then ends.

So no file's code sees what another file has done to the interpreter. Questions come as one end of a socket pair over
the socket that the process was started with; a name in the file system would let a judged kernel ask for its own
expected values.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from .wire import Message, receive, send

__all__ = ["main"]

#: The byte that comes with a question which needs torch's tracer.
SURVEYS = b"s"


def main(descriptor: int) -> None:
    """Answer until the other side closes."""
    control = socket.socket(fileno=descriptor)
    # Nobody waits for the forks: ignored, they leave no zombies.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Ctrl-C reaches the whole group; the other side decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        import numpy  # noqa: F401
        import torch
    # What is wrong with the installation is for the other side to say.
    except Exception as error:  # noqa: BLE001
        send(control, Message({"error": f"{type(error).__name__}: {error}"}))
        return
    send(control, Message({"torch": str(torch.__version__)}))
    while True:
        # One byte and one descriptor: the question itself comes on a socket of its own.
        data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not data:
            return
        if data == SURVEYS:
            _warm()
        # A fork has torch imported already, which takes seconds otherwise.
        if os.fork() == 0:
            control.close()
            _answer(socket.socket(fileno=descriptors[0]))
            # Without the handlers of torch and of the process that it was forked from.
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _warm() -> None:
    """Import what tracing imports, which takes seconds, here and not in every fork."""
    import torch._dynamo
    import torch._export.non_strict_utils
    import torch.export._trace  # noqa: F401


def _answer(asked: socket.socket) -> None:
    """Answer one question; whatever the user's code raises is part of the answer."""
    # The user's code may wait for processes of its own, which fails where children are ignored.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    question = receive(asked)
    # The default action ends the process: code that hangs in a library cannot stop it.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, float(question.header["timeout_s"]))
    # What the user's code prints is not an answer.
    os.dup2(2, 1)
    try:
        answer = _actions()[question.header["action"]](question)
    except BaseException as error:  # noqa: BLE001 - boundary: everything that the user's code can raise
        answer = Message({"error": f"{type(error).__name__}: {error}", "place": _place(error, question.header)})
    send(asked, answer)
    asked.close()


def _actions() -> Mapping[str, Callable[[Message], Message]]:
    from .running import draw, run
    from .shaping import shape
    from .surveying import survey

    return {"run": run, "draw": draw, "survey": survey, "shape": shape}


def _place(error: BaseException, header: Mapping[str, Any]) -> str:
    """``file:line`` of the innermost line of the user's file."""
    path = str(header.get("target", {}).get("file", ""))
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 1}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f"{path}:{lines[-1]}" if lines else path


if __name__ == "__main__":
    main(int(sys.argv[1]))
