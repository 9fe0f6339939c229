"""A profile on a terminal: where the time goes, what would help, which lines cost most, and the pipes in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from npukernelbench.console import Paint
from npukernelbench.nouns import Analysis, Profile, Span, Tier

__all__ = ["render_profile", "timeline"]

_WIDTH = 72
_LINES = 10
_SUGGESTIONS = 3
_EXCERPT = 60

#: ``(text, paint) -> text``: :meth:`npukernelbench.console.Console.paint`.
Painter = Callable[[str, Paint], str]


def render_profile(profile: Profile, files: Mapping[str, str], tier: Tier, paint: Painter) -> Iterator[str]:
    """Lines for a terminal. ``files`` are the candidate's sources, of which single lines are quoted."""
    word = "predicted" if profile.predicted else "measured"
    between = "" if profile.low_us is None else f", between {profile.low_us:.2f} and {profile.high_us:.2f}"
    yield f"  {word} {paint(f'{profile.time_us:.2f} µs', Paint.BOLD)}{between} on {profile.machine} (tier {tier.value})"
    if profile.bottleneck:
        yield f"  {profile.bottleneck}"
    yield from _pipes(profile.counters, paint)
    yield from _path(profile, paint)
    if profile.analysis is not None:
        yield from _analysis(profile, profile.analysis, files, paint)


def _pipes(counters: Mapping[str, float], paint: Painter) -> Iterator[str]:
    """One row per unit: how long it worked, how long it waited for others, how often, as far as that was counted."""
    units = [key.removesuffix("_ratio") for key in counters if key.endswith("_ratio")]
    # A wait ratio ends so, too, but has no time beside it.
    units = [unit for unit in units if f"{unit}_time" in counters]
    if units:
        yield ""
        yield paint(f"  {'unit':<12}{'time µs':>10}{'ratio':>9}{'waits':>9}{'instructions':>15}", Paint.DIM)
    for unit in units:
        cells = (
            _cell(counters, f"{unit}_time", 10, ".2f"),
            _cell(counters, f"{unit}_ratio", 9, ".1%"),
            _cell(counters, f"{unit}_wait_ratio", 9, ".1%"),
            _cell(counters, f"{unit}_instructions", 15, ",.0f"),
        )
        yield f"  {unit:<12}{''.join(cells)}"
    for direction in ("gm_to_ub", "ub_to_gm"):
        if f"aiv_{direction}_bw_gbs" in counters:
            usage = counters.get(f"aiv_{direction}_bw_usage_rate")
            share = "" if usage is None else f", {usage:.1%} of what one core can"
            yield f"  {direction.replace('_', ' ')}: {counters[f'aiv_{direction}_bw_gbs']:.1f} GiB/s per core{share}"


def _cell(counters: Mapping[str, float], name: str, width: int, form: str) -> str:
    value = counters.get(name)
    return f"{'-' if value is None else format(value, form):>{width}}"


def _path(profile: Profile, paint: Painter) -> Iterator[str]:
    """What the slowest core's time consists of."""
    parts = {"launch": profile.counters.get("launch_time", 0.0)} | {
        name.removeprefix("path_").removesuffix("_time"): value
        for name, value in profile.counters.items()
        if name.startswith("path_")
    }
    if not any(parts.values()):
        return
    yield ""
    yield paint("  the slowest core waited for", Paint.DIM)
    for name in sorted(parts, key=lambda part: -parts[part]):
        # Less than half a percent is left out: its bar would be empty.
        if parts[name] >= 0.005 * profile.time_us:
            share = parts[name] / profile.time_us
            yield f"  {name:<12}{parts[name]:>10.2f}{share:>9.1%}  {'#' * round(share * 40)}".rstrip()


def _analysis(profile: Profile, analysis: Analysis, files: Mapping[str, str], paint: Painter) -> Iterator[str]:
    if analysis.suggestions:
        yield ""
        yield paint("  what would be faster", Paint.DIM)
        for suggestion in analysis.suggestions[:_SUGGESTIONS]:
            gain = profile.time_us / suggestion.time_us
            yield f"  {paint(f'{gain:.2f}×', Paint.GOOD)}  {suggestion.time_us:.2f} µs: {suggestion.change}"
    yield ""
    yield paint("  lines with the most time, all cores together", Paint.DIM)
    for line in analysis.lines[:_LINES]:
        text = _source(files, line.file, line.line)
        yield f"  {line.busy_us:>10.2f} µs  {line.pipe:<5} ×{line.times:<9} {line.file}:{line.line}  {text}".rstrip()
    # A little scalar work belongs to no line; only from a tenth of the time on is it worth a line here.
    if (plain := _plain(analysis)) > 0.1 * sum(core.time_us * core.alike for core in analysis.cores):
        yield f"  {plain:>10.2f} µs  S     plain C++ between calls of the API, not attributed to lines"
    yield ""
    yield from timeline(analysis.spans, paint)


def _plain(analysis: Analysis) -> float:
    """Time of the scalar unit, over all cores, that belongs to no line."""
    busy = sum(core.busy_us.get("S", 0.0) * core.alike for core in analysis.cores)
    return busy - sum(line.busy_us for line in analysis.lines if line.pipe == "S")


def _source(files: Mapping[str, str], file: str, line: int) -> str:
    lines = files.get(file, "").splitlines()
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    # Candidate code is hostile: no escape sequence of it may reach the terminal.
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"


def timeline(spans: Sequence[Span], paint: Painter) -> Iterator[str]:
    """The pipes of one core in time, as far as they were recorded: ``#`` busy, ``+`` partly, ``.`` idle."""
    if not spans:
        return
    core = spans[0].core
    mine = [span for span in spans if span.core == core]
    end = max(span.end_us for span in mine)
    yield paint(f"  core {core}, 0 to {end:.2f} µs", Paint.DIM)
    for pipe in sorted({span.pipe for span in mine}):
        busy = _cells([span for span in mine if span.pipe == pipe], end)
        yield f"  {pipe:<6}{''.join('#' if share > 0.5 else '+' if share > 0.02 else '.' for share in busy)}"


def _cells(spans: Sequence[Span], end_us: float) -> list[float]:
    """The share of each cell of the line in which one of ``spans`` is running."""
    cells = [0.0] * _WIDTH
    scale = _WIDTH / end_us if end_us else 0.0
    for span in spans:
        first, last = span.start_us * scale, span.end_us * scale
        # The last span ends exactly at the right edge, one cell beyond the line.
        for i in range(int(first), min(int(last) + 1, _WIDTH)):
            cells[i] += max(0.0, min(last, i + 1) - max(first, i))
    return cells
