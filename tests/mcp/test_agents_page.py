"""docs/agents.md: snippets that parse, tools and options that exist."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from kernelgen_lm.commands.collecting import agents
from mcp import Client
from npukb_agent.backend import AgentArgs
from npukb_mcp.command import mcp, workspace
from npukb_mcp.desk import DeskSettings
from npukb_mcp.server import build_server
from npukb_mcp.strategy import ToolsArgs
from npukernelbench.cli.golden import command as golden
from npukernelbench.cli.run import command as run
from tests.mcp.test_server import open_desk

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")


def test_snippets_of_clients_start_the_server() -> None:
    import tomllib

    snippets = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    assert len(snippets) == 4
    for snippet in snippets:
        [server] = [value["judge"] for value in snippet.values() if isinstance(value, dict)]
        command = server["command"]
        words = command if isinstance(command, list) else [command, *server["args"]]
        assert words == ["npukb", "mcp", "--folder", "work"]
    [codex] = [
        tomllib.loads(text)["mcp_servers"]["judge"] for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    ]
    assert (codex["command"], codex["args"]) == ("npukb", ["mcp", "--folder", "work"])
    # Without these it begins before the server does, and refuses what it calls.
    assert (codex["required"], codex["default_tools_approval_mode"]) == (True, "approve")


def test_the_snippet_for_vs_code_has_the_fields_that_it_documents() -> None:
    """Nobody has run it: what can be held is the form of the file, as VS Code's reference has it."""
    [text] = re.findall(r"`\.vscode/mcp\.json`:\n\n```json\n(.*?)```", PAGE, re.DOTALL)
    snippet = json.loads(text)
    assert snippet.keys() <= {"servers", "inputs"}
    assert isinstance(snippet["inputs"], list)
    for server in snippet["servers"].values():
        assert {"type", "command"} <= server.keys() <= {"type", "command", "args", "env", "envFile", "cwd"}
        assert (server["type"], type(server["command"]), type(server["args"])) == ("stdio", str, list)


def test_the_table_of_tools_is_what_the_server_has(tmp_path: Path) -> None:
    listed = dict(re.findall(r"^\| `(\w+)\(([^)]*)\)`", PAGE, re.MULTILINE))
    desk = open_desk(tmp_path, DeskSettings(golden=True))

    async def ask() -> dict[str, str]:
        async with Client(build_server(desk)) as client:
            return {tool.name: ", ".join(tool.input_schema["properties"]) for tool in (await client.list_tools()).tools}

    assert asyncio.run(ask()) == listed
    desk.close()


def test_options_exist() -> None:
    known = {
        option
        for command in (mcp, workspace, run, golden, agents)
        for parameter in command.params
        for option in parameter.opts
    }
    vllm = {"__enable", "__tool"}  # up to the first hyphen: our own options have none
    known = {option.replace("-", "_") for option in known} | {"__compile_only", "__hidden_seed"} | vllm
    used = {option.replace("-", "_") for option in re.findall(r"--[a-z][a-z_]+", PAGE)}
    assert used <= known


def test_the_budget_of_the_strategy_is_what_the_page_says() -> None:
    _, _, section = PAGE.partition("| `--strategy_args` | default |")
    listed = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", section.partition("\n## ")[0], re.MULTILINE))
    assert {name: int(value) for name, value in listed.items()} == ToolsArgs().model_dump()


def test_the_budget_of_agents_is_what_the_page_says() -> None:
    _, _, section = PAGE.partition("| `--model_args` | default |")
    listed = dict(re.findall(r"^\| `(\w+)` \|([^|]*)\|", section.partition("\n\n")[0], re.MULTILINE))
    fields = AgentArgs.model_fields
    assert set(listed) == set(fields) - {"input_price", "output_price"}
    numbers = {name: float(value) for name, value in listed.items() if value.strip().isdigit()}
    assert numbers == {name: fields[name].default for name in ("seconds", "tokens", "calls", "agents")}
