"""The compile stage: ask the executor for an artifact, under the boundary, and give it back afterwards."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from npukernelbench.errors import ExecutorError
from npukernelbench.judge.boundary import Fault, attempt
from npukernelbench.judge.executor import Executor
from npukernelbench.nouns import Artifact, CompileRequest, CompileResult, Outcome

__all__ = ["compiled"]

_log = logging.getLogger(__name__)


@contextmanager
def compiled(executor: Executor, request: CompileRequest, retries: int) -> Iterator[CompileResult]:
    """The executor's result. Its artifact, if there is one, is released at the end, however the block ends.

    What is the executor's fault has outcome INFRA_ERROR, after ``retries`` more tries. An executor that explains its
    fault with diagnostics keeps them: they may name a place in the candidate.
    """
    explained: list[CompileResult] = []

    def call() -> CompileResult:
        result = executor.compile(request)
        if result.outcome is Outcome.INFRA_ERROR:
            if result.artifact is None and result.diagnostics:
                explained[:] = [result]
            _release(executor, result.artifact)
            # Raised, since `attempt` tries again after exceptions only.
            raise ExecutorError("; ".join(d.message for d in result.diagnostics) or "the executor gave no reason")
        if (result.artifact is None) == (result.outcome is Outcome.OK):
            _release(executor, result.artifact)
            raise ExecutorError(f"'{executor.name}' answered {result.outcome.value} with artifact {result.artifact}")
        return result

    result = attempt(f"compiling with '{executor.name}'", call, retries)
    if isinstance(result, Fault):
        yield explained[0] if explained else CompileResult(Outcome.INFRA_ERROR, None, (result.diagnostic,))
        return
    try:
        yield result
    finally:
        _release(executor, result.artifact)


def _release(executor: Executor, artifact: Artifact | None) -> None:
    """Boundary: an artifact that cannot be given back costs room, not a verdict."""
    if artifact is None:
        return
    try:
        executor.release(artifact)
    except Exception:  # noqa: BLE001
        _log.warning("an artifact of '%s' could not be released", executor.name, exc_info=True)
