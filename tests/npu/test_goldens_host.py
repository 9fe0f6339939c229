"""Host code of every golden operator as the generated project builds it: its standard, and both families of chips.

All of them go through the project's own script and the system's compiler, with the toolkit's flags, against the twin's
host headers. That they are right is what ``tests/goldens/test_dynamic_goldens.py`` runs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from npukb_npu.aclnn import Binding, bind, parse_header
from npukb_npu.projects import custom_operator
from npukb_twin.compile import toolchain
from npukb_twin.compile.build import source_root
from npukb_twin.operator.host_build import host_flags
from npukernelbench.judge.executor import ALIKE_UNITS, HOST_STANDARD
from npukernelbench.nouns import Task, Track
from npukernelbench.tasks.goldens import read_golden
from npukernelbench.testing.standin import opbuild
from tests.suite import suite


@pytest.fixture(scope="module")
def goldens() -> list[tuple[Task, Mapping[str, str]]]:
    """Tasks with the files of their golden operators."""
    result = [
        (task, read_golden(golden))
        for task in suite().values()
        for golden in task.goldens
        if golden.track is Track.DYNAMIC
    ]
    assert len(result) == 211
    return result


def standards(words: str) -> list[str]:
    return re.findall(r"-std=([\w+]+)", words)


def test_every_golden_operator_is_built_for_both_families_to_the_twins_standard(
    goldens: list[tuple[Task, Mapping[str, str]]],
) -> None:
    assert standards(" ".join(host_flags(toolchain.find()))) == [HOST_STANDARD]
    for task, files in goldens:
        [operator] = re.findall(r"\bOP_ADD\s*\(\s*(\w+)", "\n".join(files.values()))
        for unit in ALIKE_UNITS:
            project = custom_operator(files, operator, "npukb_x", unit)
            assert standards(project["host_compiler.sh"]) == [HOST_STANDARD], "the last word on the command line"
            host = "\n".join(text for name, text in project.items() if name.startswith("op_host/"))
            assert re.search(rf'\bAddConfig\(\s*"{unit}"', host), task.name
            for name, text in files.items():
                assert project[name].count("\n") == text.count("\n"), "lines of diagnostics stay where they are"


def test_every_golden_operator_is_called_by_the_names_that_its_interface_gets(
    goldens: list[tuple[Task, Mapping[str, str]]],
) -> None:
    """By the documented rules, which the stand-in follows: every parameter is an argument of the task, and none is left
    over. Fifteen operators update an input, and one tells the shape of its output late.
    """
    in_place, late = 0, 0
    for task, files in goldens:
        host = "\n".join(text for name, text in files.items() if name.startswith("op_host/"))
        definition = opbuild.read(host)
        prototype = parse_header(opbuild.header(definition))
        assert prototype is not None
        bound = bind(prototype, task, shapes_come_late=definition.late)
        assert isinstance(bound, Binding), f"{task.name}: {bound}"
        named = {name for _, name in bound.roles} | {bound.late}
        aliased = {spec.name for spec in task.outputs if spec.alias_of is not None}
        assert named >= {spec.name for spec in task.inputs} | {spec.name for spec in task.outputs} - aliased, task.name
        in_place += bool(aliased)
        late += bool(bound.late)
    assert (in_place, late) == (15, 1)


@pytest.mark.skipif(not shutil.which("c++"), reason="needs a system compiler, which is what the project's script calls")
def test_the_projects_own_compiler_takes_every_golden_operator(
    goldens: list[tuple[Task, Mapping[str, str]]], tmp_path: Path
) -> None:
    """The generated script, with the toolkit's ``-std=c++11`` before it, against the twin's host headers. The headers
    are compiled once, code is not generated: each operator takes a seventh of a second.
    """
    include = source_root() / "include_host"
    header = tmp_path / "host.h"
    header.write_text(f'#include "{include}/twin_host/host.h"\n', encoding="utf-8")
    flags = ("-w", "-g", f"-I{include}")
    subprocess.run(
        ["c++", "-x", "c++-header", *flags, f"-std={HOST_STANDARD}", header, "-o", f"{header}.gch"], check=True
    )

    def said(golden: tuple[Task, Mapping[str, str]]) -> str:
        task, files = golden
        work = tmp_path / task.name
        project = custom_operator(files, "Any", "npukb_x", "ascend910_93")
        for name in ("host_compiler.sh", *(name for name in project if name.startswith("op_host/"))):
            path = work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(project[name], encoding="utf-8")
        (work / "host_compiler.sh").chmod(0o755)
        script, sources = work / "host_compiler.sh", work.glob("op_host/*.cpp")
        words = [script, "-fsyntax-only", *flags, "-std=c++11", "-include", header, *sources]
        done = subprocess.run(words, capture_output=True, text=True)
        return f"{task.name}: {done.stderr}" if done.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        refused = [words for words in pool.map(said, goldens) if words]
    assert not refused, f"{len(refused)} are refused, the first: {refused[0]}"
