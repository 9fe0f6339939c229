"""Made-up operators on the dynamic track: one kernel for all sizes, right on each, also where there are fewer cores."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelgen_lm.corpus.build import BuildConfig, build
from kernelgen_lm.corpus.check import execute_again, task_of
from kernelgen_lm.corpus.questions import draw_question, draw_shapes, is_held_out
from kernelgen_lm.corpus.sample import files_of, read_samples
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.judging import Bench
from npukernelbench.judge.data import CaseData

ROWS = Spec.from_json(
    {
        "family": "rows",
        "body": {"inputs": ["full"], "steps": [["rmax", [0], None], ["sub", [0, 1], None]], "whole": False},
        "names": ["x", "y"],
        "dtype": "float16",
        "result": "float16",
        "shape": [33, 200],
        "ranges": [[-1.0, 1.0]],
    }
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    config = BuildConfig(samples=6, shard=6, seed=11, track="dynamic", shapes=3, families={"rows": 1, "cast": 1})
    totals = build(config, folder, 1, lambda shard, shards: None)
    assert set(totals) <= {"ok", "held_out", "known"}
    assert totals["ok"] >= 3
    return folder


def test_samples_of_the_dynamic_track_are_right_on_every_shape(made: Path) -> None:
    samples = list(read_samples(made / "shards"))
    with Bench() as bench:
        assert execute_again(samples, 1, 0, bench) == []
    for sample in samples:
        assert sample.track == "dynamic"
        task = task_of(sample)
        assert [case.id for case in task.cases] == ["0", "1", "2"]
        assert len({str(case.inputs) for case in task.cases}) == 3
        assert {name.split("/")[0] for name in files_of(sample.answer)} == {"op_host", "op_kernel"}
        assert not is_held_out(Spec.from_json(sample.question).function, 0.1)


def test_a_folder_from_before_the_tracks_goes_on(made: Path) -> None:
    path = made / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    old = {name: value for name, value in config.items() if name != "executor"}
    path.write_text(json.dumps(old), encoding="utf-8")
    seen: list[int] = []
    build(BuildConfig.model_validate(config), made, 1, lambda shard, shards: seen.append(shard.number))
    assert seen == []


@given(st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_a_question_is_asked_for_several_shapes(seed: int) -> None:
    rng = Random(seed)
    spec = draw_question(rng, {"elementwise": 2, "cast": 1, "integer": 1, "rows": 2})
    shapes = draw_shapes(rng, spec, 4)
    assert len(set(shapes)) == 4
    assert shapes[0] == spec.shape
    # Longer rows could have sums that are not finite.
    assert spec.family != "rows" or max(shape[-1] for shape in shapes) == spec.columns
    assert [case.id for case in spec.task_of_shapes(shapes).cases] == ["0", "1", "2", "3"]


def test_questions_of_one_shape_are_left_out_and_counted(tmp_path: Path) -> None:
    config = BuildConfig(samples=2, seed=1, track="dynamic", families={"movement": 1}, held_out=0)
    assert build(config, tmp_path, 1, lambda shard, shards: None) == {"unfit": 2}


def test_the_reference_follows_the_shape_of_the_case() -> None:
    task = ROWS.task_of_shapes([(33, 200), (5, 7)])
    data = CaseData()
    for case, shape in zip(task.cases, [(33, 200), (5, 7)], strict=True):
        [x] = data.inputs(task, case, 0).values()
        assert isinstance(x, np.ndarray)
        expected = data.expected(task, case, 0)["y"]
        assert isinstance(expected, np.ndarray)
        assert expected.shape == shape
        wide = x.astype(np.float64)
        assert np.allclose(expected, wide - wide.max(axis=1, keepdims=True))
    assert "33 rows" not in task.description
