"""What inputs are drawn from: a secret of the run, kept in its manifest, unless a seed was given."""

from __future__ import annotations

from npukernelbench.run.runner import fingerprint, run
from npukernelbench.store import read_run
from npukernelbench.testing import FakeExecutor, FakePlugin, RecordingObserver, fake_plugins, make_plan


def inputs_of(folder, **changes):
    """The inputs that kernels of one task and case got in a run of several samples."""
    seen = []

    class Watching(FakeExecutor):
        def run(self, request):
            if (request.task.name, request.case.id, request.case.salt) == ("TinyOne", "a", 0):
                seen.append(request.inputs["x"].tobytes())
            return super().run(request)

    plan = make_plan(folder, **{"inputs": None, "samples": 2} | changes)
    fakes = FakePlugin()
    fakes.executor = Watching
    run(plan, fake_plugins(fakes), RecordingObserver())
    return seen


def test_every_run_draws_a_secret_and_keeps_it(tmp_path):
    first = inputs_of(tmp_path / "one")
    assert len(set(first)) == 1  # candidates of a run share their inputs
    secret = read_run(tmp_path / "one").manifest.identity["inputs"]
    assert isinstance(secret, int)
    again = inputs_of(tmp_path / "other")
    assert set(again).isdisjoint(first)
    assert set(inputs_of(tmp_path / "third", inputs=secret)) == set(first)


def test_a_run_that_goes_on_keeps_its_inputs(tmp_path):
    inputs_of(tmp_path / "run", predict_only=True)
    before = read_run(tmp_path / "run").manifest
    judged = inputs_of(tmp_path / "run")
    assert read_run(tmp_path / "run").manifest.identity == before.identity
    assert set(judged) == set(inputs_of(tmp_path / "other", inputs=before.identity["inputs"]))


def test_what_is_drawn_does_not_decide_where_a_run_lies(tmp_path):
    drawn, fixed = make_plan(tmp_path, inputs=None), make_plan(tmp_path)
    assert fingerprint(drawn) == fingerprint(make_plan(tmp_path, inputs=None))
    assert fingerprint(drawn) != fingerprint(fixed) != fingerprint(make_plan(tmp_path, inputs=1))
