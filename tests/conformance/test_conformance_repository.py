"""A checkout of NPUKernelBench as a repository that other commands read, through the hook and not by import."""

from __future__ import annotations

from kernelgen_lm.corpus.sources import Finder
from npukb_conformance.repository import NPUKernelBench
from npukernelbench.plugins import Plugins
from npukernelbench.tasks.repository import repository_at
from tests.suite import suite


def test_the_registered_layouts_recognise_their_checkouts(tmp_path, write_operator):
    repositories = Plugins.load().repositories
    assert isinstance(repository_at(write_operator("Sqrt"), repositories), NPUKernelBench)
    (tmp_path / "other").mkdir()
    assert repository_at(tmp_path / "other", repositories) is None


def test_kernels_come_with_the_cases_that_reach_them(write_operator):
    root = write_operator("Sqrt")
    write_operator("Unheard")
    tasks = suite()
    (kernel,) = NPUKernelBench().kernels(root, tasks, tasks.select(["npukernelbench"]))
    assert (kernel.task.name, kernel.folder) == ("Sqrt", root / "tasks/level1/Math/Sqrt")
    assert "op_kernel/sqrt.cpp" in kernel.candidate.files
    assert kernel.task.cases


def test_a_collection_reads_checkouts_where_a_plugin_can(write_operator):
    root, plugins = write_operator("Sqrt"), Plugins.load()
    with Finder(suite(), plugins.repositories) as finder:
        (kernel,) = finder.below(root)
        assert (kernel.source, kernel.where, kernel.task.name) == ("checkout", "tasks/level1/Math/Sqrt", "Sqrt")
    # Without the plugin the folder is one of operators like any other.
    plain = Plugins.load(disabled=["conformance"])
    with Finder(suite(), plain.repositories) as finder:
        assert [kernel.source for kernel in finder.below(root, "Sqrt")] == ["operator"]
