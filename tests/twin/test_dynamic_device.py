"""The device half of the dynamic track: variants, tiling data, argument order, waves. The host half is made up here."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npukb_twin.operator import host_build, host_side, host_types
from npukb_twin.operator.host_types import OpArgument, OpAttribute, OperatorDescription, TilingField, TilingStruct
from npukb_twin.operator.interface import bind
from npukb_twin.operator.variants import Variant, prelude, variant_of
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import (
    AttributeSpec,
    CompileRequest,
    Diagnostic,
    DType,
    InputSpec,
    Outcome,
    OutputSpec,
    Presence,
    RunRequest,
    Severity,
    Task,
    Track,
)
from tests.twin.openings import fresh, put
from tests.twin.running import Finished, Inputs, Outputs, Twin, task_for

HOST = """
class Probe : public OpDef {
    this->Input("x").DataType({ge::DT_FLOAT});
    this->AICore().AddConfig("ascend910b");
};
OP_ADD(Probe);
static ge::graphStatus Tiling(gert::TilingContext* context) { context->SetBlockDim(1); }
"""
TILING = TilingStruct(
    "ProbeTiling",
    24,
    (
        TilingField("count", "uint32_t", 0, "", 0),
        TilingField("scale", "float", 0, "", 4),
        TilingField("starts", "uint16_t", 3, "", 8),
        TilingField("big", "uint64_t", 0, "", 16),
    ),
)


def argument(name: str, *dtypes: str, presence: str = "required", **other: Any) -> OpArgument:
    formats = tuple("FORMAT_ND" for _ in dtypes)
    return OpArgument(name, Presence(presence), dtypes, formats, **other)


def definition(**changes: Any) -> OperatorDescription:
    base = OperatorDescription(
        name="Probe",
        inputs=(argument("x", "DT_FLOAT", "DT_FLOAT16"),),
        outputs=(argument("y", "DT_FLOAT", "DT_FLOAT"),),
        attributes=(),
        socs=("ascend910b", "ascend910_93"),
        tiling={"Probe": TILING},
    )
    return replace(base, **changes)


def tiling_data(count: int = 8, scale: float = 1.0, starts: tuple[int, ...] = (0, 0, 0), big: int = 0) -> bytes:
    layout = np.dtype(
        {
            "names": ["count", "scale", "starts", "big"],
            "formats": ["<u4", "<f4", ("<u2", 3), "<u8"],
            "offsets": [0, 4, 8, 16],
        }
    )
    record = np.zeros(1, layout)
    record[0] = (count, scale, starts, big)
    return record.tobytes()


@dataclass
class FakeHost:
    """What the host side answers, and what it was asked."""

    description: OperatorDescription
    answer: Callable[[host_types.TilingRequest], host_types.TilingResult | host_types.HostFailure]
    asked: list[host_types.TilingRequest]


def tiled(**changes: Any) -> host_types.TilingResult:
    return replace(host_types.TilingResult(0, 1, (0,), tiling_data(), 0, ""), **changes)


@pytest.fixture
def host(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    fake = FakeHost(definition(), lambda request: tiled(), [])

    def tile(image: Path, request: host_types.TilingRequest, *rest: object, **more: object) -> object:
        fake.asked.append(request)
        return fake.answer(request)

    monkeypatch.setattr(twin.executor, "_host", host_types.HostRuntime("fake", Path("runner"), None))
    monkeypatch.setattr(
        host_build, "compile_host", lambda *a, **k: host_types.HostResult(Outcome.OK, Path("host.so"), ())
    )
    monkeypatch.setattr(host_side, "describe", lambda *a, **k: fake.description)
    monkeypatch.setattr(host_side, "tile", tile)
    return fake


def device(body: str, parameters: str = "x, y, workspace, tiling", before: str = "") -> str:
    pointers = ", ".join(f"GM_ADDR {name.strip()}" for name in parameters.split(","))
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return (
        f'#include "kernel_operator.h"\nusing namespace AscendC;\n{textwrap.dedent(before)}\n'
        f'extern "C" __global__ __aicore__ void probe({pointers}) {{\n{text}\n}}\n'
    )


def go(
    twin: Twin,
    source: str,
    inputs: Inputs,
    outputs: Outputs,
    *,
    change: Callable[[Task], Task] = lambda task: task,
    extra: Mapping[str, str] | None = None,
) -> Finished:
    """Compile and run a candidate of the dynamic track on one case."""
    task = change(task_for(inputs, outputs))
    case = task.cases[0]
    candidate = candidate_of({"op_host/probe.cpp": HOST, "op_kernel/probe.cpp": source, **(extra or {})})
    compiled = twin.executor.compile(CompileRequest(task, None, Track.DYNAMIC, candidate, 60.0, (case,)))
    if compiled.artifact is None:
        return Finished(source, compiled, None)
    return Finished(source, compiled, twin.executor.run(RunRequest(task, case, compiled.artifact, inputs, 3, 30.0)))


SET_Y = "GlobalTensor<float> to;\nto.SetGlobalBuffer((__gm__ float*)y);\n"
X = np.arange(8, dtype=np.float32)
Y: Outputs = {"y": ((8,), DType.FLOAT32)}


def test_tiling_data_key_and_block_dim_reach_the_kernel(twin: Twin, host: FakeHost) -> None:
    data = tiling_data(5, 0.25, (7, 8, 9), 1 << 40)
    host.answer = lambda request: tiled(tiling_key=12, block_dim=3, data=data)
    body = (
        SET_Y
        + """
        GET_TILING_DATA(t, tiling);
        GET_TILING_DATA_MEMBER(ProbeTiling, scale, scale, tiling);
        GET_TILING_DATA_WITH_STRUCT(ProbeTiling, again, tiling);
        const ProbeTiling* pointer = &again;
        if (GetBlockIdx() != 2) return;
        if (TILING_KEY_IS(11)) {
            to.SetValue(0, -1.0f);
        } else if (TILING_KEY_IS(12)) {
            to.SetValue(0, t.count);
            to.SetValue(1, scale);
            to.SetValue(2, pointer->starts[2]);
            to.SetValue(3, t.big == (1ull << 40) ? 1.0f : 0.0f);
            to.SetValue(4, GetBlockNum());
        }
    """
    )
    finished = go(twin, device(body), {"x": X}, Y)
    assert finished.output()[:5].tolist() == [5.0, 0.25, 9.0, 1.0, 3.0]
    assert finished.seen is not None
    assert finished.seen.profile is not None
    assert (finished.seen.profile.blocks, finished.seen.profile.tiling_key) == (3, 12)


def test_tiling_data_is_copied_in_parts(twin: Twin, host: FakeHost) -> None:
    inner = TilingStruct("Inner", 8, (TilingField("a", "int32_t", 0, "", 0), TilingField("b", "float", 0, "", 4)))
    fields = (TilingField("n", "int64_t", 0, "", 0), TilingField("inner", "", 0, "Inner", 8), TILING.fields[2])
    host.description = definition(tiling={"Probe": TilingStruct("Outer", 24, fields, {"Inner": inner})})
    data = np.array([9], "<i8").tobytes() + np.array([4], "<i4").tobytes() + np.array([0.5], "<f4").tobytes()
    host.answer = lambda request: tiled(data=data + np.array([7, 8, 9, 0], "<u2").tobytes())
    body = (
        SET_Y
        + """
        GET_TILING_DATA_PTR_WITH_STRUCT(Outer, all, tiling);
        COPY_TILING_WITH_STRUCT(Inner, &all->inner, part);
        COPY_TILING_WITH_ARRAY(uint16_t, 3, &all->starts, starts);
        to.SetValue(0, part->a + part->b);
        to.SetValue(1, (*starts)[2]);
        to.SetValue(2, all->n);
    """
    )
    assert go(twin, device(body), {"x": X}, Y).output()[:3].tolist() == [4.5, 9.0, 9.0]


def test_outputs_hold_their_initial_values(twin: Twin, host: FakeHost) -> None:
    source = device(SET_Y + "if (GetBlockIdx() == 0) to.SetValue(0, to.GetValue(1) + 1.0f);")
    for initial, dtype, value in (((7,), "f2", 7.0), ((-1.5, 2.5), "f4", -1.5), ((-1.5, 2.5), "f2", 2.5)):
        host.description = definition(outputs=(argument("y", "DT_FLOAT", "DT_FLOAT", initial=initial),))
        assert go(twin, source, {"x": X.astype(dtype)}, Y).output().tolist() == [value + 1.0, *[value] * 7]


def test_element_types_are_macros(twin: Twin, host: FakeHost) -> None:
    body = (
        SET_Y
        + """
        #if ORIG_DTYPE_X != DT_FLOAT16 || ORIG_DTYPE_Y != DT_FLOAT || FORMAT_X != FORMAT_ND || defined(DTYPE_Z)
        #error "wrong variant"
        #endif
        to.SetValue(0, std::is_same_v<DTYPE_X, half> && sizeof(DTYPE_Y) == 4);
    """
    )
    assert go(twin, device(body), {"x": X.astype(np.float16)}, Y).output()[0] == 1.0


def test_missing_combination_names_it_and_where(twin: Twin, host: FakeHost) -> None:
    finished = go(twin, device(""), {"x": X.astype(np.int32)}, Y)
    error = finished.errors[0]
    assert finished.outcome is Outcome.LAUNCH_ERROR
    assert "no combination for x DT_INT32, y DT_FLOAT; it lists x DT_FLOAT, y DT_FLOAT; x DT_FLOAT16" in error.message
    assert (error.file, error.line) == ("op_host/probe.cpp", 3)


@pytest.mark.parametrize(
    ("changes", "message", "line"),
    [
        ({"inputs": (argument("a", "DT_FLOAT"),)}, "has the inputs a; the task has x", 2),
        ({"inputs": ()}, "has the inputs none; the task has x", 2),
        ({"outputs": (argument("z", "DT_FLOAT"),)}, "has the outputs z; the task has y", 2),
        ({"inputs": (argument("x", "DT_FLOAT", presence="dynamic"),)}, "declares input x as dynamic", 3),
        (
            {"attributes": (OpAttribute("axis", "int", True, None),)},
            "requires the attribute axis, which the task does not have",
            0,
        ),
        ({"socs": ("ascend310p",)}, "supports ascend310p, not ascend910b2", 4),
    ],
)
def test_definitions_that_do_not_fit(
    twin: Twin, host: FakeHost, changes: Mapping[str, Any], message: str, line: int
) -> None:
    host.description = definition(**changes)
    finished = go(twin, device(""), {"x": X}, Y)
    assert finished.outcome in (Outcome.COMPILE_ERROR, Outcome.LAUNCH_ERROR)
    assert message in finished.errors[0].message
    assert finished.errors[0].line == line


def test_attributes_are_passed_in_the_definitions_order_and_type(twin: Twin, host: FakeHost) -> None:
    attributes = (
        OpAttribute("b", "float", False, 0.0),
        OpAttribute("c", "int", False, 4),
        OpAttribute("a", "int", True, None),
    )
    host.description = definition(attributes=attributes)

    def change(task: Task) -> Task:
        specs = (AttributeSpec("a", "bool"), AttributeSpec("b", "int"))
        case = replace(task.cases[0], attributes={"a": True, "b": 3})
        return replace(task, attributes=specs, cases=(case,))

    go(twin, device(""), {"x": X}, Y, change=change)
    [request] = host.asked
    assert request.attributes == (("b", 3.0), ("a", 1))
    assert isinstance(request.attributes[0][1], float)
    assert request.operator == "Probe"
    assert request.soc.vector_cores == 48


def test_lacking_attribute_is_told(twin: Twin, host: FakeHost) -> None:
    finished = go(
        twin, device(""), {"x": X}, Y, change=lambda t: replace(t, attributes=(AttributeSpec("axis", "int"),))
    )
    assert "lacks the attributes axis" in finished.errors[0].message


def test_scalars_are_converted_and_absent_inputs_are_null(twin: Twin, host: FakeHost) -> None:
    host.description = definition(
        inputs=(
            argument("x", "DT_FLOAT"),
            argument("s", "DT_FLOAT16", scalar=True),
            argument("list", "DT_FLOAT", scalar_list=True),
            argument("maybe", "DT_FLOAT", presence="optional"),
            argument("axes", "DT_INT64", value_depend=True),
        ),
        outputs=(argument("y", "DT_FLOAT"),),
    )
    body = (
        SET_Y
        + """
        #ifdef DTYPE_MAYBE
        #error "the optional input is absent"
        #endif
        to.SetValue(0, (float)*(__gm__ DTYPE_S*)s);
        to.SetValue(1, ((__gm__ float*)list)[2]);
        to.SetValue(2, maybe == nullptr);
    """
    )
    inputs: Inputs = {
        "x": X,
        "s": np.array(1.5, dtype=np.float32),
        "list": np.array([1, 2, 3], dtype=np.int32),
        "maybe": None,
        "axes": np.array([4, 5]),
    }

    def change(task: Task) -> Task:
        specs = tuple(replace(s, presence=Presence.OPTIONAL) if s.name == "maybe" else s for s in task.inputs)
        return replace(task, inputs=specs)

    finished = go(twin, device(body, "x, s, list, maybe, axes, y, workspace, tiling"), inputs, Y, change=change)
    assert finished.output()[:3].tolist() == [1.5, 3.0, 1.0]
    [request] = host.asked
    assert request.inputs[3] is None
    assert request.inputs[1] == host_types.TensorArgument((1,), "DT_FLOAT16")
    assert request.inputs[2] == host_types.TensorArgument((3,), "DT_FLOAT")
    assert request.inputs[4] == host_types.TensorArgument((2,), "DT_INT64", data=np.array([4, 5]).tobytes())


@pytest.mark.parametrize("slot", ["", "y", "x"])
def test_output_in_the_memory_of_an_input(twin: Twin, host: FakeHost, slot: str) -> None:
    """It has a slot of its own, under its name or the input's, or none at all."""
    outputs = (argument(slot, "DT_FLOAT"),) if slot else ()
    host.description = definition(inputs=(argument("x", "DT_FLOAT"),), outputs=outputs)
    names = "x, y, workspace, tiling" if slot else "x, workspace, tiling"
    body = "GlobalTensor<float> to;\nto.SetGlobalBuffer((__gm__ float*)x);\nto.SetValue(1, 5.0f);"
    body += "\nto.SetValue(2, x == y);" if slot else ""

    def change(task: Task) -> Task:
        return replace(task, outputs=(OutputSpec("y", dtype=DType.FLOAT32, alias_of="x"),))

    expected = [0.0, 5.0, 1.0 if slot else 2.0, 3.0]
    assert go(twin, device(body, names), {"x": X}, Y, change=change).output()[:4].tolist() == expected


def test_lists_and_late_shapes(twin: Twin, host: FakeHost) -> None:
    host.description = definition(
        inputs=(argument("x", "DT_FLOAT", presence="dynamic"),),
        outputs=(argument("y", "DT_FLOAT", depends_on_compute=True),),
    )
    body = (
        SET_Y
        + """
        __gm__ uint64_t* words = (__gm__ uint64_t*)x;
        __gm__ float* second = (__gm__ float*)words[words[0] / 8 + 1];
        to.SetValue(7, second[0]);
        GlobalTensor<uint64_t> found;
        found.SetGlobalBuffer((__gm__ uint64_t*)shapes);
        found.SetValue(0, 1);
        found.SetValue(1, 2);
    """
    )

    def change(task: Task) -> Task:
        return replace(task, inputs=(InputSpec("x", (DType.FLOAT32,), Presence.DYNAMIC),))

    source = device(body, "x, y, shapes, workspace, tiling")
    outputs: Outputs = {"y": ((2,), DType.FLOAT32)}
    assert go(twin, source, {"x": [X, X + 20]}, outputs, change=change).outcome is Outcome.OK
    both: Outputs = {**outputs, "found": ((2,), DType.UINT64)}
    told = go(twin, device(body, "x, y, shapes, workspace, tiling"), {"x": [X, X + 20]}, both, change=change)
    assert told.output("found").tolist() == [1, 2]
    request, _ = host.asked
    assert request.inputs[0] == (host_types.TensorArgument((8,), "DT_FLOAT"),) * 2


def test_workspace_has_a_system_part(twin: Twin, host: FakeHost) -> None:
    host.answer = lambda request: tiled(workspace_bytes=(1024,))
    body = (
        SET_Y
        + """
        GM_ADDR user = GetUserWorkspace(workspace);
        GlobalTensor<float> mine;
        mine.SetGlobalBuffer((__gm__ float*)user);
        mine.SetValue(%d, 1.0f);
        SetSysWorkspace(workspace);
        to.SetValue(0, GetSysWorkSpacePtr() == workspace);
        to.SetValue(1, user - workspace);
    """
    )
    assert go(twin, device(body % 255), {"x": X}, Y).output()[:2].tolist() == [1.0, 16 << 20]
    beyond = go(twin, device(body % 264), {"x": X}, Y)
    assert beyond.outcome is Outcome.RULE_VIOLATION
    assert "'workspace'" in beyond.errors[0].message


def test_workspace_that_includes_the_system_part(twin: Twin, host: FakeHost) -> None:
    host.answer = lambda request: tiled(workspace_bytes=((16 << 20) + 512,))
    body = "GlobalTensor<float> mine;\nmine.SetGlobalBuffer((__gm__ float*)GetUserWorkspace(workspace));"
    body += "\nmine.SetValue(136, 1.0f);"
    assert go(twin, device(body), {"x": X}, Y).outcome is Outcome.RULE_VIOLATION


def test_tiling_is_read_only_and_bounded(twin: Twin, host: FakeHost) -> None:
    host.answer = lambda request: tiled(data=tiling_data()[:8])
    reading = go(
        twin, device("struct Wide { char bytes[72]; };\nGET_TILING_DATA_WITH_STRUCT(Wide, w, tiling);"), {"x": X}, Y
    )
    assert reading.outcome is Outcome.RULE_VIOLATION
    assert "GET_TILING_DATA reads bytes 0 to 72 of 'tiling', which has 8 bytes" in reading.errors[0].message
    body = "GlobalTensor<float> t;\nt.SetGlobalBuffer((__gm__ float*)tiling);\nt.SetValue(0, 1.0f);"
    assert go(twin, device(body), {"x": X}, Y).errors[0].rule == "write_to_input"


def test_more_blocks_than_cores_run_in_waves(twin: Twin, host: FakeHost) -> None:
    body = SET_Y + "if (GetBlockIdx() == GetBlockNum() - 1) to.SetValue(0, GetBlockNum());\nelse to.GetValue(1);"
    times = {}
    for blocks in (48, 96, 144):
        host.answer = lambda request, blocks=blocks: tiled(block_dim=blocks)  # type: ignore[misc]
        finished = go(twin, device(body), {"x": X}, Y)
        assert finished.output()[0] == blocks
        assert finished.seen is not None
        assert finished.seen.profile is not None
        times[blocks] = finished.seen.profile.time_us
    assert times[144] - times[96] == pytest.approx(times[96] - times[48])
    assert times[96] > times[48]


def test_blocks_in_waves_cannot_wait_for_each_other(twin: Twin, host: FakeHost) -> None:
    host.answer = lambda request: tiled(block_dim=49)
    finished = go(twin, device("SyncAll();"), {"x": X}, Y)
    assert finished.outcome is Outcome.RULE_VIOLATION
    assert finished.errors[0].rule == "deadlock"
    assert "49 blocks run in waves on 48 cores" in finished.errors[0].message
    assert finished.errors[0].details["block_dim"] == 49


@pytest.mark.parametrize("blocks", [0, 70000, -1])
def test_block_dim_must_be_possible(twin: Twin, host: FakeHost, blocks: int) -> None:
    host.answer = lambda request: tiled(block_dim=blocks)
    finished = go(twin, device(""), {"x": X}, Y)
    assert finished.outcome is Outcome.LAUNCH_ERROR
    assert f"asks for {blocks} blocks" in finished.errors[0].message


def test_failing_tiling_is_told_at_the_tiling_function(twin: Twin, host: FakeHost) -> None:
    said = Diagnostic(Severity.ERROR, "tiling", "failed; it printed: axis 3 is not supported")
    host.answer = lambda request: host_types.HostFailure(Outcome.LAUNCH_ERROR, (said,))
    finished = go(twin, device(""), {"x": X}, Y)
    assert finished.outcome is Outcome.LAUNCH_ERROR
    assert "axis 3 is not supported" in finished.errors[0].message
    assert (finished.errors[0].file, finished.errors[0].line) == ("op_host/probe.cpp", 7)


HEADERS = {
    "op_kernel/tools.h": "#pragma once\ntemplate <typename T> __aicore__ void Boom(T t) {\n"
    "    Sqrt(t, t, 8);  // here\n}\n",
    "op_kernel/deep/more.h": '#pragma once\n#include "../tools.h"\n#include "tools.h"\n'
    "__aicore__ int More() { return 3; }\n",
}


def test_headers_beside_and_below_and_their_lines(twin: Twin, host: FakeHost) -> None:
    before = '#include "deep/more.h"\n#include "tools.h"'
    source = device(SET_Y + "to.SetValue(0, More());", before=before)
    assert go(twin, source, {"x": X}, Y, extra=HEADERS).output()[0] == 3.0
    wrong = device("LocalTensor<int32_t> t;\nBoom(t);", before=before)
    error = go(twin, wrong, {"x": X}, Y, extra=HEADERS).errors[0]
    assert (error.file, error.line) == ("op_kernel/tools.h", 3)


def test_violations_name_the_header(twin: Twin, host: FakeHost) -> None:
    header = "#pragma once\n__aicore__ inline void Far(GM_ADDR y) {\n    AscendC::GlobalTensor<float> to;\n"
    header += "    to.SetGlobalBuffer((float*)y);\n    to.SetValue(1 << 20, 1.0f);\n}\n"
    source = device("Far(y);", before='#include "deep/far.h"')
    error = go(twin, source, {"x": X}, Y, extra={"op_kernel/deep/far.h": header}).errors[0]
    assert (error.file, error.line) == ("op_kernel/deep/far.h", 5)
    assert "'y'" in error.message


def test_entry_must_take_the_definitions_arguments(twin: Twin, host: FakeHost) -> None:
    error = go(twin, device("", "x, y, workspace"), {"x": X}, Y).errors[0]
    assert "must take 4 pointers: GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling" in error.message
    assert error.file == "op_kernel/probe.cpp"


@pytest.mark.parametrize("missing", ["op_host/probe.cpp", "op_kernel/probe.cpp"])
def test_half_a_candidate_is_no_code(twin: Twin, host: FakeHost, missing: str) -> None:
    files = {"op_host/probe.cpp": HOST, "op_kernel/probe.cpp": device("")}
    del files[missing]
    task = task_for({"x": X}, Y)
    result = twin.executor.compile(CompileRequest(task, None, Track.DYNAMIC, candidate_of(files), 60.0, task.cases))
    assert result.outcome is Outcome.NO_CODE
    assert missing.partition("/")[0] in result.diagnostics[0].message


def test_structures_that_depend_on_the_key(twin: Twin, host: FakeHost) -> None:
    other = replace(TILING, name="OtherTiling", fields=(TilingField("value", "int64_t", 0, "", 0),))
    host.description = definition(tiling={"Probe": TILING, "Probe_7": other})
    body = SET_Y + "GET_TILING_DATA(t, tiling);\nto.SetValue(0, sizeof(t));"
    for key, size in ((7, 8), (8, 24)):
        host.answer = lambda request, key=key: tiled(tiling_key=key)  # type: ignore[misc]
        assert go(twin, device(body), {"x": X}, Y).output()[0] == size


def test_structures_that_the_kernel_registers(twin: Twin, host: FakeHost) -> None:
    host.description = definition(tiling={})
    before = "struct Small { int a; };\nstruct Large { int a[5]; };"
    body = """
        REGISTER_TILING_DEFAULT(Small);
        REGISTER_TILING_FOR_TILINGKEY("(TILING_KEY_VAR >= 10) && !(TILING_KEY_VAR == 12)", Large);
    """
    body += SET_Y + "GET_TILING_DATA(t, tiling);\nto.SetValue(0, sizeof(t));"
    for key, size in ((1, 4), (11, 20), (12, 4)):
        host.answer = lambda request, key=key: tiled(tiling_key=key)  # type: ignore[misc]
        assert go(twin, device(body, before=before), {"x": X}, Y).output()[0] == size
    # One that is nested too deep to be read does not hold.
    for deep in ("+".join(["1"] * 1000), "!" * 2000 + "1", "(" * 5000 + "1"):
        text = f'REGISTER_TILING_DEFAULT(Small);\nREGISTER_TILING_FOR_TILINGKEY("{deep}", Large);'
        assert "#define NpukbTiling Small" in prelude(definition(), Variant((), 1), text, frozenset())


def test_prelude_orders_nested_structures_and_leaves_out_the_apis(host: FakeHost) -> None:
    inner = TilingStruct("Inner", 4, (TilingField("a", "int32_t", 0, "", 0),))
    library = TilingStruct("SoftMaxTiling", 4, (TilingField("a", "int32_t", 0, "", 0),))
    fields = (TilingField("one", "", 0, "Inner", 0), TilingField("two", "", 0, "SoftMaxTiling", 4))
    outer = TilingStruct("Outer", 8, fields, {"Inner": inner, "SoftMaxTiling": library})
    text = prelude(definition(tiling={"Probe": outer}), Variant(()), "", frozenset({"SoftMaxTiling"}))
    assert text.index("struct Inner {") < text.index("struct Outer {")
    assert "struct SoftMaxTiling" not in text
    assert "    Inner one;" in text
    assert "using NpukbTiling = Outer;" in text


def test_variants_are_told_apart_by_what_the_kernel_sees(host: FakeHost) -> None:
    task = task_for({"x": X}, Y)
    bound = bind(host.description, task, {})
    assert not isinstance(bound, tuple)
    first, second = (variant_of(bound, task.cases[0], row) for row in (0, 1))
    assert first != second
    assert first.id != second.id
    assert first == variant_of(bound, task.cases[0], 0)


def test_what_compiling_warns_of_is_told_once(twin: Twin, host: FakeHost) -> None:
    """Of both kinds of cores that the kernel is compiled for."""
    host.answer = lambda request: tiled(block_dim=1)
    table = f"static const int32_t table[4096] = {{{', '.join(map(str, range(4096)))}}};"
    body = f"{SET_Y}\nKERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);\nto.SetValue(0, table[(uint64_t)x % 4096]);"
    task = task_for({"x": X}, {"y": ((512,), DType.FLOAT32)})
    candidate = candidate_of({"op_host/probe.cpp": HOST, "op_kernel/probe.cpp": device(body, before=table)})
    compiled = twin.executor.compile(CompileRequest(task, None, Track.DYNAMIC, candidate, 60.0, task.cases[:1]))
    assert [warning.rule for warning in compiled.diagnostics] == ["lint_constant_table"], compiled


@pytest.mark.parametrize("default", ["KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);", ""])
@pytest.mark.parametrize(("key", "cubes", "vectors"), [(1, 8, 8), (2, 0, 8), (3, 8, 16)])
def test_task_types_of_keys(twin: Twin, host: FakeHost, default: str, key: int, cubes: int, vectors: int) -> None:
    """The third key takes the default; without one it says its type itself."""
    host.answer = lambda request: tiled(tiling_key=key, block_dim=8)
    third = "" if default else "else if (TILING_KEY_LIST(3, 4)) {\nKERNEL_TASK_TYPE(3, KERNEL_TYPE_MIX_AIC_1_2);\n"
    third += "KERNEL_TASK_TYPE(4, KERNEL_TYPE_AIC_ONLY);\n}" if third else ""
    body = (
        SET_Y
        + default
        + """
        if (TILING_KEY_IS(1)) {
            KERNEL_TASK_TYPE(1, KERNEL_TYPE_MIX_AIC_1_1);
        } else if (TILING_KEY_IS(2)) {
            KERNEL_TASK_TYPE(2, KERNEL_TYPE_AIV_ONLY);
        }"""
        + third
        + """
        to.SetValue(16 * (g_coreType == AIC ? GetBlockIdx() : 8 + GetBlockIdx()), GetBlockNum());
    """
    )
    inputs = {"x": np.zeros(8, np.float32)}
    cells = np.asarray(go(twin, device(body), inputs, {"y": ((512,), DType.FLOAT32)}).output())[::16]
    assert ((cells[:8] == 8).sum(), (cells[8:] == 8).sum()) == (cubes, vectors)


def test_more_mixed_blocks_than_cores_run_in_waves_with_a_warning(twin: Twin, host: FakeHost) -> None:
    host.answer = lambda request: tiled(block_dim=100)
    body = (
        SET_Y
        + f"""
        KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
        if ASCEND_IS_AIC {{
            {put("to", "64 * GetBlockIdx()", "1.0f", "float")}
            CrossCoreSetFlag<2, PIPE_FIX>(1);
        }}
        if ASCEND_IS_AIV {{
            CrossCoreWaitFlag(1);
            float one = {fresh("to", "64 * get_block_idx()", "float")};
            to.SetValue(64 * get_block_idx() + 16 + 16 * GetSubBlockIdx(), one + 1.0f);
        }}
    """
    )
    finished = go(twin, device(body), {"x": X}, {"y": ((6400,), DType.FLOAT32)})
    assert finished.output().reshape(100, 64)[:, :48:16].tolist() == [[1.0, 2.0, 2.0]] * 100
    assert [(diagnostic.rule, diagnostic.severity) for diagnostic in finished.diagnostics] == [
        ("mixed_waves", Severity.WARNING)
    ]
    meeting = body.replace("CrossCoreSetFlag<2, PIPE_FIX>(1);", "CrossCoreSetFlag<0, PIPE_FIX>(1);  // here")
    finished = go(twin, device(meeting), {"x": X}, {"y": ((6400,), DType.FLOAT32)})
    assert [error.rule for error in finished.errors] == ["deadlock"]
    assert "100 blocks run in waves on 24 cores" in finished.errors[0].message
