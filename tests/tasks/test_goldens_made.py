"""Golden kernels that a plugin makes: what a task file may say, what is kept, and what happens when it is damaged."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import npukb_tile
from npukernelbench import hookimpl
from npukernelbench.errors import TaskError
from npukernelbench.nouns import Case, Golden, Task, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import GoldenKernels
from npukernelbench.tasks.cache import task_from_json, task_to_json
from npukernelbench.tasks.goldens import golden_of, read_golden
from npukernelbench.tasks.load import load_task
from npukernelbench.tasks.making import Makers, Making, digest_of, sources_digest
from npukernelbench.tasks.validate import validate_task

Write = Callable[..., Path]
DYNAMIC = {"op_host/twice.cpp": "// host of 1\n", "op_kernel/twice.cpp": "// device\n"}


class Shouter:
    """A maker that counts: files of a program, and a kernel for a case out of an operator."""

    def __init__(self, version: str = "1") -> None:
        self._version = version
        self.made: list[str] = []
        self.closed = 0

    def version(self) -> str:
        return self._version

    def make(self, request: Making) -> Mapping[str, str]:
        self.made.append(request.case.id if request.case else request.path.name)
        if request.case is not None:
            return {"kernel.cpp": f"// {request.case.id}: {request.sources['op_host/twice.cpp']}"}
        return {**DYNAMIC, "op_host/twice.cpp": f"// host of {self._version}\n"}

    def close(self) -> None:
        self.closed += 1


def makers(cache: Path, **offered: object) -> Makers:
    class Offers:
        @hookimpl
        def register_goldens(self, register: Callable[..., None]) -> None:
            for name, target in offered.items():
                register(name, target)

    plugins = Plugins.load(autoload=False)
    plugins.register(Offers(), "offers")
    return Makers(plugins.goldens, cache)


@pytest.fixture
def made_task(write_task: Write) -> Task:
    """A task whose operator ``shout`` makes of a program, and whose static kernel is derived from that."""
    path = write_task()
    (path.parent / "loud.txt").write_text("twice!\n")
    text = f"goldens: {{static: {{derived: dynamic}}, dynamic: {{shout: loud.txt, sha256: {digest_of(DYNAMIC)}}}}}\n"
    path.write_text(path.read_text() + text)
    return load_task(path).task


def operator(task: Task) -> Golden:
    golden = golden_of(task, Track.DYNAMIC)
    assert golden is not None
    return golden


def kept(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.json"))


def test_a_golden_is_made_once_and_kept(made_task: Task, tmp_path: Path) -> None:
    shout = Shouter()
    for _ in range(2):
        assert read_golden(operator(made_task), makers(tmp_path, shout=shout)) == DYNAMIC
    assert shout.made == ["loud.txt"]
    assert task_from_json(task_to_json(made_task)) == made_task
    operator(made_task).path.write_text("thrice!\n")
    read_golden(operator(made_task), makers(tmp_path, shout=shout))
    assert len(shout.made) == 2, "another program is another kernel"


def test_another_version_of_the_maker_makes_it_again(made_task: Task, tmp_path: Path) -> None:
    read_golden(operator(made_task), makers(tmp_path, shout=Shouter()))
    with pytest.raises(TaskError, match=r"made of loud\.txt has the sha256") as caught:
        read_golden(operator(made_task), makers(tmp_path, shout=Shouter("2")))
    assert digest_of({**DYNAMIC, "op_host/twice.cpp": "// host of 2\n"}) in caught.value.message
    assert digest_of(DYNAMIC) in caught.value.message
    assert "the new digest" in str(caught.value.remedy)
    free = replace(operator(made_task), sha256="")
    assert read_golden(free, makers(tmp_path, shout=Shouter("2")))["op_host/twice.cpp"] == "// host of 2\n"


def test_damage_to_the_cache_is_made_good(made_task: Task, tmp_path: Path) -> None:
    shout = Shouter()
    read_golden(operator(made_task), makers(tmp_path, shout=shout))
    [file] = kept(tmp_path)
    whole = file.read_bytes()
    other = json.dumps({**json.loads(whole), "files": {"op_host/twice.cpp": "// another\n"}}).encode()
    for damage in (b"", whole[:40], b"[]", b"{}", b"\xff\xfe", b'{"files": 1, "sha256": ""}', other):
        file.write_bytes(damage)
        assert read_golden(operator(made_task), makers(tmp_path, shout=shout)) == DYNAMIC, damage
        assert file.read_bytes() == whole
    assert len(shout.made) == 8


def test_a_cache_that_cannot_be_written_is_done_without(made_task: Task, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    places = [tmp_path / "file"]  # no folder can be made below a file, whoever asks
    if os.geteuid() != 0:
        (tmp_path / "shut").mkdir(mode=0o500)
        places.append(tmp_path / "shut")
    for place in places:
        shout = Shouter()
        for _ in range(2):
            assert read_golden(operator(made_task), makers(place, shout=shout)) == DYNAMIC
        assert len(shout.made) == 2
        assert not kept(place)


def test_several_at_once_make_one_file(made_task: Task, tmp_path: Path) -> None:
    together = threading.Barrier(4)

    class Patient(Shouter):
        def make(self, request: Making) -> Mapping[str, str]:
            together.wait(timeout=30)  # all have found nothing; all write
            return super().make(request)

    def read(_: int) -> Mapping[str, str]:
        return read_golden(operator(made_task), makers(tmp_path, shout=Patient()))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, range(4))) == [DYNAMIC] * 4
    assert len(kept(tmp_path)) == 1
    assert not list(tmp_path.rglob("*.tmp"))
    assert read_golden(operator(made_task), makers(tmp_path, shout=Shouter("1"))) == DYNAMIC


def test_what_cannot_be_made_is_named(made_task: Task, tmp_path: Path) -> None:
    class Refuses(Shouter):
        def make(self, request: Making) -> Mapping[str, str]:
            raise TaskError("too quiet", remedy="shout")

    for offered, words in (
        ({}, "no golden maker 'shout'"),
        ({"shout": object()}, "lacks 'version' or 'make'"),
        ({"shout": "no_such_module:MAKER"}, "cannot be loaded from"),
        ({"shout": Refuses()}, "too quiet"),
    ):
        with pytest.raises(TaskError, match=words):
            read_golden(operator(made_task), makers(tmp_path, **offered))
    operator(made_task).path.unlink()
    with pytest.raises(TaskError, match="cannot read the golden kernel"):
        read_golden(operator(made_task), makers(tmp_path, shout=Shouter()))


def test_a_static_kernel_is_derived_for_each_case(made_task: Task, tmp_path: Path) -> None:
    shout, derive = Shouter(), Shouter()
    for _ in range(2):
        with GoldenKernels(makers(tmp_path, shout=shout, derived=derive)) as kernels:
            for case in made_task.cases:
                files = kernels.kernel(made_task, case, Track.STATIC)
                assert files == {"kernel.cpp": f"// {case.id}: // host of 1\n"}
    assert derive.made == [case.id for case in made_task.cases]
    assert derive.closed == 2
    first = made_task.cases[0]
    longer = replace(first, attributes={"scale": 3.0})
    GoldenKernels(makers(tmp_path, shout=shout, derived=derive)).kernel(made_task, longer, Track.STATIC)
    assert derive.made[-1] == first.id, "other numbers under the same name are another case"
    static = golden_of(made_task, Track.STATIC)
    assert static is not None
    with pytest.raises(TaskError, match="for one case at a time"):
        read_golden(static)


def test_a_task_without_a_golden_for_the_track_says_what_it_has(write_task: Write) -> None:
    path = write_task()
    task = load_task(path).task
    case: Case | None = task.cases[0]
    with pytest.raises(TaskError, match="no golden kernel for the static track"):
        GoldenKernels().kernel(task, case, Track.STATIC)
    (path.parent / "golden").mkdir()
    (path.parent / "golden" / "static.cpp").write_text("// golden")
    task = load_task(path).task
    assert GoldenKernels().kernel(task, case, Track.STATIC)["kernel.cpp"].endswith("// golden")
    with pytest.raises(TaskError, match="no golden kernel for the dynamic track") as caught:
        GoldenKernels().kernel(task, None, Track.DYNAMIC)
    assert caught.value.remedy == "it has one for the static track"


def test_the_hash_of_a_task_needs_no_maker(made_task: Task, write_task: Write) -> None:
    path = made_task.path
    same = load_task(path).task.content_hash
    operator(made_task).path.write_text("louder!\n")
    assert load_task(path).task.content_hash == same, "the digest in the task file says which kernel it is"
    text = path.read_text()
    path.write_text(text.replace(f", sha256: {digest_of(DYNAMIC)}", ""))
    free = load_task(path).task.content_hash
    operator(made_task).path.write_text("quieter.\n")
    assert len({same, free, load_task(path).task.content_hash}) == 3


def test_every_defect_of_a_made_golden_is_located(write_task: Write) -> None:
    for goldens, field, words in (
        ("{dynamic: {shout: gone.txt}}", "goldens.dynamic.shout", "no file gone.txt"),
        ("{dynamic: {shout: /gone.txt}}", "goldens.dynamic.shout", "relative"),
        ("{dynamic: {sha256: abc}}", "goldens.dynamic", "name one maker"),
        ("{dynamic: {shout: a, cry: b}}", "goldens.dynamic", "name one maker"),
        ("{dynamic: {shout: a, sha256: abc}}", "goldens.dynamic.sha256", "64 hexadecimal digits"),
        ("{static: {shout: a}}", "goldens.static.shout", "is a file, or derived"),
        ("{static: {derived: dynamic}}", "goldens.static.derived", "no dynamic golden kernel"),
        ("{static: {derived: static}}", "goldens.static.derived", "from the dynamic one"),
        ("{dynamic: {derived: dynamic}}", "goldens.dynamic.derived", "only the static kernel"),
    ):
        path = write_task(("reference:", f"goldens: {goldens}\nreference:"))
        with pytest.raises(TaskError, match=words) as caught:
            load_task(path)
        assert (caught.value.field, caught.value.location and caught.value.location.line) == (field, 17), goldens


def test_a_fault_in_a_tile_program_has_file_and_line(write_task: Write, tmp_path: Path) -> None:
    path = write_task(("reference:", "goldens: {dynamic: {tile: twice.py}}\nreference:"))
    program = path.parent / "twice.py"
    program.write_text('"""Twice."""\n\n\n@host\ndef plan(x):\n    launch(cores=1, n=nothing)\n')
    plugins = Plugins.load(autoload=False)
    plugins.register(npukb_tile, "tile")
    with pytest.raises(TaskError) as caught:
        read_golden(operator(load_task(path).task), Makers(plugins.goldens, tmp_path))
    assert caught.value.location is not None
    assert caught.value.location.path == program
    assert caught.value.location.line > 0
    assert f"{program}:{caught.value.location.line}: syntax" in str(caught.value)
    findings = validate_task(load_task(path).task, plugins.checkers)
    assert [item.message for item in findings if item.code == "golden"] == [str(caught.value).partition("\n")[0]]


def test_the_digest_of_sources_is_that_of_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_text("1")
    before = sources_digest(tmp_path / "a")
    (tmp_path / "a" / "__pycache__").mkdir()
    (tmp_path / "a" / "__pycache__" / "one.pyc").write_text("compiled")
    assert sources_digest(tmp_path / "a") == before
    (tmp_path / "a" / "one.py").rename(tmp_path / "a" / "two.py")
    renamed = sources_digest(tmp_path / "a")
    (tmp_path / "a" / "two.py").write_text("2")
    assert len({before, renamed, sources_digest(tmp_path / "a")}) == 3
