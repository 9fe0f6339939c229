"""The documentation site: where its pages are, and how it is built."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

from npukernelbench.errors import ExecutorError, UsageError

__all__ = ["build_site", "find_pages", "serve_site"]

#: The checkout that this package lies in, if it lies in one.
_ROOT = Path(__file__).resolve().parents[2]


def find_pages(root: Path = _ROOT) -> Path:
    """The checkout with the pages. UsageError when this is an installed package, which brings none."""
    if not (root / "mkdocs.yml").is_file():
        raise UsageError(
            f"there are no pages beside the package in {root}",
            remedy="clone the repository and use its npukb; the help of each command is part of every installation",
        )
    return root


def build_site(root: Path, target: Path) -> Path | None:
    """The first page of the site, built strictly into ``target``; None where MkDocs is not installed.

    ExecutorError with what MkDocs says when it refuses a page.
    """
    # MkDocs comes without the theme that mkdocs.yml names.
    if find_spec("mkdocs") is None or find_spec("material") is None:
        return None
    # Not -q: it also hides that a page is refused.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    # Material prints a notice about MkDocs 2 at every build, which would stand among the faults of pages.
    environ = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        told = "\n".join(line for line in done.stderr.splitlines() if not line.startswith("INFO"))
        raise ExecutorError(f"the site cannot be built:\n{told}", remedy="mend the pages that are named")
    return target / "index.html"


class _Quiet(SimpleHTTPRequestHandler):
    """Files, without a line for each."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def serve_site(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server of the files in ``folder`` for this machine alone: search does not work in files that are opened as they
    are. UsageError when the port is taken.
    """
    try:
        # Only this machine: the pages are the reader's own build, which need not be seen by others.
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_Quiet, directory=str(folder)))
    except OSError as error:
        raise UsageError(f"port {port}: {error.strerror}", field="--port", remedy="name another, or 0") from None
