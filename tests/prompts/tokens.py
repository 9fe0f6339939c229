"""Prints the tables of docs/prompts.md: how many tokens prompts have, by an open tokenizer.

    python -m tests.prompts.tokens      needs mistral-common, which the environment .venv-models has

Tekken (240911) is read from the package's own files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from statistics import median

from npukernelbench.nouns import Track
from npukernelbench.nouns.knowledge import Knowledge
from npukernelbench.prompts.knowledge import count_tokens
from tests.prompts.told import LEVELS, OPERATOR_TRACKS, TEN, level, text
from tests.suite import suite

__all__ = ["tables"]


def tables(count: Callable[[str], int]) -> Iterator[str]:
    """Lines of markdown: medians of all tasks with the API told, then ten tasks by level of knowledge."""
    style, tasks = level(Knowledge.API), suite()
    told = {track: [text(style, task, track) for task in tasks.values()] for track in OPERATOR_TRACKS}
    counted = {track: [count(prompt) for prompt in prompts] for track, prompts in told.items()}
    yield "| `--knowledge api` | median | longest |"
    yield "|---|---|---|"
    for track, numbers in counted.items():
        yield f"| {track.value} | {median(numbers):,.0f} | {max(numbers):,} |"
    everything = [number for numbers in counted.values() for number in numbers]
    yield f"| both | {median(everything):,.0f} | |"
    own = sum(count_tokens(prompt) for prompts in told.values() for prompt in prompts)
    yield f"\nThe harness's own rule counts {own / sum(everything) - 1:+.1%}.\n"
    yield f"| task | {' | '.join(f'`{known.value}`' for known in LEVELS)} |"
    yield f"|---{'|---' * len(LEVELS)}|"
    for name in TEN:
        cells = (
            ", ".join(f"{count(text(level(known), tasks[name], track)):,}" for track in (Track.STATIC, Track.DYNAMIC))
            for known in LEVELS
        )
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> int:
    """Print the tables."""
    try:
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer
    except ImportError as error:
        sys.stderr.write(f"mistral-common is needed: {error}\n")
        return 1
    from importlib.resources import files

    tekken = Tekkenizer.from_file(str(files("mistral_common") / "data" / "tekken_240911.json"))
    for line in tables(lambda prompt: len(tekken.encode(prompt, bos=False, eos=False))):
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
