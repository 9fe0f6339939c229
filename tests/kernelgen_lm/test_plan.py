"""The plan before uniform kernels decides what the code repeats."""

from __future__ import annotations

import re
from random import Random

import pytest

from kernelgen_lm.corpus.kernels import write_kernel
from kernelgen_lm.corpus.plan import plan
from kernelgen_lm.corpus.questions import draw_question
from kernelgen_lm.corpus.reasoning import reason
from kernelgen_lm.corpus.style import UNIFORM, draw_style

FAMILIES = ("elementwise", "cast", "integer", "rows", "whole")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_plan_holds_every_statement_and_buffer_in_order(family: str) -> None:
    for seed in range(12):
        rng = Random(seed)
        spec = draw_question(rng, {family: 1})
        kernel = write_kernel(spec, UNIFORM)
        if kernel is None:
            continue
        text = plan(spec, kernel)
        statements = text[: text.index("\nBuffers:")].splitlines()
        code = [line.strip() for line in kernel.source.splitlines()]
        at = 0
        for statement in statements:
            if not statement.endswith(":"):
                at = code.index(statement.strip(), at) + 1
        planned = [line.strip() for line in statements]
        assert all(line.strip() in planned for line in kernel.lowered.lines if line.lstrip()[:1].isupper())
        buffers = set(re.findall(r"(\w+)Buf\.Get<", kernel.source))
        said = text[text.index("Buffers: ") + 9 :].split(".")[0]
        assert set(said.split(", ")) - {"none"} == buffers
        assert f"Tile: {kernel.numbers.tile} {kernel.numbers.unit}." in text
        assert ("On core 0, after SyncAll:" in statements) == (family == "whole")


def test_only_the_one_way_of_writing_is_planned() -> None:
    rng = Random(0)
    spec = draw_question(rng, {"elementwise": 1})
    planned, varied = UNIFORM, draw_style(Random(3))
    first, second = write_kernel(spec, planned), write_kernel(spec, varied)
    assert first is not None
    assert second is not None
    assert reason(spec, planned, first, rng) == plan(spec, first)
    assert "On a tile:" not in reason(spec, varied, second, rng)
