"""Backends ``agent:NAME``: an agent per task, several side by side."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import ClassVar

from pydantic import BaseModel, Field

from npukb_agent.presets import Preset, Protocol, presets
from npukb_agent.protocols import RULES
from npukb_agent.proxy import Upstream
from npukb_agent.walled import program_reach
from npukb_agent.working import Budget, Seat
from npukernelbench.errors import BackendError, NpukbError
from npukernelbench.generate import Capabilities, GenerationFault, GenerationRequest, GenerationResult
from npukernelbench.generate.strategy import Bench
from npukernelbench.nouns import Completion
from npukernelbench.run.prices import Price, find_price
from npukernelbench.strict import Strict

__all__ = ["AgentArgs", "AgentBackend", "AnyCommand", "CommandArgs"]

_VERSION_S = 30.0
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


class AgentArgs(Strict):
    """The model behind the agent, and the budget of each task."""

    model: str = Field("", description="the model that the agent asks, whatever it names itself")
    base_url: str = Field("", description="its server; by default the provider's own")
    api_key_env: str = Field("", description="environment variable with the key, which the agent never sees")
    seconds: float = Field(1800, gt=0, description="wall-clock seconds per task")
    tokens: int = Field(2_000_000, ge=1, description="tokens of questions and answers per task")
    calls: int = Field(50, ge=0, description="calls of check and judge per task")
    money: float | None = Field(None, gt=0, description="money per task; needs a known price")
    input_price: float | None = Field(None, ge=0, description="price of a million tokens of questions")
    output_price: float | None = Field(None, ge=0, description="price of a million tokens of answers")
    program: str = Field("", description="path of the agent's program; by default the one on PATH")
    reach: str = Field("", description="further files and folders that the agent may read, with : between")
    sandbox: str = Field("strict", pattern="^(strict|off)$", description="strict or off: whether walls are built")
    agents: int = Field(1, ge=1, description="agents at work side by side", json_schema_extra={"decides": False})


class CommandArgs(AgentArgs):
    """The same for any command line."""

    command: str = Field(min_length=1, description="command line; {task}, {model}, {url}, {token}, {home}, {work}")
    protocol: Protocol = Field(Protocol.CHAT, description="chat, responses, anthropic, gemini, or none for a script")
    environment: Mapping[str, str] = Field(default_factory=dict, description="environment variables, filled likewise")


class AgentBackend:
    """An agent per request, in a thread of its own. Subclasses name their preset."""

    Args: ClassVar[type[BaseModel]] = AgentArgs
    capabilities: Capabilities = Capabilities(overlapping=True)
    name: ClassVar[str] = ""

    def __init__(self, args: AgentArgs) -> None:
        self.args = args
        self._ending = Event()
        self._bench: Callable[[GenerationRequest], Bench] | None = None
        # No event loop runs here yet: since Python 3.10 it is bound to the loop that first waits.
        self._working = asyncio.Semaphore(args.agents)
        self._preset = self.preset()

    def preset(self) -> Preset:
        """How the agent is run."""
        return presets()[self.name]

    def describe(self) -> Mapping[str, str]:
        """The preset, and the version that the agent says it has."""
        program, _ = self._found()
        return {"preset": self._preset.digest, "agent": self._version(program)}

    def _found(self) -> tuple[Path, tuple[Path, ...]]:
        """The agent's program and what it needs to be shown. BackendError where it is not installed."""
        return program_reach(self.args.program or self._preset.words[0])

    def furnish(self, bench: Callable[[GenerationRequest], Bench]) -> None:
        """The judge that the agents' scripts reach."""
        self._bench = bench

    async def open(self) -> None:
        """Nothing is started before there is a task. BackendError where what the budget needs is missing."""
        self._seat = self._made()

    async def close(self) -> None:
        """End the agents that are still at work."""
        self._ending.set()

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """As many agents at a time as ``agents`` says, over all streams."""
        waiting = [asyncio.create_task(self._one(request)) for request in requests]
        try:
            for done in asyncio.as_completed(waiting):
                yield await done
        finally:
            for task in waiting:
                # Their threads go on: agents at work are ended by `close`.
                task.cancel()

    async def _one(self, request: GenerationRequest) -> GenerationResult:
        async with self._working:
            return GenerationResult(request, await asyncio.to_thread(self._answer, request))

    def _answer(self, request: GenerationRequest) -> Completion | GenerationFault:
        if self._bench is None:
            return GenerationFault("agents need the judge of a run", retryable=False)
        if self._ending.is_set():
            return GenerationFault("the run ended before the agent began")
        try:
            return self._seat.work(request, self._bench(request))
        # Also an NpukbError, but one that every agent would meet: it ends the run.
        except BackendError:
            raise
        except (OSError, NpukbError) as error:
            # One agent's folder or process could not be had: the others go on.
            return GenerationFault(f"{type(error).__name__}: {error}")

    def _made(self) -> Seat:
        args, protocol = self.args, self._preset.protocol
        budget = Budget(args.seconds, args.tokens, args.calls, args.money, self._price())
        if args.money is not None and budget.price is None:
            raise BackendError(
                f"no price of model {args.model!r} is known",
                field="model_args.money",
                remedy="give input_price and output_price, or leave money out",
            )
        reach = tuple(Path(path).resolve() for path in args.reach.split(":") if path)
        upstream = Upstream(protocol, "", "", "") if protocol is Protocol.NONE else self._upstream(protocol)
        program, needs = self._found()
        strict = args.sandbox == "strict"
        return Seat(self._preset, program, (*needs, *reach), upstream, budget, strict, self._ending)

    def _upstream(self, protocol: Protocol) -> Upstream:
        args, rules = self.args, RULES[protocol]
        if not args.model:
            remedy = "model=NAME, or protocol=none for a script without a model"
            raise BackendError(
                "the agent's model is not named",
                field="model_args.model",
                remedy=remedy if self.name == AnyCommand.name else "model=NAME",
            )
        variable = args.api_key_env or rules.key_variable
        key = os.environ.get(variable, "")
        if not key and not args.base_url:
            raise BackendError(
                f"{variable} holds no key", field="model_args.api_key_env", remedy=f"set {variable}, or give base_url"
            )
        return Upstream(protocol, args.base_url or rules.base_url, args.model, key)

    def _price(self) -> Price | None:
        args = self.args
        if args.input_price is not None and args.output_price is not None:
            return Price(args.model, args.input_price, args.output_price, "USD", "model_args", "")
        return find_price(self.name, {"model": args.model})

    def _version(self, program: Path) -> str:
        digest = hashlib.sha256(program.read_bytes()).hexdigest()[:16]
        # An unknown command need not know --version, and might begin its work instead.
        if self.name == AnyCommand.name:
            return digest
        try:
            done = subprocess.run(
                [program, "--version"],
                capture_output=True,
                text=True,
                timeout=_VERSION_S,
                stdin=subprocess.DEVNULL,
                # No keys and no settings of the user: the program runs without walls here.
                env={"PATH": os.environ.get("PATH", ""), "HOME": os.devnull, **self._preset.environment},
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise BackendError(f"the agent does not run: {error}", field="model_args.program") from error
        match = _VERSION.search(done.stdout)
        return match.group() if match else digest


class AnyCommand(AgentBackend):
    """``agent:command``."""

    Args: ClassVar[type[BaseModel]] = CommandArgs
    name: ClassVar[str] = "command"
    args: CommandArgs

    def preset(self) -> Preset:
        """What the arguments say."""
        words = tuple(shlex.split(self.args.command))
        return Preset(command=words, protocol=self.args.protocol, environment=self.args.environment)


def _of_preset(preset: str) -> type[AgentBackend]:
    return type(preset, (AgentBackend,), {"__doc__": f"``agent:{preset}``.", "name": preset})


Claude = _of_preset("claude")
Codex = _of_preset("codex")
Gemini = _of_preset("gemini")
MiniSweAgent = _of_preset("mini-swe-agent")
Opencode = _of_preset("opencode")
QwenCode = _of_preset("qwen-code")
