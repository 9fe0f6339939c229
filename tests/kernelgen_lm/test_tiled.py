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
from kernelgen_lm.corpus.questions import draw_question, is_held_out
from kernelgen_lm.corpus.sample import files_of, read_samples
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.style import Structure, draw_style
from kernelgen_lm.corpus.tiled import TILED, draw_shapes, tiled_task, write_tiled
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
    assert set(totals) <= {"ok", "held_out", "known", "unfit"}
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
def test_one_kernel_serves_every_shape(seed: int) -> None:
    rng = Random(seed)
    spec, style = draw_question(rng), draw_style(rng)
    if spec.family not in TILED:
        assert write_tiled(spec, [spec.shape], style) is None
        return
    shapes = draw_shapes(rng, spec, 4)
    assert len(set(shapes)) == 4
    assert shapes[0] == spec.shape
    tiled = write_tiled(spec, shapes, style)
    assert tiled == write_tiled(spec, shapes, style)
    if tiled is not None:
        kernel = tiled.files[f"op_kernel/{spec.kernel}.cpp"]
        assert "constexpr" not in kernel
        assert "GET_TILING_DATA" in kernel
        header = tiled.files[f"op_host/{spec.kernel}_tiling.h"]
        host = tiled.files[f"op_host/{spec.kernel}.cpp"]
        fields = [line.split(",")[1].split(")")[0].strip() for line in header.splitlines() if "FIELD_DEF" in line]
        assert all(f"tiling.set_{name}({name});" in host for name in fields)
        assert tiled.thinking.count("\n- ") == 4


def test_the_reference_follows_the_shape_of_the_case() -> None:
    task = tiled_task(ROWS, [(33, 200), (5, 7)])
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


@pytest.mark.parametrize("structure", list(Structure))
def test_rows_that_do_not_fit_the_tile_are_left_out(structure: Structure) -> None:
    from dataclasses import replace

    style = replace(draw_style(Random(1)), structure=structure, tile_bytes=4096)
    assert write_tiled(ROWS, [(33, 200), (7, 150)], style) is not None
    assert write_tiled(replace(ROWS, shape=(3, 2000)), [(3, 2000)], style) is None
