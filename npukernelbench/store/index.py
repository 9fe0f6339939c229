"""The index: the catalogue as an SQLite file, for quick resumption and for queries of your own.

It can always be rebuilt, and is trusted only when it was made for exactly this state of the log, told by size and time
of modification. It is written when a run folder is closed: a run that was killed leaves an older one or none.
"""

from __future__ import annotations

import logging
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npukernelbench.nouns import Outcome, Owner, SampleKey, Stage, Track
from npukernelbench.store.catalogue import Catalogue, Place, SampleEntry
from npukernelbench.store.files import SCHEMA

if TYPE_CHECKING:
    import sqlite3

__all__ = ["INDEX_NAME", "load_index", "save_index"]

INDEX_NAME = "index.sqlite"

_TABLES = """
create table log (run_id text, size integer, mtime_ns integer, lines integer);
create table samples (task text, "case" text, track text, idx integer, turn integer, outcome text, owner text,
                      stage text, offset integer, line integer,
                      primary key (task, "case", track, idx, turn)) without rowid;
create table completions (task text, "case" text, track text, idx integer, turn integer, offset integer, line integer,
                          primary key (task, "case", track, idx, turn)) without rowid;
create table prompts (id text primary key, offset integer, line integer) without rowid;
create table openings (offset integer, line integer);
"""

# `case` and `index` are words of SQL: hence the quotes, and `idx`.
_KEY = 'task, "case", track, idx, turn'

_log = logging.getLogger(__name__)


def save_index(index: Path, catalogue: Catalogue, log: Path) -> None:
    """Write the index in one step. A failure is logged: nothing is lost with an index."""
    import sqlite3

    temporary = index.with_name(index.name + ".new")
    try:
        # A process that was killed while it wrote may have left one.
        temporary.unlink(missing_ok=True)
        with closing(sqlite3.connect(temporary)) as database:
            _fill(database, catalogue, log.stat())
        temporary.replace(index)
    except (OSError, sqlite3.Error) as error:
        _log.warning("%s: the index cannot be written: %s", index, error)


def load_index(index: Path, log: Path) -> Catalogue | None:
    """The catalogue; None when the index is missing, damaged, of another version, or not of this state of the log."""
    import sqlite3

    if not index.is_file():
        return None
    try:
        # Read only: readers of a run must not change its folder.
        with closing(sqlite3.connect(f"{index.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return _load(database, log.stat())
    except (sqlite3.Error, ValueError, OSError) as error:
        _log.info("%s: the index is not usable and is rebuilt: %s", index, error)
        return None


def _fill(database: sqlite3.Connection, catalogue: Catalogue, state: os.stat_result) -> None:
    # The file has another name until it is whole, so it needs neither a journal nor to wait for the disk.
    database.execute("pragma journal_mode = off")
    database.execute("pragma synchronous = off")
    database.executescript(f"begin; {_TABLES}")
    database.execute(
        "insert into log values (?, ?, ?, ?)", (catalogue.run_id, catalogue.end, state.st_mtime_ns, catalogue.lines)
    )
    database.executemany(
        "insert into samples values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (*_columns(key), entry.outcome.value, entry.owner.value, entry.stage.value, *entry.place)
            for key, entry in catalogue.samples.items()
        ),
    )
    database.executemany(
        "insert into completions values (?, ?, ?, ?, ?, ?, ?)",
        ((*_columns(key), *place) for key, place in catalogue.completions.items()),
    )
    database.executemany("insert into prompts values (?, ?, ?)", ((i, *p) for i, p in catalogue.prompts.items()))
    database.executemany("insert into openings values (?, ?)", catalogue.openings)
    database.execute(f"pragma user_version = {SCHEMA}")
    database.commit()


def _load(database: sqlite3.Connection, state: os.stat_result) -> Catalogue | None:
    version = database.execute("pragma user_version").fetchone()
    # Asked first: the tables of another version may have other columns.
    if version != (SCHEMA,):
        return None
    run_id, size, mtime_ns, lines = database.execute("select * from log").fetchone()
    # The time as well: an edit by hand may leave the size.
    if (size, mtime_ns) != (state.st_size, state.st_mtime_ns):
        return None
    catalogue = Catalogue(run_id=run_id, end=size, lines=lines)
    query = f"select {_KEY}, outcome, owner, stage, offset, line from samples"
    for *named, outcome, owner, stage, offset, line in database.execute(query):
        catalogue.samples[_key(named)] = SampleEntry(Place(offset, line), Outcome(outcome), Owner(owner), Stage(stage))
    for *named, offset, line in database.execute(f"select {_KEY}, offset, line from completions"):
        catalogue.completions[_key(named)] = Place(offset, line)
    for identifier, *place in database.execute("select * from prompts"):
        catalogue.prompts[identifier] = Place(*place)
    catalogue.openings.extend(Place(*place) for place in database.execute("select * from openings order by offset"))
    return catalogue


def _columns(key: SampleKey) -> tuple[str, str, str, int, int]:
    return key.task, key.case, key.track.value, key.index, key.turn


def _key(columns: list[Any]) -> SampleKey:
    task, case, track, index, turn = columns
    return SampleKey(task, case, Track(track), index, turn)
