"""Host code of every golden operator as the generated project builds it: its standard, and both families of chips.

That goldens compile to this standard against the twin's host headers, and are right, is what
``tests/goldens/test_dynamic_goldens.py`` runs: here the flags are compared, so that nothing is compiled twice.
"""

from __future__ import annotations

import re

from npukb_npu.projects import custom_operator
from npukb_twin.compile import toolchain
from npukb_twin.operator.host_build import host_flags
from npukernelbench.judge.executor import ALIKE_UNITS, HOST_STANDARD
from npukernelbench.nouns import Track
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.goldens import read_golden


def standards(words: str) -> list[str]:
    return re.findall(r"-std=([\w+]+)", words)


def test_every_golden_operator_is_built_for_both_families_to_the_twins_standard() -> None:
    assert standards(" ".join(host_flags(toolchain.find()))) == [HOST_STANDARD]
    goldens = [
        (task, golden)
        for task in load_registry(Plugins.load(autoload=False)).values()
        for golden in task.goldens
        if golden.track is Track.DYNAMIC
    ]
    assert len(goldens) == 211
    for task, golden in goldens:
        files = read_golden(golden)
        [operator] = re.findall(r"\bOP_ADD\s*\(\s*(\w+)", "\n".join(files.values()))
        for unit in ALIKE_UNITS:
            project = custom_operator(files, operator, "npukb_x", unit)
            assert standards(project["host_compiler.sh"]) == [HOST_STANDARD], "the last word on the command line"
            host = "\n".join(text for name, text in project.items() if name.startswith("op_host/"))
            assert re.search(rf'\bAddConfig\(\s*"{unit}"', host), task.name
            for name, text in files.items():
                assert project[name].count("\n") == text.count("\n"), "lines of diagnostics stay where they are"
