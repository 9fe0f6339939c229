"""Where a sample stands in a run's page, so that tables and pages link to the same places."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

__all__ = ["PAGE_NAME", "sample_anchor", "sample_link"]

#: The page of a run, in the run's folder.
PAGE_NAME = "report.html"


def sample_anchor(task: str, case: str, track: str, index: int = 0) -> str:
    """The fragment that opens one sample: ``/sample/<task>/<case>/<track>/<index>``, ``*`` for all cases."""
    # The page's own program makes the same fragment, `*` left as it is; a test holds both alike.
    return "/sample/" + "/".join(quote(part, safe="*") for part in (task, case or "*", track, str(index)))


def sample_link(folder: Path, task: str, case: str, track: str, index: int = 0) -> str:
    """The address of a sample in the page of its run, which need not be written yet."""
    return f"{folder.resolve().as_uri()}/{PAGE_NAME}#{sample_anchor(task, case, track, index)}"
