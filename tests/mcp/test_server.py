"""The server through the SDK's own client: in memory in both eras of the protocol, and over HTTP on loopback."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import uvicorn
from starlette.applications import Starlette

from mcp import Client, MCPError, StdioServerParameters
from npukb_mcp.desk import Desk, DeskSettings
from npukb_mcp.http import http_app
from npukb_mcp.server import build_server
from npukb_mcp.sessions import Limits
from npukernelbench.config import resolve
from npukernelbench.errors import UsageError
from npukernelbench.judge.documented import ApiEntry, ApiStatus, RuleEntry
from npukernelbench.nouns import Golden, Stage, Track
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import TaskRegistry
from npukernelbench.tasks.hidden import HiddenCases
from npukernelbench.testing import FakeExecutor, FakeExecutorArgs, FakePlugin, fake_plugins, tiny_case, tiny_task

SECRET = "a secret that no agent knows"
GOLDEN = "the text of a golden kernel"
RIGHT, WRONG = {"kernel.cpp": "// fake: ok\n"}, {"kernel.cpp": "// fake: double\n"}
BOTH = frozenset({Track.STATIC, Track.DYNAMIC})


class DocumentedExecutor(FakeExecutor):
    """The fake executor with two names and one rule."""

    def api_names(self):
        return ("Add", "Hccl")

    def api_status(self, name):
        return {"Add": ApiStatus.OFFERED, "Hccl": ApiStatus.GAP}.get(name)

    def api_entry(self, name):
        status = self.api_status(name)
        return status and ApiEntry(name, status, "vector.h", ("void Add(dst, src0, src1, count)",))

    def rule_entries(self):
        return (RuleEntry("misaligned", "error", "a fault"),)


def open_desk(folder: Path, settings: DeskSettings | None = None, executor=None) -> Desk:
    kernel = folder / "golden.cpp"
    kernel.write_text(f"// {GOLDEN}\n", encoding="utf-8")
    cases = (tiny_case(), tiny_case("wide", shape=(3, 7)))
    tasks = [replace(tiny_task(f"Tiny{i}", cases=cases), goldens=(Golden(Track.STATIC, kernel),)) for i in range(3)]
    fakes = FakePlugin()
    fakes.executor = executor or (lambda args: DocumentedExecutor(args.model_copy(update={"tracks": tuple(BOTH)})))
    plugins: Plugins = fake_plugins(fakes)
    config = resolve(environ={}, options={"jobs": 2, "hidden_seed": SECRET})
    return Desk(config, plugins, TaskRegistry(tasks), plugins.executors.find("fake"), settings)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    opened = open_desk(tmp_path_factory.mktemp("desk"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def server(desk: Desk):
    return build_server(desk)


async def call(client: Client, tool: str, **arguments: object):
    return await client.call_tool(tool, arguments)


async def told(client: Client, tool: str, **arguments: object):
    """What a tool returns, which must keep to its schema (the client validates it)."""
    result = await call(client, tool, **arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: object) -> str:
    result = await call(client, tool, **arguments)
    assert result.is_error, result.structured_content
    return result.content[0].text


async def solve(client: Client, task: str) -> tuple[str, float, float]:
    """The way of an agent: read, open, fail, repair, compare."""
    page = await told(client, "get_task", task=task)
    assert [case["id"] for case in page["cases"]] == ["smoke", "wide"]
    assert page["files"] == ["kernel.cpp"]
    opened = await told(client, "new_workspace", task=task)
    handle, budget = opened["workspace"], opened["budget"]["calls_left"]
    assert task.lower() in opened["files"]["kernel.cpp"]
    compiled = await told(client, "check", workspace=handle, files=WRONG)
    assert (compiled["outcome"], compiled["stage"], compiled["cases"]) == ("ok", "compile", {})
    wrong = await told(client, "judge", workspace=handle)
    assert (wrong["outcome"], wrong["cases"], wrong["time"]) == ("wrong_value", {"smoke": "wrong_value"}, None)
    right = await told(client, "judge", workspace=handle, files=RIGHT)
    assert (right["outcome"], right["time"]["time_us"]) == ("ok", 10.0)
    profiled = await told(client, "profile", workspace=handle)
    ratio = (await told(client, "compare", workspace=handle, first=right["result"], second=profiled["result"]))["ratio"]
    return handle, budget - profiled["budget"]["calls_left"], ratio


async def visit(client: Client, number: int) -> tuple[str, float]:
    """Two calls that cost on a task of its own, with a kernel that only this caller has; its handle, what they cost."""
    opened = await told(client, "new_workspace", task=f"Tiny{number % 3}")
    handle, budget = opened["workspace"], opened["budget"]["calls_left"]
    await told(client, "check", workspace=handle, files={"kernel.cpp": f"// fake: ok, agent {number}\n"})
    result = await told(client, "judge", workspace=handle)
    assert (result["outcome"], result["result"]) == ("ok", "r2")
    return handle, budget - result["budget"]["calls_left"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_solves_a_task_in_either_era_of_the_protocol(server, mode: str) -> None:
    async def session() -> None:
        async with Client(server, mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            names = {
                "list_tasks",
                "get_task",
                "new_workspace",
                "check",
                "judge",
                "profile",
                "explain",
                "api",
                "compare",
            }
            assert tools.keys() == names
            assert all(tool.output_schema and tool.description for tool in tools.values())
            assert "calls_left" in json.dumps(tools["judge"].output_schema)
            assert (await told(client, "list_tasks", limit=2))["total"] == 3
            _, spent, ratio = await solve(client, "Tiny1")
            assert (spent, ratio) == (4, 1.0)

    asyncio.run(session())


def test_over_standard_input_and_output() -> None:
    """A process of its own, because a line that is printed by mistake breaks nothing elsewhere."""
    words = ["-m", "npukernelbench", "mcp", "--workspaces", "1"]

    async def session() -> None:
        async with Client(StdioServerParameters(command=sys.executable, args=words)) as client:
            assert (await told(client, "list_tasks", tasks="Sqrt"))["tasks"][0]["name"] == "Sqrt"
            await told(client, "new_workspace", task="Sqrt", track="dynamic")
            assert "all of its 1 workspaces" in await refused(client, "new_workspace", task="Sqrt")
            assert "vector instruction" in (await told(client, "api", name="Add"))["notes"][0]

    asyncio.run(session())


def test_32_clients_over_http_do_not_mix(desk: Desk) -> None:
    started = threading.Event()

    class Listening(uvicorn.Server):
        async def startup(self, sockets=None) -> None:
            await super().startup(sockets)
            started.set()

    listening = Listening(
        uvicorn.Config(http_app(build_server(desk), "127.0.0.1", ""), host="127.0.0.1", port=0, log_level="warning")
    )
    thread = threading.Thread(target=listening.run, daemon=True)
    thread.start()
    assert started.wait(60)
    url = f"http://127.0.0.1:{listening.servers[0].sockets[0].getsockname()[1]}/mcp"

    async def agent(number: int) -> tuple[str, float]:
        async with Client(url, mode="legacy" if number % 4 == 0 else "auto") as client:
            return await visit(client, number)

    async def all_of_them() -> list[tuple[str, float]]:
        return await asyncio.gather(*(agent(number) for number in range(32)))

    try:
        seen = asyncio.run(all_of_them())
    finally:
        listening.should_exit = True
        thread.join(30)
    assert len({handle for handle, _ in seen}) == 32
    assert {spent for _, spent in seen} == {2}
    for number, (handle, _) in enumerate(seen):
        session = desk.sessions.find(handle)
        assert session.brief.task.name == f"Tiny{number % 3}"
        assert session.files == {"kernel.cpp": f"// fake: ok, agent {number}\n"}


def test_progress_is_told_stage_by_stage(server) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def session() -> None:
        async with Client(server) as client:
            handle = (await told(client, "new_workspace", task="Tiny0"))["workspace"]
            arguments = {"workspace": handle, "files": RIGHT}
            await client.call_tool("judge", arguments, progress_callback=hear)

    asyncio.run(session())
    assert [message for _, _, message in heard] == ["guard", "compile", "run", "check", "profile"]
    assert [progress for progress, _, _ in heard] == [1, 2, 3, 4, 5]
    assert {total for _, total, _ in heard} == {5}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_judgement_ends_before_its_next_stage(tmp_path: Path, mode: str) -> None:
    entered, go, executors = threading.Event(), threading.Event(), []

    class Waiting(FakeExecutor):
        def compile(self, request):
            entered.set()
            assert go.wait(30)
            return super().compile(request)

    def make(args: FakeExecutorArgs) -> Waiting:
        executors.append(Waiting(args))
        return executors[-1]

    desk = open_desk(tmp_path, executor=make)
    handle = desk.open("Tiny0", "static", None).workspace

    async def leave() -> None:
        async with Client(build_server(desk), mode=mode) as client:
            asking = asyncio.ensure_future(call(client, "judge", workspace=handle, files=RIGHT))
            await asyncio.to_thread(entered.wait, 30)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await client.list_tools()  # answered after the server has heard of the cancellation
            go.set()

    asyncio.run(leave())
    desk.close()
    [executor] = executors
    assert [line.split()[0] for line in executor.calls] == ["compile"]
    assert len(executor.held) == 0
    assert desk.sessions.find(handle).calls_left == DeskSettings().limits.calls - 1


def test_a_budget_ends_a_session_and_no_other(tmp_path: Path) -> None:
    desk = open_desk(tmp_path, DeskSettings(Limits(workspaces=2, calls=1)))

    async def session() -> None:
        async with Client(build_server(desk)) as client:
            first = (await told(client, "new_workspace", task="Tiny0"))["workspace"]
            second = (await told(client, "new_workspace", task="Tiny0"))["workspace"]
            assert "all of its 2 workspaces" in await refused(client, "new_workspace", task="Tiny0")
            assert (await told(client, "check", workspace=first, files=RIGHT))["budget"]["calls_left"] == 0
            message = await refused(client, "judge", workspace=first, files=RIGHT)
            assert "workspace: this session has no calls left. Remedy: end here" in message
            assert (await told(client, "judge", workspace=second, files=RIGHT))["outcome"] == "ok"

    asyncio.run(session())
    desk.close()


def test_a_fault_of_ours_is_no_verdict_and_costs_no_call(server, desk: Desk) -> None:
    async def session() -> None:
        async with Client(server) as client:
            handle = (await told(client, "new_workspace", task="Tiny0"))["workspace"]
            result = await told(client, "judge", workspace=handle, files={"kernel.cpp": "// fake: bug\n"})
            assert (result["outcome"], result["fault_of"]) == ("infra_error", "infra")
            assert [note["message"] for note in result["diagnostics"]] == [
                "The judge failed. This says nothing about the kernel."
            ]
            assert result["budget"]["calls_left"] == DeskSettings().limits.calls

    asyncio.run(session())


#: What is asked wrongly, and what is said: the field and what to do.
MISTAKES: list[tuple[str, dict, str]] = [
    ("get_task", {"task": "Tiny9"}, "task: there is no task 'Tiny9'. Remedy: did you mean Tiny"),
    ("get_task", {"task": "Tiny0", "track": "quick"}, "track: unknown track 'quick'. Remedy: static, dynamic"),
    ("get_task", {"task": "Tiny0", "case": "no"}, "case: Tiny0 has no case 'no'. Remedy: cases: smoke, wide"),
    ("get_task", {}, "task\n  Field required"),
    ("list_tasks", {"limit": 0}, "limit: limit is 0, offset 0. Remedy: 1 to 200, and 0 or more"),
    ("list_tasks", {"tasks": "nothing-like-it"}, "Remedy: "),
    (
        "judge",
        {"workspace": "mine", "files": RIGHT},
        "workspace: there is no such workspace. Remedy: call new_workspace",
    ),
    ("judge", {"workspace": "HANDLE", "files": {}}, "files: no kernel is given. Remedy: give kernel.cpp"),
    (
        "judge",
        {"workspace": "HANDLE", "files": {"kernel.cpp": 5}},
        "files.`kernel.cpp`\n  Input should be a valid string",
    ),
    (
        "judge",
        {"workspace": "HANDLE", "files": {"kernel.cpp": "x" * (1 << 20) + "x"}},
        "files: 1 files of 1048577 bytes",
    ),
    (
        "judge",
        {"workspace": "HANDLE", "files": RIGHT, "case": "wide"},
        "case: the kernel of this workspace is for case smoke",
    ),
    ("compare", {"workspace": "HANDLE", "first": "r1", "second": "r2"}, "first: 'r1' is no result of this session"),
    ("explain", {"name": " "}, "name: 1 characters. Remedy: give 1 to 4000"),
]


def test_bad_input_is_told_with_the_field_and_the_remedy(server) -> None:
    async def session() -> None:
        async with Client(server) as client:
            handle = (await told(client, "new_workspace", task="Tiny0"))["workspace"]
            for tool, arguments, words in MISTAKES:
                given = {name: handle if value == "HANDLE" else value for name, value in arguments.items()}
                assert words in await refused(client, tool, **given), (tool, arguments)

    asyncio.run(session())


def test_names_are_looked_up_and_unknown_ones_are_said(server) -> None:
    async def session() -> None:
        async with Client(server) as client:
            assert (await told(client, "api", name="AscendC::Add(dst"))["declarations"]
            assert (await told(client, "api", name="Hccl"))["status"] == "gap"
            unknown = await told(client, "api", name="Addd")
            assert (unknown["status"], unknown["near"]) == ("unknown", ["Add"])
            rule = await told(client, "explain", name="kernel.cpp:3: error: src starts at 4 [misaligned]")
            assert (rule["name"], rule["known"]) == ("misaligned", True)
            assert "On the device: a fault." in rule["text"]
            assert "does not compile" in (await told(client, "explain", name="compile_error"))["text"]
            assert not (await told(client, "explain", name="misaligne"))["known"]

    asyncio.run(session())


def test_resources_hold_tasks_and_the_api(server) -> None:
    async def session() -> None:
        async with Client(server) as client:
            texts = {
                uri: (await client.read_resource(uri)).contents[0].text
                for uri in ("npukb://tasks", "npukb://tasks/Tiny1/dynamic", "npukb://api", "npukb://api/Add")
            }
            assert json.loads(texts["npukb://tasks"])["total"] == 3
            assert "# Tiny1" in texts["npukb://tasks/Tiny1/dynamic"]
            assert "Hccl" in texts["npukb://api"]
            assert json.loads(texts["npukb://api/Add"])["status"] == "offered"

    asyncio.run(session())


def test_golden_kernels_are_shown_only_where_that_was_allowed(tmp_path: Path, server) -> None:
    desk = open_desk(tmp_path, DeskSettings(golden=True))

    async def session() -> None:
        async with Client(server) as client:
            assert "Unknown tool" in await refused(client, "golden", task="Tiny0")
        async with Client(build_server(desk)) as client:
            assert GOLDEN in (await told(client, "golden", task="Tiny0"))["files"]["kernel.cpp"]
            assert "has no golden kernel" in await refused(client, "golden", task="Tiny0", track="dynamic")

    asyncio.run(session())
    desk.close()


def test_an_adversary_that_asks_for_everything_gets_nothing(tmp_path: Path) -> None:
    """Hidden cases, expected values, reference code, other sessions' files, files of the machine."""
    desk = open_desk(tmp_path, DeskSettings(folder=tmp_path / "work"))
    (tmp_path / "outside.cpp").write_text("text outside of the workspace", encoding="utf-8")
    heard: list[str] = []

    async def session() -> None:
        async with Client(build_server(desk)) as victim, Client(build_server(desk)) as client:
            theirs = await told(victim, "new_workspace", task="Tiny0")
            await told(
                victim, "judge", workspace=theirs["workspace"], files={"kernel.cpp": "// fake: ok, their text\n"}
            )
            mine = await told(client, "new_workspace", task="Tiny0", track="dynamic")
            handle, folder = mine["workspace"], Path(mine["folder"])
            heard.append(json.dumps({**mine, "folder": ""}))
            names = ["../outside.cpp", "/etc/passwd", f"op_kernel/../../{theirs['workspace']}/kernel.cpp", "a\\b.cpp"]
            names += ["op_kernel/./../x.cpp", "golden.cpp", "op_host//etc/x.cpp", "op_kernel/x.txt", ""]
            for name in names:
                assert "no file of a kernel" in await refused(client, "judge", workspace=handle, files={name: "x"}), (
                    name
                )
            (folder / "op_kernel" / "tiny0.cpp").unlink()
            (folder / "op_kernel" / "tiny0.cpp").symlink_to(tmp_path / "outside.cpp")
            heard.append(await refused(client, "judge", workspace=handle))
            assert "no plain file of the workspace" in heard[-1]
            (folder / "op_kernel" / "tiny0.cpp").unlink()
            (folder / "op_kernel").rmdir()
            (folder / "op_kernel").symlink_to(tmp_path)
            heard.append(await refused(client, "judge", workspace=handle))
            assert "op_kernel is no plain file" in heard[-1]
            (folder / "op_kernel").unlink()
            shutil.copytree(folder, tmp_path / "elsewhere")
            shutil.rmtree(folder)
            folder.symlink_to(tmp_path / "elsewhere")
            assert "no plain file of the workspace" in await refused(client, "judge", workspace=handle)
            for case in ("hidden-0", "hidden-1", "HIDDEN-0", "hidden"):
                heard.append(await refused(client, "judge", workspace=handle, files=RIGHT_DYNAMIC, case=case))
                heard.append(await refused(client, "get_task", task="Tiny0", case=case))
            for word in ("double", "one", "zeros", "nan", "never", "rule_violation"):
                files = {"op_kernel/k.cpp": f"// fake: {word}\n"}
                heard.append(json.dumps(await told(client, "judge", workspace=handle, files=files)))
            heard.append(await refused(client, "compare", workspace=handle, first="r999", second="r1"))
            for uri in ("npukb://tasks/..%2F..%2Fgolden/static", "npukb://api/..%2Foutside", "file:///etc/passwd"):
                with pytest.raises(MCPError) as caught:
                    await client.read_resource(uri)
                heard.append(str(caught.value))
            for tool in ("golden", "get_task"):
                heard.append(str((await call(client, tool, task="Tiny0")).content))
            heard.append(await refused(client, "judge", workspace=theirs["workspace"] + "x", files=RIGHT))
            assert desk.sessions.find(theirs["workspace"]).files == {"kernel.cpp": "// fake: ok, their text\n"}

    asyncio.run(session())
    text = "\n".join(heard)
    task = desk._tasks["Tiny0"]
    secrets = [GOLDEN, SECRET, "their text", "text outside", "root:", "math.sqrt", "Traceback"]
    for case in HiddenCases(SECRET, Track.DYNAMIC)(task):
        secrets += [case.id + '"', str(list(case.inputs["x"].tensor.shape))] if case.inputs["x"] else []
    secrets += [secret for secret in expected_values(desk) if len(secret) > 4]
    assert not [secret for secret in secrets if secret in text]
    assert "y[0, 0] = " in text  # what the kernel wrote is its own
    desk.close()


RIGHT_DYNAMIC = {"op_host/k.cpp": "// host\n", "op_kernel/k.cpp": "// fake: ok\n"}


def expected_values(desk: Desk) -> list[str]:
    """What the judge itself says of expected values, for the same kernels."""
    task = desk._tasks["Tiny0"]
    judge = desk._judge(desk._brief("Tiny0", "dynamic", None), profiling=False)
    from npukernelbench.testing import candidate

    result = []
    for word in ("double", "one", "zeros", "nan", "never"):
        verdict = judge.judge(task, task.cases, Track.DYNAMIC, candidate(f"// fake: {word}\n", "op_kernel/k.cpp"))
        for case in verdict.cases:
            for diagnostic in case.diagnostics:
                result += [element["expected"] for element in diagnostic.details.get("first", ())]
    assert result
    return result


def test_http_beyond_this_machine_needs_a_token(server) -> None:
    with pytest.raises(UsageError, match="can be reached by others") as caught:
        http_app(server, "0.0.0.0", "")
    assert "NPUKB_MCP_TOKEN" in (caught.value.remedy or "")

    async def status(*headers: tuple[bytes, bytes]) -> int:
        sent = []

        async def send(message) -> None:
            sent.append(message)

        await http_app(server, "127.0.0.1", "word")({"type": "http", "headers": list(headers)}, None, send)
        return sent[0]["status"]

    assert asyncio.run(status()) == 401
    assert asyncio.run(status((b"authorization", b"Bearer wrong"))) == 401


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "0:0:0:0:0:0:0:1"])
def test_http_without_a_token_answers_to_loopback_names_only(server, host: str) -> None:
    async def status(named: str) -> int:
        sent = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": b"{}", "more_body": False}

        async def send(message) -> None:
            sent.append(message)

        headers = [(b"host", named.encode()), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": headers}
        app = http_app(server, host, "")
        assert isinstance(app, Starlette)
        async with app.router.lifespan_context(app):
            await app(scope, receive, send)
        return sent[0]["status"]

    assert asyncio.run(status("rebound.example:8765")) == 421
    assert asyncio.run(status(f"[{host}]:8765" if ":" in host else f"{host}:8765")) != 421


def test_stages_of_the_judge_are_those_that_are_reported() -> None:
    assert [stage.value for stage in Stage][2:-1] == ["guard", "compile", "run", "check", "profile"]
