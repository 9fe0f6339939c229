"""The application beside a script that writes data: its call says which file is which tensor, and every attribute."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from npukb_suites.recorded.application import Call, read_calls
from npukb_suites.recorded.calling import bound
from npukb_suites.recorded.matching import Interface, fitted
from npukb_suites.recorded.reading import read_records
from npukb_suites.recorded.records import Record
from npukb_suites.signature import Attribute, Tensor
from npukb_suites.torch_client import VARIABLE

#: Writes two inputs of one shape in the wrong order, and names neither as the operator does.
SCRIPT = """import numpy as np
x = np.arange(6, dtype=np.float32).reshape(2, 3)
w = x + 10
w.tofile("input/first.bin")
x.tofile("input/second.bin")
(x - 3 * w).ravel().tofile("output/golden.bin")
"""
APPLICATION = """#include <fstream>
#include <string>
#include <vector>
#include "acl/acl.h"
#include "aclnn_weighed.h"

static const std::string kMode = "plain";

void* Loaded(const std::string& path) {
    std::vector<char> bytes(6 * sizeof(float));
    std::ifstream(path, std::ios::binary).read(bytes.data(), bytes.size());
    void* device = nullptr;
    aclrtMalloc(&device, bytes.size(), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(device, bytes.size(), bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE);
    return device;
}

aclTensor* Tensor(void* device) {
    const std::vector<int64_t> shape = {2, 3};
    return aclCreateTensor(shape.data(), 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape.data(), 2, device);
}

int main() {
    aclInit(nullptr);
    auto* x = Tensor(Loaded("../input/second.bin"));
    auto* w = Tensor(Loaded("../input/first.bin"));
    auto* out = Tensor(Loaded("nowhere"));
    const int64_t axes[] = {0, 1};
    uint64_t room = 0;
    aclOpExecutor* executor = nullptr;
    ARGUMENTS
    aclnnWeighed(nullptr, room, executor, nullptr);
    return room == 0 ? 0 : 1;
}
"""
CALL = """aclnnWeighedGetWorkspaceSize(x, w, nullptr, 3.0, true, kMode.c_str(), aclCreateIntArray(axes, 2), out,
                                 &room, &executor);"""
FLOAT = ("float32",)
INTERFACE = Interface(
    (Tensor("x", FLOAT, None), Tensor("w", FLOAT, None), Tensor("mask", FLOAT, None, optional=True)),
    (Tensor("y", (), None, "x"),),
    (
        Attribute("factor", "float"),
        Attribute("minus", "bool"),
        Attribute("mode", "str", "other"),
        Attribute("axes", "list_int"),
    ),
    "Weighed",
)


@pytest.fixture(autouse=True)
def own_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def read(folder: Path, application: str, interface: Interface = INTERFACE) -> tuple[Record, tuple[str, ...]]:
    folder.mkdir()
    (folder / "gen_data.py").write_text(SCRIPT)
    (folder / "main.cpp").write_text(application)
    [record], notes = read_records((folder,), "gen_data.py", interface)
    return record, notes


def test_the_call_says_what_is_what(tmp_path: Path) -> None:
    record, notes = read(tmp_path / "case", APPLICATION.replace("ARGUMENTS", CALL))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(record.inputs["x"], x)
    np.testing.assert_array_equal(record.inputs["w"], x + 10)
    assert record.inputs["mask"] is None
    np.testing.assert_array_equal(record.outputs["y"], x - 3 * (x + 10))
    assert record.attributes == {"factor": 3.0, "minus": True, "mode": "plain", "axes": [0, 1]}
    assert "inputs and attributes are those of the application's call of aclnnWeighed" in notes
    assert sorted(path.name for path in (tmp_path / "case").iterdir()) == ["gen_data.py", "main.cpp"]


@pytest.mark.parametrize(
    "application",
    [
        APPLICATION.replace("ARGUMENTS", CALL.replace("nullptr, 3.0, true, ", "")),
        APPLICATION.replace("ARGUMENTS", CALL).replace("../input/", "../elsewhere/"),
        APPLICATION.replace("ARGUMENTS", CALL.replace("x, w", "x, no_such_name")),
        APPLICATION.replace("ARGUMENTS", CALL).replace("Weighed", "WeighedInOtherWays"),
    ],
    ids=["other arguments", "other files", "does not compile", "another operator"],
)
def test_without_a_call_that_fits_files_are_matched_as_before(tmp_path: Path, application: str) -> None:
    interface = Interface(INTERFACE.inputs, INTERFACE.outputs, (Attribute("factor", "float", 3.0),))
    record, notes = read(tmp_path / "case", application, interface)
    np.testing.assert_array_equal(record.inputs["w"], np.arange(6, dtype=np.float32).reshape(2, 3))
    assert "input/second.bin is taken for w, by order" in notes


def test_attributes_count_by_their_names_where_the_interface_has_other_tensors(tmp_path: Path) -> None:
    """As long as the application reads what the script wrote."""
    own = CALL.replace("w, nullptr, 3.0", "w, w, factor").replace("uint64_t", "uint64_t")
    application = APPLICATION.replace(
        "    uint64_t room", "    double factor = aclFloat16ToFloat(0x4200);\n    uint64_t room"
    )
    application = application.replace("ARGUMENTS", own).replace("Weighed", "WeighedInOtherWays")
    interface = Interface(INTERFACE.inputs, INTERFACE.outputs, (Attribute("factor", "float", 7.0),), "Weighed")
    record, notes = read(tmp_path / "case", application, interface)
    assert record.attributes == {"factor": 3.0}
    said = "factor is the argument of that name in the application's call of aclnnWeighedInOtherWays"
    assert said in notes, notes
    record, notes = read(tmp_path / "elsewhere", application.replace("../input/", "../elsewhere/"), interface)
    assert record.attributes == {}
    assert said not in notes


def test_an_application_runs_confined_in_a_copy(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    writing = f'std::ofstream("{outside}") << 1; std::ofstream("../input/mine") << 1;\n    {CALL}'
    read(tmp_path / "case", APPLICATION.replace("ARGUMENTS", writing))
    assert not outside.exists()
    assert not (tmp_path / "case/input").exists()
    shutil.rmtree(tmp_path / "case")


def test_names_decide_where_the_order_is_another() -> None:
    x, y = np.zeros(4, np.float32), np.zeros(2, np.float32)
    inputs, outputs = (Tensor("x", FLOAT, None), Tensor("scale", FLOAT, None)), (Tensor("y", FLOAT, None),)
    attributes = (Attribute("ksize", "int"), Attribute("mode", "int", 7))
    call = Call("aclnnOwn", (x, 3, 2.5, y), ("x", "ksize", "scale", "y"))
    found = bound([call], "Other", inputs, attributes, outputs)
    assert found is not None
    assert found.attributes == {"ksize": 3}
    assert found.inputs["scale"].tolist() == [2.5]
    assert found.outputs["y"] is y
    named = Call("aclnnOwn", (x, 3, 2.5, y), ("x", "kernel", "scale", "y"))
    assert bound([named], "Own", inputs, attributes, outputs) is None
    assert bound([Call("aclnnOwn", (..., 3, 2.5, y), call.written)], "Own", inputs, attributes, outputs) is None


def test_the_order_counts_where_the_interface_is_the_generated_one() -> None:
    x, y = np.zeros(4, np.float32), np.zeros(2, np.float32)
    call = Call("aclnnOwnBackward", (x, y), ("self", "out"))
    slots = (Tensor("x", FLOAT, None),), (), (Tensor("y", FLOAT, None),)
    assert bound([call], "OwnBackward", *slots) is not None
    assert bound([call], "OwnGrad", *slots) is None


def test_integers_of_another_size_are_converted_where_they_fit(tmp_path: Path) -> None:
    interface = Interface((Tensor("i", ("int32", "float32"), None),), (Tensor("y", (), None, "i"),))
    small = Record("case", tmp_path, {"i": np.array([1, -2], np.int64)}, {"y": np.array([3, 4], np.int64)})
    made = fitted(small, interface)
    assert made.inputs["i"] is not None
    assert (made.inputs["i"].dtype, made.outputs["y"].tolist()) == (np.int32, [3, 4])
    large = Record("case", tmp_path, {"i": np.array([1 << 40], np.int64)}, {"y": np.array([3], np.int32)})
    with pytest.raises(Exception, match="i was written as int64, and the operator has int32, float32"):
        fitted(large, interface)


def test_keywords_of_calls_are_attributes_and_other_files_no_tensors(tmp_path: Path) -> None:
    (tmp_path / "case").mkdir()
    (tmp_path / "case/gen_data.py").write_text(
        "import numpy as np\n"
        "x = np.eye(3, dtype=np.float32)\n"
        "x.tofile('input/input_x.bin')\n"
        "x.tofile('input/input_spare.bin')\n"
        "def moved(x, shift=0): return np.roll(x, shift)\n"
        "moved(x, shift=2).tofile('output/golden.bin')\n"
    )
    interface = Interface((Tensor("x", FLOAT, None),), (Tensor("y", (), None, "x"),), (Attribute("shift", "int", 0),))
    [record], notes = read_records((tmp_path / "case",), "gen_data.py", interface)
    assert record.attributes == {"shift": 2}
    assert list(record.inputs) == ["x"]
    assert "input/input_spare.bin is no tensor of the operator" in notes


@pytest.mark.parametrize(
    "notes",
    [
        "no JSON",
        '{"call": "aclnnOther", "arguments": []}',
        '{"call": "aclnnWeighed", "arguments": [{"tensor": "kept", "type": 0, "shape": ["2"], "strides": []}]}',
        '{"call": "aclnnWeighed"}',
        "[]",
        '{"call": "aclnnWeighed", "arguments": ' + "[" * 5000 + "]" * 5000 + "}",
    ],
)
def test_notes_that_the_program_did_not_write_so_are_none(tmp_path: Path, notes: str) -> None:
    (tmp_path / "npukb_calls.jsonl").write_text(notes)
    np.zeros(4, np.float32).tofile(tmp_path / "kept")
    assert read_calls(tmp_path, "aclnnWeighedGetWorkspaceSize(x, &room, &executor);") == ()


def test_notes_may_hold_what_no_line_of_json_ends_at(tmp_path: Path) -> None:
    (tmp_path / "npukb_calls.jsonl").write_text('{"call": "aclnnWeighed", "arguments": ["a\u2028b"]}\n')
    [call] = read_calls(tmp_path, "aclnnWeighedGetWorkspaceSize(x, &room, &executor);")
    assert call.arguments == ("a\u2028b",)


def test_a_link_out_of_the_folder_is_no_tensor(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    np.zeros(4, np.float32).tofile(tmp_path / "elsewhere")
    (tmp_path / "here" / "kept").symlink_to(tmp_path / "elsewhere")
    told = '{"tensor": "kept", "type": 0, "shape": [4], "strides": [], "offset": 0}'
    (tmp_path / "here" / "npukb_calls.jsonl").write_text(f'{{"call": "aclnnWeighed", "arguments": [{told}]}}')
    [call] = read_calls(tmp_path / "here", "aclnnWeighedGetWorkspaceSize(x, &room, &executor);")
    assert call.arguments == (...,)
