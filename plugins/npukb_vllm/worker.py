"""The child process that holds a vLLM engine: ``python -m npukb_vllm.worker``.

One JSON object per line. In: first ``{"engine": {...}}``, then requests ``{"id", "messages", "sampling",
"chat_template_kwargs"}``; the end of input is the end. Out: ``{"ready": true}``, then answers in any order
``{"id", "text", "finish_reason", "prompt_tokens", "completion_tokens"}`` or ``{"id", "error"}``. All requests are in
the engine at once, which batches them as they fit. vLLM's own output goes to standard error.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from typing import IO, Any

__all__ = ["main"]


def main() -> int:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # vLLM prints to standard output, which is the answers' here
    asyncio.run(_serve(sys.stdin, answers))
    answers.flush()
    os._exit(0)  # the engine's own children end with their parent; its destructors may hang


async def _serve(requests: IO[str], answers: IO[str]) -> None:
    from vllm import AsyncEngineArgs, AsyncLLMEngine

    engine = AsyncLLMEngine.from_engine_args(AsyncEngineArgs(**json.loads(requests.readline())["engine"]))
    tokenizer = engine.get_tokenizer()
    if asyncio.iscoroutine(tokenizer):
        tokenizer = await tokenizer
    _say(answers, {"ready": True})
    tasks: set[asyncio.Task[None]] = set()
    # In a thread, as reading a pipe would block the engine's event loop.
    while line := await asyncio.to_thread(requests.readline):
        task = asyncio.create_task(_answer(engine, tokenizer, json.loads(line), answers))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    engine.shutdown()


async def _answer(engine: Any, tokenizer: Any, request: dict[str, Any], answers: IO[str]) -> None:
    """Boundary: whatever goes wrong with a request is its answer."""
    from vllm import SamplingParams

    key = request["id"]
    try:
        prompt = prompt_text(tokenizer, request["messages"], request["chat_template_kwargs"])
        last = None
        async for output in engine.generate(prompt, SamplingParams(**request["sampling"]), str(key)):
            last = output
        if last is None:
            raise RuntimeError("the engine ended without an answer")
        out = last.outputs[0]
        answer = {
            "text": out.text,
            "finish_reason": out.finish_reason,
            "prompt_tokens": len(last.prompt_token_ids or ()),
            "completion_tokens": len(out.token_ids),
        }
    except Exception as error:  # noqa: BLE001
        if type(error).__name__ == "EngineDeadError":
            sys.stderr.write(f"{error}\n")
            sys.stderr.flush()
            os._exit(1)  # no request gets an answer any more, and the harness asks again later
        answer = {"error": f"{type(error).__name__}: {error}"}
    _say(answers, {"id": key, **answer})


def prompt_text(tokenizer: Any, messages: list[dict[str, str]], chat_template_kwargs: dict[str, Any]) -> str:
    """The prompt as the model reads it; a checkpoint without a chat template gets the messages as they are."""
    if not getattr(tokenizer, "chat_template", None):
        return "\n\n".join(message["content"] for message in messages)
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **chat_template_kwargs)
    return str(text)


def _say(answers: IO[str], what: dict[str, Any]) -> None:
    with suppress(BrokenPipeError):
        answers.write(json.dumps(what) + "\n")
        answers.flush()


if __name__ == "__main__":
    sys.exit(main())
