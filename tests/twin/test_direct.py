"""Direct launches: a host function that launches kernels itself, called, and its launches carried out in order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from npukb_twin.direct.calling import call_of
from npukb_twin.direct.source import functions
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import (
    CompileRequest,
    CompileResult,
    Diagnostic,
    DType,
    Observation,
    Outcome,
    RunRequest,
    Task,
    Track,
)
from tests.twin.running import Inputs, Twin, task_for

HERE = Path(__file__).with_name("direct")
TWO = (HERE / "two_launches.cpp").read_text()
X, Y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
PAIR: Inputs = {"x": X, "y": Y}
ADD = task_for(PAIR, {"z": ((64,), DType.FLOAT32)}, "add_custom")
SAID = "arguments: [blocks, stream, x, y, z, x.size]\n"


def compiled(twin: Twin, task: Task, files: Mapping[str, str]) -> CompileResult:
    request = CompileRequest(task, None, Track.LAUNCH, candidate_of(files), 120.0, task.cases)
    return twin.executor.compile(request)


def run(twin: Twin, task: Task, files: Mapping[str, str], inputs: Inputs) -> Observation:
    made = compiled(twin, task, files)
    assert made.artifact is not None, [str(diagnostic) for diagnostic in made.diagnostics]
    seen = twin.executor.run(RunRequest(task, task.cases[0], made.artifact, inputs, 7, 60.0))
    twin.executor.release(made.artifact)
    return seen


def test_two_launches_share_memory_and_take_values(twin: Twin) -> None:
    """A struct by value and by pointer, a template in a namespace, memory between both; the times are added."""
    seen = run(twin, ADD, {"add.cpp": TWO, "launch.yaml": SAID}, PAIR)
    assert seen.outcome is Outcome.OK, [str(diagnostic) for diagnostic in seen.diagnostics]
    assert np.array_equal(np.asarray(seen.outputs["z"]), X * 2 + Y)
    assert seen.profile is not None
    assert seen.profile.bottleneck.startswith("2 launches")
    assert seen.touched["z"].written_bytes == 256


def test_addresses_without_a_type_and_descriptions_of_tensors_are_taken(twin: Twin) -> None:
    """What a host side has from aclrtMalloc it may pass as it is; descriptions are for calls that are not here."""
    described = """#include "aclnn/acl_meta.h"
    static int Described(void* data, int64_t length) {
        aclTensor* tensor = aclCreateTensor(&length, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &length, 1, data);
        float one = 1.0f;
        aclScalar* scalar = aclCreateScalar(&one, ACL_FLOAT);
        const aclTensor* both[] = {tensor, tensor};
        aclTensorList* list = aclCreateTensorList(both, 2);
        bool kept = tensor->view == std::vector<int64_t>{length} && scalar->bytes.size() == 4 && (*list)[1] == tensor;
        return aclDestroyTensorList(list) + aclDestroyScalar(scalar) + aclDestroyTensor(tensor) + (kept ? 0 : 1);
    }
    extern "C" void add_custom_do("""
    text = TWO.replace('extern "C" void add_custom_do(', described)
    text = text.replace("(x, (uint8_t*)between, tiling", "(x, between, tiling")
    text = text.replace("    aclrtSynchronizeStream(stream);", "    if (Described(between, length) != 0) abort();")
    assert text.count("between, tiling") == 1
    assert text.count("Described(") == 2
    seen = run(twin, ADD, {"add.cpp": text, "launch.yaml": SAID}, PAIR)
    assert seen.outcome is Outcome.OK, [str(diagnostic) for diagnostic in seen.diagnostics]
    assert np.array_equal(np.asarray(seen.outputs["z"]), X * 2 + Y)


def test_a_null_pointer_in_any_spelling_and_values_in_braces_are_taken(twin: Twin) -> None:
    for null in ("nullptr", "NULL", "0"):
        text = TWO.replace("(x, (uint8_t*)between, tiling", f"(x, {null}, {{length, 2.0f}}")
        assert text != TWO
        made = compiled(twin, ADD, {"add.cpp": text, "launch.yaml": SAID})
        assert made.artifact is not None, [str(diagnostic) for diagnostic in made.diagnostics]
        twin.executor.release(made.artifact)


def test_a_launch_file_of_an_extension_returns_its_tensor(twin: Twin) -> None:
    """Tensors as PyTorch's, a launch by name, a tensor of the host copied to the device, a number converted."""
    task = task_for({"x": X}, {"y": ((64,), DType.FLOAT32)}, "probe_muls")
    files = {name: (HERE / name).read_text() for name in ("extension.cpp", "muls.cpp")}
    files["launch.yaml"] = "function: run_muls\narguments: [x, 3]\n"
    seen = run(twin, task, files, {"x": X})
    assert seen.outcome is Outcome.OK, [str(diagnostic) for diagnostic in seen.diagnostics]
    assert np.array_equal(np.asarray(seen.outputs["y"]), X * 3)


def test_the_host_learns_of_the_chip_and_of_half_precision_and_copies_a_tensor(twin: Twin) -> None:
    asked = """
    int64_t cores = 0, more = 0, none = 0;
    uint32_t devices = 0;
    TORCH_CHECK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &cores) == ACL_SUCCESS);
    TORCH_CHECK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_VECTOR_CORE_NUM, &more) == ACL_SUCCESS && cores == more);
    TORCH_CHECK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_UNDEFINED, &none) != ACL_SUCCESS);
    TORCH_CHECK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICPU_CORE_NUM, &none) != ACL_SUCCESS);
    TORCH_CHECK(aclrtGetDeviceCount(&devices) == ACL_SUCCESS && devices == 1);
    TORCH_CHECK(cores == platform->GetCoreNumAiv(), cores, x.scalar_type());
    TORCH_CHECK(std::string(c10::toString(x.scalar_type())) == "Float", x.scalar_type());
    for (int bits = 0; bits < 65536; ++bits) {
        const auto value = static_cast<aclFloat16>(bits);
        const bool quiet = (bits & 0x7c00) != 0x7c00 || (bits & 0x3ff) == 0 || (bits & 0x200) != 0;
        const int kept = (bits & 0x7fff) > 0x7c00 ? (bits & 0x8000) | 0x7e00 : bits;
        TORCH_CHECK(!quiet || aclFloatToFloat16(aclFloat16ToFloat(value)) == kept, bits);
    }
    TORCH_CHECK(aclFloat16ToFloat(0x3c01) == 1.0009765625f && aclFloatToFloat16(1.00048828125f) == 0x3c00);
    TORCH_CHECK(aclFloatToFloat16(65519.0f) == 0x7bff && aclFloatToFloat16(65520.0f) == 0x7c00);
    TORCH_CHECK(aclFloatToFloat16(0x1p-25f) == 0 && aclFloatToFloat16(-0x1.8p-25f) == 0x8001);
    auto pair = sizes.clone();
    TORCH_CHECK(pair.data_ptr() != sizes.data_ptr() && pair.data_ptr<int32_t>()[0] == x.numel());
    auto copy = x.clone();
    """
    task = task_for({"x": X}, {"y": ((64,), DType.FLOAT32)}, "probe_muls")
    files = {name: (HERE / name).read_text() for name in ("extension.cpp", "muls.cpp")}
    text = files["extension.cpp"].replace("    auto tiling =", f"{asked}    auto tiling =")
    files["extension.cpp"] = text.replace("(1, stream, x.data_ptr()", "(1, stream, copy.data_ptr()")
    files["launch.yaml"] = "function: run_muls\narguments: [x, 3]\n"
    seen = run(twin, task, files, {"x": X})
    assert seen.outcome is Outcome.OK, [str(diagnostic) for diagnostic in seen.diagnostics]
    assert np.array_equal(np.asarray(seen.outputs["y"]), X * 3)


def test_what_a_host_function_cannot_do_is_said(twin: Twin) -> None:
    """One answer per way in which a launch goes wrong, with the outcome that it gets."""
    copy = "aclrtMemcpy(&tiling, 4, x, 4, ACL_MEMCPY_DEVICE_TO_HOST);"
    wrong = {
        "its kernels run after it has returned": TWO.replace(
            "Tiling tiling{length, 2.0f};", f"Tiling tiling{{}}; {copy}"
        ),
        "where there are not as many": TWO.replace("sizeof tiling, ACL_MEMCPY", "4096, ACL_MEMCPY"),
        "launches no kernel": TWO.replace("    aclrtMalloc(&between", "    return; aclrtMalloc(&between", 1),
        "launched with 0 blocks": TWO.replace("scale_in<<<1,", "scale_in<<<0,"),
        "ended by SIGSEGV": TWO.replace("Tiling tiling{length, 2.0f};", "Tiling tiling{*x, 2.0f};"),
    }
    for words, text in wrong.items():
        assert text != TWO, words
        made = compiled(twin, ADD, {"add.cpp": text, "launch.yaml": SAID})
        assert made.artifact is None
        assert made.outcome in (Outcome.LAUNCH_ERROR, Outcome.CRASH), made
        assert words in made.diagnostics[0].message, made.diagnostics


def test_a_kernel_that_breaks_a_rule_ends_the_sequence(twin: Twin) -> None:
    text = TWO.replace("DataCopy(c, r, n);", "DataCopy(c, r, n * 64);")
    seen = run(twin, ADD, {"add.cpp": text, "launch.yaml": SAID}, PAIR)
    assert seen.outcome is Outcome.RULE_VIOLATION
    assert (seen.diagnostics[0].file, seen.outputs) == ("add.cpp", {})


def test_arguments_that_are_not_the_kernels_parameters_do_not_compile(twin: Twin) -> None:
    """In both forms of a launch. The rule ``launch`` of the runtime looks again, where no compiler has seen both."""
    by_name = {name: (HERE / name).read_text() for name in ("extension.cpp", "muls.cpp")}
    task = task_for({"x": X}, {"y": ((64,), DType.FLOAT32)}, "probe_muls")
    for files, file, old, new, of in (
        ({"add.cpp": TWO, "launch.yaml": SAID}, "add.cpp", "tiling, blockDim)", "tiling)", ADD),
        ({"add.cpp": TWO, "launch.yaml": SAID}, "add.cpp", "tiling, blockDim)", "2.0f, blockDim)", ADD),
        ({"add.cpp": TWO, "launch.yaml": SAID}, "add.cpp", "(x, (uint8_t*)", "((float*)x, (uint8_t*)", ADD),
        (by_name, "extension.cpp", "tiling.data_ptr(), factor", "tiling.data_ptr()", task),
    ):
        made = compiled(twin, of, {**files, file: files[file].replace(old, new)})
        assert (made.outcome, made.diagnostics[0].file) == (Outcome.COMPILE_ERROR, file), made.diagnostics
        assert made.diagnostics[0].line


def test_the_function_and_its_arguments_are_found_or_asked_for() -> None:
    assert [(function.name, function.launches) for function in functions({"add.cpp": TWO})] == [("add_custom_do", True)]
    assert isinstance(call_of({"add.cpp": TWO.replace("uint32_t length)", "uint32_t z)")}, ADD), Diagnostic) is False
    for files, words in (
        ({"add.cpp": TWO}, "the parameter length of add_custom_do is none of the task's"),
        ({"add.cpp": TWO, "launch.yaml": "function: other"}, "define not the function other"),
        ({"add.cpp": TWO, "launch.yaml": "arguments: [w]"}, "'w' is nothing that can be passed"),
        ({"add.cpp": TWO, "launch.yaml": "function: 'a;b'"}, "launch.yaml: function:"),
        ({"add.cpp": TWO, "launch.yaml": "["}, "is not YAML"),
    ):
        said = call_of(files, ADD)
        assert isinstance(said, Diagnostic)
        assert words in said.message
