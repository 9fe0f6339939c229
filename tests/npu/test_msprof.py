"""The profiler's tables: every documented column set, in the spellings of several versions of the tool."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukb_npu.hostmodes import simulated_us
from npukb_npu.msprof import COLUMNS, PAGES, Join, read_basic, read_folder, read_summary
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.errors import ExecutorError
from npukernelbench.nouns import CompileRequest, RunRequest, Track
from npukernelbench.testing.tasks import candidate, tiny_task
from tests.twin.openings import on_global, on_queues

#: One row per core: block, kind of core, then the columns with the units that the documentation prints.
PIPES = """\
block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_time(us),aic_cube_ratio,aic_mte2_ratio,aiv_time(us),\
aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,aiv_scalar_ratio,aiv_mte2_ratio,aiv_mte3_ratio,aiv_icache_miss_rate
0,cube0,20.5,37925,10,0.488,0.2,NA,NA,NA,NA,NA,NA,NA,NA
0,vector0,NA,NA,NA,NA,NA,10,18000,4,0.4,0.1,0.5,0.25,0.01
0,vector1,NA,NA,NA,NA,NA,12,21600,6,0.5,0.1,0.7,0.35,0.03
"""
CONFLICTS = """\
block_id,sub_block_id,aiv_vec_total_cflt_ratio,aiv_vec_bankgroup_cflt_ratio,aiv_vec_bank_cflt_ratio,\
aiv_vec_wait_ratio,aiv_mte2_wait_ratio
0,vector0,0.2,0.1,0.1,0.02,0.3
0,vector1,0.4,0.3,0.1,0.04,N/A
"""
MEMORY = """\
block_id,sub_block_id,aiv_gm_to_ub_bw(GB/s),aiv_ub_to_gm_bw(GB/s),GM_to_UB_datas(KB),UB_to_GM_datas(KB),\
read_main_memory_datas(KB),write_main_memory_datas(KB),aiv_mte2_instructions
0,vector0,40,20,128,64,100,50,7
0,vector1,60,30,128,64,100,50,9
"""
BASIC = """\
Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq
AddCustom_ab12_0,vector,15.2,8,,0,1234,1800,1850
"""
SUMMARY = """\
Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),\
Task Wait Time(us),Block Dim
0,4294967295,3,44,AddCustom,AddCustom,AI_VECTOR_CORE,"1715,667",15.2,0,8
0,4294967295,4,44,"Mul,Custom",Mul,AI_VECTOR_CORE,1715668,N/A,0,40
"""


def written(folder: Path, **tables: str) -> Path:
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def test_documented_tables_become_counters(tmp_path: Path) -> None:
    folder = written(tmp_path, PipeUtilization=PIPES, ResourceConflictRatio=CONFLICTS, Memory=MEMORY, OpBasicInfo=BASIC)
    found = read_folder(folder)
    assert found["aic_time"] == 20.5
    assert found["aiv_time"] == 11  # the mean of the cores that have the unit
    assert found["aiv_vec_ratio"] == pytest.approx(0.45)
    assert found["aiv_vec_total_cflt_ratio"] == pytest.approx(0.3)
    assert found["aiv_mte2_wait_ratio"] == pytest.approx(0.3)
    assert found["GM_to_UB_datas_kb"] == 256  # what all cores moved
    assert found["aiv_gm_to_ub_bw_gbs"] == 50
    assert found["aiv_mte2_instructions"] == 16
    assert "aic_mte1_ratio" not in found  # no such column: no counter, least of all zero
    assert read_basic(folder) == ("AddCustom_ab12_0", 15.2, 8, 1800)


#: The same table as other versions and other locales write it.
SPELLINGS = {
    "byte order mark": "\ufeffaiv_time(us),aiv_vec_ratio\n11,0.45\n",
    "spaces and case": "AIV_Time (us) , aiv_vec_ratio\n 11 , 0.45\n",
    "milliseconds": "aiv_time(ms),aiv_vec_ratio(%)\n0.011,45\n",
    "nanoseconds": "aiv_time(ns),aiv_vec_ratio(%)\n11000,45%\n",
    "more columns, other order": "new_column(us),aiv_vec_ratio,block_id,aiv_time(us)\n3,0.45,0,11\n",
    "thousands": 'aiv_time(ns),aiv_vec_ratio\n"11,000",0.45\n',
    "a second bracket": "aiv_time(us)(mean),aiv_vec_ratio\n11,0.45\n",
    "a short row and an empty one": "aiv_vec_ratio,aiv_time(us)\n0.45,11\n\n0.45\n,\n",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_units_and_spellings(tmp_path: Path, spelling: str) -> None:
    folder = read_folder(written(tmp_path, PipeUtilization=SPELLINGS[spelling]))
    assert folder["aiv_time"] == pytest.approx(11)
    assert folder["aiv_vec_ratio"] == pytest.approx(0.45)


@pytest.mark.parametrize(("unit", "factor"), [("KB", 1), ("MB", 1024), ("B", 1 / 1024)])
def test_units_of_size(tmp_path: Path, unit: str, factor: float) -> None:
    folder = read_folder(written(tmp_path, Memory=f"GM_to_UB_datas({unit})\n4096\n1024\n"))
    assert folder == {"GM_to_UB_datas_kb": 5120 * factor}


def test_a_unit_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExecutorError, match=r"aiv_time\(furlongs\)") as caught:
        read_folder(written(tmp_path, PipeUtilization="aiv_time(furlongs)\n3\n"))
    assert caught.value.remedy


@pytest.mark.parametrize("cell", ["N/A", "NA", "", "-", "nan", "inf", "x"])
def test_cells_without_a_number_do_not_take_part(tmp_path: Path, cell: str) -> None:
    folder = read_folder(written(tmp_path, PipeUtilization=f"aiv_time(us)\n{cell}\n4\n"))
    assert folder == {"aiv_time": 4}
    assert read_folder(written(tmp_path, PipeUtilization=f"aiv_time(us)\n{cell}\n")) == {}


def test_no_table_is_no_counter(tmp_path: Path) -> None:
    assert read_folder(tmp_path) == {}
    assert read_basic(tmp_path) is None
    assert read_basic(written(tmp_path, OpBasicInfo="Op Name\n")) is None
    assert read_basic(written(tmp_path, OpBasicInfo="Op Name\nAdd\n")) == ("Add", 0, 0, 0)


def test_the_summary_of_all_launches(tmp_path: Path) -> None:
    rows = read_summary(written(tmp_path, op_summary_1=SUMMARY) / "op_summary_1.csv")
    assert rows == [("AddCustom", 15.2, 8, 0), ("Mul,Custom", 0, 40, 0)]


@given(st.dictionaries(st.sampled_from(COLUMNS), st.lists(st.floats(0, 1e6), min_size=1, max_size=5), min_size=1))
def test_any_set_of_columns_is_read_back(tmp_path_factory: pytest.TempPathFactory, values: dict) -> None:  # type: ignore[type-arg]
    """Whatever columns a version has: those are read, each joined as the table says."""
    folder = tmp_path_factory.mktemp("tables")
    for table in {column.table for column in values}:
        mine = [column for column in values if column.table == table]
        with (folder / table).open("w", newline="") as stream:
            rows = csv.writer(stream)
            rows.writerow([column.name for column in mine])
            for i in range(max(len(values[column]) for column in mine)):
                rows.writerow([values[column][i] if i < len(values[column]) else "N/A" for column in mine])
    found = read_folder(folder)
    assert found.keys() - {"main_memory_datas_kb"} == {column.counter for column in values}
    for column, numbers in values.items():
        total = sum(numbers)
        assert found[column.counter] == pytest.approx(total if column.join is Join.SUM else total / len(numbers))


def test_every_column_is_named_once_and_its_table_has_a_page() -> None:
    assert len({(column.table, column.name) for column in COLUMNS}) == len(COLUMNS)
    assert len({column.counter for column in COLUMNS}) == len(COLUMNS)
    assert {column.table for column in COLUMNS} <= PAGES.keys()


KERNEL = f"""
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void tinysqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {{
    if (GetBlockIdx() != 0) return;
    {on_queues(depth=1, buffers=1, size_bytes=96)}{on_global("float", xs="x, 20", ys="y, 20")}
    auto a = in.AllocTensor<float>();
    DataCopyPad(a, xs, DataCopyExtParams(1, 80, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0));
    in.EnQue(a);
    a = in.DeQue<float>();
    auto b = out.AllocTensor<float>();
    Sqrt(b, a, 20);
    out.EnQue(b);
    in.FreeTensor(a);
    b = out.DeQue<float>();
    DataCopyPad(ys, b, DataCopyExtParams(1, 80, 0, 0, 0));
    out.FreeTensor(b);
}}
"""


def test_counters_have_the_names_of_the_twins(tmp_path: Path) -> None:
    """``npukb compare`` puts them side by side: what both sides count has one name."""
    twin = TwinExecutor(TwinArgs())
    task = tiny_task()
    try:
        built = twin.compile(CompileRequest(task, task.cases[0], Track.STATIC, candidate(KERNEL), 60.0))
        assert built.artifact is not None, built
        x = np.ones((4, 5), np.float32)
        seen = twin.run(RunRequest(task, task.cases[0], built.artifact, {"x": x}, 7, 60.0))
    finally:
        twin.close()
    assert seen.profile is not None, seen
    ours = {name for name in seen.profile.counters if not name.startswith("path_")}
    own = {"launch_time", "l2_datas_kb", "ub_used_kb", "vector_result_bytes", "cube_products"} | {
        name for name in ours if name.endswith(("_usage_rate", "_instructions"))
    }
    folder = written(tmp_path, PipeUtilization=PIPES, ResourceConflictRatio=CONFLICTS, Memory=MEMORY)
    assert "main_memory_datas_kb" in read_folder(folder)
    assert ours - own <= {column.counter for column in COLUMNS} | {"main_memory_datas_kb"}


@pytest.mark.parametrize(
    ("tables", "time_us"),
    [
        ({}, None),
        ({"core0_code_exe": "code,running_time(us)\na.cpp:1,2.5\na.cpp:2,1\n"}, 3.5),
        (
            {
                "core0_code_exe": "\ufeffcode,running_time(us)\na,2\n",
                "core1_code_exe": "code,running_time(us)\na,5\nb,NA\n",
            },
            5,
        ),
        ({"core0_code_exe": "code,cycles\na,2\n"}, None),
    ],
)
def test_the_simulators_time_is_that_of_its_slowest_core(
    tmp_path: Path, tables: dict[str, str], time_us: float
) -> None:
    assert simulated_us(written(tmp_path, **tables)) == time_us
