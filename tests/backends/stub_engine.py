"""Stands in for the vLLM worker: the same conversation, answers made of the question."""

from __future__ import annotations

import json
import os
import sys


def say(message: dict[str, object]) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


behaviour = os.environ.get("STUB_ENGINE", "")
first = json.loads(sys.stdin.readline())
sys.stderr.write("loading\n")
if behaviour == "fails":
    sys.exit("no such checkpoint")
say({"ready": True})
requests = [json.loads(sys.stdin.readline()) for _ in range(int(os.environ["STUB_REQUESTS"]))]
for number, request in enumerate(reversed(requests)):
    if behaviour == "dies" and number == 1:
        sys.exit("out of memory")
    text = f"<think>hm</think>{request['messages'][-1]['content']} {request['sampling']['seed']}"
    answer = {"text": text, "finish_reason": "stop", "prompt_tokens": 5, "completion_tokens": 7}
    if behaviour == "refuses" and number == 1:
        answer = {"error": "ValueError: the prompt is too long"}
    say({"id": request["id"], **answer})
sys.stdin.read()
