"""Evaluation by the harness: models side by side on the same questions, operators of the corpus apart from others.

Every model is asked once per sampling seed, by ``npukb run`` in a process of its own; the same folder resumes. Scores
are counted by :mod:`kernelgen_lm.training.scores`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelgen_lm.corpus.sample import read_samples, write_lines
from kernelgen_lm.tasks import known_tasks
from kernelgen_lm.training.scores import Groups, Problem, Sitting, difference_rows, score_rows
from npukernelbench.errors import BackendError, UsageError
from npukernelbench.nouns import Case, Task, TensorCase
from npukernelbench.plugins import Plugins
from npukernelbench.report.estimates import Judged
from npukernelbench.store.run import read_run
from npukernelbench.tasks import Selected

__all__ = ["Entrant", "Examination", "entrants", "evaluate", "group_by_corpus", "sit", "untrained"]

#: Baselines that are made out of the model itself.
UNTRAINED, FEW_SHOT, UNTRAINED_FEW_SHOT = "untrained", "few-shot", "untrained-few-shot"
MADE = (UNTRAINED, FEW_SHOT, UNTRAINED_FEW_SHOT)


@dataclass(frozen=True, slots=True)
class Entrant:
    """A checkpoint under a name. Several of one name, counted by ``number``, are one recipe with other training seeds.

    ``style`` is the prompt style it is asked in, empty for that of the examination.
    """

    name: str
    number: int
    checkpoint: Path
    style: str = ""

    @property
    def label(self) -> str:
        """Name of its folder of runs."""
        return f"{self.name}-{self.number}" if self.number else self.name

    @property
    def training_seed(self) -> str:
        """As the run beside the checkpoint states it, else its number."""
        settings = self.checkpoint.parent / "kernelgen.json"
        if settings.is_file():
            return str(json.loads(settings.read_text(encoding="utf-8")).get("seed", self.number))
        return str(self.number)


@dataclass(frozen=True, slots=True)
class Examination:
    """What is asked, and how."""

    folders: Mapping[str, Path] = field(default_factory=dict)
    tasks: str = ""
    corpus: Path | None = None
    seeds: tuple[int, ...] = (0,)
    answers: int = 4
    limit: int = 0
    temperature: float = 0.8
    max_tokens: int = 1536
    style: str = "terse"
    strategy: str = "direct"
    parser: str = "auto"
    backend: str = "hf"
    model_args: str = ""

    def selected(self) -> Mapping[str, Sequence[Selected]]:
        """Tasks and cases by group. UsageError when a folder holds none."""
        registry = known_tasks(Plugins.load(), self.folders.values())
        chosen: dict[str, Sequence[Selected]] = {}
        for group, folder in self.folders.items():
            names = [path.parent.name for path in sorted(folder.glob("*/task.yaml"))]
            if not names:
                raise UsageError(f"{folder} holds no tasks", field=group, remedy="kernelgen-lm corpus tasks")
            chosen[group] = registry.select(names)
        if self.tasks:
            chosen[self.tasks] = registry.select([self.tasks])
        if not chosen:
            raise UsageError("nothing is asked", field="--held-out", remedy="name --held-out, --trained or --tasks")
        return chosen


def entrants(models: Sequence[str], baselines: Sequence[str], folder: Path) -> list[Entrant]:
    """The models to compare, those under test first: ``[NAME=]FOLDER`` each, or for baselines one of :data:`MADE`."""
    entered: list[Entrant] = []

    def enter(name: str, checkpoint: Path, style: str = "") -> None:
        entered.append(Entrant(name, sum(model.name == name for model in entered), checkpoint, style))

    for text in models:
        name, equals, path = text.partition("=")
        enter(_name(name) if equals else "model", _checkpoint(Path(path if equals else name)))
    if len({model.name for model in entered}) > 1:
        raise UsageError("several names for the model", field="MODEL", remedy="pass others as --baseline NAME=FOLDER")
    own = [model.checkpoint for model in entered]
    for text in baselines:
        name, equals, path = text.partition("=")
        if equals:
            enter(_name(name), _checkpoint(Path(path)))
        elif text == FEW_SHOT:
            for checkpoint in own:
                enter(FEW_SHOT, checkpoint, FEW_SHOT)
        elif text in MADE:
            style = FEW_SHOT if text == UNTRAINED_FEW_SHOT else ""
            # Models of one recipe differ in their seeds alone, so the first stands for all.
            enter(text, untrained(own[0], folder / "untrained" / "model", _seed(entered[0])), style)
        else:
            raise UsageError(
                f"there is no baseline {text!r}", field="--baseline", remedy=f"{', '.join(MADE)} or NAME=FOLDER"
            )
    return entered


def _name(text: str) -> str:
    # The name becomes that of a folder.
    if not re.fullmatch(r"[\w.-]+", text) or text in MADE:
        raise UsageError(f"{text!r} is no name of a model", field="NAME", remedy="letters, digits, '-', '_' and '.'")
    return text


def _seed(entrant: Entrant) -> int:
    seed = entrant.training_seed
    return int(seed) if seed.isdigit() else 0


def _checkpoint(path: Path) -> Path:
    if not (path / "config.json").is_file():
        raise UsageError(f"{path} holds no checkpoint", field="MODEL", remedy="name the folder of a run's model")
    return path


def untrained(model: Path, folder: Path, seed: int) -> Path:
    """A checkpoint of the same size and tokenizer with random weights: what training began with, for equal seeds."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    # Made once: several calls must compare with the same weights.
    if not (folder / "config.json").is_file():
        torch.manual_seed(seed)
        made = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model), dtype=torch.float32)
        AutoTokenizer.from_pretrained(model).save_pretrained(str(folder))
        made.save_pretrained(str(folder))
        write_lines(folder.parent / "kernelgen.json", [json.dumps({"model": str(model), "seed": seed}) + "\n"])
    return folder


def evaluate(who: Sequence[Entrant], what: Examination, folder: Path, base: str = "") -> Mapping[str, object]:
    """Ask everyone; scores and differences, also written to ``folder/scores.json``.

    Differences are those of the first entrant's name from every other, or of every other from ``base``. The same folder
    resumes. BackendError when a run fails.
    """
    selected = what.selected()
    groups: dict[str, frozenset[Problem]] = {
        name: frozenset((choice.task.name, case.id) for choice in chosen for case in choice.cases)
        for name, chosen in selected.items()
    }
    if what.corpus is not None:
        groups |= group_by_corpus([choice for chosen in selected.values() for choice in chosen], what.corpus)
    sittings = [sit(entrant, seed, what, selected, folder) for entrant in who for seed in what.seeds]
    scores: dict[str, object] = {
        "asked": {"temperature": what.temperature, "max_tokens": what.max_tokens, "answers": what.answers},
        "models": [
            {"model": entrant.name, "checkpoint": str(entrant.checkpoint), "prompt_style": entrant.style or what.style}
            for entrant in who
        ],
        "rows": score_rows(sittings, groups),
        "differences": _differences(sittings, groups, who[0].name, base),
    }
    write_lines(folder / "scores.json", [json.dumps(scores, indent=1) + "\n"])
    return scores


def _differences(sittings: Sequence[Sitting], groups: Groups, first: str, base: str) -> list[dict[str, object]]:
    if not base:
        return difference_rows(sittings, groups, first)
    names = [name for name in dict.fromkeys(sitting.model for sitting in sittings) if name != base]
    pairs = ([sitting for sitting in sittings if sitting.model in (name, base)] for name in names)
    return [row for name, pair in zip(names, pairs, strict=True) for row in difference_rows(pair, groups, name)]


def sit(
    entrant: Entrant, seed: int, what: Examination, selected: Mapping[str, Sequence[Selected]], folder: Path
) -> Sitting:
    """One run of ``npukb run``; its messages go to standard error as they come."""
    names = sorted({choice.task.name for chosen in selected.values() for choice in chosen})
    tasks = (
        # The expression itself where nothing else is asked, so that the run names what was asked for.
        what.tasks if tuple(selected) == (what.tasks,) else ",".join([*names, *([what.tasks] if what.tasks else [])])
    )
    model = "path" if what.backend == "kernelgen-lm" else "model"
    command = [sys.executable, "-m", "npukernelbench", "run", "--model", what.backend]
    arguments = ",".join(filter(None, [f"{model}={entrant.checkpoint}", what.model_args]))
    command += ["--model_args", arguments, "--tasks", tasks, "--json", "--seed", str(seed)]
    for path in what.folders.values():
        command += ["--include_path", str(path)]
    command += ["--num_samples", str(what.answers), "--prompt_style", entrant.style or what.style]
    command += ["--strategy", what.strategy, "--parser", what.parser]
    command += ["--gen_kwargs", f"temperature={what.temperature},max_tokens={what.max_tokens}"]
    command += ["--limit", str(what.limit)] if what.limit else []
    command += ["--output_path", str(folder / "runs" / entrant.label / f"seed{seed}")]
    ended = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        raise BackendError(
            f"npukb run ended with {ended.returncode}", field=entrant.label, remedy="see its messages above"
        )
    run = Path(json.loads(ended.stdout)["directory"])
    judged = tuple(
        Judged(key, sample.verdict) for key, sample in read_run(run).samples.items() if sample.verdict is not None
    )
    return Sitting(entrant.name, entrant.number, entrant.training_seed, seed, judged)


def group_by_corpus(selected: Sequence[Selected], corpus: Path) -> Groups:
    """Problems whose operator no sample of the corpus has, those of a known operator with another shape, the rest."""
    seen: dict[str, set[tuple[int, ...]]] = {}
    for sample in read_samples(corpus):
        seen.setdefault(sample.operator, set()).add(sample.shape)
    groups: dict[str, set[Problem]] = {"new operator": set(), "known operator, new shape": set(), "known": set()}
    for choice in selected:
        for case in choice.cases:
            shapes = seen.get(choice.task.name)
            new = "known" if shapes and _shape(choice.task, case) in shapes else "known operator, new shape"
            groups["new operator" if shapes is None else new].add((choice.task.name, case.id))
    return {name: frozenset(problems) for name, problems in groups.items() if problems}


def _shape(task: Task, case: Case) -> tuple[int, ...]:
    """Shape of the first input that is one tensor."""
    values = (case.inputs.get(parameter.name) for parameter in task.inputs)
    return next((value.tensor.shape for value in values if isinstance(value, TensorCase)), ())
