"""Several launches one after the other, in memory that they share: what a host function of its own did.

Each launch has a process of its own, with everything a single one has; the buffers are the same files. Its time is the
sum of the launches'. The first launch that fails ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from npukb_twin.direct.steps import Copy, Fill, Kernel, Memory, Move, Sequence, Step
from npukb_twin.launch.buffers import Plan, write_buffer
from npukb_twin.launch.launching import Launcher
from npukernelbench.judge.poison import poison
from npukernelbench.nouns import Observation, Outcome, Profile, RunRequest, TensorShape, Touched, named_tensors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from npukernelbench.nouns.execution import Array

__all__ = ["run_sequence"]


def run_sequence(request: RunRequest, sequence: Sequence, launcher: Launcher, work: Path) -> Observation:
    """Carry out the steps in the empty folder ``work``. Where cores wait for each other through plain memory, all of it
    happens once more on one host thread.
    """
    attempt = _Attempt(request, sequence, launcher, work / "first")
    seen = attempt.carry_out(launcher.threads)
    if attempt.talked and launcher.threads > 1:
        seen = _Attempt(request, sequence, launcher, work / "alone").carry_out(1)
    return seen


class _Attempt:
    """One way through the steps; the memories are files in ``folder``."""

    def __init__(self, request: RunRequest, sequence: Sequence, launcher: Launcher, folder: Path) -> None:
        self._request, self._sequence, self._launcher, self._folder = request, sequence, launcher, folder
        self._files = {memory.name: folder / f"memory-{i}" for i, memory in enumerate(sequence.memories)}
        self._total_bytes = 0
        self.talked = False

    def carry_out(self, threads: int) -> Observation:
        """Every step in order."""
        self._folder.mkdir()
        given = dict(named_tensors(self._request.inputs))
        for memory in self._sequence.memories:
            self._total_bytes += write_buffer(
                self._files[memory.name], self._first(memory, given), memory.name, self._request
            )
        seen: list[Observation] = []
        for index, step in enumerate(self._sequence.steps):
            if not isinstance(step, Kernel):
                self._change(step)
                continue
            seen.append(self._launch(step, threads, self._folder / f"arguments-{index}"))
            if seen[-1].outcome is not Outcome.OK:
                return replace(seen[-1], diagnostics=tuple(d for observation in seen for d in observation.diagnostics))
        return self._together(seen)

    def _first(self, memory: Memory, given: Mapping[str, Array]) -> NDArray[np.uint8]:
        """What a memory holds before the first step."""
        import numpy as np

        if memory.name in given:
            data: NDArray[np.uint8] = np.ascontiguousarray(given[memory.name]).reshape(-1).view(np.uint8)
            return data
        zeroed = {output.name for output in self._request.task.outputs if output.zeroed}
        if memory.name.partition("[")[0] in zeroed:
            return np.zeros(memory.nbytes, dtype=np.uint8)
        return poison(memory.nbytes, self._request.seed, memory.name)

    def _change(self, step: Step) -> None:
        """Carry out what the host does to device memory itself."""
        if isinstance(step, Copy):
            self._write(step.to, step.data)
        elif isinstance(step, Fill):
            self._write(step.to, bytes([step.value]) * step.nbytes)
        elif isinstance(step, Move):
            self._write(step.to, self._read(*self._held(step.source, step.nbytes), step.nbytes))

    def _held(self, address: int, nbytes: int) -> tuple[str, int]:
        held = self._sequence.holding(address, nbytes)
        assert held is not None
        return held[0].name, held[1]

    def _write(self, address: int, data: bytes) -> None:
        name, offset = self._held(address, len(data))
        with self._files[name].open("r+b") as file:
            file.seek(offset)
            file.write(data)

    def _read(self, name: str, offset: int, nbytes: int) -> bytes:
        with self._files[name].open("rb") as file:
            file.seek(offset)
            return file.read(nbytes)

    def _launch(self, step: Kernel, threads: int, arguments: Path) -> Observation:
        assert step.images is not None
        arguments.write_bytes(step.arguments)
        changed = {output.alias_of for output in self._request.task.outputs}
        plan = Plan(
            images=step.images,
            composition=step.images.composition(),
            # arguments come packed in a file, and a workspace is one of the memories
            slots=(),
            blocks=step.blocks,
            cores=step.cores,
            workspace_bytes=0,
        )
        readable = {spec.name for spec in self._request.task.inputs} - changed
        lines = [
            f"memory {memory.address} {memory.name} {'r' if memory.name.partition('[')[0] in readable else 'w'} "
            f"{memory.nbytes} {self._files[memory.name]}"
            for memory in self._sequence.memories
        ]
        shared = _Shared(plan, (*lines, f"direct {arguments}"), self._total_bytes)
        done, token = self._launcher.launch(self._request, shared, threads, self._folder)
        self.talked = self.talked or self._launcher.talks(done, token)
        return self._launcher.observe(self._request, done, token, shared)

    def _together(self, seen: list[Observation]) -> Observation:
        touched: dict[str, Touched] = {}
        for observation in seen:
            for name, now in observation.touched.items():
                before = touched.get(name, Touched(now.nbytes, 0, 0))
                read, written = before.read_bytes + now.read_bytes, before.written_bytes + now.written_bytes
                # launches may touch the same bytes, so that the sum can exceed the size
                touched[name] = Touched(now.nbytes, min(read, now.nbytes), min(written, now.nbytes))
        for name, place in self._sequence.results.items():
            if place.name in touched:
                touched[name] = touched[place.name]
        return Observation(
            Outcome.OK,
            self._outputs(),
            tuple(diagnostic for observation in seen for diagnostic in observation.diagnostics),
            _profile([observation.profile for observation in seen if observation.profile is not None]),
            seconds=sum(observation.seconds for observation in seen),
            touched=touched,
        )

    def _outputs(self) -> dict[str, Array | list[Array]]:
        outputs: dict[str, Array | list[Array]] = {}
        for output in self._request.task.outputs:
            declared = self._request.case.outputs[output.name]
            name = output.alias_of or output.name
            if isinstance(declared, TensorShape):
                outputs[output.name] = self._tensor(name, declared)
            else:
                outputs[output.name] = [self._tensor(f"{name}[{i}]", tensor) for i, tensor in enumerate(declared)]
        return outputs

    def _tensor(self, name: str, tensor: TensorShape) -> Array:
        import numpy as np

        place = self._sequence.results.get(name, Memory(name, 0, tensor.nbytes))
        # the copy can be written to, which an array over bytes cannot
        raw = np.frombuffer(self._read(place.name, place.address, tensor.nbytes), dtype=np.uint8).copy()
        values: Array = raw.view(tensor.dtype.numpy()).reshape(tensor.shape)
        return values


@dataclass(frozen=True, slots=True)
class _Shared:
    """The memories as one launch sees them."""

    plan: Plan
    directives: tuple[str, ...]
    total_bytes: int

    def lines(self) -> Iterator[str]:
        """As the launch file says them."""
        yield from self.directives

    def collect(self) -> dict[str, Array | list[Array]]:
        """Nothing: outputs are there when all launches have ended."""
        return {}


def _profile(profiles: list[Profile]) -> Profile | None:
    """One profile of all launches: times and amounts are sums, ratios are weighted by time."""
    if len(profiles) < 2:
        return profiles[0] if profiles else None
    longest, whole = max(profiles, key=lambda profile: profile.time_us), sum(profile.time_us for profile in profiles)
    counters: dict[str, float] = {}
    for profile in profiles:
        for name, value in profile.counters.items():
            share = profile.time_us / whole if name.endswith("_ratio") and whole else 1.0
            counters[name] = counters.get(name, 0.0) + value * share
    # a sum has bounds only where each of its parts has
    low, high = [profile.low_us for profile in profiles], [profile.high_us for profile in profiles]
    return replace(
        longest,
        time_us=whole,
        counters=counters,
        low_us=sum(filter(None, low)) if None not in low else None,
        high_us=sum(filter(None, high)) if None not in high else None,
        bottleneck=f"{len(profiles)} launches; of the longest, {longest.bottleneck}",
    )
