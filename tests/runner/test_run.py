"""A run from requests to results.json: outcomes, resume, sharing, hooks, faults."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import time
from collections import Counter
from dataclasses import replace
from queue import SimpleQueue

import pytest

from npukernelbench import hookimpl
from npukernelbench.errors import BackendError, PluginError, StoreError, UsageError
from npukernelbench.generate.backend import SamplingParams
from npukernelbench.nouns import FinishReason, Outcome, Owner, Stage, Track
from npukernelbench.run import schedule
from npukernelbench.run.runner import fingerprint, run
from npukernelbench.store import RunStore, read_run
from npukernelbench.testing import FakeBackend, FakeExecutor


def results(plan):
    content = json.loads((plan.directory / "results.json").read_text())
    del content["timing"]
    return content


def outcomes(plan):
    return {str(key): sample.verdict.outcome for key, sample in read_run(plan.directory).samples.items()}


def kernel(words):
    """An answer per sample index or case."""
    return "```cpp\n// {task} {case} {index} fake: " + words + "\n```"


def test_a_run_ends_with_every_sample_judged_and_on_disk(make_plan, plugins, watcher):
    plan = make_plan(samples=3)
    summary = run(plan, plugins, watcher)
    assert (summary.total, summary.valid, summary.ok) == (12, 12, 12)
    assert summary.by_outcome == {Outcome.OK: 12}
    assert watcher.totals == [(12, 0)]
    assert len(watcher.samples) == 12
    assert results(plan)["totals"]["correct"] == 12
    assert summary.results.run_id == results(plan)["run_id"]
    assert set(outcomes(plan)) == {
        f"{t}/{c}/static/{i}" for t in ("TinyOne", "TinyTwo") for c in "ab" for i in range(3)
    }


def test_stages_reach_the_observer_in_order_and_in_the_calling_thread(make_plan, plugins, watcher):
    threads = set()
    stage = watcher.stage
    watcher.stage = lambda *words: (threads.add(threading.current_thread()), stage(*words))
    run(make_plan(), plugins, watcher)
    assert threads == {threading.current_thread()}
    for key in {key for key, _ in watcher.stages}:
        seen = [stage for other, stage in watcher.stages if other == key]
        assert seen[:2] == [Stage.GENERATE, Stage.EXTRACT]
        assert seen == sorted(seen, key=lambda one: one.order)


def test_verdicts_that_come_together_are_kept_with_one_wait_for_the_disk(make_plan, plugins, watcher, monkeypatch):
    """A run on many machines is as fast as its process: a wait for each sample would be the longest part."""
    posts, batches = [], []

    class Seen(SimpleQueue):
        def put(self, post, *more):
            posts.append(post.func.__name__)
            super().put(post, *more)

    keep = RunStore.add_samples

    def add_samples(store, samples):
        if samples:
            batches.append(len(samples))
            while posts.count("_judged") < 4:  # the disk is slow: more verdicts come meanwhile
                time.sleep(0.001)
        keep(store, samples)

    monkeypatch.setattr(schedule, "SimpleQueue", Seen)
    monkeypatch.setattr(RunStore, "add_samples", add_samples)
    plan = make_plan(kernel("ok"), jobs=4)
    assert run(plan, plugins, watcher).ok == 4
    assert sum(batches) == 4
    assert len(batches) <= 2
    assert len(watcher.samples) == 4


def test_answers_without_a_kernel_are_outcomes_of_the_model(make_plan, plugins, watcher, fakes):
    texts = {"a": "cut:```cpp\nint x;", "b": "I cannot do this."}
    fakes.backend = lambda args: FakeBackend(args, answer=lambda request: texts[request.key.case])
    plan = make_plan()
    summary = run(plan, plugins, watcher)
    assert summary.by_outcome == {Outcome.TRUNCATED: 2, Outcome.NO_CODE: 2}
    assert summary.valid == 4
    for sample in watcher.samples:
        assert sample.verdict.stage is Stage.EXTRACT
        assert sample.verdict.diagnostics[0].message
        assert sample.candidate is None


def test_a_second_run_finds_everything_finished(make_plan, plugins, watcher, fakes):
    plan = make_plan(kernel("tail"))
    first = run(plan, plugins, watcher)
    before = (plan.directory / "results.json").read_bytes()
    fakes.backend = _Unopened
    second = run(plan, plugins, watcher)
    assert watcher.totals == [(4, 0), (4, 4)]
    assert len(watcher.samples) == 4
    assert second.by_outcome == first.by_outcome == {Outcome.WRONG_VALUE: 4}
    assert (plan.directory / "results.json").read_bytes() == before


class _Unopened(FakeBackend):
    async def open(self):
        raise AssertionError("nothing is left to ask")


def test_results_do_not_depend_on_the_number_of_jobs(make_plan, plugins, watcher, tmp_path):
    found = []
    for jobs in (1, 2, 7):
        plan = make_plan(kernel("block"), samples=4, jobs=jobs, directory=tmp_path / str(jobs))
        run(plan, plugins, watcher)
        found.append(results(plan))
    assert found[0] == found[1] == found[2]


def test_equal_candidates_of_one_problem_are_judged_once(make_plan, plugins, watcher, fakes):
    executors = []
    fakes.executor = lambda args: executors.append(FakeExecutor(args)) or executors[-1]
    plan = make_plan("```cpp\n// fake: zeros\n```", samples=5)
    summary = run(plan, plugins, watcher)
    assert summary.by_outcome == {Outcome.WRONG_VALUE: 20}
    assert Counter(call.split()[0] for call in executors[0].calls) == {
        "compile": 4,
        "run": 8,
    }  # a wrong case runs again for its cause
    assert executors[0].closed


def test_a_candidate_known_from_an_earlier_session_is_not_judged_again(make_plan, plugins, watcher, fakes):
    executors = []
    fakes.executor = lambda args: executors.append(FakeExecutor(args)) or executors[-1]
    fault = [True]

    def answer(request):
        if request.key.index == 1 and fault[0]:
            return "fault: out of order"
        return "```cpp\n// fake: one\n```"

    fakes.backend = lambda args: FakeBackend(args, answer=answer)
    plan = make_plan(samples=2)
    assert run(plan, plugins, watcher).by_outcome == {Outcome.WRONG_VALUE: 4, Outcome.INFRA_ERROR: 4}
    fault[0] = False
    assert run(plan, plugins, watcher).by_outcome == {Outcome.WRONG_VALUE: 8}
    assert executors[1].calls == []


def test_faults_of_ours_are_counted_apart_and_tried_again(make_plan, plugins, watcher, fakes):
    sick = [True]

    class Sick(FakeExecutor):
        def run(self, request):
            if sick[0] and request.case.id == "b":
                raise OSError("no space left on device")
            return super().run(request)

    fakes.executor = Sick
    plan = make_plan()
    first = run(plan, plugins, watcher)
    assert first.by_outcome == {Outcome.OK: 2, Outcome.INFRA_ERROR: 2}
    assert (first.total, first.valid, first.ok) == (4, 2, 2)
    assert {s.verdict.owner for s in watcher.samples} == {Owner.NONE, Owner.INFRA}
    sick[0] = False
    second = run(plan, plugins, watcher)
    assert second.by_outcome == {Outcome.OK: 4}
    assert watcher.totals[1] == (4, 2)


def test_a_request_that_fails_is_an_infrastructure_fault_of_its_sample(make_plan, plugins, watcher, fakes):
    fakes.backend = lambda args: FakeBackend(
        args, answer=lambda request: "fault: 503" if request.key.case == "a" else "```cpp\nint x;\n```"
    )
    plan = make_plan()
    summary = run(plan, plugins, watcher)
    assert summary.by_outcome == {Outcome.OK: 2, Outcome.INFRA_ERROR: 2}
    faults = [s for s in watcher.samples if s.verdict.outcome is Outcome.INFRA_ERROR]
    assert {(s.verdict.stage, s.verdict.diagnostics[0].message) for s in faults} == {(Stage.GENERATE, "503")}


def test_a_backend_that_goes_away_leaves_what_was_finished(make_plan, plugins, watcher, fakes):
    fakes.backend = lambda args: FakeBackend(args.model_copy(update={"stop_after": 3}))
    plan = make_plan(samples=2)
    with pytest.raises(BackendError, match="went away"):
        run(plan, plugins, watcher)
    stored = read_run(plan.directory)
    assert len(stored.completions) == len(stored.samples) == 3
    assert stored.results is None
    fakes.backend = FakeBackend
    assert run(plan, plugins, watcher).ok == 8
    assert watcher.totals[1] == (8, 3)


def test_predict_only_stores_answers_which_a_later_run_judges(make_plan, plugins, watcher, fakes):
    plan = make_plan(kernel("nan"), predict_only=True)
    summary = run(plan, plugins, watcher)
    assert (summary.total, summary.generated, summary.by_outcome, summary.results) == (4, 4, {}, None)
    assert [s.verdict for s in watcher.samples] == [None] * 4
    assert not (plan.directory / "results.json").exists()
    assert run(plan, plugins, watcher).generated == 4
    fakes.backend = _Unopened
    assert run(replace(plan, predict_only=False), plugins, watcher).by_outcome == {Outcome.NON_FINITE: 4}


def test_predict_only_says_which_answers_are_missing(make_plan, plugins, watcher, fakes):
    fakes.backend = lambda args: FakeBackend(args, answer=lambda request: "fault: too long")
    assert run(make_plan(predict_only=True), plugins, watcher).generated == 0
    assert len(watcher.messages) == 4
    assert "too long" in watcher.messages[0]


def test_hooks_are_called_and_cannot_end_the_run(make_plan, plugins, watcher):
    seen = []

    class Listener:
        @hookimpl
        def on_run_start(self, context):
            seen.append(("start", context.run_id, context.directory))

        @hookimpl
        def on_sample_end(self, context, sample):
            seen.append(("sample", str(sample.key)))
            raise RuntimeError("a hook's bug")

        @hookimpl
        def on_run_end(self, context, summary):
            seen.append(("end", summary.ok))

    plugins.register(Listener(), "listener")
    plan = make_plan()
    summary = run(plan, plugins, watcher)
    assert summary.ok == 4
    assert seen[0] == ("start", summary.results.run_id, plan.directory)
    assert sorted(seen[1:-1]) == sorted(("sample", key) for key in outcomes(plan))
    assert seen[-1] == ("end", 4)


def test_a_run_is_told_in_the_log(make_plan, plugins, watcher, caplog):
    """The harness's own use of the hooks that watch a run; ``-v info`` shows it."""
    caplog.set_level("INFO", logger="npukernelbench")
    plan = make_plan()
    summary = run(plan, plugins, watcher)
    told = [record.getMessage() for record in caplog.records if record.name == "npukernelbench.plugins.builtin"]
    assert told[0] == f"run {summary.results.run_id} begins in {plan.directory}"
    assert sorted(told[1:-1]) == sorted(f"{key}: ok" for key in outcomes(plan))
    assert told[-1] == "4 of 4 samples are right"


def test_an_interruption_keeps_what_is_finished_and_the_run_resumes(make_plan, plugins, watcher, fakes):
    finished = watcher.finished

    def interrupt(sample):
        finished(sample)
        if len(watcher.samples) == 3:
            raise KeyboardInterrupt

    watcher.finished = interrupt
    executors = []
    fakes.executor = lambda args: executors.append(FakeExecutor(args)) or executors[-1]
    plan = make_plan(samples=4, executor_args={"delay_s": 0.02})
    with pytest.raises(KeyboardInterrupt):
        run(plan, plugins, watcher)
    assert executors[0].closed
    assert 3 <= len(read_run(plan.directory).samples) < 16
    watcher.finished = finished
    assert run(plan, plugins, watcher).ok == 16


def test_a_backend_that_never_answers_can_be_interrupted(make_plan, plugins, watcher, fakes):
    class Silent(FakeBackend):
        async def generate_many(self, requests):
            await asyncio.sleep(3600)
            yield

    fakes.backend = Silent
    calls = []

    def stage(key, stage):
        calls.append(key)
        if len(calls) == 4:
            main = threading.main_thread().ident
            threading.Timer(0.05, lambda: signal.pthread_kill(main, signal.SIGINT)).start()

    watcher.stage = stage
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have it ignored in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            run(make_plan(), plugins, watcher)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_broken_parser_ends_the_run_with_its_error(make_plan, plugins, watcher):
    class Plugin:
        @hookimpl
        def register_parsers(self, register):
            register("broken", lambda text: 1 / 0)

    plugins.register(Plugin(), "parsers")
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        run(make_plan(parser="broken", samples=50), plugins, watcher)
    assert watcher.samples == []


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"model": "fakee"}, UsageError, "fakee"),
        ({"executor": "fakee"}, UsageError, "fakee"),
        ({"parser": "none"}, UsageError, "none"),
        ({"prompt_style": "none"}, UsageError, "none"),
        ({"model_args": {"nonsense": 1}}, UsageError, "nonsense"),
        ({"executor_args": {"nonsense": 1}}, UsageError, "nonsense"),
        ({"track": Track.DYNAMIC}, UsageError, "judges track static only"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(make_plan, plugins, watcher, change, error, text):
    plan = make_plan(**change)
    with pytest.raises(error, match=text):
        run(plan, plugins, watcher)
    assert watcher.totals == []


def test_an_unwritable_folder_is_refused_before_anything_is_asked(make_plan, plugins, watcher, fakes, tmp_path):
    (tmp_path / "file").write_text("")
    fakes.backend = _Unopened
    with pytest.raises(StoreError):
        run(make_plan(directory=tmp_path / "file" / "run"), plugins, watcher)


def test_the_dynamic_track_is_one_sample_for_all_cases(make_plan, plugins, watcher, fakes):
    plan = make_plan(track=Track.DYNAMIC, executor_args={"tracks": ["dynamic"]}, samples=2)
    summary = run(plan, plugins, watcher)
    assert set(outcomes(plan)) == {f"{name}/*/dynamic/{i}" for name in ("TinyOne", "TinyTwo") for i in range(2)}
    assert summary.ok == 4
    assert all(len(s.verdict.cases) == 2 for s in watcher.samples)


@pytest.mark.parametrize(
    "change",
    [{"directory": "elsewhere"}, {"jobs": 9}, {"predict_only": True}, {"model": "FAKE"}],
)
def test_the_fingerprint_ignores_what_does_not_decide_results(make_plan, change):
    assert fingerprint(make_plan(**change)) == fingerprint(make_plan())


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"model_args": {"text": "x"}},
        {"seed": 1},
        {"samples": 2},
        {"run_timeout_s": 5.0},
        {"compile_timeout_s": 5.0},
        {"executor_args": {"time_us": 1.0}},
        {"params": SamplingParams(temperature=0.5)},
        {"params": SamplingParams(extra={"top_k": 5})},
        {"prompt_style": "default"},
        {"parser": "fenced"},
        {"tasks": ()},
    ],
)
def test_the_fingerprint_covers_what_decides_results(make_plan, change):
    assert fingerprint(make_plan(**change)) != fingerprint(make_plan())


def test_another_run_in_the_folder_is_refused_by_naming_what_differs(make_plan, plugins, watcher):
    run(make_plan(), plugins, watcher)
    with pytest.raises(UsageError, match="seed"):
        run(make_plan(seed=5), plugins, watcher)


def test_the_manifest_says_what_was_run_and_holds_no_secret(make_plan, plugins, watcher):
    plan = make_plan(params=SamplingParams(temperature=0.7, extra={"api_key": "sk-secret"}))
    run(plan, plugins, watcher)
    manifest = read_run(plan.directory).manifest
    task = manifest.identity["tasks"]["TinyOne"]
    assert task["hash"] == plan.tasks[0].task.content_hash
    assert task["cases"] == ["a", "b"]
    assert manifest.identity["prompt"]["templates"] == ["terse@3"]
    assert manifest.identity["executor"]["description"] == {"executor": "fake", "version": "1"}
    assert manifest.identity["sampling"]["temperature"] == 0.7
    assert {"python", "platform", "packages", "plugins", "git"} <= set(manifest.provenance)
    assert not any("sk-secret" in path.read_text(errors="replace") for path in plan.directory.iterdir())


def test_results_hold_no_path_of_this_machine(make_plan, plugins, watcher):
    plan = make_plan()
    run(plan, plugins, watcher)
    assert str(plan.directory.parent) not in (plan.directory / "results.json").read_text()


def test_the_configuration_lies_beside_the_results_with_origins(make_plan, plugins, watcher):
    plan = make_plan()
    run(plan, plugins, watcher)
    settings = json.loads((plan.directory / "config.json").read_text())["settings"]
    assert settings["executor"] == {"value": "twin", "origin": "default"}


def test_an_answer_that_a_filter_withheld_is_not_the_models_fault_and_not_tried_again(
    make_plan, plugins, watcher, fakes
):
    class Filtering(FakeBackend):
        async def generate_many(self, requests):
            async for result in super().generate_many(requests):
                withheld = replace(result.answer, finish_reason=FinishReason.CONTENT_FILTER)
                yield result._replace(answer=withheld) if result.request.key.case == "a" else result

    fakes.backend = Filtering
    plan = make_plan()
    first = run(plan, plugins, watcher)
    assert first.by_outcome == {Outcome.OK: 2, Outcome.FILTERED: 2}
    assert first.valid == 2
    assert {s.verdict.owner for s in watcher.samples} == {Owner.NONE, Owner.INFRA}
    run(plan, plugins, watcher)
    assert watcher.totals[1] == (4, 4)


def test_how_it_is_asked_may_change_while_the_run_stays_the_same(make_plan):
    transport = frozenset({"delay_s"})
    slow = make_plan(model_args={"text": "x", "delay_s": 1.0}, transport=transport)
    assert fingerprint(slow) == fingerprint(make_plan(model_args={"text": "x"}, transport=transport))
    assert fingerprint(slow) != fingerprint(make_plan(model_args={"text": "y"}, transport=transport))


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        ({"run_timeout_s": 5.0}, 4),
        ({"samples": 3}, 4),
        ({"parser": "fenced"}, 4),
        ({"seed": 1}, 0),
        ({"params": SamplingParams(temperature=0.5)}, 0),
        ({"model_args": {"text": "other"}}, 0),
    ],
)
def test_answers_of_a_run_beside_it_are_not_paid_for_again(make_plan, plugins, watcher, fakes, tmp_path, change, taken):
    asked = []
    fakes.backend = lambda args: FakeBackend(args, answer=lambda request: asked.append(request.key) or kernel("ok"))
    run(make_plan(directory=tmp_path / "runs" / "first"), plugins, watcher)
    asked.clear()
    plan = make_plan(directory=tmp_path / "runs" / "second", reuse=True, **change)
    summary = run(plan, plugins, watcher)
    assert summary.results.spent.cached == taken
    assert summary.total - len(asked) == taken
    assert summary.ok == summary.total
    said = [line for line in watcher.messages if "are taken from" in line]
    assert said == (
        [f"{taken} answers to the same questions are taken from {tmp_path / 'runs' / 'first'}"] * bool(taken)
    )
