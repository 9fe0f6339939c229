"""A stub agent: a small script that does what its model says, line by line, and prints what came of it."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["write_agent"]

_AGENT = """\
#!{python} -I
import json, subprocess, sys, urllib.request
url, task = sys.argv[1:3]
messages = [{{"role": "user", "content": task}}]
while True:
    body = json.dumps({{"model": "of the agent's choice", "messages": messages}}).encode()
    request = urllib.request.Request(url + "/v1/chat/completions", body, {{"content-type": "application/json"}})
    try:
        answer = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        print(error.read().decode())
        sys.exit(1)
    if answer == "END":
        break
    done = subprocess.run(answer, shell=True, capture_output=True, text=True)
    messages += [
        {{"role": "assistant", "content": answer}},
        {{"role": "user", "content": done.stdout + done.stderr}},
    ]
    print(done.stdout + done.stderr, flush=True)
"""


def write_agent(path: Path) -> Path:
    """The agent's program at ``path``, for an interpreter that knows nothing of the harness."""
    path.write_text(_AGENT.format(python=Path(sys.executable).resolve()), encoding="utf-8")
    path.chmod(0o755)
    return path
