"""The compile stage: ask the executor for an artifact, under the boundary."""

from __future__ import annotations

from npukernelbench.errors import ExecutorError
from npukernelbench.judge.boundary import Fault, attempt
from npukernelbench.judge.executor import Executor
from npukernelbench.nouns import CompileRequest, CompileResult, Outcome

__all__ = ["compile_candidate"]


def compile_candidate(executor: Executor, request: CompileRequest, retries: int) -> CompileResult:
    """The executor's result. What is the executor's fault has outcome INFRA_ERROR, after ``retries`` more tries.

    An executor that explains its fault with diagnostics keeps them: they may name a place in the candidate.
    """
    explained: list[CompileResult] = []

    def call() -> CompileResult:
        result = executor.compile(request)
        if result.outcome is Outcome.INFRA_ERROR:
            if result.artifact is None and result.diagnostics:
                explained[:] = [result]
            raise ExecutorError("; ".join(d.message for d in result.diagnostics) or "the executor gave no reason")
        if (result.artifact is None) == (result.outcome is Outcome.OK):
            raise ExecutorError(f"'{executor.name}' answered {result.outcome.value} with artifact {result.artifact}")
        return result

    result = attempt(f"compiling with '{executor.name}'", call, retries)
    if isinstance(result, Fault):
        if explained:
            return explained[0]
        return CompileResult(Outcome.INFRA_ERROR, None, (result.diagnostic,))
    return result
