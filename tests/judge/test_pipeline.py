"""The judge from end to end with an executor that does as it is told: every outcome, owner and stage."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from npukernelbench import hookimpl
from npukernelbench.errors import UsageError
from npukernelbench.judge.check import METRICS
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.evidence import Diagnostic
from npukernelbench.nouns.execution import Artifact, CompileResult, Observation
from npukernelbench.nouns.outcomes import Outcome, Owner, Severity, Stage, Tier, Track
from npukernelbench.nouns.task import OutputSpec, TensorCase, TensorShape, Tolerance, ValueSpec
from npukernelbench.plugins import Plugins
from npukernelbench.testing import FakeExecutor, FakeExecutorArgs, candidate, tiny_case, tiny_task

SHAPE = (16, 96)


@pytest.fixture
def plugins():
    return Plugins.load(autoload=False)


@pytest.fixture
def verdict(plugins):
    """Judge a source on the tiny task."""

    def judge(source="// fake: ok\n", *, executor=None, task=None, case=None, settings=None, **options):
        case = case or tiny_case(shape=SHAPE)
        task = task or tiny_task(cases=(case,))
        judge = Judge(
            executor or FakeExecutor(),
            checkers=plugins.checkers,
            guards=plugins.guards,
            metrics=plugins.metrics,
            settings=settings or JudgeSettings(),
        )
        return judge.judge(task, (case,), Track.STATIC, candidate(source), **options)

    return judge


def rules(verdict):
    return [d.rule for d in (*verdict.diagnostics, *(d for case in verdict.cases for d in case.diagnostics))]


def test_a_right_kernel_is_ok_with_all_metrics(verdict):
    judgement = verdict()
    assert (judgement.outcome, judgement.owner, judgement.stage) == (Outcome.OK, Owner.NONE, Stage.DONE)
    assert judgement.tier is Tier.TWIN
    assert judgement.metrics == {
        "compiled": 1,
        "correct": 1,
        "cases_passed": 1,
        "cases_total": 1,
        "predicted_time_us": 10,
        **{name: judgement.metrics[name] for name in METRICS},
    }
    assert judgement.metrics["pcl_pass"] == judgement.metrics["cann_pass"] == 1
    assert set(judgement.timings) == {"compile", "inputs", "run", "reference", "compare", "repeat", "variation"}
    assert judgement.cases[0].profile.time_us == 10


@pytest.mark.parametrize(
    ("word", "outcome", "stage"),
    [
        ("compile_error", Outcome.COMPILE_ERROR, Stage.COMPILE),
        ("launch_error", Outcome.LAUNCH_ERROR, Stage.RUN),
        ("crash", Outcome.CRASH, Stage.RUN),
        ("timeout", Outcome.TIMEOUT, Stage.RUN),
        ("out_of_memory", Outcome.OUT_OF_MEMORY, Stage.RUN),
        ("rule_violation", Outcome.RULE_VIOLATION, Stage.RUN),
        ("nondeterministic", Outcome.NONDETERMINISTIC, Stage.RUN),
        ("cheat", Outcome.CHEAT, Stage.RUN),
        ("mutate", Outcome.RULE_VIOLATION, Stage.RUN),
        ("zeros", Outcome.WRONG_VALUE, Stage.CHECK),
        ("one", Outcome.WRONG_VALUE, Stage.CHECK),
        ("nan", Outcome.NON_FINITE, Stage.CHECK),
        ("shape", Outcome.WRONG_SHAPE, Stage.CHECK),
        ("dtype", Outcome.WRONG_DTYPE, Stage.CHECK),
    ],
)
def test_every_failure_of_a_kernel_is_the_models(verdict, word, outcome, stage):
    judgement = verdict(f"// fake: {word}\n")
    assert (judgement.outcome, judgement.owner, judgement.stage) == (outcome, Owner.MODEL, stage)
    assert judgement.metrics["correct"] == 0
    assert judgement.metrics["compiled"] == (outcome is not Outcome.COMPILE_ERROR)
    assert "predicted_time_us" not in judgement.metrics
    assert rules(judgement)


def test_an_empty_source_is_no_code_and_reaches_no_executor(verdict):
    executor = FakeExecutor()
    judgement = verdict(" \n\t", executor=executor)
    assert (judgement.outcome, judgement.stage, judgement.owner) == (Outcome.NO_CODE, Stage.EXTRACT, Owner.MODEL)
    assert executor.calls == []


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("x" * (2 << 20), "source_too_large"),
        ("int a;\0", "binary_source"),
        ("// \udcff", "bad_encoding"),
        ('#include "/etc/passwd"\n', "forbidden_include"),
    ],
)
def test_guards_reject_before_the_compiler(verdict, source, rule):
    executor = FakeExecutor()
    judgement = verdict(source, executor=executor)
    assert (judgement.outcome, judgement.stage, judgement.owner) == (Outcome.GUARD_REJECTED, Stage.GUARD, Owner.MODEL)
    assert rules(judgement) == [rule]
    assert executor.calls == []


def test_warnings_of_a_guard_reject_nothing_and_stay_in_the_verdict(plugins, verdict):
    warning = Diagnostic(Severity.WARNING, "long_lines", "some lines are long")

    class Plugin:
        @hookimpl
        def register_guards(self, register):
            register("long-lines", lambda candidate, task: [warning])

    plugins.register(Plugin(), "long-lines")
    judgement = verdict()
    assert judgement.outcome is Outcome.OK
    assert warning in judgement.diagnostics


def test_a_guard_that_raises_is_our_fault(plugins, verdict):
    def broken(candidate, task):
        raise RuntimeError("guard bug")

    class Plugin:
        @hookimpl
        def register_guards(self, register):
            register("broken", broken)

    plugins.register(Plugin(), "broken")
    judgement = verdict()
    assert (judgement.outcome, judgement.owner, judgement.stage) == (Outcome.INFRA_ERROR, Owner.INFRA, Stage.GUARD)
    assert "guard bug" in judgement.diagnostics[0].message


@pytest.mark.parametrize(("word", "text"), [("raise", "told to fail"), ("bug", "RuntimeError: a bug")])
def test_a_fault_of_the_executor_is_never_the_models_zero(verdict, word, text):
    executor = FakeExecutor()
    judgement = verdict(f"// fake: {word}", executor=executor)
    assert (judgement.outcome, judgement.owner) == (Outcome.INFRA_ERROR, Owner.INFRA)
    assert text in judgement.cases[0].diagnostics[0].message
    assert sum(call.startswith("run") for call in executor.calls) == 2


def test_a_passing_fault_is_tried_again(verdict):
    assert verdict("// fake: flaky").outcome is Outcome.OK
    settings = JudgeSettings(infra_retries=0)
    assert verdict("// fake: flaky", settings=settings).outcome is Outcome.INFRA_ERROR


class Broken(FakeExecutor):
    """Breaks the protocol in one way at a time."""

    def __init__(self, compile_result=None, observation=None):
        super().__init__()
        self.compile_result, self.observation = compile_result, observation

    def compile(self, request):
        return self.compile_result or super().compile(request)

    def run(self, request):
        return self.observation or super().run(request)


@pytest.mark.parametrize(
    "executor",
    [
        Broken(compile_result=CompileResult(Outcome.OK, None)),
        Broken(compile_result=CompileResult(Outcome.COMPILE_ERROR, Artifact("k", None))),
        Broken(compile_result=CompileResult(Outcome.INFRA_ERROR, None)),
        Broken(observation=Observation(Outcome.INFRA_ERROR, {})),
        Broken(observation=Observation(Outcome.OK, {})),
        Broken(observation=Observation(Outcome.OK, {"y": [np.zeros(3)]})),
    ],
)
def test_an_executor_that_breaks_the_protocol_is_our_fault(verdict, executor):
    judgement = verdict(executor=executor)
    if executor.observation and executor.observation.outputs:
        assert judgement.outcome is Outcome.WRONG_SHAPE
    else:
        assert (judgement.outcome, judgement.owner) == (Outcome.INFRA_ERROR, Owner.INFRA)


def test_what_an_executor_advises_is_kept(verdict):
    """Its fault is tried again; what the last try said goes into the verdict, with its remedy."""
    told = Diagnostic(Severity.ERROR, "infra_error", "the device is gone", remedy="reset it")
    judgement = verdict(executor=Broken(observation=Observation(Outcome.INFRA_ERROR, {}, (told,))))
    assert [(diagnostic.message, diagnostic.remedy) for diagnostic in judgement.cases[0].diagnostics] == [
        ("running with 'fake' failed: the device is gone", "reset it")
    ]


@pytest.mark.parametrize("defect", [{"reference": "math.nonsense"}, {"reference": "tests_no_such:function"}])
def test_a_broken_reference_is_the_tasks_fault(verdict, defect):
    case = tiny_case()
    judgement = verdict(
        task=replace(tiny_task(cases=(case,)), **defect), case=case, executor=FakeExecutor(compute=_ones)
    )
    assert (judgement.outcome, judgement.owner, judgement.stage) == (Outcome.INFRA_ERROR, Owner.TASK, Stage.CHECK)


def test_inputs_that_cannot_be_made_are_the_tasks_fault(verdict):
    shape = TensorShape((3,), DType.FLOAT32)
    case = replace(tiny_case(shape=(3,)), inputs={"x": TensorCase(shape, ValueSpec("nonsense"))})
    judgement = verdict(task=tiny_task(cases=(case,)), case=case)
    assert (judgement.outcome, judgement.owner) == (Outcome.INFRA_ERROR, Owner.TASK)


def _ones(request):
    return {name: np.ones(spec.shape, spec.dtype.numpy()) for name, spec in request.case.outputs.items()}


def test_an_unknown_policy_is_said_to_whoever_asked(verdict):
    task = replace(tiny_task(), tolerance=Tolerance("pc1"))
    with pytest.raises(UsageError, match="pcl"):
        verdict(task=task)


def test_the_policy_of_a_plugin_decides(plugins, verdict):
    from npukernelbench.judge.check import CheckResult

    def never(actual, expected, dtype, limits):
        return CheckResult(False, Outcome.WRONG_VALUE, {"mood": 3.0}, "it is never right")

    class Plugin:
        @hookimpl
        def register_checkers(self, register):
            register("never", never)

    plugins.register(Plugin(), "never")
    judgement = verdict(task=replace(tiny_task(cases=(tiny_case(shape=SHAPE),)), tolerance=Tolerance("never")))
    assert judgement.outcome is Outcome.WRONG_VALUE
    assert judgement.cases[0].diagnostics[0].message == "output y: it is never right"
    assert judgement.cases[0].metrics == {"mood": 3.0}


def test_metrics_of_plugins_are_added_and_a_broken_one_is_left_out(plugins, verdict):
    class Plugin:
        @hookimpl
        def register_metrics(self, register):
            register("files", lambda verdict: 7)
            register("absent", lambda verdict: None)
            register("broken", lambda verdict: 1 / 0)

    plugins.register(Plugin(), "more-metrics")
    metrics = verdict().metrics
    assert metrics["files"] == 7
    assert {"absent", "broken"}.isdisjoint(metrics)


def test_the_message_of_a_wrong_tail_can_be_acted_on(verdict):
    (diagnostic,) = verdict("// fake: tail").cases[0].diagnostics
    assert diagnostic.message.startswith("output y: 384 of 1536 elements (25 %) are beyond both the absolute limit")
    assert "  y[12, 0] = " in diagnostic.message
    assert "never written" in diagnostic.message
    assert diagnostic.details["output"] == "y"
    assert diagnostic.remedy


def test_a_core_that_did_nothing_is_named(verdict):
    (diagnostic,) = verdict("// fake: block").cases[0].diagnostics
    assert "the share of core 1 of 4" in diagnostic.message
    assert "GetBlockIdx" in diagnostic.remedy


def test_a_changed_input_is_a_violation_that_names_what_may_change(verdict):
    assert rules(verdict("// fake: mutate")) == ["input_mutated"]
    case = tiny_case()
    task = replace(tiny_task(cases=(case,)), outputs=(OutputSpec("y", dtype_like="x", shape_like="x", alias_of="x"),))
    assert "only x may change" in verdict("// fake: mutate", task=task, case=case).cases[0].diagnostics[0].message


def test_stages_are_announced_in_order(verdict):
    seen = []
    verdict(on_stage=seen.append)
    assert seen == [Stage.GUARD, Stage.COMPILE, Stage.RUN, Stage.CHECK, Stage.PROFILE]


def test_all_cases_are_judged_on_the_dynamic_track_and_the_first_failure_decides(plugins):
    class SecondAndThirdFail(FakeExecutor):
        def run(self, request):
            if request.case.id == "b":
                return Observation(Outcome.TIMEOUT, {})
            if request.case.id == "c":
                return Observation(Outcome.CRASH, {})
            return super().run(request)

    cases = tuple(tiny_case(name) for name in "abcd")
    executor = SecondAndThirdFail(FakeExecutorArgs(tracks=(Track.DYNAMIC,)))
    judge = Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings())
    judgement = judge.judge(tiny_task(cases=cases), cases, Track.DYNAMIC, candidate())
    assert judgement.outcome is Outcome.TIMEOUT
    assert [case.outcome for case in judgement.cases] == [Outcome.OK, Outcome.TIMEOUT, Outcome.CRASH, Outcome.OK]
    assert (judgement.metrics["cases_passed"], judgement.metrics["cases_total"]) == (2, 4)
    assert "predicted_time_us" not in judgement.metrics
    assert sum(call.startswith("compile") for call in executor.calls) == 1


def test_the_static_track_takes_one_case(plugins):
    cases = (tiny_case("a"), tiny_case("b"))
    judge = Judge(FakeExecutor(), checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings())
    with pytest.raises(ValueError, match="one case at a time"):
        judge.judge(tiny_task(cases=cases), cases, Track.STATIC, candidate())


def test_tensor_lists_are_compared_member_by_member(verdict):
    shapes = (TensorShape((4,), DType.FLOAT16), TensorShape((3, 2), DType.FLOAT32))
    tensors = tuple(TensorCase(shape, ValueSpec("uniform", {"low": 1.0, "high": 2.0})) for shape in shapes)
    case = replace(tiny_case(), inputs={"x": tensors}, outputs={"y": shapes})
    task = replace(tiny_task(cases=(case,)), reference="tests_judge_helper:roots")
    executor = FakeExecutor(compute=lambda request: {"y": [np.sqrt(x) for x in request.inputs["x"]]})
    with _module("tests_judge_helper", roots=lambda x: [np.sqrt(one) for one in x]):
        assert verdict(task=task, case=case, executor=executor).outcome is Outcome.OK
        judgement = verdict("// fake: never", task=task, case=case, executor=_second_wrong())
    assert judgement.outcome is Outcome.WRONG_VALUE
    assert judgement.cases[0].diagnostics[0].message.startswith("output y[1]: 1 of 6 elements")
    assert judgement.cases[0].metrics["mismatch_fraction"] == pytest.approx(0.1)


def _second_wrong():
    def compute(request):
        first, second = (np.sqrt(x) for x in request.inputs["x"])
        second[0, 0] += 1
        return {"y": [first, second]}

    class Plain(FakeExecutor):
        def run(self, request):
            return Observation(Outcome.OK, compute(request))

    return Plain()


class _module:
    def __init__(self, name, **names):
        self.name, self.names = name, names

    def __enter__(self):
        import sys

        sys.modules[self.name] = SimpleNamespace(**self.names)

    def __exit__(self, *_):
        import sys

        del sys.modules[self.name]


def test_inputs_and_references_are_made_once_for_many_samples_and_threads(plugins, monkeypatch):
    import npukernelbench.reference
    import npukernelbench.tasks.inputs

    counts = {"inputs": 0, "expected": 0}

    def counting(name, function):
        def counted(*args):
            counts[name] += 1
            return function(*args)

        return counted

    monkeypatch.setattr(
        npukernelbench.tasks.inputs, "generate_inputs", counting("inputs", npukernelbench.tasks.inputs.generate_inputs)
    )
    monkeypatch.setattr(
        npukernelbench.reference, "expected_outputs", counting("expected", npukernelbench.reference.expected_outputs)
    )
    executor = FakeExecutor(compute=lambda request: {"y": np.sqrt(request.inputs["x"])})
    judge = Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings())
    case = tiny_case(shape=(300, 40))
    task = tiny_task(cases=(case,))
    found = []

    def sit(index):
        found.append(judge.judge(task, (case,), Track.STATIC, candidate(f"// {index}")).outcome)

    threads = [threading.Thread(target=sit, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [Outcome.OK] * 8
    assert counts == {"inputs": 2, "expected": 2}  # of the case, and of its variation


def test_an_executor_cannot_change_what_the_next_sample_gets(verdict):
    class Writing(FakeExecutor):
        def run(self, request):
            request.inputs["x"][...] = 0
            return super().run(request)

    judgement = verdict(executor=Writing())
    assert judgement.outcome is Outcome.INFRA_ERROR
    assert "read-only" in judgement.cases[0].diagnostics[0].message


def test_equal_seeds_give_equal_verdicts_and_others_other_inputs(plugins):
    seen = []

    class Watching(FakeExecutor):
        def run(self, request):
            if not request.repeat:
                seen.append(request.inputs["x"].tobytes())
            return super().run(request)

    for seed in (1, 1, 2):
        settings = JudgeSettings(seed=seed, variations=0)
        judge = Judge(Watching(), checkers=plugins.checkers, guards=plugins.guards, settings=settings)
        judge.judge(tiny_task(), (tiny_case(),), Track.STATIC, candidate())
    assert seen[0] == seen[1] != seen[2]


def test_a_second_run_has_more_time(plugins):
    """The machine may be busier than before."""
    times = []

    class Timing(FakeExecutor):
        def run(self, request):
            times.append((bool(request.repeat), request.timeout_s))
            return super().run(request)

    settings = JudgeSettings(run_timeout_s=2.0, variations=0)
    judge = Judge(Timing(), checkers=plugins.checkers, guards=plugins.guards, settings=settings)
    judge.judge(tiny_task(), (tiny_case(),), Track.STATIC, candidate())
    assert times == [(False, 2.0), (True, 16.0)]


def test_the_slowest_run_of_a_launch_is_its_time(plugins):
    class Slower(FakeExecutor):
        def run(self, request):
            seen = super().run(request)
            other = bool(request.repeat) and request.case.salt == 0
            return replace(seen, profile=replace(seen.profile, time_us=seen.profile.time_us * 3)) if other else seen

    judge = Judge(Slower(), checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings(variations=0))
    judgement = judge.judge(tiny_task(), (tiny_case(),), Track.STATIC, candidate())
    assert judgement.metrics["predicted_time_us"] == pytest.approx(3 * FakeExecutor().args.time_us)


def test_further_runs_share_their_time(plugins):
    left = []

    class Slow(FakeExecutor):
        def run(self, request):
            left.append(request.timeout_s)
            return super().run(request)

    settings = JudgeSettings(run_timeout_s=1.0, variations=0, repeats=3)
    judge = Judge(Slow(), checkers=plugins.checkers, guards=plugins.guards, settings=settings)
    judge.judge(tiny_task(), (tiny_case(),), Track.STATIC, candidate())
    assert left[0] == 1.0
    assert left[1] == 8.0 > left[2] > left[3] >= 1.0


class Unsteady(FakeExecutor):
    """Its kernels give other outputs, or end otherwise, when they run a second time."""

    change = "value"

    def run(self, request):
        seen = super().run(request)
        if not request.repeat:
            return seen
        if self.change == "crash":
            return replace(seen, outcome=Outcome.CRASH, outputs={})
        if self.change == "infra":
            return replace(seen, outcome=Outcome.INFRA_ERROR, outputs={})
        changed = {name: array.copy() for name, array in seen.outputs.items()}
        for array in changed.values():
            array.reshape(-1)[-1] = np.nextafter(array.reshape(-1)[-1], np.float32(np.inf))
        return replace(seen, outputs=changed)


@pytest.mark.parametrize(
    ("change", "outcome", "says"),
    [
        ("value", Outcome.NONDETERMINISTIC, "1 of"),
        ("crash", Outcome.NONDETERMINISTIC, "ended differently: crash"),
        ("infra", Outcome.INFRA_ERROR, "the executor gave no reason"),
    ],
)
def test_a_second_run_gives_the_same_bytes(verdict, change, outcome, says):
    executor = Unsteady()
    executor.change = change
    judgement = verdict(executor=executor)
    assert judgement.outcome is outcome
    assert says in judgement.cases[0].diagnostics[0].message


class Imprecise(FakeExecutor):
    """Right to the last bit on the case's own values; on others five times as far off as the limits allow."""

    def run(self, request):
        seen = super().run(request)
        own, _ = self.first = getattr(self, "first", None) or (request.inputs["x"], None)
        if np.array_equal(request.inputs["x"], own):
            return seen
        changed = {name: array * np.float32(1 + 5e-5) for name, array in seen.outputs.items()}
        return replace(seen, outputs=changed)


@pytest.mark.parametrize(("doubt", "outcome"), [(False, Outcome.OK), (True, Outcome.WRONG_VALUE)])
def test_limits_are_loose_on_values_of_other_classes_and_strict_where_there_is_doubt(plugins, verdict, doubt, outcome):
    class Plugin:
        @hookimpl
        def register_guards(self, register):
            lint = Diagnostic(Severity.WARNING, "lint_constant_table", "t is a table of constants")
            register("doubt", lambda candidate, task: [lint] if doubt else [])

    plugins.register(Plugin(), "doubt")
    case = tiny_case(shape=(64, 64))
    judgement = verdict(executor=Imprecise(), case=case)
    assert judgement.outcome is outcome, judgement
    assert ("canary" in rules(judgement)) is doubt


class Failing(FakeExecutor):
    """Raises what it is told when it runs a kernel; cannot give an artifact back if told so."""

    def __init__(self, error=None, stuck=False):
        super().__init__()
        self.error, self.stuck = error, stuck

    def run(self, request):
        if self.error is not None:
            raise self.error
        return super().run(request)

    def release(self, artifact):
        super().release(artifact)
        if self.stuck:
            raise OSError("the folder is busy")


def test_an_artifact_is_released_whatever_becomes_of_its_kernel(verdict):
    """One loop: its rows differ in a word."""
    words = ("ok", "zeros", "crash", "timeout", "rule_violation", "raise", "bug", "shape", "compile_error")
    for word in words:
        executor = FakeExecutor()
        verdict(f"// fake: {word}", executor=executor)
        assert len(executor.held) == 0, word
    refused = FakeExecutor()
    late = CompileResult(Outcome.INFRA_ERROR, Artifact("k", None))
    refused.compile = lambda request: late
    refused.held.keep("k", "ok")
    assert verdict(executor=refused, settings=JudgeSettings(infra_retries=0)).outcome is Outcome.INFRA_ERROR
    assert len(refused.held) == 0


def test_an_artifact_is_released_when_the_judgement_is_broken_off(verdict):
    executor = Failing(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        verdict(executor=executor)
    assert any(call.startswith("compile") for call in executor.calls)
    assert len(executor.held) == 0


def test_an_artifact_that_cannot_be_released_costs_no_verdict(verdict, caplog):
    assert verdict(executor=Failing(stuck=True)).outcome is Outcome.OK
    assert "could not be released" in caplog.text


def test_equal_candidates_that_are_judged_side_by_side_do_not_take_each_others_artifact(plugins):
    """Both have compiled before either runs: the first verdict must leave the other its artifact."""
    meeting = threading.Barrier(2, timeout=60)

    class Meeting(FakeExecutor):
        def compile(self, request):
            result = super().compile(request)
            meeting.wait()
            return result

    executor = Meeting()
    judge = Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings(infra_retries=0))
    case = tiny_case()
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(judge.judge, tiny_task(), (case,), Track.STATIC, candidate()) for _ in range(2)]
        assert [future.result().outcome for future in futures] == [Outcome.OK] * 2
    assert len(executor.held) == 0
