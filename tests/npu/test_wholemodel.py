"""Profiles of a whole model's run as baselines: both tools' tables, in the spellings of their versions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from npukb_npu.wholemodel import Launch, command, match, read_launches
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Task
from npukernelbench.testing.tasks import tiny_case, tiny_task

#: The same launches as msprof and as torch_npu's profiler write them.
TABLES = {
    "op_summary, 8.0": (
        "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),"
        "Task Wait Time(us),Block Dim,Input Shapes,Input Data Types,Input Formats\n"
        '0,1,3,44,TinySqrt_1,TinySqrt,AI_VECTOR_CORE,"17,15",15.5,0,8,"""4,5""",FLOAT,ND\n'
        '0,1,4,44,TinySqrt_2,TinySqrt,AI_VECTOR_CORE,"17,16",16.5,0,8,"""4,5""",FLOAT,ND\n'
        "0,1,5,44,allreduce,hcom_allReduce_,COMMUNICATION,1717,N/A,0,0,,,\n"
        '0,1,6,44,Mul_1,Mul,AI_VECTOR_CORE,1718,2.5,0,8,"""4,5;""",DT_BF16;FLOAT,ND;ND\n'
    ),
    "kernel_details, 9.x": (
        "\ufeffStep Id,Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num,"
        "Input Shapes,Input Data Types\n"
        '1,0,aclnnTiny_TinySqrt,TinySqrt,AI_VECTOR_CORE,1,15.5,0,8,"4,5",FLOAT\n'
        '1,0,aclnnTiny_TinySqrt,TinySqrt,AI_VECTOR_CORE,2,16.5 ,0,8,"4,5",float32\n'
        '1,0,aclnnMul_Mul,Mul,AI_VECTOR_CORE,3,2.5,0,8,"4,5;",BF16;FLOAT\n'
    ),
}


def tasks() -> dict[str, Task]:
    task = replace(tiny_task(), name="TinySqrt")
    return {task.name: task}


def written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("table", TABLES)
def test_a_whole_models_launches_become_a_baseline(tmp_path: Path, table: str) -> None:
    out = tmp_path / "npu_910b3.eager.json"
    said = list(command([written(tmp_path, TABLES[table])], "910B3", out, tasks()))
    assert said[0] == "3 launches, 2 of 1 cases"
    assert "1 launches of mul are of no case" in said[1]
    made = json.loads(out.read_text(encoding="utf-8"))
    assert (made["machine"], made["baseline"]) == ("npu_910b3", "eager")
    case = tiny_case().id
    assert made["tasks"]["TinySqrt"]["cases"] == {case: 16.0}
    assert made["tasks"]["TinySqrt"]["timings"][case]["samples"] == 2
    assert made["tasks"]["TinySqrt"]["hash"] == tasks()["TinySqrt"].content_hash


def test_types_and_shapes_are_read(tmp_path: Path) -> None:
    [*_, last] = read_launches(written(tmp_path, TABLES["op_summary, 8.0"]))
    assert last == Launch("mul", ((4, 5), ()), ("bfloat16", "float32"), 2.5)


def test_cases_that_cannot_be_told_apart_have_no_baseline() -> None:
    case = tiny_case()
    task = replace(tiny_task(), name="TinySqrt", cases=(case, replace(case, id="other")))
    imported = match([Launch("tinysqrt", ((4, 5),), ("float32",), 3.0)], [task])
    assert (imported.times, imported.others) == ({}, {"tinysqrt": 1})


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, "Name,Type,Duration(us)\na,b,1\n")
    with pytest.raises(UsageError, match="no column input shapes, input data types") as caught:
        list(read_launches(path))
    assert "record_shapes" in caught.value.remedy
    nothing = written(tmp_path, TABLES["kernel_details, 9.x"].replace("TinySqrt", "Other"))
    with pytest.raises(UsageError, match="no launch is of a task's case"):
        list(command([nothing], "910B3", tmp_path / "out.json", tasks()))
    assert not (tmp_path / "out.json").exists()
