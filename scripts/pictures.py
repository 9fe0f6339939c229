"""Real verdicts for pages: the examples are judged, and what npukb says is written where it is shown.

``scripts/pictures`` writes; a test compares. Of a verdict the head is shown, up to the predicted time, of a profile
what would be faster: the rest is long, and wall times differ.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from npukernelbench.console import Console as Printer

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "examples" / "first_kernel" / "README.md"
PICTURE = ROOT / "docs" / "images" / "verdict.svg"
#: The example in the picture.
SHOWN = "npukb judge Sqrt examples/first_kernel/forbidden.cpp --case 2"

_COMMAND = re.compile(r"^\$ (npukb [^\n]*)\n(.*?)(?=^```)", re.MULTILINE | re.DOTALL)
#: Where the head of what a command prints ends.
_INDENT = r"^(?: |\x1b\[[0-9;]*m)*"
_END = {"judge": f"{_INDENT}(?:aiv_|judged in)", "profile": f"{_INDENT}lines with"}
_WIDTH = 110


def said(command: str, *, colour: bool = False) -> str:
    """The head of what a command prints."""
    environ = {**os.environ, "NPUKB_JOBS": "1", **({"FORCE_COLOR": "1"} if colour else {"NO_COLOR": "1"})}
    words = [sys.executable, "-m", "npukernelbench", *command.split()[1:]]
    done = subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    return re.split(_END[words[3]], done.stdout, maxsplit=1, flags=re.MULTILINE)[0].rstrip() + "\n"


def page(text: str) -> str:
    """The page with every command's output as it is now."""
    return _COMMAND.sub(lambda found: f"$ {found.group(1)}\n{said(found.group(1))}", text)


class _Terminal(StringIO):
    """Takes what a terminal of the picture's width would get."""

    def isatty(self) -> bool:
        return True


def picture(command: str, text: str) -> str:
    """A terminal with a command and what it said, as SVG that needs nothing from a network."""
    from rich.console import Console
    from rich.text import Text

    terminal = _Terminal()
    # Python takes a terminal's width from this variable before it asks the terminal.
    with patch.dict(os.environ, COLUMNS=str(_WIDTH)):
        Printer(stdout=terminal).tell(text.rstrip())
    console = Console(record=True, width=_WIDTH, file=StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}\n", style="bold"))
    console.print(Text.from_ansi(terminal.getvalue().rstrip()))
    svg = console.export_svg(title="npukernelbench", unique_id="verdict")
    # rich names two fonts on a server; without them the reader's own fixed-width font is taken.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", "Fira Code, Menlo, Consolas, monospace")


def main() -> None:
    """Write both."""
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    PICTURE.write_text(picture(SHOWN, said(SHOWN, colour=True)), "utf-8")
    print(f"{PAGE.relative_to(ROOT)}\n{PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
