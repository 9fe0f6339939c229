"""``npukb new --data``: a task of recorded inputs and right outputs, in the layout that samples of Ascend C have."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from npukb_suites.naming import kernel_name
from npukb_suites.torch_client import VARIABLE
from npukernelbench.tasks.load import load_task
from tests.cli.conftest import Npukb, _clean_surroundings, npukb  # noqa: F401
from tests.docs.shown import ROOT, in_blocks

SCRIPT = """import os
import numpy as np

def write():
    scale = 3
    os.system("mkdir -p input output")
    x = np.arange(16, dtype=np.int32).reshape(2, 8)
    x.tofile("./input/input_x.bin")
    (x * scale).tofile("./output/golden.bin")

if __name__ == "__main__":
    write()
"""
#: Multiplies by the number that stands for FACTOR.
KERNEL = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void triple(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    AscendC::GlobalTensor<int32_t> in, out;
    in.SetGlobalBuffer((__gm__ int32_t*)x);
    out.SetGlobalBuffer((__gm__ int32_t*)y);
    if (AscendC::GetBlockIdx() != 0) return;
    for (int i = 0; i < 16; ++i) out.SetValue(i, in.GetValue(i) * FACTOR);
    AscendC::DataCacheCleanAndInvalid<int32_t, AscendC::CacheLine::SINGLE_CACHE_LINE>(out);
}
"""
SIGNATURE = ("--inputs", "x:int32", "--outputs", "y:int32[..]", "--attributes", "scale:int")
DATA_YAML = """inputs: {x: {file: x.bin, dtype: int32, shape: [2, 8]}}
outputs: {y: {file: y.npy}}
attributes: {scale: 3}
"""


#: Executed here: docs/new_from_data.md
PAGE = "new_from_data.md"


@pytest.fixture(autouse=True)
def own_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def script_folder(text: str = SCRIPT) -> None:
    Path("case/scripts").mkdir(parents=True)
    Path("case/scripts/gen_data.py").write_text(text)


def outcome(npukb: Npukb, factor: int) -> str:  # noqa: F811
    Path("kernel.cpp").write_text(KERNEL.replace("FACTOR", str(factor)))
    done = npukb("judge", "--include_path", "Triple", "Triple", "kernel.cpp", "--json")
    assert done.code == 0, done.err
    return str(json.loads(done.out)["outcome"])


def test_a_script_s_data_judge_a_kernel(npukb: Npukb) -> None:  # noqa: F811
    script_folder()
    done = npukb("new", "Triple", *SIGNATURE, "--data", "case", "--script", "scripts/gen_data.py")
    assert done.code == 0, done.err + done.out
    assert "output/golden.bin is taken for y, by order" in done.out
    assert "scale is the script's variable of that name" in done.out
    assert not Path("case/input").exists(), "the script runs in a copy"
    (case,) = load_task(Path("Triple/task.yaml"))[0].cases
    assert case.attributes == {"scale": 3}
    assert outcome(npukb, 3) == "ok"
    assert outcome(npukb, 4) == "wrong_value"


def test_folders_that_a_sample_makes_around_its_script_are_there(npukb: Npukb) -> None:  # noqa: F811
    script_folder(SCRIPT.replace('    os.system("mkdir -p input output")\n', ""))
    done = npukb("new", "Triple", *SIGNATURE, "--data", "case", "--script", "scripts/gen_data.py")
    assert done.code == 0, done.err + done.out


def test_described_data_need_no_interface(npukb: Npukb) -> None:  # noqa: F811
    Path("case").mkdir()
    x = np.arange(16, dtype=np.int32).reshape(2, 8)
    x.tofile("case/x.bin")
    np.save("case/y.npy", x * 3)
    Path("case/data.yaml").write_text(DATA_YAML)
    done = npukb("new", "Triple", "--data", "case")
    assert done.code == 0, done.err + done.out
    assert outcome(npukb, 3) == "ok"
    Path("Triple/data/case/y.bin").write_bytes(bytes(64))
    assert "not what the task was made of" in npukb("validate", "--include_path", "Triple", "Triple").out


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        (DATA_YAML.replace("[2, 8]", "[2, 9]"), "it has 64 bytes; int32[2, 9] has 72"),
        (DATA_YAML.replace("int32", "int31"), "there is no element type 'int31'"),
        (DATA_YAML.replace("file: x.bin", "path: x.bin"), "inputs.x"),
        ("[", "it is no YAML"),
    ],
)
def test_a_wrong_description_is_refused(npukb: Npukb, yaml: str, said: str) -> None:  # noqa: F811
    Path("case").mkdir()
    np.zeros(16, np.int32).tofile("case/x.bin")
    Path("case/data.yaml").write_text(yaml)
    done = npukb("new", "Triple", "--data", "case")
    assert done.code == 3
    assert said in done.err


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("raise ValueError('no luck')", "no luck"),
        ("import missing_module_of_ours", "NPUKB_TORCH_PYTHON"),
        ("print('nothing')", "it wrote no array"),
        (SCRIPT.replace("./output/golden.bin", "./input/result.bin"), "wrote no right answer"),
    ],
)
def test_a_wrong_script_is_refused(npukb: Npukb, script: str, said: str) -> None:  # noqa: F811
    script_folder(script)
    done = npukb("new", "Triple", *SIGNATURE, "--data", "case", "--script", "scripts/gen_data.py")
    assert done.code == 3
    assert said in done.err


def test_a_script_that_this_python_cannot_parse_tells_no_attributes(npukb: Npukb) -> None:  # noqa: F811
    # As one in newer syntax, which only the interpreter that ran it knows.
    script_folder(SCRIPT + '    open(__file__, "w").write("def (")\n')
    done = npukb("new", "Triple", *SIGNATURE, "--data", "case", "--script", "scripts/gen_data.py")
    assert done.code == 0, done.err + done.out
    assert "scale is the script's variable of that name" in done.out


@pytest.mark.parametrize(
    "report",
    [
        "no JSON",
        "[]",
        '{"path": "x"}',
        '{"path": "x", "dtype": "int32", "shape": [-1], "variables": {}}',
        '{"path": "x", "dtype": "int32", "shape": [1180591620717411303424, 0], "variables": {}}',
        "[" * 50000,
    ],
)
def test_a_report_that_the_script_spoils_is_refused(npukb: Npukb, report: str) -> None:  # noqa: F811
    script_folder(f"import os, sys\nos.write(int(sys.orig_argv[4]), {(report + chr(10)).encode()!r})\n" + SCRIPT)
    done = npukb("new", "Triple", *SIGNATURE, "--data", "case", "--script", "scripts/gen_data.py")
    assert done.code == 3, done.err
    assert "the report of what it wrote cannot be read" in done.err


def test_a_script_changes_nothing_outside_of_its_copy(npukb: Npukb) -> None:  # noqa: F811
    script_folder(f"open({str(Path.cwd() / 'outside')!r}, 'w')\n" + SCRIPT)
    npukb("new", "Triple", *SIGNATURE, "--data", "case", "--script", "scripts/gen_data.py")
    assert not Path("outside").exists()


@pytest.mark.parametrize("more", [("--script", "s.py"), ("--data", "case", "--torch", "m.py:f"), ("--data", "case")])
def test_options_that_do_not_fit_are_refused(npukb: Npukb, more: tuple[str, ...]) -> None:  # noqa: F811
    Path("case").mkdir()
    assert npukb("new", "Triple", *more).code == 2


def test_the_page_s_command(npukb: Npukb) -> None:  # noqa: F811
    text = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    described = re.search(r'```yaml title="data.yaml"\n(.*?)```', text, re.DOTALL)
    assert described
    Path("case1/input").mkdir(parents=True)
    Path("case1/output").mkdir()
    Path("case1/data.yaml").write_text(described[1])
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal((8, 2048)).astype(np.float16) for _ in range(2))
    x.tofile("case1/input/input_x.bin")
    y.tofile("case1/input/input_y.bin")
    (x + y).tofile("case1/output/golden.bin")
    for command in in_blocks(ROOT / "docs" / PAGE):
        done = npukb(*shlex.split(command.text)[1:])
        assert done.code == 0, done.err + done.out
        assert "error" not in done.out


def test_a_kernel_is_called_as_the_toolkit_converts_its_operators_name() -> None:
    names = {
        "AbcDef": "abc_def",
        "ABCDef": "abc_def",
        "Abc2DEf": "abc2d_ef",
        "Abc2DEF": "abc2def",
        "ABC2dEF": "abc2d_ef",
        "LossV3Grad": "loss_v3_grad",
        "Tanh": "tanh",
    }
    assert {name: kernel_name(name) for name in names} == names
