"""Samples and packed sequences as tables: JSON lines, or Parquet for those who have pyarrow."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kernelgen_lm.corpus.sample import Sample, read_samples, write_lines
from kernelgen_lm.corpus.stream import is_recipe, read_recipe, stream
from npukernelbench.errors import UsageError

__all__ = ["read_table", "require_format", "write_rows", "write_samples"]

#: Fields whose values differ in shape from sample to sample: JSON text in a table.
_LOOSE = ("question", "style", "provenance", "hashes", "verdict")
#: Rows that are written at a time.
_BATCH = 512


def require_format(path: Path) -> None:
    """UsageError when nothing could be written there, before any work is done for it."""
    if path.suffix == ".parquet":
        _pyarrow()
    else:
        _formats(path)


def write_samples(path: Path, samples: Iterable[Sample]) -> None:
    """Write samples in the format that the file's ending names: .jsonl, .jsonl.gz or .parquet. UsageError."""
    if path.suffix == ".parquet":
        write_rows(path, (_flat(sample) for sample in samples))
    else:
        _formats(path)(path, (sample.line() for sample in samples))


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of equal fields in the format that the file's ending names."""
    if path.suffix != ".parquet":
        _formats(path)(path, (json.dumps(row) + "\n" for row in rows))
        return
    pyarrow, parquet = _pyarrow()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".parquet.partial")
    writer = None
    try:
        for batch in _batches(rows):
            # The first batch decides the schema; later ones may hold a column of nulls only, which would get another
            # type.
            table = pyarrow.Table.from_pylist(batch, schema=writer.schema if writer else None)
            writer = writer or parquet.ParquetWriter(unfinished, table.schema, compression="zstd")
            writer.write_table(table)
        if writer is None:
            raise UsageError("there is nothing to write", field="--out", remedy="JSON lines can be empty, Parquet not")
    finally:
        if writer is not None:
            # After an error, too: the file must not stay open. It keeps its partial name then.
            writer.close()
    unfinished.replace(path)


def read_table(path: Path) -> Iterator[Sample]:
    """Samples of a file or of all files of a folder, Parquet too; or those that a recipe gives."""
    if is_recipe(path):
        yield from stream(read_recipe(path))
        return
    tables = sorted(path.glob("*.parquet")) if path.is_dir() else []
    if tables:
        lines = sorted([*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")])
        for file in (*lines, *tables):
            yield from read_table(file)
        return
    if path.suffix != ".parquet":
        yield from read_samples(path)
        return
    _, parquet = _pyarrow()
    for batch in parquet.ParquetFile(path).iter_batches(batch_size=_BATCH):
        for row in batch.to_pylist():
            yield Sample.model_validate({**row, **{name: json.loads(row[name]) for name in _LOOSE}})


def _flat(sample: Sample) -> Mapping[str, Any]:
    """A sample with columns of one type each."""
    data = sample.model_dump(mode="json")
    return {**data, **{name: json.dumps(data[name], ensure_ascii=False, sort_keys=True) for name in _LOOSE}}


def _batches(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    batch: list[Mapping[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _formats(path: Path) -> Callable[[Path, Iterable[str]], None]:
    if path.suffix == ".jsonl":
        return write_lines
    if path.name.endswith(".jsonl.gz"):
        return _write_compressed
    raise UsageError(f"{path} has an unknown ending", field="--out", remedy="name .jsonl, .jsonl.gz or .parquet")


def _write_compressed(path: Path, lines: Iterable[str]) -> None:
    """Write the file completely or not at all; equal lines give equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".gz.partial")
    # No name and no time in the header, as both would change the bytes.
    with unfinished.open("wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as file:
        for line in lines:
            # As in write_lines.
            file.write(line.encode(errors="replace"))
    unfinished.replace(path)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        remedy = "pip install 'npukernelbench[parquet]', or name .jsonl"
        raise UsageError("Parquet needs the package pyarrow", field="--out", remedy=remedy) from None
    return pyarrow, parquet
