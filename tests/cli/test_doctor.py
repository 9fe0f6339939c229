"""``npukb doctor``: every problem has a remedy, and a broken part hides no other."""

from __future__ import annotations

import shlex
from importlib.util import find_spec

import pytest

DOCTORED = """
    from npukernelbench import hookimpl
    from npukernelbench.judge.executor import Finding, FindingStatus
    from npukernelbench.testing import FakeExecutor

    class Ill(FakeExecutor):
        def diagnose(self):
            return [
                Finding("compiler", FindingStatus.PROBLEM, "there is none", "install one"),
                Finding("cache", FindingStatus.OK, "fine"),
            ]

    class Raising(FakeExecutor):
        def diagnose(self):
            raise RuntimeError("cannot even look")

    @hookimpl
    def register_executors(register):
        register("ill", Ill)
        register("raising", Raising)
        register("absent", "package_that_nobody_has:Executor")

    @hookimpl
    def register_backends(register):
        register("absent", "package_that_nobody_has:Backend")
"""


def findings(finished, section):
    """Findings of one section by name."""
    return {finding["name"]: finding for finding in finished.json["findings"] if finding["section"] == section}


def test_a_healthy_executor(npukb, fake):
    finished = npukb("doctor", "--executor", "fake", "--json")
    assert finished.code == 0
    assert finished.json["usable"] is True
    assert findings(finished, "executor fake")["fake"]["status"] == "ok"
    assert {"harness", "tasks", "plugins", "backends", "folders"} <= {f["section"] for f in finished.json["findings"]}
    assert npukb("doctor", "--executor", "fake").out.endswith("ready to judge\n")


@pytest.mark.parametrize(
    ("executor", "detail"),
    [("ill", "there is none"), ("raising", "cannot even look"), ("absent", "package_that_nobody_has")],
)
def test_an_executor_that_cannot_work_ends_with_4(npukb, plugin, executor, detail):
    plugin("doctored", DOCTORED)
    finished = npukb("doctor", "--executor", executor, "--json")
    assert finished.code == 4
    assert finished.json["usable"] is False
    problems = [finding for finding in finished.json["findings"] if finding["status"] == "problem"]
    assert any(detail in problem["detail"] for problem in problems)
    assert all(problem["remedy"] for problem in problems)
    assert "not ready" in npukb("doctor", "--executor", executor).out


def test_another_executors_problem_is_no_hindrance(npukb, plugin, fake):
    plugin("doctored", DOCTORED)
    finished = npukb("doctor", "--executor", "fake", "--json")
    assert finished.code == 0
    assert findings(finished, "executor ill")["compiler"]["remedy"] == "install one"
    assert findings(finished, "backends")["absent"]["status"] == "warning"


def test_an_unknown_executor(npukb):
    finished = npukb("doctor", "--executor", "twinn", "--json")
    assert finished.code == 4
    assert "did you mean 'twin'?" in findings(finished, "default executor")["executor"]["remedy"]


def test_a_quarantined_plugin_is_named(npukb, plugin, fake):
    plugin("broken", "raise ImportError('a package that nobody has')")
    finished = npukb("doctor", "--executor", "fake", "--json")
    assert finished.code == 0
    broken = findings(finished, "plugins")["broken"]
    assert broken["status"] == "warning"
    assert "a package that nobody has" in broken["detail"]
    assert "no:broken" in broken["remedy"]


def test_a_folder_that_cannot_be_written(npukb, fake, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    finished = npukb("doctor", "--executor", "fake", "--output_path", blocked / "deep", "--json")
    output = findings(finished, "folders")["output"]
    assert output["status"] == "problem"
    assert str(blocked) in output["detail"]
    assert "--output_path" in output["remedy"]


def test_broken_tasks_are_a_finding_with_their_place(npukb, fake, tmp_path):
    folder = tmp_path / "mine" / "bad"
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text("name: [\n")
    finished = npukb("doctor", "--executor", "fake", "--include_path", tmp_path / "mine", "--json")
    tasks = findings(finished, "tasks")["tasks"]
    assert tasks["status"] == "problem"
    assert f"{folder / 'task.yaml'}:" in tasks["detail"]


def needing(plugin, name, backends, *requirements):
    """A plugin with these backends, whose package has these requirements."""
    registered = "".join(f"    register('{backend}', 'npukernelbench.testing:FakeBackend')\n" for backend in backends)
    hook = f"from npukernelbench import hookimpl\n\n@hookimpl\ndef register_backends(register):\n{registered}"
    metadata = plugin(name, hook).parent / f"npukb_{name}-1.0.dist-info" / "METADATA"
    lines = "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
    metadata.write_text(metadata.read_text() + lines)


def test_a_backend_lacking_the_packages_of_its_extra_says_how_to_install_them(npukb, plugin):
    needing(plugin, "needy", ["needy"], 'nobody-has-this>=2; extra == "needy"')
    needy = findings(npukb("doctor", "--json"), "backends")["needy"]
    assert needy["status"] == "warning"
    assert needy["detail"] == "needs nobody-has-this, not installed"
    assert needy["remedy"] == "pip install 'npukb-needy[needy]'"


def test_what_an_extra_needs_elsewhere_only_is_not_missing(npukb, plugin):
    elsewhere = "python_version < '3' and extra == 'spare'", "(sys_platform == 'plan9') and extra == \"spare\""
    needed = "(python_version > '3.2' or os_name == 'x') and extra == 'spare'"
    requirements = [f"nobody-has-this-{number}; {marker}" for number, marker in enumerate(elsewhere)]
    needing(plugin, "spare", ["spare"], *requirements, "nobody-has-that>=1", f"numpy; {needed}")
    spare = findings(npukb("doctor", "--json"), "backends")["spare"]
    assert (spare["status"], spare["detail"].split()[0]) == ("ok", "numpy")


def test_an_extra_that_names_another_extra_is_followed(npukb, plugin):
    """As kernelgen-lm's does, whose backend, plugin and extra have three names."""
    names = ("big-model", "big-model:8b")
    extras = ('npukb-indirect[engine]; extra == "big-model"', 'nobody-has-torch>=2; extra == "engine"')
    needing(plugin, "indirect", names, *extras)
    reported = findings(npukb("doctor", "--json"), "backends")
    for name in names:
        assert reported[name]["detail"] == "needs nobody-has-torch, not installed"
        assert reported[name]["remedy"] == "pip install 'npukb-indirect[big-model]'"


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_kernelgen_lm_needs_torch(npukb):
    finding = findings(npukb("doctor", "--json"), "backends")["kernelgen-lm"]
    assert "torch" in finding["detail"]
    assert finding["remedy"] == "pip install 'npukernelbench[kernelgen-lm]'"


def test_an_executor_whose_constructor_raises_names_its_plugin(npukb, plugin):
    plugin(
        "raiser",
        """
        from npukernelbench import hookimpl
        from npukernelbench.testing import FakeExecutor

        class Raising(FakeExecutor):
            def __init__(self, args):
                raise OSError("no such device")

        @hookimpl
        def register_executors(register):
            register("raising", Raising)
        """,
    )
    finished = npukb("judge", "Sqrt", "kernel.cpp", "--executor", "raising")
    finding = findings(npukb("doctor", "--executor", "raising", "--json"), "executor raising")["raising"]
    assert (
        "'raising' of plugin 'raiser' of npukb-raiser 1.0 cannot be constructed: OSError: no such device"
        in finding["detail"]
    )
    assert finished.code == 2


FAST = """
    from npukernelbench import hookimpl
    from npukernelbench.judge.roofline import Roof
    from npukernelbench.testing import FakeExecutor

    class Fast(FakeExecutor):
        name = "fast"

        def roof(self):
            return Roof(1.0, 1.0, 0.0)

    @hookimpl
    def register_executors(register):
        register("fast", Fast)
"""


def test_faults_of_the_time_model_are_listed_replayed_and_cleared(npukb, plugin, kernel, tmp_path, monkeypatch):
    monkeypatch.setenv("NPUKB_CACHE_DIR", str(tmp_path / "cache"))
    plugin("fast", FAST)
    assert npukb("doctor", "--faults").out == "faults of the time model: 0\n"
    judged = npukb("judge", "Sqrt", kernel(), "--executor", "fast", "--json")
    assert judged.code == 0
    listed = npukb("doctor", "--faults")
    command = shlex.split(next(line for line in listed.out.splitlines() if "npukb judge" in line))
    again = npukb(*command[1:], "--json")
    assert again.json["metrics"] == judged.json["metrics"]
    assert listed.out.endswith("faults of the time model: 1\n")
    doctor = npukb("doctor", "--executor", "fast", "--json")
    assert findings(doctor, "time model")["faults"]["status"] == "warning"
    [fault] = npukb("doctor", "--faults", "--json").json["faults"]
    assert npukb("doctor", "--faults", "--clear", "nobody").code == 2
    assert npukb("doctor", "--faults", "--clear", fault["id"], "--json").json == {"cleared": 1, "faults": []}
