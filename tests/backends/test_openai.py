"""The openai backend against a real server on this machine."""

from __future__ import annotations

import asyncio
import builtins
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from npukb_openai.args import OpenAIArgs
from npukb_openai.backend import OpenAIBackend
from npukernelbench.errors import BackendError, UsageError
from npukernelbench.generate import GenerationFault, GenerationRequest, SamplingParams, answers, make_backend
from npukernelbench.nouns import Completion, FinishReason, Message, Prompt, SampleKey, TokenUsage, Track
from npukernelbench.plugins import Plugins
from npukernelbench.testing.tasks import tiny_task

if TYPE_CHECKING:
    from tests.backends.conftest import Body, ChatServer, Reply

TASK = tiny_task()
PROMPT = Prompt((Message("system", "You write kernels."), Message("user", "Write one.")), "t@1", "h")
QUICK: dict[str, object] = {"model": "m", "backoff_s": 0.001, "timeout_s": 5.0}


@pytest.fixture(autouse=True, params=["direct", "openai"])
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything holds for both ways of speaking HTTP."""
    monkeypatch.setitem(QUICK, "client", request.param)
    return str(request.param)


def request(index: int = 0, params: SamplingParams | None = None) -> GenerationRequest:
    key = SampleKey(TASK.name, "smoke", Track.STATIC, index)
    return GenerationRequest(key, TASK, TASK.case("smoke"), PROMPT, params or SamplingParams(), 2**62 + index)


def ask(server: ChatServer, *requests: GenerationRequest, **args: object) -> dict[int, Completion | GenerationFault]:
    registration = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends.find("openai")
    backend = make_backend(registration, QUICK | {"base_url": server.base_url} | args)

    async def collect() -> dict[int, Completion | GenerationFault]:
        return {r.request.key.index: r.answer async for r in answers(backend, requests or (request(),))}

    return asyncio.run(collect())


def completion(server: ChatServer, *requests: GenerationRequest, **args: object) -> Completion:
    answer = ask(server, *requests, **args)[0]
    assert isinstance(answer, Completion), answer
    return answer


def fault(server: ChatServer, *requests: GenerationRequest, **args: object) -> GenerationFault:
    answer = ask(server, *requests, **args)[0]
    assert isinstance(answer, GenerationFault), answer
    return answer


def test_an_answer_with_its_usage(server: ChatServer) -> None:
    assert completion(server) == Completion(
        "```cpp\nint a;\n```",
        FinishReason.STOP,
        usage=TokenUsage(11, 7, 3),
        model="served-model",
        sent={"seed": 2**62 % 2**31},
    )
    assert server.paths == ["/v1/chat/completions"]
    assert server.keys == ["Bearer sk-secret-of-the-test"]


def test_what_is_sent(server: ChatServer) -> None:
    params = SamplingParams(temperature=0.7, top_p=0.9, max_tokens=100, extra={"top_k": 20, "stop": ["END"]})
    completion(server, request(0, params), extra_body={"min_p": 0.1}, system_role="developer")
    assert server.requests == [
        {
            "model": "m",
            "messages": [
                {"role": "developer", "content": "You write kernels."},
                {"role": "user", "content": "Write one."},
            ],
            "seed": 2**62 % 2**31,
            "temperature": 0.7,
            "top_p": 0.9,
            "max_tokens": 100,
            "top_k": 20,
            "stop": ["END"],
            "min_p": 0.1,
        }
    ]


def test_what_is_not_set_is_not_sent(server: ChatServer) -> None:
    completion(server, send_seed=False)
    assert set(server.requests[0]) == {"model", "messages"}


def test_every_sample_has_its_own_seed(server: ChatServer) -> None:
    assert len(ask(server, *(request(i) for i in range(4)))) == 4
    assert len({body["seed"] for body in server.requests}) == 4


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_kept_apart(server: ChatServer, field: str) -> None:
    server.replies(server.completion("answer", **{field: "thought"}))
    answer = completion(server)
    assert (answer.text, answer.reasoning) == ("answer", "thought")


def test_a_budget_spent_on_reasoning_is_a_truncated_answer(server: ChatServer) -> None:
    server.replies(server.completion(None, finish_reason="length", reasoning="thought"))
    answer = completion(server)
    assert (answer.text, answer.finish_reason, answer.reasoning) == ("", FinishReason.LENGTH, "thought")


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("tool_calls", FinishReason.STOP),
        ("something_new", FinishReason.OTHER),
    ],
)
def test_finish_reasons(server: ChatServer, spelled: str, meant: FinishReason) -> None:
    server.replies(server.completion("x", finish_reason=spelled))
    assert completion(server).finish_reason is meant


def test_a_refusal_is_the_answer(server: ChatServer) -> None:
    server.replies(server.completion(None, refusal="I will not."))
    assert completion(server).text == "I will not."


@pytest.mark.parametrize("retry_after", ["0", "0.01", "nonsense", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_busy_server_is_asked_again(server: ChatServer, retry_after: str) -> None:
    server.replies(server.error(429, "slow down", {"Retry-After": retry_after}), server.completion())
    assert completion(server).text
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503])
def test_a_transient_failure_is_repeated(server: ChatServer, status: int) -> None:
    server.replies(server.error(status), server.error(status), server.completion())
    assert completion(server).text
    assert len(server.requests) == 3


def test_a_failure_that_stays_is_a_fault_to_retry_later(server: ChatServer) -> None:
    server.replies(server.error(500, "cuda error"))
    assert fault(server, max_retries=2) == GenerationFault("HTTP 500: cuda error (asked 3 times)", retryable=True)
    assert len(server.requests) == 3  # the client's own retries are off


def test_a_server_that_asks_for_a_long_wait_is_not_waited_for(server: ChatServer) -> None:
    server.replies(server.error(429, "come back tomorrow", {"Retry-After": "86400"}))
    refused = fault(server)
    assert "asks to wait 86400 s" in refused.message
    assert refused.retryable
    assert len(server.requests) == 1


def test_a_slow_server_is_a_timeout(server: ChatServer) -> None:
    server.replies(server.reply(body={}, delay_s=0.15))
    refused = fault(server, timeout_s=0.05, max_retries=0)
    assert refused == GenerationFault("the server did not answer in time (asked once)", retryable=True)


def test_a_connection_cut_in_mid_body_is_repeated(server: ChatServer) -> None:
    whole = server.completion()
    server.replies(server.reply(body=whole.body, cut_at=40), whole)
    assert completion(server).text
    assert len(server.requests) == 2


def test_a_connection_that_is_always_cut_is_a_fault(server: ChatServer) -> None:
    server.replies(server.reply(body=server.completion().body, cut_at=40))
    refused = fault(server, max_retries=1)
    assert refused.message.startswith("the connection failed")
    assert refused.retryable


@pytest.mark.parametrize(
    "raw", [b"", b"not json", b'{"choices": [', b"[]", b'{"choices": []}', b'{"choices": [{}]}', b'{"error": "broken"}']
)
def test_malformed_answers_are_repeated_then_a_fault(server: ChatServer, raw: bytes) -> None:
    server.replies(server.reply(raw=raw))
    refused = fault(server, max_retries=1)
    assert refused.message.startswith("the server sent no")
    assert refused.retryable
    assert len(server.requests) == 2


@pytest.mark.parametrize(("status", "remedy"), [(401, "API key"), (402, "paid"), (403, "allowed"), (404, "base_url")])
def test_what_concerns_every_request_stops_the_run(server: ChatServer, status: int, remedy: str) -> None:
    server.replies(server.error(status, "no: sk-secret-of-the-test"))
    with pytest.raises(BackendError, match=rf"HTTP {status}: no: \*\*\*") as caught:
        ask(server, *(request(i) for i in range(20)), concurrency=2)
    assert remedy in (caught.value.remedy or "")
    assert len(server.requests) <= 4


def test_a_quota_that_is_used_up_stops_the_run(server: ChatServer) -> None:
    server.replies(server.error(429, "You exceeded your current quota", code="insufficient_quota"))
    with pytest.raises(BackendError, match="exceeded your current quota"):
        ask(server)
    assert len(server.requests) == 1


def test_a_prompt_that_is_too_long_is_not_repeated(server: ChatServer) -> None:
    server.replies(
        server.error(400, "This model's maximum context length is 10 tokens", code="context_length_exceeded")
    )
    refused = fault(server)
    assert "do not fit the model's context" in refused.message
    assert not refused.retryable
    assert len(server.requests) == 1


def test_other_bad_requests_are_not_repeated(server: ChatServer) -> None:
    server.replies(server.error(400, "temperature must be below 2"))
    assert fault(server) == GenerationFault("HTTP 400: temperature must be below 2", retryable=False)
    assert len(server.requests) == 1


def test_the_name_of_the_token_limit_is_learned_once(server: ChatServer) -> None:
    def script(body: Body, number: int) -> Reply:
        if "max_tokens" in body:
            message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return server.error(400, message, code="unsupported_parameter", param="max_tokens")
        return server.completion()

    server.script = script
    params = SamplingParams(max_tokens=50)
    answers = ask(server, *(request(i, params) for i in range(3)), concurrency=1)
    assert all(isinstance(answer, Completion) for answer in answers.values())
    assert [body.get("max_tokens") for body in server.requests] == [50, None, None, None]
    assert [body.get("max_completion_tokens") for body in server.requests] == [None, 50, 50, 50]


def test_no_more_requests_at_a_time_than_allowed(server: ChatServer) -> None:
    server.script = lambda body, number: server.reply(body=server.completion().body, delay_s=0.01)
    assert len(ask(server, *(request(i) for i in range(12)), concurrency=3)) == 12
    assert 1 < server.most_under_way <= 3


def test_answers_that_nobody_takes_stop_further_requests(server: ChatServer) -> None:
    registration = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends.find("openai")
    backend = make_backend(registration, QUICK | {"base_url": server.base_url, "concurrency": 2})

    async def take_one_and_look_away() -> tuple[int, int]:
        taken = 1
        await backend.open()
        stream = backend.generate_many([request(index) for index in range(30)])
        await anext(stream)
        before = -1
        while before != len(server.requests):  # until the server has nothing more to do
            before = len(server.requests)
            await asyncio.sleep(0.3)
        async for _ in stream:
            taken += 1
        await backend.close()
        return before, taken

    sent, taken = asyncio.run(take_one_and_look_away())
    assert sent <= 5
    assert taken == len(server.requests) == 30


def test_one_fault_does_not_touch_the_other_answers(server: ChatServer) -> None:
    bad_seed = request(3).seed % 2**31
    server.script = lambda body, number: server.error(400, "no") if body["seed"] == bad_seed else server.completion()
    answers = ask(server, *(request(i) for i in range(6)))
    assert [index for index, answer in sorted(answers.items()) if isinstance(answer, GenerationFault)] == [3]


def test_a_server_that_is_not_there_stops_the_run(server: ChatServer) -> None:
    args = QUICK | {"base_url": "http://127.0.0.1:9/v1", "max_retries": 1}
    with pytest.raises(BackendError, match="no server can be reached at http://127"):
        ask(server, **args)


def test_a_server_of_ones_own_needs_no_key(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert completion(server).text
    assert server.keys == ["Bearer none"]


def test_the_key_may_have_another_name(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "mine")
    completion(server, api_key_env="MY_KEY")
    assert server.keys == ["Bearer mine"]


def test_without_a_key_and_an_address_nobody_is_asked(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(BackendError, match="OPENAI_API_KEY is not set"):
        ask(server, base_url=None)


def test_the_address_may_come_from_the_environment(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    assert completion(server, base_url=None).text
    assert OpenAIBackend(OpenAIArgs(model="m")).describe() == {"server": server.base_url}


def test_a_missing_package_is_named_with_its_remedy(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    real_import = builtins.__import__

    def no_openai(name: str, *args: Any, **kwargs: Any) -> object:
        if name.partition(".")[0] == "openai":
            raise ImportError("No module named 'openai'")
        return real_import(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.partition(".")[0] == "openai"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", no_openai)
    if client == "direct":
        assert completion(server).text
        return
    with pytest.raises(BackendError, match="cannot be imported") as caught:
        ask(server)
    assert caught.value.remedy == "pip install 'npukernelbench[openai]'"


@pytest.mark.parametrize(
    ("args", "field"),
    [
        ({"model": ""}, "model_args.model"),
        ({"concurrency": 0}, "model_args.concurrency"),
        ({"api_key": "sk-1"}, "model_args.api_key"),
        ({"timeout_s": "soon"}, "model_args.timeout_s"),
    ],
)
def test_wrong_arguments_name_their_field(server: ChatServer, args: Mapping[str, object], field: str) -> None:
    with pytest.raises(UsageError) as caught:
        ask(server, **args)
    assert caught.value.field == field
    assert "sk-1" not in str(caught.value)


def test_an_answer_with_neither_text_nor_a_reason_is_repeated(server: ChatServer) -> None:
    server.replies(server.completion(None, finish_reason=None), server.completion("whole"))
    assert completion(server).text == "whole"
    server.replies(server.completion(None, finish_reason=None))
    refused = fault(server, max_retries=1)
    assert "the server sent neither text nor a reason why it stopped" in refused.message
    assert refused.retryable


PAGE = (
    b"<!DOCTYPE html>\n<html><head><title>Welcome &amp; log in</title></head><body>" + b"x" * 9000 + b"</body></html>"
)


def test_a_web_page_at_a_wrong_address_is_named_with_a_hint(server: ChatServer) -> None:
    server.replies(server.reply(raw=PAGE, headers={"Content-Type": "text/html"}))
    with pytest.raises(BackendError) as caught:
        ask(server, max_retries=1)
    assert 'the server sent a web page, "Welcome & log in", not JSON' in str(caught.value)
    assert "usually ends in /v1" in (caught.value.remedy or "")
    assert len(server.requests) == 2


def test_a_web_page_of_a_server_that_has_answered_is_repeated(server: ChatServer) -> None:
    server.replies(server.completion(), server.reply(raw=PAGE), server.completion("again"))
    answers = ask(server, request(0), request(1), concurrency=1)
    assert sorted(answer.text for answer in answers.values() if isinstance(answer, Completion))[1] == "again"


def test_a_page_that_explains_an_error_is_told_by_its_title(server: ChatServer) -> None:
    page = b"<html><head><title>404 Not Found</title></head><body><h1>nginx</h1></body></html>"
    server.replies(server.reply(status=404, raw=page))
    with pytest.raises(BackendError, match='HTTP 404: a web page, "404 Not Found", not JSON'):
        ask(server)


@pytest.mark.parametrize(
    ("key", "title"), [("x", "nginx for sk-quoted-key"), ("sk-quoted-key", "nginx for ***")], ids=["stand-in", "secret"]
)
def test_a_key_is_hidden_and_a_stand_in_for_one_is_not(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, key: str, title: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    page = b"<html><head><title>nginx for sk-quoted-key</title></head></html>"
    server.replies(server.reply(status=404, raw=page))
    with pytest.raises(BackendError) as caught:
        ask(server)
    assert f'a web page, "{title}", not JSON' in str(caught.value)


def test_unknown_arguments_are_told_before_missing_ones() -> None:
    registration = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends.find("openai")
    with pytest.raises(UsageError) as caught:
        make_backend(registration, {"modle": "m"})
    assert str(caught.value).startswith("model_args.modle: there is no such argument")
    assert (caught.value.remedy or "").startswith("did you mean 'model'?")
