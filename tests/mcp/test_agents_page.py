"""docs/agents.md: snippets that parse, tools and options that exist."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import Client
from npukb_mcp.command import mcp, workspace
from npukb_mcp.desk import DeskSettings
from npukb_mcp.server import build_server
from tests.mcp.test_server import open_desk

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")


def test_snippets_of_clients_start_the_server() -> None:
    snippets = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    assert len(snippets) == 4
    for snippet in snippets:
        [server] = [one["judge"] for one in snippet.values() if isinstance(one, dict)]
        command = server["command"]
        words = command if isinstance(command, list) else [command, *server["args"]]
        assert words == ["npukb", "mcp", "--folder", "work"]
    [table] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert '\nargs = ["mcp", "--folder", "work"]\n' in table


def test_the_table_of_tools_is_what_the_server_has(tmp_path: Path) -> None:
    listed = dict(re.findall(r"^\| `(\w+)\(([^)]*)\)`", PAGE, re.MULTILINE))
    desk = open_desk(tmp_path, DeskSettings(golden=True))

    async def ask() -> dict[str, str]:
        async with Client(build_server(desk)) as client:
            return {one.name: ", ".join(one.input_schema["properties"]) for one in (await client.list_tools()).tools}

    assert asyncio.run(ask()) == listed
    desk.close()


def test_options_exist() -> None:
    known = {option for command in (mcp, workspace) for one in command.params for option in one.opts}
    known = {option.replace("-", "_") for option in known} | {"__compile_only", "__hidden_seed"}
    used = {option.replace("-", "_") for option in re.findall(r"--[a-z][a-z_]+", PAGE)}
    assert used <= known
