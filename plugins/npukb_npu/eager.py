"""Baseline ``eager``: how long torch_npu's own operators take, in a process that has never seen a candidate.

``python -m npukb_npu.eager --out tasks/baselines/npu_CHIP.eager.json`` measures every case of the tasks that torch has
something for, by the method of the executor: event pairs, rotated inputs, L2 overwritten. What torch calls them is in
:mod:`npukb_npu.eager_operators` and :mod:`npukb_npu.eager_craft`. Names of torch_npu are those of ``TORCH_NPU``, which
a test looks up in its wheel. Not yet run on hardware.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import Any

from npukb_npu.discovery import Site
from npukb_npu.eager_craft import CRAFT
from npukb_npu.eager_operators import HOST, OPERATORS
from npukb_npu.lease import Leases, Sharing, default_folder
from npukb_npu.profiles import machine_name
from npukb_npu.timing import Budget, Timing, measure
from npukernelbench.errors import ExecutorError
from npukernelbench.nouns import Case, Task
from npukernelbench.tasks import generate_inputs, load_registry

__all__ = [
    "TORCH_NPU",
    "WITHOUT",
    "Timer",
    "arguments",
    "entry",
    "evaluate",
    "measure_all",
    "measure_task",
    "operator_of",
]

#: What is used of ``torch_npu.npu``.
TORCH_NPU = ("Event", "get_device_name", "set_device", "synchronize")

#: Tasks that torch has nothing for, and why; the others are measured.
WITHOUT: Mapping[str, str] = {
    "AddRmsNormQuant": "quantises with zero points whose types torch's own operators do not take together",
    "ApplyFusedEmaAdam": "torch has no Adam with an average of its weights in one step",
    "CrossEntropyLossGrad": "torch has this gradient only through autograd, with another forward pass",
    "DequantSwigluQuant": "torch has no operator that quantises by groups of rows",
    "GeluQuant": "torch has no operator that chooses the scale while it quantises",
    "GroupNormSwishGrad": "torch has this gradient only through autograd, with another forward pass",
    "Mla": "torch has no attention over a paged cache",
    "ScatterList": "torch has no operator that updates stretches of many tensors",
    "Spence": "torch has no dilogarithm",
}

_COPIES = 4
# more than twice the 192 MiB of L2 of the largest chips
_FLUSH_BYTES = 512 << 20

#: Time of one call in us.
Timer = Callable[[Callable[[], object]], float]


def operator_of(task: Task) -> Callable[..., Any] | None:
    """What torch calls the task's operator; None where it has nothing."""
    return CRAFT.get(task.operator) or OPERATORS.get(task.reference)


def evaluate(torch: Any, task: Task, values: Mapping[str, Any]) -> Any:
    """The task's result by torch; ``values`` are its inputs as tensors and its attributes."""
    operator = operator_of(task)
    if operator is None:
        raise ExecutorError(f"torch has nothing for {task.name}")
    wanted = list(signature(operator).parameters)[1:]
    return operator(torch, **{name: values[name] for name in wanted})


def arguments(torch: Any, task: Task, case: Case, seed: int, device: str) -> dict[str, Any]:
    """Inputs of a case on a device, with the attributes of the case. What torch takes as numbers stays on the host."""
    made = next(iter(case.outputs.values()))
    made = made[0] if isinstance(made, tuple) else made
    values: dict[str, Any] = {**case.attributes, "out_dtype": getattr(torch, made.dtype.value), "out_device": device}
    host = HOST.get(task.reference, frozenset())
    for name, value in generate_inputs(task, case, seed).items():
        if value is None:
            values[name] = None
        elif name in host or f"{name}[]" in host:
            numbers = [
                number for part in (value if isinstance(value, list) else [value]) for number in part.ravel().tolist()
            ]
            values[name] = numbers[0] if name in host else numbers
        elif isinstance(value, list):
            values[name] = [_tensor(torch, member, device) for member in value]
        else:
            values[name] = _tensor(torch, value, device)
    return values


def _tensor(torch: Any, value: Any, device: str) -> Any:
    import numpy as np

    brain = value.dtype.name == "bfloat16"
    # torch knows no bfloat16 of NumPy's, and ascontiguousarray gives a scalar an axis, hence the shape again
    data = torch.from_numpy(np.ascontiguousarray(value.view(np.int16) if brain else value).reshape(value.shape))
    return (data.view(torch.bfloat16) if brain else data).to(device)


def measure_task(torch: Any, task: Task, timer: Timer, device: str, budget: Budget) -> Iterator[tuple[str, Timing]]:
    """Case and time of every public case of ``task``."""
    for case in task.cases:
        copies = [arguments(torch, task, case, seed, device) for seed in range(budget.copies)]

        def sample(number: int, copies: Sequence[Mapping[str, Any]] = copies) -> float:
            return timer(lambda: evaluate(torch, task, copies[number]))

        yield case.id, measure(sample, time.monotonic, budget)


def _event_timer(torch: Any, npu: Any, device: str) -> Timer:
    flush = torch.empty(_FLUSH_BYTES, dtype=torch.uint8, device=device)

    def timer(call: Callable[[], object]) -> float:
        flush.zero_()
        start, end = npu.Event(enable_timing=True), npu.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        npu.synchronize()
        return float(start.elapsed_time(end)) * 1e3

    return timer


def entry(task: Task, times: Mapping[str, Timing]) -> dict[str, object]:
    """A task in the baseline file: medians under ``cases``, which scores read, and how sure they are."""
    medians = {case: round(timing.median_us, 4) for case, timing in times.items()}
    return {
        "hash": task.content_hash,
        "cases": medians,
        "timings": {case: asdict(timing) for case, timing in times.items()},
    }


def measure_all(torch: Any, tasks: Iterable[Task], timer: Timer, device: str, budget: Budget) -> dict[str, Any]:
    """Entries of the baseline file under ``tasks``; under ``without`` what was not measured, and why."""
    entries: dict[str, object] = {}
    without: dict[str, str] = {}
    for task in tasks:
        if task.name in WITHOUT:
            without[task.name] = WITHOUT[task.name]
            continue
        try:
            entries[task.name] = entry(task, dict(measure_task(torch, task, timer, device, budget)))
        except (RuntimeError, TypeError, ValueError) as error:  # what torch says to what it lacks
            # chr(10): before Python 3.12 an f-string's braces hold no backslash
            without[task.name] = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return {"tasks": entries, "without": without}


def main(words: Sequence[str]) -> int:
    """Measure on one device, alone, and write the baseline file."""
    parser = argparse.ArgumentParser(prog="python -m npukb_npu.eager", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    parser.add_argument("--device", type=int, default=0, help="device to measure")
    chosen = parser.parse_args(words)

    # below the arguments: torch takes seconds to load
    import torch
    import torch_npu

    from npukernelbench.plugins import Plugins

    npu = torch_npu.npu
    # leases go by the node, torch_npu by the runtime's number
    places = {device.index: device.node for device in Site().devices}
    with Leases(default_folder()).lend([places.get(chosen.device, chosen.device)], Sharing.EXCLUSIVE, 600.0):
        npu.set_device(chosen.device)
        device = f"npu:{chosen.device}"
        tasks = load_registry(Plugins.load()).values()
        measured = measure_all(torch, tasks, _event_timer(torch, npu, device), device, Budget(copies=_COPIES))
        machine = machine_name(npu.get_device_name(chosen.device))
    versions = {"torch": str(torch.__version__), "torch_npu": str(torch_npu.__version__)}
    document = {"machine": machine, "baseline": "eager", **versions, **measured}
    chosen.out.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
