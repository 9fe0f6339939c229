"""Ablation of preference training: the same pairs and steps under other settings, all evaluated on the same questions.

The usual variants: plain DPO, the compile-keeping term at two weights, other strengths, and what was rejected (kernels
that compile but fail against answers that do not compile). Every variant is a run folder of its own that can be
resumed; with several seeds each is trained once per seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import ValidationError

from kernelgen_lm.training.devices import one_process
from kernelgen_lm.training.evaluate import Entrant, Examination, evaluate
from kernelgen_lm.training.preference import DPOSettings, read_pairs
from npukernelbench.errors import UsageError

__all__ = ["USUAL", "Variant", "ablate", "read_variant"]

#: The model that all variants start from, in tables.
START = "start"


class Variant(NamedTuple):
    """Settings that differ from the shared ones."""

    name: str
    changes: Mapping[str, object]


USUAL: tuple[Variant, ...] = (
    Variant("plain", {"keep": 0.0}),
    Variant("keep-0.2", {"keep": 0.2}),
    Variant("keep-1", {"keep": 1.0}),
    Variant("beta-0.05", {"beta": 0.05}),
    Variant("beta-0.5", {"beta": 0.5}),
    Variant("fails", {"rejected": "fails"}),
    Variant("uncompiled", {"rejected": "uncompiled"}),
)


def read_variant(text: str) -> Variant:
    """``NAME:field=value,field=value``. UsageError."""
    name, colon, rest = text.partition(":")
    changes: dict[str, object] = {}
    for part in rest.split(",") if rest else ():
        field, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{part!r} is no setting", field="--variant", remedy="write NAME:field=value")
        changes[field.strip()] = yaml.safe_load(value)
    # The name becomes that of folders, and start is taken by the model without changes.
    if not colon or not name.replace("-", "").replace("_", "").replace(".", "").isalnum() or name == START:
        raise UsageError(f"{text!r} is no variant", field="--variant", remedy="write NAME:field=value, not start")
    return Variant(name, changes)


def ablate(
    settings: DPOSettings,
    variants: Sequence[Variant],
    seeds: Sequence[int],
    what: Examination,
    folder: Path,
    tell: Callable[[str], None],
    train: Callable[[DPOSettings, Path], None],
) -> Mapping[str, object]:
    """Train every variant, evaluate them beside the model they start from; scores, also in ``folder/scores.json``.

    Variants without pairs are reported and left out. UsageError, before anything is trained, for settings
    that are wrong.
    """
    one_process("ablate", "train each variant with kernelgen-lm dpo --set, and compare them with kernelgen-lm eval")
    # Before hours of training: a folder without tasks is noticed now.
    what.selected()
    chosen = []
    for variant in variants:
        changed = _changed(settings, variant)
        try:
            read_pairs(changed)
        except UsageError as error:
            # A fault with a place is a broken file, not a variant that finds no pairs in it.
            if error.location is not None:
                raise
            tell(f"{variant.name}: {error.message}; left out")
        else:
            chosen.append((variant, changed))
    if not chosen:
        raise UsageError("no variant has pairs", field="pairs", remedy="mine some: kernelgen-lm mine --rejected any")
    who = [Entrant(START, 0, Path(settings.model))]
    for variant, changed in chosen:
        for number, seed in enumerate(seeds):
            run = folder / "variants" / f"{variant.name}-seed{seed}"
            # The log is written last, so a variant with one is complete.
            if not (run / "log.json").is_file():
                tell(f"{variant.name}, seed {seed}")
                train(changed.model_copy(update={"seed": seed}), run)
            who.append(Entrant(variant.name, number, run / "model"))
    return evaluate(who, what, folder, START)


def _changed(settings: DPOSettings, variant: Variant) -> DPOSettings:
    try:
        return DPOSettings.model_validate({**settings.model_dump(), **variant.changes})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{variant.name}: {first['msg']}", field=field, remedy=f"fields: {', '.join(DPOSettings.model_fields)}"
        ) from None
