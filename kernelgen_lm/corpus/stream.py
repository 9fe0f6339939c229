"""Tile programs as a stream: a recipe gives the same samples on every machine, so a data set is a recipe and a digest.

Nothing is stored. Some samples of every family, element type and track are executed by the judge when the recipe is
proven; one that is not right stops it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Literal, NamedTuple

import yaml
from pydantic import Field, ValidationError

from kernelgen_lm.corpus.asking import Asked, ask
from kernelgen_lm.corpus.exclusion import Exclusion, excluded
from kernelgen_lm.corpus.judged import messages_of
from kernelgen_lm.corpus.questions import draw_question, is_held_out
from kernelgen_lm.corpus.sample import Message, Sample, sha256
from kernelgen_lm.corpus.tilewriter import write_tile
from npukernelbench.errors import SourceLocation, UsageError
from npukernelbench.generate.strategy import Strategy, load_strategy
from npukernelbench.nouns import Case, Prompt, Task, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import PromptStyle, load_style
from npukernelbench.seed import derive
from npukernelbench.strict import Strict

if TYPE_CHECKING:
    from kernelgen_lm.judging import Bench

__all__ = ["VERSION", "Proof", "Recipe", "is_recipe", "prove", "read_recipe", "stream"]

#: Rises when the same recipe gives other samples.
VERSION = 1
#: Families that tile programs are written for, with their usual shares.
_FAMILIES: Mapping[str, int] = {"elementwise": 55, "cast": 6, "integer": 5, "rows": 24, "whole": 10}
#: One of so many samples of every kind is executed: two per cent, and the first of each.
_EVERY = 50


class Recipe(Strict):
    """A stream of questions with tile programs. Equal values give equal samples."""

    target: Literal["tile"] = Field(description="what the answers are: programs of the tile language")
    samples: int = Field(ge=1, description="questions to draw; some are of held-out operators, or known ones")
    seed: int = Field(0, description="seed of all of them")
    families: Mapping[str, int] = Field(
        default_factory=lambda: dict(_FAMILIES), description="families with their shares"
    )
    held_out: float = Field(0.1, ge=0, lt=1, description="share of operators that are kept for evaluation")
    dynamic: float = Field(0.2, ge=0, le=1, description="share of questions for several shapes")
    prompt_style: str = Field("terse", description="prompt style of the questions, by its name in the harness")
    digest: str = Field("", description="what kernelgen-lm corpus prove found; another stream is refused")


class Proof(NamedTuple):
    """What a recipe gives: the digest of its samples, what became of the draws, and what the judge was asked."""

    digest: str
    counts: Mapping[str, int]
    executed: Mapping[str, int]


class _Made(NamedTuple):
    sample: Sample
    asked: Asked
    track: Track


def is_recipe(path: Path) -> bool:
    """Whether a path names a recipe rather than samples."""
    return path.suffix in (".yaml", ".yml")


def read_recipe(path: Path) -> Recipe:
    """The recipe in a file. UsageError with file and field."""
    try:
        return Recipe.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read: {error}", field="corpus", remedy="name a recipe, .yaml") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise UsageError(first["msg"], location=SourceLocation(path), field=field) from None


def stream(recipe: Recipe) -> Iterator[Sample]:
    """Every sample of a recipe, in its order. UsageError at the end of a stream that is not the one that was proven."""
    digest = hashlib.sha256()
    for made in _draws(recipe):
        if isinstance(made, _Made):
            # An id is a hash of question and answer, so the digest covers both.
            digest.update(made.sample.id.encode())
            yield made.sample
    if recipe.digest and digest.hexdigest() != recipe.digest:
        raise UsageError(
            "the recipe gives other samples than were proven",
            field="digest",
            remedy="kernelgen-lm corpus prove, with this version",
        )


def prove(recipe: Recipe, bench: Bench, tell: Callable[[int], None]) -> Proof:
    """Draw everything, execute at least two per cent of every kind. UsageError for a program that is not right."""
    digest, counts, executed = hashlib.sha256(), Counter[str](), Counter[str]()
    kinds: Counter[str] = Counter()
    for number, made in enumerate(_draws(recipe), 1):
        tell(number)
        if isinstance(made, str):
            counts[made] += 1
            continue
        counts["sample"] += 1
        digest.update(made.sample.id.encode())
        kind = f"{made.sample.family} {made.sample.dtype} {made.track.value}"
        if kinds[kind] % _EVERY == 0:
            _execute(made, bench)
            executed[kind] += 1
        kinds[kind] += 1
    return Proof(digest.hexdigest(), dict(counts), dict(executed))


def _execute(made: _Made, bench: Bench) -> None:
    """Judge a sample's answer as a run would, on sizes that a CPU can do."""
    task = made.asked.trial
    said = bench.judge_program(task, task.cases[:1], made.track, made.sample.answer)
    if not said:
        return
    raise UsageError(
        f"the program of sample {made.sample.id} is not right: {said}\n{made.sample.answer}",
        field="recipe",
        remedy="mend kernelgen_lm.corpus.tilewriter; nothing of this recipe may be trained on",
    )


def _draws(recipe: Recipe) -> Iterator[_Made | str]:
    """What every index gives: a sample, or why there is none."""
    style = load_style(_plugins().prompts.find(recipe.prompt_style))
    for index in range(recipe.samples):
        rng = Random(derive(recipe.seed, "tile", VERSION, index))
        spec = draw_question(rng, recipe.families)
        if is_held_out(spec.function, recipe.held_out):
            yield "held_out"
        elif excluded(_exclusion(), spec):
            yield "known"
        else:
            track = Track.DYNAMIC if rng.random() < recipe.dynamic else Track.STATIC
            yield _made(recipe, index, ask(spec, rng), track, style)


def _made(recipe: Recipe, index: int, asked: Asked, track: Track, style: PromptStyle) -> _Made:
    program = write_tile(asked.spec, asked.writing)
    answer = f"```python\n{program}```\n"
    prompt = prompt_of(asked.task, None if track is Track.DYNAMIC else asked.task.cases[0], track, style)
    spec = asked.spec
    sample = Sample(
        id=sha256(prompt.hash + answer)[:24],
        kind="kernel",
        family=spec.family,
        operator=asked.task.name,
        dtype=spec.dtype.value,
        shape=spec.shape,
        track=track.value,
        messages=(*messages_of(prompt), Message(role="assistant", content=answer)),
        question=spec.to_json(),
        provenance={"source": "kernelgen_lm.corpus.stream", "version": VERSION, "seed": recipe.seed, "index": index},
        licence="Apache-2.0",
        hashes={"question": spec.hash, "source": sha256(program), "prompt": prompt.hash},
    )
    return _Made(sample, asked, track)


def prompt_of(task: Task, case: Case | None, track: Track, style: PromptStyle) -> Prompt:
    """What ``--strategy tile`` asks."""
    return _strategy().opening(task, case, track, style, dict)


@cache
def _plugins() -> Plugins:
    return Plugins.load()


@cache
def _strategy() -> Strategy:
    return load_strategy(_plugins().strategies.find("tile"))


@cache
def _exclusion() -> Exclusion:  # keeps what every reference gave on inputs that were drawn before
    return Exclusion.of_benchmarks()
