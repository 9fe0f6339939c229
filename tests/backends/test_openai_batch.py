"""Batches against a server of ours: handed in once, found again after an interruption, faults told apart."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from npukb_openai.batch import BatchArgs, OpenAIBatchBackend
from npukernelbench.errors import BackendError
from npukernelbench.generate import GenerationFault, GenerationRequest, GenerationResult
from npukernelbench.generate.backend import SamplingParams
from npukernelbench.nouns import Completion, Message, Prompt, SampleKey, Track
from npukernelbench.testing import tiny_case, tiny_task


class Server(ThreadingHTTPServer):
    """Keeps files and batches; a batch is done after ``looks`` looks."""

    looks = 2
    ends = "completed"
    unavailable = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, str] = {}
        self.batches: dict[str, dict[str, Any]] = {}

    def look(self, batch: dict[str, Any]) -> dict[str, Any]:
        batch["looks"] += 1
        if batch["looks"] >= self.looks and batch["status"] == "in_progress":
            batch["status"] = self.ends
            if self.ends == "completed":
                self.files["out"] = "".join(answer(line) for line in self.files[batch["input_file_id"]].splitlines())
                batch["output_file_id"] = "out"
        return batch


def answer(line: str) -> str:
    question = json.loads(line)
    text = question["body"]["messages"][-1]["content"]
    if text == "lost":
        return ""
    response: dict[str, Any] = {"status_code": 500, "body": {"error": "broken"}}
    if text != "fail":
        choice = {"finish_reason": "stop", "message": {"content": f"answer to {text}"}}
        usage = {"prompt_tokens": 3, "completion_tokens": 2}
        response = {"status_code": 200, "body": {"model": "m-1", "choices": [choice], "usage": usage}}
    return json.dumps({"custom_id": question["custom_id"], "response": response, "error": None}) + "\n"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        state, path = self.server, self.path.removeprefix("/v1")
        if state.unavailable:
            state.unavailable -= 1
            return self.reply({"error": "busy"}, 503)
        if path.startswith("/batches?"):
            return self.reply({"data": list(state.batches.values())})
        if path.startswith("/files/"):
            return self.reply(state.files[path.split("/")[2]])
        return self.reply(state.look(state.batches[path.split("/")[2]]))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        state = self.server
        if self.path == "/v1/files":
            name = f"file-{len(state.files)}"
            state.files[name] = body.split("application/jsonl\r\n\r\n")[1].split("\r\n--")[0]
            return self.reply({"id": name})
        name = f"batch-{len(state.batches)}"
        state.batches[name] = {**json.loads(body), "id": name, "status": "in_progress", "looks": 0}
        return self.reply(state.batches[name])

    def reply(self, content: object, code: int = 200) -> None:
        raw = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def asked(server: Server, *texts: str) -> list[GenerationResult]:
    async def ask() -> list[GenerationResult]:
        address = f"http://127.0.0.1:{server.server_port}/v1"
        backend = OpenAIBatchBackend(BatchArgs(model="m", base_url=address, poll_s=0.01, backoff_s=0.01))
        await backend.open()
        results = [result async for result in backend.generate_many([request(text) for text in texts])]
        await backend.close()
        return results

    return asyncio.run(ask())


def request(text: str) -> GenerationRequest:
    case = tiny_case()
    task = tiny_task(cases=(case,))
    prompt = Prompt((Message("user", text),), "", "test")
    key = SampleKey(task.name, case.id, Track.STATIC, 0)
    return GenerationRequest(key, task, case, prompt, SamplingParams(max_tokens=7), 1)


def test_answers_come_with_their_counts_and_faults_with_their_reason(server: Server) -> None:
    first, broken, lost = asked(server, "one", "fail", "lost")
    assert isinstance(first.answer, Completion)
    assert (first.answer.text, first.answer.usage.prompt, first.answer.model) == ("answer to one", 3, "m-1")
    assert isinstance(broken.answer, GenerationFault)
    assert "broken" in broken.answer.message
    assert isinstance(lost.answer, GenerationFault)
    question = json.loads(server.files["file-0"].splitlines()[0])
    assert question["body"]["max_tokens"] == 7
    assert question["url"] == "/v1/chat/completions"


def test_answers_may_hold_what_no_line_of_json_ends_at(server: Server) -> None:
    asked(server, "one")
    server.files["out"] = server.files["out"].replace("to one", "to\u2028one") + "\n"
    [again] = asked(server, "one")
    assert isinstance(again.answer, Completion)
    assert again.answer.text == "answer to\u2028one"


def test_the_same_questions_find_their_batch_again(server: Server) -> None:
    asked(server, "one", "two")
    again = asked(server, "one", "two")
    assert [result.answer.text for result in again if isinstance(result.answer, Completion)] == [
        "answer to one",
        "answer to two",
    ]
    assert len(server.batches) == 1, "nothing is paid for twice"
    asked(server, "another")
    assert len(server.batches) == 2


def test_a_batch_that_failed_is_an_error_and_the_next_command_hands_in_a_new_one(server: Server) -> None:
    server.ends = "expired"
    with pytest.raises(BackendError, match="is expired"):
        asked(server, "one")
    server.ends = "completed"
    assert isinstance(asked(server, "one")[0].answer, Completion)
    assert len(server.batches) == 2


def test_a_server_that_is_busy_is_asked_again(server: Server) -> None:
    server.unavailable = 2
    assert isinstance(asked(server, "one")[0].answer, Completion)


def test_without_a_key_the_provider_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(BackendError, match="OPENAI_API_KEY is not set"):
        asyncio.run(OpenAIBatchBackend(BatchArgs(model="m")).open())
