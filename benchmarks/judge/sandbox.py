"""What safety costs a sample: compiling and running a small kernel with the sandbox and without, alternating; and the
guards, on the source and on the compiled image. Run from the repository's root: python -m benchmarks.judge.sandbox

The promise is 15 ms a sample. The fastest round of each counts: what else the machine does only adds.
"""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.timing import report
from npukb_twin.compile import imports
from npukb_twin.compile.elf import Elf
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.sandbox import Mode
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import CompileRequest, Outcome, RunRequest, Track
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import generate_inputs, load_registry

_ROUNDS = 25
_SOURCE = Path(__file__).parents[2] / "tests/adversarial/judge/right.cpp"


def main() -> None:
    plugins = Plugins.load()
    task = load_registry(plugins)["AddCustom"]
    case = task.case("smoke")
    inputs = generate_inputs(task, case, 0)
    candidate = candidate_of({"kernel.cpp": _SOURCE.read_text(encoding="utf-8")})
    executors = {mode: TwinExecutor(TwinArgs(sandbox=mode)) for mode in (Mode.OFF, Mode.AUTO)}

    def once(executor: TwinExecutor) -> float:
        started = time.perf_counter()
        compiled = executor.compile(CompileRequest(task, case, Track.STATIC, candidate, 60.0))
        assert compiled.artifact is not None
        seen = executor.run(RunRequest(task, case, compiled.artifact, inputs, 1, 60.0))
        assert seen.outcome is Outcome.OK
        return time.perf_counter() - started

    seconds: dict[Mode, list[float]] = {mode: [] for mode in executors}
    for _ in range(_ROUNDS):
        # In turns, so that a busy moment slows both alike.
        for mode, executor in executors.items():
            seconds[mode].append(once(executor))
    print(f"measures: {executors[Mode.AUTO].sandbox_level()}")
    off, auto = (min(seconds[mode]) for mode in (Mode.OFF, Mode.AUTO))
    print(f"a sample without: {off * 1e3:.1f} ms, with: {auto * 1e3:.1f} ms, cost {(auto - off) * 1e3:.1f} ms")
    report("sandbox, cost a sample", max(auto - off, 0.0), "promise", 0.015, target=1.0)
    guards = _guards(executors[Mode.AUTO], CompileRequest(task, case, Track.STATIC, candidate, 60.0), plugins)
    report("guards, cost a sample", guards, "promise", 0.015, target=1.0)
    for executor in executors.values():
        executor.close()


def _guards(executor: TwinExecutor, request: CompileRequest, plugins: Plugins) -> float:
    """Seconds of all static guards and of looking at the image, the fastest round."""
    compiled = executor.compile(request)
    assert compiled.artifact is not None
    image, host = compiled.artifact.path / "kernel.so", executor._ready().host
    guards = [registration.load() for registration in plugins.guards.values()]
    best = float("inf")
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        for guard in guards:
            guard(request.candidate, request.task)
        inside = Elf(image)
        imports.foreign(inside, host)
        imports.forgeries(inside, host, request.candidate.files)
        imports.doubts(inside, request.candidate.files)
        best = min(best, time.perf_counter() - started)
    return best


if __name__ == "__main__":
    main()
