"""What an evaluation found, as numbers: pass@k and rates with intervals, and differences between models.

Statistics are the harness's own. A row is one model at one training seed and one sampling seed on one group of tasks,
or at all seeds. Differences are paired by task, so that what is hard for both models cancels out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from npukernelbench.nouns.codec import to_json
from npukernelbench.report.estimates import Judged, at_k, both
from npukernelbench.stats import paired_difference

__all__ = ["ALL", "Groups", "Problem", "Sitting", "card_tables", "difference_rows", "score_rows"]

#: Task and case.
Problem = tuple[str, str]
#: The problems of each group, by the group's name.
Groups = Mapping[str, frozenset[Problem]]
#: Stands for "over all seeds".
ALL = "all"

_HITS: Mapping[str, Callable[[Judged], bool]] = {
    "compile": lambda answer: answer.compiled,
    "correct": lambda answer: answer.correct,
}


@dataclass(frozen=True, slots=True)
class Sitting:
    """All answers of one model at one pair of seeds. ``number`` counts the checkpoints of one name from 0."""

    model: str
    number: int
    training_seed: str
    sampling_seed: int
    judged: tuple[Judged, ...]


class _Pool(NamedTuple):
    """Answers that are counted together."""

    training_seed: str
    sampling_seed: str
    judged: list[Judged]
    most: int


def score_rows(sittings: Sequence[Sitting], groups: Groups) -> list[dict[str, object]]:
    """A row per model, seeds and group; ``valid`` leaves out what could not be judged, ``all`` counts it as wrong."""
    rows: list[dict[str, object]] = []
    for model in dict.fromkeys(sitting.model for sitting in sittings):
        for pool in _pools([sitting for sitting in sittings if sitting.model == model]):
            for group, problems in groups.items():
                judged = [answer for answer in pool.judged if answer.problem in problems]
                if judged:
                    place = {"model": model, "training_seed": pool.training_seed, "sampling_seed": pool.sampling_seed}
                    rows.append({**place, "group": group, **_rates(judged, pool.most)})
    return rows


def _rates(judged: Sequence[Judged], most: int) -> dict[str, object]:
    kept = {"valid": [answer for answer in judged if answer.valid], "all": list(judged)}
    return {
        "tasks": len({answer.key.task for answer in judged}),
        "answers": len(judged),
        "faults": len(judged) - len(kept["valid"]),
        "compile@1": to_json(both(kept, _HITS["compile"])),
        "correct@1": to_json(both(kept, _HITS["correct"])),
        "compile@k": to_json(at_k(kept, _HITS["compile"], range(1, most + 1))),
        "pass@k": to_json(at_k(kept, _HITS["correct"], range(1, most + 1))),
    }


def _pools(sittings: Sequence[Sitting]) -> list[_Pool]:
    """One per pair of seeds, and one over all when there are several, with the k that one sitting alone allows."""
    single = [
        _Pool(sitting.training_seed, str(sitting.sampling_seed), list(sitting.judged), _most(sitting.judged))
        for sitting in sittings
    ]
    if len(single) < 2:
        return single
    judged = [answer for sitting in sittings for answer in sitting.judged]
    return [*single, _Pool(ALL, ALL, judged, min(pool.most for pool in single))]


def _most(judged: Iterable[Judged]) -> int:
    """The most answers that a problem has."""
    counts: defaultdict[Problem, int] = defaultdict(int)
    for answer in judged:
        counts[answer.problem] += 1
    return max(counts.values(), default=0)


def difference_rows(sittings: Sequence[Sitting], groups: Groups, model: str) -> list[dict[str, object]]:
    """``model`` against every other: a row per pair of seeds that both have, and one over all."""
    mine = [sitting for sitting in sittings if sitting.model == model]
    rows: list[dict[str, object]] = []
    for other in dict.fromkeys(sitting.model for sitting in sittings if sitting.model != model):
        theirs = [sitting for sitting in sittings if sitting.model == other]
        pairs = [(left, right) for left in mine if (right := _partner(left, theirs)) is not None]
        for group, problems in groups.items():
            # With one pair of seeds its row would be the one over all.
            if len(pairs) > 1:
                rows += [_difference(group, problems, [left], [right]) for left, right in pairs]
            rows.append(_difference(group, problems, mine, theirs))
    return [row for row in rows if row["tasks"]]


def _partner(sitting: Sitting, others: Sequence[Sitting]) -> Sitting | None:
    """The sitting with the same sampling seed, of the checkpoint in the same place (or the only one)."""
    same = [other for other in others if other.sampling_seed == sitting.sampling_seed]
    exact = [other for other in same if other.number == sitting.number]
    candidates = exact or (same if len(same) == 1 else [])
    return candidates[0] if candidates else None


def _difference(
    group: str, problems: frozenset[Problem], mine: Sequence[Sitting], theirs: Sequence[Sitting]
) -> dict[str, object]:
    row: dict[str, object] = {
        "model": mine[0].model,
        "baseline": theirs[0].model,
        "group": group,
        "training_seed": mine[0].training_seed if len(mine) == 1 else ALL,
        "sampling_seed": str(mine[0].sampling_seed) if len(mine) == 1 else ALL,
    }
    for name, hit in _HITS.items():
        first, second = _shares(mine, problems, hit), _shares(theirs, problems, hit)
        # Only tasks that both answered: the interval is over pairs.
        tasks = sorted(first.keys() & second.keys())
        row["tasks"] = len(tasks)
        if tasks:
            value, (low, high) = paired_difference([(first[task], second[task]) for task in tasks])
            row[f"{name}@1"] = {"value": value, "low": low, "high": high}
    return row


def _shares(
    sittings: Sequence[Sitting], problems: frozenset[Problem], hit: Callable[[Judged], bool]
) -> dict[str, float]:
    """By task, the share of its valid answers that hit."""
    answers: defaultdict[str, list[bool]] = defaultdict(list)
    for sitting in sittings:
        for answer in sitting.judged:
            if answer.valid and answer.problem in problems:
                answers[answer.key.task].append(hit(answer))
    return {task: sum(hits) / len(hits) for task, hits in answers.items()}


def card_tables(scores: Mapping[str, object]) -> list[str]:
    """The tables of a card as lines of markdown, out of ``scores.json``."""
    rows, differences = _listed(scores.get("rows")), _listed(scores.get("differences"))
    several = any(row["training_seed"] == ALL for row in rows)
    header = ("model", "seeds", "group", "tasks", "answers", "compile@1", "correct@1")
    lines = _markdown(
        header,
        [(*_place(row), row["tasks"], _answers(row), _rate(row["compile@1"]), _rate(row["correct@1"])) for row in rows],
    )
    ks = sorted({int(k) for row in rows for k in _at(row)})
    if len(ks) > 1:
        lines += ["", "At least one of k answers is right:", ""]
        # Keys of JSON objects are texts.
        table = [(*_place(row), *(_rate(_at(row).get(str(k))) for k in ks)) for row in rows]
        lines += _markdown(("model", "seeds", "group", *(f"pass@{k}" for k in ks)), table)
    if differences:
        lines += ["", "Differences in points, paired by task:", ""]
        header = ("model", "seeds", "group", "minus", "tasks", "compile@1", "correct@1")
        lines += _markdown(
            header,
            [
                (*_place(row), row["baseline"], row["tasks"], _points(row["compile@1"]), _points(row["correct@1"]))
                for row in differences
            ],
        )
    told = "Seeds are those of training and of sampling. " if several else ""
    lines += ["", f"{told}Brackets are 95 % intervals over tasks; answers that could not be judged are left out."]
    asked = scores.get("asked")
    if isinstance(asked, Mapping):
        lines.append(f"Asked with {', '.join(f'{name} {value}' for name, value in asked.items())}.")
    return lines


def _markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    cells = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(str(cell) for cell in row) + " |" for row in cells]


def _place(row: Mapping[str, object]) -> tuple[object, object, object]:
    return row["model"], _seeds(row), row["group"]


def _at(row: Mapping[str, object]) -> Mapping[str, object]:
    """pass@k by k."""
    curve = row["pass@k"]
    return curve if isinstance(curve, Mapping) else {}


def _listed(value: object) -> list[Mapping[str, object]]:
    return list(value) if isinstance(value, list) else []


def _seeds(row: Mapping[str, object]) -> str:
    if row["training_seed"] == ALL:
        return ALL
    return f"{row['training_seed']}/{row['sampling_seed']}"


def _answers(row: Mapping[str, object]) -> str:
    return f"{row['answers']}" + (f" ({row['faults']} not judged)" if row["faults"] else "")


def _rate(value: object) -> str:
    """``56.2 % [51.0, 61.3]`` of the valid answers."""
    valid = value.get("valid") if isinstance(value, Mapping) else None
    return "–" if valid is None else f"{_percent(valid)} % [{_percent(valid, 'low')}, {_percent(valid, 'high')}]"


def _points(value: object) -> str:
    if not isinstance(value, Mapping):
        return "–"
    return f"{100 * value['value']:+.1f} [{100 * value['low']:+.1f}, {100 * value['high']:+.1f}]"


def _percent(valid: Mapping[str, float], name: str = "value") -> str:
    return f"{100 * valid[name]:.1f}"
