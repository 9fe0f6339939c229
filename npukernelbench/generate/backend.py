"""What a backend is: the one thing the harness knows about models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, runtime_checkable

from pydantic import BaseModel

from npukernelbench.errors import BackendError
from npukernelbench.nouns import Case, Completion, Prompt, SampleKey, Task
from npukernelbench.strict import Strict

if TYPE_CHECKING:
    from npukernelbench.generate.strategy import Bench


class NoArgs(Strict):
    """Arguments of a backend or executor that takes none."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Sampling as sent. None leaves the choice to the backend, which must then say what it used."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Preferences:
    """How a model likes to be asked, where the user does not say: a backend class may have ``preferences``. Empty names
    and None leave the harness's own defaults.
    """

    prompt_style: str = ""
    parser: str = ""
    strategy: str = ""
    params: SamplingParams = field(default_factory=SamplingParams)


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """Ask once. ``seed`` is derived per sample; ``case`` is None on the dynamic track."""

    key: SampleKey
    task: Task
    case: Case | None
    prompt: Prompt
    params: SamplingParams
    seed: int


@dataclass(frozen=True, slots=True)
class GenerationFault:
    """A model could not be asked: a fault of the infrastructure, never the model's. ``retryable``: later may help."""

    message: str
    retryable: bool = True


class Capabilities(NamedTuple):
    """What a backend can do."""

    chat: bool = True
    logprobs: bool = False
    seeds: bool = False
    #: ``generate_many`` may be called again while earlier calls are still answering: no conversation waits for another.
    overlapping: bool = False
    #: Offers the tools of a prompt to the model, and brings back what it calls.
    tools: bool = False


class GenerationResult(NamedTuple):
    """One request's answer, or why there is none."""

    request: GenerationRequest
    answer: Completion | GenerationFault


@runtime_checkable
class Backend(Protocol):
    """Asks a model. Constructed as ``Backend(args)`` with an instance of its ``Args`` model."""

    Args: ClassVar[type[BaseModel]]
    capabilities: Capabilities

    async def open(self) -> None:
        """Load the model or connect. Heavy imports belong here. Raise BackendError when it cannot work at all."""
        ...

    def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Answer every request, in any order, as answers arrive. A failed request yields a GenerationFault.

        Between ``open`` and ``close`` it may be called again when all its answers are there: conversations go on. With
        the capability ``overlapping`` it is called again as soon as there is something to ask.
        """
        ...

    async def close(self) -> None:
        """Release what ``open`` took."""
        ...


@runtime_checkable
class Furnished(Protocol):
    """A backend whose model works with the judge before it answers, such as an agent's. Optional."""

    def furnish(self, bench: Callable[[GenerationRequest], Bench]) -> None:
        """Called before ``open``: ``bench`` gives the judge of the run, on cases that the model may know."""
        ...


@runtime_checkable
class Described(Protocol):
    """A backend whose answers depend on more than its arguments, for instance on the content of files they name."""

    def describe(self) -> Mapping[str, str]:
        """Facts that decide the answers and so belong to a run's identity; equal facts, equal answers.

        Called before ``open``. BackendError when the facts cannot be had.
        """
        ...


def transport_arguments(schema: type[BaseModel]) -> frozenset[str]:
    """Arguments that decide how answers come and not what they are, such as a time-out: those that the ``Args`` of a
    backend or an executor marks with ``json_schema_extra={"decides": False}``. They are no part of a run's identity.
    """
    # pydantic also takes a function there, which says nothing.
    marks = {name: info.json_schema_extra for name, info in schema.model_fields.items()}
    return frozenset(name for name, mark in marks.items() if isinstance(mark, dict) and mark.get("decides") is False)


class TextBackend(ABC):
    """The short way to a backend: implement :meth:`complete`, text in and text out, one request at a time."""

    Args: ClassVar[type[BaseModel]] = NoArgs
    capabilities: Capabilities = Capabilities()

    def __init__(self, args: BaseModel) -> None:
        self.args = args

    @abstractmethod
    def complete(self, request: GenerationRequest) -> str | Completion:
        """Answer one request. BackendError stops the run; any other exception is a fault of this sample alone."""

    async def open(self) -> None:  # noqa: B027 - an optional override
        """Nothing to open."""

    async def close(self) -> None:  # noqa: B027 - an optional override
        """Nothing to close."""

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Answer requests one after the other in a worker thread."""
        import asyncio

        for request in requests:
            yield GenerationResult(request, await asyncio.to_thread(self._answer, request))

    def _answer(self, request: GenerationRequest) -> Completion | GenerationFault:
        """Boundary: whatever a plugin raises is an infrastructure fault of this sample alone."""
        started = monotonic()
        try:
            answer = self.complete(request)
        except BackendError:
            raise
        except Exception as error:  # noqa: BLE001
            return GenerationFault(f"{type(error).__name__}: {error}", retryable=False)
        seconds = round(monotonic() - started, 3)
        completion = answer if isinstance(answer, Completion) else Completion(text=answer)
        return completion if completion.seconds else replace(completion, seconds=seconds)
