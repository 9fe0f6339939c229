"""An executor that compiles nothing: the candidate's source says what happens to it.

A line ``fake: WORD`` anywhere in the source decides. Without one, the kernel is right. ``WORD`` is

- an outcome (``compile_error``, ``crash``, ``timeout``, ``rule_violation`` …), answered by the stage it belongs to, or
- a way of being wrong: ``zeros``, ``never`` (outputs not written), ``tail`` (last quarter not written), ``block`` (one
  core's share zero), ``double``, ``shift``, ``nan``, ``one`` (one element), ``shape``, ``dtype``, ``mutate`` (an input
  changed), or
- a fault of the executor: ``raise`` (ExecutorError), ``bug`` (RuntimeError), ``flaky`` (ExecutorError once).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel

from npukernelbench.errors import ExecutorError
from npukernelbench.judge.held import Held
from npukernelbench.nouns.evidence import Diagnostic, Profile
from npukernelbench.nouns.execution import Artifact, CompileRequest, CompileResult, Observation, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Severity, Tier, Track
from npukernelbench.nouns.sample import Candidate
from npukernelbench.nouns.task import TensorShape
from npukernelbench.strict import Strict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from npukernelbench.nouns.execution import Array

    Outputs: TypeAlias = dict[str, Array | list[Array]]

__all__ = ["FakeExecutor", "FakeExecutorArgs"]

_BLOCKS = 4


class FakeExecutorArgs(Strict):
    """``log`` receives one line per call, ``compile KEY`` or ``run TASK/CASE KEY``, for other processes to count."""

    log: Path | None = None
    delay_s: float = 0.0
    time_us: float = 10.0
    tracks: tuple[Track, ...] = (Track.STATIC,)


class FakeExecutor:
    """See the module's docstring. ``compute`` replaces the reference as the maker of right answers.

    ``held`` has the artifacts that were compiled and not released: none when the judge has kept its word.
    """

    Args: type[BaseModel] = FakeExecutorArgs
    name = "fake"
    tier = Tier.TWIN
    tracks: frozenset[Track] = frozenset({Track.STATIC})

    def __init__(
        self, args: FakeExecutorArgs | None = None, *, compute: Callable[[RunRequest], Outputs] | None = None
    ) -> None:
        self.args = args or FakeExecutorArgs()
        self.tracks = frozenset(self.args.tracks)
        self.calls: list[str] = []
        self.closed = False
        self.held: Held[str, str] = Held()
        self._compute = compute or _reference
        self._flaked: set[str] = set()
        self._lock = Lock()

    def describe(self) -> Mapping[str, str]:
        """Only what is stable: the log's path takes no part."""
        return {"executor": "fake", "version": "1"}

    def compile(self, request: CompileRequest) -> CompileResult:
        """An artifact, unless the candidate's word belongs to this stage."""
        word = _word(request.candidate)
        case = request.case.id if request.case else "*"
        # The case is part of the key: on the static track one source is another artifact for every case.
        key = sha256(f"{request.candidate.hash}/{request.task.name}/{case}".encode()).hexdigest()[:16]
        self._note(f"compile {key}")
        if word == Outcome.COMPILE_ERROR.value:
            return CompileResult(Outcome.COMPILE_ERROR, None, (_diagnostic("compile", "expected ';'"),))
        self.held.keep(key, word)
        return CompileResult(Outcome.OK, Artifact(key, Path("fake") / key))

    def run(self, request: RunRequest) -> Observation:
        """What the candidate's word asks for."""
        key = request.artifact.key
        word = self.held.get(key)
        self._note(f"run {request.task.name}/{request.case.id} {key}")
        self._fault(key, word)
        if word in {outcome.value for outcome in Outcome} - {"ok"}:
            return Observation(Outcome(word), {}, (_diagnostic(word, f"the fake executor was told: {word}"),))
        outputs = _spoil(word, self._compute(request), request)
        profile = Profile(self.args.time_us, True, "fake", _BLOCKS, {"aiv_vec_ratio": 0.5})
        return Observation(Outcome.OK, outputs, profile=profile, inputs_intact=word != "mutate")

    def release(self, artifact: Artifact) -> None:
        """Forget the artifact when nobody holds it any more; running it is a fault from then on."""
        self.held.release(artifact.key)

    def close(self) -> None:
        """Remember that it was called."""
        self.closed = True

    def _note(self, line: str) -> None:
        # The judge may call from several threads.
        with self._lock:
            self.calls.append(line)
            if self.args.log is not None:
                with self.args.log.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
        if self.args.delay_s:
            time.sleep(self.args.delay_s)

    def _fault(self, key: str, word: str) -> None:
        with self._lock:
            first = key not in self._flaked
            self._flaked.add(key)
        if word == "raise" or (word == "flaky" and first):
            raise ExecutorError("the fake executor was told to fail", remedy="ask it for something else")
        if word == "bug":
            raise RuntimeError("a bug of the fake executor")


def _word(candidate: Candidate) -> str:
    match = re.search(r"fake:\s*(\w+)", "\n".join(candidate.files.values()))
    return match.group(1) if match else "ok"


def _diagnostic(rule: str, message: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, rule, message, file="kernel.cpp", line=1, column=1)


def _reference(request: RunRequest) -> Outputs:
    """Right answers: the task's reference, rounded to the outputs' types."""
    import numpy as np

    from npukernelbench.reference import expected_outputs

    expected = expected_outputs(request.task, request.case, request.inputs)

    def rounded(value: Array, spec: TensorShape) -> NDArray[Any]:
        with np.errstate(all="ignore"):
            # `astype` cuts fractions off, and references compute whole numbers in floating point.
            nearest = np.rint(value) if spec.dtype.is_exact and np.asarray(value).dtype.kind == "f" else value
            return np.asarray(nearest).astype(spec.dtype.numpy()).reshape(spec.shape)

    outputs: Outputs = {}
    for name, spec in request.case.outputs.items():
        value = expected[name]
        if isinstance(spec, TensorShape):
            assert not isinstance(value, list)
            outputs[name] = rounded(value, spec)
        else:
            outputs[name] = [rounded(one, member) for one, member in zip(value, spec, strict=True)]
    return outputs


def _spoil(word: str, outputs: Outputs, request: RunRequest) -> Outputs:
    if word in {"ok", "flaky", "mutate"}:
        return outputs
    return {
        name: [_wrong(word, array, request, f"{name}[{i}]") for i, array in enumerate(value)]
        if isinstance(value, list)
        else _wrong(word, value, request, name)
        for name, value in outputs.items()
    }


def _wrong(word: str, right: Array, request: RunRequest, name: str) -> NDArray[Any]:
    """``right`` made wrong as ``word`` says."""
    import numpy as np

    from npukernelbench.judge.poison import poison

    flat: NDArray[Any] = right.reshape(-1).copy()
    # Outputs are filled with this before a run: an element that is not written still holds it.
    untouched: NDArray[Any] = poison(flat.nbytes, request.seed, name).view(flat.dtype)
    # At least one element, so that every way of being wrong changes something in the smallest output.
    share = max(1, flat.size // _BLOCKS)
    if word == "zeros":
        flat[:] = 0
    elif word == "never":
        flat[:] = untouched
    elif word == "tail":
        flat[-share:] = untouched[-share:]
    elif word == "block":
        flat[share : 2 * share] = 0
    elif word == "double":
        flat[:] = flat + flat
    elif word == "shift":
        flat[:] = np.roll(flat, 1)
    elif word == "nan":
        flat[0] = np.nan
    elif word == "one":
        changed = flat[-1] + flat[-1] + flat.dtype.type(1)
        # Of -1 and of True that is the same.
        flat[-1] = 0 if changed == flat[-1] else changed
    elif word == "shape":
        return flat[:-1]
    elif word == "dtype":
        return flat.astype(np.float64).reshape(right.shape)
    else:
        raise ExecutorError(f"the fake executor does not know the word '{word}'")
    return flat.reshape(right.shape)
