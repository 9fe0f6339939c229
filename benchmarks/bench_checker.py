"""What the rule checker costs: processor time of whole kernel processes with checker off, fast and full.

The promise is 1.3 times for fast and 2 times for full, over golden kernels on a large public case each. Processor time
of children is measured on one thread, because it says more than the clock on a busy machine.
"""

from __future__ import annotations

import resource

from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.executor import Executor, make_executor
from npukernelbench.nouns import Candidate, Case, CompileRequest, Outcome, RunRequest, Task, TensorShape, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import golden_kernel
from npukernelbench.tasks import generate_inputs, load_registry

KERNELS = ("SwiGlu", "Swish", "Gelu", "MseLoss", "AddCustom", "Muls", "Sqrt", "AbsMath", "Equal", "Fill", "RmsNorm")
LEVELS = ("off", "fast", "full")
PROMISE = {"fast": 1.3, "full": 2.0}
REPEATS = 5


def main() -> None:
    plugins = Plugins.load()
    tasks = load_registry(plugins)
    executors = {
        level: make_executor(plugins.executors.find("twin"), {"checker": level, "threads": 1}) for level in LEVELS
    }
    total = dict.fromkeys(LEVELS, 0.0)
    for name in KERNELS:
        task = tasks[name]
        case = largest(task, 64 << 20)
        spent = {level: cost(executor, task, case) for level, executor in executors.items()}
        for level in LEVELS:
            total[level] += spent[level]
        ratios = ", ".join(f"{level} {spent[level] / spent['off']:.2f}" for level in PROMISE)
        print(f"{name}: off {spent['off'] * 1e3:.1f} ms; {ratios}")
    for level, promise in PROMISE.items():
        ratio = total[level] / total["off"]
        print(f"all: {level} {ratio:.2f} (promise {promise}) {'ok' if ratio <= promise else 'MISSED'}")
    for executor in executors.values():
        executor.close()


def largest(task: Task, limit_bytes: int) -> Case:
    """The case with the largest outputs below the limit."""
    sizes = {case.id: output_bytes(case) for case in task.cases}
    fitting = [case for case in task.cases if sizes[case.id] <= limit_bytes // 3]
    return max(fitting or task.cases[:1], key=lambda case: sizes[case.id])


def output_bytes(case: Case) -> int:
    tensors = (output if isinstance(output, tuple) else (output,) for output in case.outputs.values())
    return sum(tensor.nbytes for output in tensors for tensor in output if isinstance(tensor, TensorShape))


def cost(executor: Executor, task: Task, case: Case) -> float:
    """Processor seconds of one run of the golden kernel, the best of several."""
    return cost_of(executor, task, case, candidate_of(golden_kernel(task, case, Track.STATIC)))


def cost_of(executor: Executor, task: Task, case: Case, candidate: Candidate) -> float:
    """The same of a candidate."""
    compiled = executor.compile(CompileRequest(task, case, Track.STATIC, candidate, 60.0))
    if compiled.artifact is None:
        raise SystemExit(f"{task.name} does not compile: {compiled.diagnostics}")
    request = RunRequest(task, case, compiled.artifact, generate_inputs(task, case, 0), 1, 60.0)
    times = []
    for _ in range(REPEATS):
        before = processor_time()
        seen = executor.run(request)
        times.append(processor_time() - before)
        if seen.outcome is not Outcome.OK:
            raise SystemExit(f"{task.name} fails: {seen.diagnostics}")
    # The best of several: anything else on the machine only adds to a time.
    return min(times)


def processor_time() -> float:
    # It has those alone that have ended and were waited for, which a run does with all of its own.
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
