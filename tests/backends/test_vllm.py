"""The vllm backends: the conversation with the child against a stub, the engine itself where vLLM is installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from npukb_vllm import offline
from npukb_vllm.args import VllmArgs, VllmServerArgs
from npukb_vllm.offline import VllmBackend, sampling_fields
from npukb_vllm.server import VllmServerBackend, command_line
from npukernelbench.errors import BackendError
from npukernelbench.generate import GenerationFault, SamplingParams
from npukernelbench.nouns import Completion, Task
from tests.backends.asking import ask, request

ENGINE = {"enforce_eager": True, "enable_prefix_caching": False}
STUB = (sys.executable, str(Path(__file__).with_name("stub_engine.py")))


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(offline, "require_vllm", lambda: None)
    monkeypatch.setattr(VllmBackend, "command", STUB)
    monkeypatch.setenv("STUB_REQUESTS", "3")
    return monkeypatch


@pytest.mark.usefixtures("stub")
def test_answers_come_in_any_order_and_without_their_thinking(task: Task) -> None:
    results = ask(VllmBackend(VllmArgs(model="m")), [request(task, i, text=f"q{i}") for i in range(3)])
    for index in range(3):
        answer = results[index].answer
        assert isinstance(answer, Completion)
        assert (answer.text, answer.reasoning) == (f"q{index} {1000 + index}", "hm")
        assert (answer.usage.prompt, answer.usage.completion) == (5, 7)


def test_an_engine_that_does_not_start_tells_its_last_words(stub: pytest.MonkeyPatch, task: Task) -> None:
    stub.setenv("STUB_ENGINE", "fails")
    with pytest.raises(BackendError, match="no such checkpoint"):
        ask(VllmBackend(VllmArgs(model="m")), [request(task)])


def test_an_engine_that_dies_loses_only_what_it_had_not_answered(stub: pytest.MonkeyPatch, task: Task) -> None:
    stub.setenv("STUB_ENGINE", "dies")
    results = ask(VllmBackend(VllmArgs(model="m")), [request(task, i) for i in range(3)])
    faults = [result.answer for result in results.values() if isinstance(result.answer, GenerationFault)]
    assert len(faults) == 2
    assert all(fault.retryable and "out of memory" in fault.message for fault in faults)


def test_a_refused_request_is_a_fault_of_its_own(stub: pytest.MonkeyPatch, task: Task) -> None:
    stub.setenv("STUB_ENGINE", "refuses")
    results = ask(VllmBackend(VllmArgs(model="m")), [request(task, i) for i in range(3)])
    faults = [result.answer for result in results.values() if isinstance(result.answer, GenerationFault)]
    assert [(fault.message, fault.retryable) for fault in faults] == [("ValueError: the prompt is too long", False)]


def test_nothing_is_left_to_defaults() -> None:
    fields = sampling_fields(SamplingParams(extra={"top_k": 5}), 2**40 + 3, 100)
    assert fields == {"temperature": 1.0, "top_p": 1.0, "max_tokens": 100, "seed": 3, "top_k": 5}


def test_on_a_cpu_prompts_are_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npukb_vllm.args._built_for_cpu", lambda: True)
    assert VllmArgs(model="m").engine()["enable_chunked_prefill"] is False
    asked = VllmArgs(model="m", engine_args={"enable_chunked_prefill": True})
    assert asked.engine()["enable_chunked_prefill"] is True


def test_the_server_gets_the_engines_arguments_as_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npukb_vllm.args._built_for_cpu", lambda: False)
    args = VllmServerArgs(model="m", max_model_len=64, engine_args=ENGINE)
    line = " ".join(command_line(args, 8000)[1:])
    assert line == (
        "-m vllm.entrypoints.openai.api_server --host 127.0.0.1 --port 8000 --model m --dtype auto "
        "--tensor-parallel-size 1 --max-model-len 64 --enforce-eager --no-enable-prefix-caching"
    )


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
@pytest.mark.parametrize(
    "backend", [VllmBackend(VllmArgs(model="o/m")), VllmServerBackend(VllmServerArgs(model="o/m"))]
)
def test_without_vllm_the_remedy_is_named(backend: VllmBackend | VllmServerBackend, task: Task) -> None:
    with pytest.raises(BackendError, match=r"npukernelbench\[vllm\]"):
        ask(backend, [request(task)])
