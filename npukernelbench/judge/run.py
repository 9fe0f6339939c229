"""The run stage: ask the executor to run an artifact on one case, under the boundary."""

from __future__ import annotations

from dataclasses import replace

from npukernelbench.errors import ExecutorError
from npukernelbench.judge.boundary import Fault, attempt
from npukernelbench.judge.executor import Executor
from npukernelbench.nouns import Diagnostic, Observation, Outcome, RunRequest, Severity

__all__ = ["run_case"]


def run_case(executor: Executor, request: RunRequest, retries: int) -> Observation:
    """What the executor saw. What is the executor's fault has outcome INFRA_ERROR, after ``retries`` more tries.

    A kernel that changed an input it may only read broke a rule, whatever its outputs hold.
    """

    def call() -> Observation:
        seen = executor.run(request)
        if seen.outcome is Outcome.INFRA_ERROR:
            reasons = "; ".join(d.message for d in seen.diagnostics) or "the executor gave no reason"
            remedy = next((d.remedy for d in seen.diagnostics if d.remedy), None)
            # Raised, since `attempt` tries again after exceptions only.
            raise ExecutorError(reasons, remedy=remedy)
        return seen

    seen = attempt(f"running with '{executor.name}'", call, retries)
    if isinstance(seen, Fault):
        return Observation(Outcome.INFRA_ERROR, {}, (seen.diagnostic,))
    if seen.outcome is Outcome.OK and not seen.inputs_intact:
        return replace(seen, outcome=Outcome.RULE_VIOLATION, diagnostics=(*seen.diagnostics, _mutated(request)))
    return seen


def _mutated(request: RunRequest) -> Diagnostic:
    allowed = [output.alias_of for output in request.task.outputs if output.alias_of]
    exception = f" (only {', '.join(allowed)} may change)" if allowed else ""
    return Diagnostic(
        Severity.ERROR,
        "input_mutated",
        f"the kernel wrote to the memory of an input{exception}",
        remedy="Write results to the output arguments only; check the order of arguments and of DataCopy's operands.",
    )
