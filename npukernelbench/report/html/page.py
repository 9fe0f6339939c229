"""Writing a run as a page: one file that needs nothing else, or for large runs a page and a folder of data.

Everything is in the page: style, program, charts' library, and the data as gzip in base64, which the browser unpacks.
The page may not load anything (its own policy forbids it), so that what a model wrote cannot either. Texts of models
become text of the page, never HTML.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from npukernelbench.nouns import Sample
from npukernelbench.nouns.codec import JSON
from npukernelbench.nouns.results import Results
from npukernelbench.report.comparison.records import Attempt, attempt_of, conversations, record_with
from npukernelbench.report.effort import effort_of, iterates
from npukernelbench.report.html.detail import Block
from npukernelbench.report.html.index import index_of, row_of
from npukernelbench.report.links import PAGE_NAME
from npukernelbench.report.spent import price_of
from npukernelbench.store import StoredRun
from npukernelbench.store.files import writing

__all__ = ["HTML", "Packed", "asset", "pack", "packed_text", "page", "program_of", "shell", "write_page"]

#: A page of more bytes than this keeps its samples in a folder beside it.
MOST_BYTES = 5_000_000
#: Samples are loaded in blocks of about so many characters.
_BLOCK_BYTES = 600_000
_BLOCK_SAMPLES = 40
#: The order in which the program's files stand in the page.
_PROGRAM = ("vendor/d3.min.js", "vendor/plot.min.js", "data.js", "charts.js", "sample.js", "app.js")


@dataclass(frozen=True, slots=True)
class Packed:
    """A run for a page: its index, and its samples in blocks, as JSON."""

    index: dict[str, JSON]
    blocks: tuple[bytes, ...]


def pack(run: StoredRun) -> Packed:
    """Everything a page shows of a run."""
    attempts: list[Attempt] = []
    iterated: list[Sequence[Sample]] = []
    rows: list[JSON] = []
    places: list[JSON] = []
    blocks: list[bytes] = []
    block = Block()
    for turns in conversations(run):
        # Whichever comes first: a browser unpacks a block as a whole before it shows one of its samples.
        if block.nbytes > _BLOCK_BYTES or len(block.samples) == _BLOCK_SAMPLES:
            blocks.append(_dumps(block.as_json()))
            block = Block()
        iterated += [turns] if iterates(turns) else []
        attempts.append(attempt_of(turns))
        rows.append(row_of(turns))
        places.append([len(blocks), len(block.samples)])
        block.add(turns)
    if block.samples:
        blocks.append(_dumps(block.as_json()))
    provenance = run.provenance[-1] if run.provenance else {}
    effort = effort_of(iterated, price_of(provenance))
    return Packed(index_of(record_with(run, attempts), provenance, rows, places, effort), tuple(blocks))


def write_page(run: StoredRun, target: Path, *, most_bytes: int = MOST_BYTES) -> tuple[Path, ...]:
    """Write the page of a run; the files that were written, the page first."""
    packed = pack(run)
    texts = [_zipped(block) for block in packed.blocks]
    target.parent.mkdir(parents=True, exist_ok=True)
    # The page is made as a whole first: how long it becomes is known only then, as its data is compressed.
    whole = page(packed.index, texts).encode()
    if len(whole) <= most_bytes:
        with writing(target):
            target.write_bytes(whole)
        return (target,)
    folder = target.with_name(f"{target.stem}_data")
    written = [target]
    with writing(folder):
        folder.mkdir(exist_ok=True)
        for number, text in enumerate(texts):
            path = folder / f"{number:04}.js"
            # A script, not JSON: a page that is opened as a file may not fetch other files.
            path.write_text(f'npukbBlock({number}, "{text}")\n', encoding="ascii")
            written.append(path)
        # Last, so that everything that the page loads is there before it.
        target.write_text(page(packed.index, (), folder=folder.name), encoding="utf-8")
    return tuple(written)


def page(index: dict[str, JSON], blocks: Sequence[str], *, folder: str = "") -> str:
    """A page with the index in it and the blocks in it or, by number, in a folder beside it."""
    # Base64 has no `<`: whatever a model wrote, it cannot end the element that holds it.
    data = [f'<script type="text/plain" id="index">{packed_text(index)}</script>']
    data += [f'<script type="text/plain" id="block-{number}">{block}</script>' for number, block in enumerate(blocks)]
    return shell(f"{index['model']} · npukernelbench", mode="folder" if folder else "file", where=folder, data=data)


def shell(title: str, *, mode: str, where: str = "", data: Sequence[str] = ()) -> str:
    """The page around data. ``mode`` says where data is: ``file``, ``folder`` or ``live``, the latter at ``where``."""
    # A page that is opened as a file has no origin, so that 'self' alone would match nothing.
    scripts = "'unsafe-inline' 'self' file:" if mode == "folder" else "'unsafe-inline'"
    asked = "'self'" if mode == "live" else "'none'"
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {scripts}; connect-src {asked}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "title": escape(title),
        "policy": policy,
        "style": asset("page.css"),
        "mode": escape(mode, quote=True),
        "where": escape(where, quote=True),
        "data": "\n".join(data),
        "program": "\n".join(program_of(*_PROGRAM)),
    }
    text = asset("page.html")
    # No value holds a later placeholder: names are escaped, data is base64, and the rest is ours.
    for name, value in parts.items():
        text = text.replace(f"<!-- {name} -->", value, 1)
    return text


def program_of(*names: str) -> Iterator[str]:
    """Files of the program, in this order."""
    for name in names:
        yield f"<script>\n{asset(name)}\n</script>"


def asset(name: str) -> str:
    """A file of the page, as text."""
    return (files("npukernelbench.report.html") / "assets" / name).read_text(encoding="utf-8")


def packed_text(value: object) -> str:
    """JSON in gzip in base64, as pages hold their data."""
    return _zipped(_dumps(value))


def _dumps(value: object) -> bytes:
    # Browsers do not parse NaN. A model may write half of a surrogate pair, which UTF-8 cannot hold.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")


def _zipped(text: bytes) -> str:
    """gzip in base64, the same bytes for the same text."""
    return b64encode(gzip.compress(text, 9, mtime=0)).decode("ascii")


@dataclass(frozen=True, slots=True)
class _Html:
    file_name: str = PAGE_NAME

    def write(self, run: StoredRun, results: Results, target: Path) -> Sequence[Path]:
        """The page, and the files beside it that a large run needs."""
        del results
        return write_page(run, target)


HTML = _Html()
