"""The thinking before an existing kernel: what the executor saw it do, in numbers.

Nothing here is read out of the code but the names of the instructions: partition, transfers, arithmetic, buffers and
time are those of the launch that the judge found right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from npukernelbench.nouns import Case, CaseResult, LineCost, Profile
from npukernelbench.prompts.style import describe_case
from npukernelbench.tasks.sizes import input_bytes, output_bytes

__all__ = ["Launch", "explain", "explain_cases"]

_CALL = re.compile(r"\b([A-Z]\w*)\s*(?:<[^;()]*>)?\s*\(")
#: Names before a bracket that neither move nor compute.
_NO_INSTRUCTION = frozenset(
    {"DataCopyExtParams", "DataCopyPadExtParams", "DataCopyParams", "GM_ADDR", "PipeBarrier", "SetFlag", "WaitFlag"}
)
_UB_KIB = 192
_BLOCK = 32
_SHOWN = 12
#: Pipes with what they do, in the order of a tile's way through the core.
_STAGES = (
    ("MTE2", "Copies in"),
    ("MTE1", "Loads of the cube's operands"),
    ("M", "Products"),
    ("FIX", "Results of the cube"),
    ("V", "Vector unit"),
    ("MTE3", "Copies out"),
)
_MOVES = frozenset({"MTE2", "MTE3", "MTE1", "FIX"})
#: Why an instruction is the one to take: seen on any line of a launch.
_CHOICES = (
    (r"DataCopy", "DataCopy moves whole blocks of 32 bytes, which these lengths are."),
    (r"Cast", "Cast goes to the type of the arithmetic and back."),
    (
        r"(WholeReduce|BlockReduce|Reduce|PairReduce)\w+",
        "Reductions are one instruction over many elements.",
    ),
    (
        r"Compare\w*|Select",
        "Conditions are masks: Compare writes bits, Select reads them.",
    ),
    (r"Gather\w*|Scatter\w*", "Addresses that depend on data go through Gather or Scatter inside the unified buffer."),
    (r"Brcb|Broadcast", "One number per row is spread over its row by a broadcast."),
    (r"Mmad|Iterate\w*|Matmul\w*", "Products of matrices are the cube unit's."),
    (r"SetAtomic\w*", "Several cores add into the same place, so the copy out adds atomically."),
)


class Launch(NamedTuple):
    """One case of a right kernel: the case, what was seen, and the sources whose lines are named."""

    case: Case
    result: CaseResult
    files: Mapping[str, str]


def explain(launch: Launch) -> str:
    """Sentences, one per decision; empty when the executor gave no profile."""
    # Without a profile nothing was seen that could be said.
    profile = launch.result.profile
    if profile is None:
        return ""
    files, case = launch.files, launch.case
    parts = [_partition(profile), _tiling(profile), *_stages(profile, files), _traffic(profile, case)]
    parts += [_ragged(profile, files), *_choices(profile, files), _types(case)]
    parts += [_memory(profile), _order(profile), _time(profile)]
    return "\n".join(part for part in parts if part)


def explain_cases(launches: Sequence[Launch]) -> str:
    """What the tiling function chose for each case, then the case with the most bytes in full."""
    lines = ["The tiling function decides per case:"]
    for launch in launches:
        profile = launch.result.profile
        if profile is not None:
            key = f", tiling key {profile.tiling_key}" if profile.tiling_key is not None else ""
            busy = _working(profile)
            lines.append(
                f"- {describe_case(launch.case)}: {profile.blocks} blocks{busy and f', {busy} with work'}{key}."
            )
    # The case with the most bytes shows most: loops, tails and what bounds the time.
    largest = max(launches, key=lambda launch: input_bytes(launch.case) + output_bytes(launch.case))
    return "\n".join([*lines, f"The largest of them, {describe_case(largest.case)}:", explain(largest)])


def _partition(profile: Profile) -> str:
    """Blocks, and how even their work is."""
    analysis = profile.analysis
    if analysis is None or not analysis.cores:
        return f"Cores: {profile.blocks} blocks."
    working = [core for core in analysis.cores if _moves(core.busy_us)]
    # Cores that did the same are one entry, with their number.
    count = sum(core.alike for core in working)
    text = f"Cores: {profile.blocks} blocks, {count} cores have work"
    # Within a tenth the work is as good as even.
    if count and max(core.time_us for core in working) > 1.1 * min(core.time_us for core in working):
        low, high = min(core.time_us for core in working), max(core.time_us for core in working)
        return f"{text}, from {low:.2f} to {high:.2f} us each."
    return f"{text}{', as much each' if count > 1 else ''}."


def _working(profile: Profile) -> str:
    """How many cores have work, where that is less than there are blocks."""
    cores = profile.analysis.cores if profile.analysis is not None else ()
    count = sum(core.alike for core in cores if _moves(core.busy_us))
    return str(count) if 0 < count < profile.blocks else ""


def _moves(busy_us: Mapping[str, float]) -> bool:
    # A core without any pipe at work was started and had nothing to do.
    return any(busy_us.get(pipe, 0.0) > 0 for pipe, _ in _STAGES)


def _tiling(profile: Profile) -> str:
    """How many rounds a core makes, and how much it moves each time, by the copy that moves most."""
    analysis = profile.analysis
    # Lines of other pipes move nothing from global memory.
    copies = [line for line in analysis.lines if line.pipe == "MTE2" and line.nbytes] if analysis is not None else []
    count = sum(core.alike for core in analysis.cores if _moves(core.busy_us)) if analysis is not None else 0
    if not copies or not count:
        return ""
    # The earlier line decides between equals, so that the text does not depend on the order of a profile.
    most = max(copies, key=lambda copy: (copy.nbytes, -copy.line))
    rounds = most.times / count
    often = "once" if rounds == 1 else f"{rounds:.3g} times on average"
    return f"Tiling: the largest transfers bring {_bytes(most.nbytes / most.times)}; a core makes them {often}."


def _ragged(profile: Profile, files: Mapping[str, str]) -> str:
    """Why copies are padded ones."""
    lines = profile.analysis.lines if profile.analysis is not None else ()
    padded = [line for line in lines if line.nbytes and _instruction(line, files) == "DataCopyPad"]
    if not padded:
        return ""
    if any(line.nbytes % _BLOCK for line in padded):
        return f"Lengths are no multiples of {_BLOCK} bytes, so DataCopyPad, which takes lengths in bytes."
    return f"DataCopyPad takes any length; here all of them together are whole blocks of {_BLOCK} bytes."


def _stages(profile: Profile, files: Mapping[str, str]) -> Iterator[str]:
    """One sentence per pipe: its instructions in the order of the code, how often, how much."""
    lines = profile.analysis.lines if profile.analysis is not None else ()
    for pipe, words in _STAGES:
        mine = sorted((line for line in lines if line.pipe == pipe), key=lambda line: (line.file, line.line))
        if not mine:
            continue
        if pipe in _MOVES:
            yield f"{words}: {'; '.join(_move(line, files) for line in mine[:_SHOWN])}."
        else:
            yield f"{words}: {'; '.join(_counted(mine, files))}."


def _move(line: LineCost, files: Mapping[str, str]) -> str:
    each = f", {_bytes(line.nbytes / line.times)} each, {_bytes(line.nbytes)} in all" if line.nbytes else ""
    return f"{line.times} times {_instruction(line, files)}{each}"


def _counted(lines: Sequence[LineCost], files: Mapping[str, str]) -> Iterator[str]:
    """Instructions with how often they ran; neighbours that ran equally often share the number."""
    runs: list[tuple[int, list[str]]] = []
    for line in lines:
        if runs and runs[-1][0] == line.times:
            runs[-1][1].append(_instruction(line, files))
        else:
            runs.append((line.times, [_instruction(line, files)]))
    for times, names in runs[:_SHOWN]:
        yield f"{times} times {', '.join(names)}"


def _instruction(line: LineCost, files: Mapping[str, str]) -> str:
    """The call on a line; its number where the line holds none."""
    lines = files.get(line.file, "").splitlines()
    text = lines[line.line - 1] if 0 < line.line <= len(lines) else ""
    names = [name for name in _CALL.findall(text) if name not in _NO_INSTRUCTION]
    return names[0] if names else f"line {line.line}"


def _traffic(profile: Profile, case: Case) -> str:
    """How often an input byte crosses from global memory, where that is known."""
    counters, wanted = profile.counters, input_bytes(case)
    moved = 1024 * (counters.get("GM_to_UB_datas_kb", 0.0) + counters.get("GM_to_L1_datas_kb", 0.0))
    if not wanted or not moved:
        return ""
    ratio = moved / wanted
    again = "every input byte is read once" if 0.95 < ratio < 1.05 else f"{ratio:.2g} times the size of the inputs"
    return f"Traffic: {_bytes(moved)} come in for inputs of {_bytes(wanted)}: {again}."


def _choices(profile: Profile, files: Mapping[str, str]) -> Iterator[str]:
    """Why these instructions."""
    lines = profile.analysis.lines if profile.analysis is not None else ()
    names = {_instruction(line, files) for line in lines}
    for pattern, why in _CHOICES:
        if any(re.fullmatch(pattern, name) for name in names):
            yield why


def _types(case: Case) -> str:
    """The one element type without arithmetic of its own."""
    return "There is no bfloat16 arithmetic: it is done in float." if "bfloat16" in describe_case(case) else ""


def _memory(profile: Profile) -> str:
    used = profile.counters.get("ub_used_kb")
    return f"UB: {used:.4g} of {_UB_KIB} KiB per core." if used else ""


def _order(profile: Profile) -> str:
    """How well the pipes overlap, out of how long each was busy."""
    counters = profile.counters
    # Kernels on cube cores have no counters of the vector unit, or zeros.
    prefix = "aiv" if "aiv_vec_ratio" in counters and counters.get("aiv_vec_instructions", 0) else "aic"
    shares = {
        words: counters[f"{prefix}_{name}_ratio"]
        for name, words in (("mte2", "copies in"), ("vec", "vector"), ("cube", "cube"), ("mte3", "copies out"))
        if counters.get(f"{prefix}_{name}_ratio", 0.0) >= 0.005
    }
    if not shares:
        return ""
    text = ", ".join(f"{words} {share:.0%}" for words, share in shares.items())
    overlap = "they overlap" if sum(shares.values()) > 1.05 else "they follow one another"
    return f"Pipes: {text} of the cores' time; {overlap}."


def _time(profile: Profile) -> str:
    word = "predicted" if profile.predicted else "measured"
    reason = f": {profile.bottleneck}" if profile.bottleneck else ""
    return f"Time: {profile.time_us:.2f} us {word} on {profile.machine}{reason}."


def _bytes(value: float) -> str:
    """A length in the unit that reads best."""
    if value < 2048:
        return f"{value:.0f} bytes"
    return f"{value / 1024:.4g} KiB" if value < 1 << 20 else f"{value / (1 << 20):.4g} MiB"
