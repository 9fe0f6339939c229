"""Compiling a candidate: whose fault a failure is, at which line, and in which words."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from npukb_twin.compile import build, driver, messages, toolchain
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.config import default_cache_dir
from npukernelbench.errors import ExecutorError, ToolchainError, UsageError
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import CompileRequest, Diagnostic, DType, Outcome, Track
from tests.twin.openings import on_queues
from tests.twin.running import HEAD, SMALL, Finished, Twin, kernel, task_for

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGUMENTS = ("y", "workspace")


@pytest.fixture(scope="session")
def gcc() -> Iterator[Twin]:
    """The twin with the system's g++."""
    try:
        executor = TwinExecutor(TwinArgs(toolchain="g++"))
    except UsageError as error:
        pytest.skip(str(error.message))
    yield Twin(executor, apart=True)
    executor.close()


def check_line(
    twin: Twin, body: str, text: str, *, outcome: Outcome = Outcome.COMPILE_ERROR, before: str = ""
) -> Diagnostic:
    """The first error of a kernel with ``body``: at the line marked ``// here``, saying ``text``."""
    finished = twin.run(body, before=before)
    first = finished.errors[0]
    assert finished.outcome is outcome, [str(diagnostic) for diagnostic in finished.diagnostics]
    assert (first.file, first.line) == ("kernel.cpp", finished.marked), [str(error) for error in finished.errors]
    assert text in first.message
    return first


def test_syntax_error(twin: Twin) -> None:
    check_line(twin, "int a = 1  // here\nint b = 2;", "expected ';'")


def test_error_inside_a_template_of_the_api_is_at_the_line_that_uses_it(twin: Twin) -> None:
    text = "Sqrt is not available for this element type; it takes F16 | F32"
    check_line(twin, "LocalTensor<int32_t> t;\nSqrt(t, t, 8);  // here", text)


@pytest.mark.parametrize(
    ("call", "name", "types"),
    [
        ("AddReluCast(i, f, f, 8)", "AddReluCast is not available", "it takes F16 from F32, I8 from F16 or I16"),
        (
            "Compare(f, f, f, CMPMODE::EQ, 64)",
            "Compare is not available",
            "it takes U8 or I8 or U16 or I16 from F16 or F32 or I32",
        ),
        ("Brcb(l, l, 1, BrcbRepeatParams())", "Brcb is not available", "it takes F16 | BF16 | I16"),
        ("vexp((__ubuf__ int32_t*)0, (__ubuf__ int32_t*)0, 1, 1, 1, 8, 8)", "Exp is not available", "F16 | F32"),
    ],
    ids=lambda value: value.partition("(")[0],
)
def test_types_that_a_row_does_not_have_are_told_once(twin: Twin, call: str, name: str, types: str) -> None:
    body = f"LocalTensor<int32_t> i;\nLocalTensor<float> f;\nLocalTensor<int64_t> l;\n{call};  // here"
    first = check_line(twin, body, f"{name} for this element type; it takes")
    assert types in first.message
    assert len(twin.run(body).errors) == 1


def test_error_in_the_candidates_own_template(twin: Twin) -> None:
    before = "template <typename T>\nvoid Twice(T& t) {\n    Sqrt(t, t, 8);  // here\n}"
    check_line(twin, "LocalTensor<int32_t> t;\nTwice(t);", "Sqrt is not available", before=before)


def test_wrong_type_for_cast(twin: Twin) -> None:
    body = "LocalTensor<int8_t> t;\nLocalTensor<float> u;\nCast(u, t, RoundMode::CAST_NONE, 8);  // here"
    check_line(twin, body, "Cast does not convert between these element types")


@pytest.mark.parametrize(
    ("call", "name", "near"),
    [
        ("Addd(t, t, t, 8);", "Addd", "Add"),
        ("AscendC::SqrtInplace(t, 8);", "SqrtInplace", ""),
        ("t.SetValues(0, 1.0f);", "SetValues", "SetValue"),
        ("DataCopyPadding(t, t, 8);", "DataCopyPadding", "DataCopyPad"),
        ("LocalTensors<float> u;", "LocalTensors", "LocalTensor"),
    ],
)
def test_invented_api_is_the_models_error_with_a_hint(twin: Twin, call: str, name: str, near: str) -> None:
    first = check_line(twin, f"LocalTensor<float> t;\n{call}  // here", name)
    assert first.rule == "compile"
    assert (near in re.findall(r"\w+", first.remedy)) if near else not first.remedy


def test_an_image_of_more_than_four_mebibytes_is_refused(twin: Twin) -> None:
    before = "const int32_t answers[1200000] = {1, 2, 3};"
    finished = twin.run("int n = answers[GetBlockIdx()];", before=before)
    assert finished.outcome is Outcome.COMPILE_ERROR
    assert [(error.rule, error.file, error.line > 0) for error in finished.errors] == [
        ("image_too_large", "kernel.cpp", True)
    ]
    assert "of which answers takes 4800000; at most 4194304 are taken" in finished.errors[0].message


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("LoadImageToLocal(t, u);", "LoadImageToLocal"),
        ("AscendC::LoadImageToLocal(t, u);", "LoadImageToLocal"),
        ("SoftmaxFlashV3(t, t, u);", "SoftmaxFlashV3"),
        ("CheckLocalMemoryIA(1);", "CheckLocalMemoryIA"),
        ("AscendC::Nz2NdParamsFull p;", "Nz2NdParamsFull"),
        ("Hccl<> hccl; hccl.BatchWrite(nullptr, 1);", "BatchWrite"),
    ],
)
def test_documented_api_that_the_twin_lacks_is_no_fault_of_the_model(twin: Twin, call: str, name: str) -> None:
    body = f"LocalTensor<float> t;\nLocalTensor<uint32_t> u;\nGlobalTensor<float> g;\n{call}  // here"
    finished = twin.run(body)
    assert finished.outcome is Outcome.INFRA_ERROR, [str(error) for error in finished.errors]
    assert {(error.rule, error.line) for error in finished.errors} == {("unsupported_api", finished.marked)}
    words = f"{name} is Ascend C, but the twin does not support it yet"
    words += ": it runs one device, so nothing that several ranks exchange" if name == "BatchWrite" else ""
    assert words in [error.message for error in finished.errors]


def test_what_follows_from_a_gap_is_part_of_it(twin: Twin) -> None:
    body = "Nz2NdParamsFull shape;  // here\nshape.ndNum = 1;\nint n = shape.nValue;"
    check_line(twin, body, "Nz2NdParamsFull is Ascend C", outcome=Outcome.INFRA_ERROR)


def test_a_mistake_beside_a_gap_is_still_the_models(twin: Twin) -> None:
    finished = twin.run("LocalTensor<float> t;\nLoadImageToLocal(t, t);\nint n = undeclared;  // here")
    assert finished.outcome is Outcome.COMPILE_ERROR
    assert [(error.rule, error.line) for error in finished.errors][-1] == ("compile", finished.marked)


def test_api_of_other_chips_is_named(twin: Twin) -> None:
    check_line(twin, "LocalTensor<float> t;\nNeg(t, t, 8);  // here", "Neg is not available on this chip")


@pytest.mark.parametrize(
    ("include", "outcome", "rule"),
    [("hccl/hccl.h", Outcome.INFRA_ERROR, "unsupported_api"), ("mine/hccl.h", Outcome.COMPILE_ERROR, "compile")],
)
def test_headers_of_the_toolkit_are_gaps(twin: Twin, include: str, outcome: Outcome, rule: str) -> None:
    finished = twin.run("", before=f'#include "{include}"  // here')
    assert (finished.outcome, finished.found) == (outcome, [(rule, finished.marked)])


def test_gaps_are_gaps() -> None:
    folder = build.source_root() / "include"
    folders = [*folder.iterdir(), *(folder / "twin").rglob("*")]
    shared = {"scratch.def", "tiling_structs.def", "tiling_structs.h"}  # the host side knows more
    text = "\n".join(path.read_text(encoding="utf-8") for path in folders if path.is_file() and path.name not in shared)
    words = set(re.findall(r"\w+", re.sub(r"//[^\n]*", "", text)))
    assert not words & messages.gap_names()
    assert not words & messages.foreign_names()
    assert not messages.gap_names() & messages.foreign_names()


def test_supported_names_are_what_kernels_use() -> None:
    names = messages.supported_names()
    wanted = {
        "Add",
        "Cast",
        "LocalTensor",
        "TPipe",
        "InitBuffer",
        "SetFlag",
        "ReduceSum",
        "BlockReduceMax",
        "DataCopyPad",
    }
    assert wanted | {"CMPMODE", "HardEvent", "PIPE_ALL", "CAST_RINT", "GetValue", "WholeReduceMin"} <= names
    assert not {"name", "dst", "NPUKB_API", "T"} & names


def test_headers_may_have_a_new_date(twin: Twin) -> None:
    # the same text again, as after checking out or installing once more
    twin.executor._ready()
    (build.source_root() / "include" / "kernel_operator.h").touch()
    assert twin.compile(kernel("// another date", ("y", "workspace"))).outcome is Outcome.OK


def test_a_damaged_build_is_no_fault_of_the_model() -> None:
    said = "fatal error: file 'a.h' has been modified since the precompiled header 'b.pch' was built: mtime changed"
    with pytest.raises(ExecutorError, match="damaged"):
        build.refuse_stale(f"{said}\nnote: please rebuild", Path("cache"))
    build.refuse_stale(f"kernel.cpp:1:2: error: {said}", Path("cache"))


def test_missing_entry(twin: Twin) -> None:
    finished = twin.run_source(HEAD + "int nothing;\n")
    assert finished.outcome is Outcome.COMPILE_ERROR
    assert finished.errors[0].message == "the source defines no kernel entry named 'probe'"
    assert "void probe(...)" in finished.errors[0].remedy


def test_wrong_arity_is_told_at_the_entry(twin: Twin) -> None:
    source = kernel("", ("x", "y", "z", "workspace")).replace("{", "{  // here", 1)
    finished = twin.run_source(source)
    first = finished.errors[0]
    assert (finished.outcome, first.line) == (Outcome.COMPILE_ERROR, finished.marked)
    assert first.message == "the kernel entry must take 2 pointers: GM_ADDR y, GM_ADDR workspace"


def test_missing_include(twin: Twin) -> None:
    source = kernel("", ARGUMENTS)
    finished = twin.run_source(source.replace('#include "kernel_operator.h"', ""))
    assert finished.outcome is Outcome.COMPILE_ERROR
    assert "does not include kernel_operator.h" in finished.errors[0].message


def test_headers_of_the_candidate_are_found_and_others_say_which_option_has_them(twin: Twin) -> None:
    task = task_for({}, SMALL)
    files = {
        "kernel.cpp": kernel("static_assert(kTool == 3);", ARGUMENTS).replace(HEAD, f'{HEAD}#include "tools/tool.h"\n'),
        "include/tools/tool.h": "constexpr int kTool = 3;\n",
    }
    request = CompileRequest(task, task.cases[0], Track.STATIC, candidate_of(files), 60.0)
    compiled = twin.executor.compile(request)
    assert compiled.artifact is not None, compiled.diagnostics
    twin.executor.release(compiled.artifact)
    first = twin.run_source(files["kernel.cpp"]).errors[0]
    assert first.message == "tools/tool.h is not among the kernel's files, nor a header of the twin"
    assert first.line == HEAD.count("\n") + 1
    assert "--include DIR supplies it, where DIR is the folder that holds tools/" in first.remedy


@pytest.mark.parametrize("include", ["", "#include <cmath>\n", "#include <cstdint>\n#include <type_traits>\n"])
@pytest.mark.parametrize("entry", ["sqrt", "exp", "abs", "round"])
def test_entry_may_be_called_as_a_function_of_libm(twin: Twin, entry: str, include: str) -> None:
    source = include + kernel(WRITE_ONE, ARGUMENTS).replace("probe", entry)
    assert twin.run_source(source, entry=entry).output()[0] == 1.0


def test_entry_need_not_have_c_linkage(twin: Twin) -> None:
    assert twin.run_source(kernel(WRITE_ONE, ARGUMENTS).replace('extern "C" ', "")).output()[0] == 1.0


def test_compile_time_out(twin: Twin) -> None:
    bomb = """
        template <int n, int m>
        struct Bomb { static constexpr int value = Bomb<n - 1, 2 * m>::value + Bomb<n - 1, 2 * m + 1>::value; };
        template <int m> struct Bomb<0, m> { static constexpr int value = 1; };
    """
    source = kernel("int v = Bomb<26, 0>::value;", ARGUMENTS, before=bomb)
    result = twin.compile(source, timeout_s=1.0)
    assert (result.outcome, result.artifact) == (Outcome.TIMEOUT, None)
    assert "longer than 1 s" in result.diagnostics[0].message


@pytest.mark.parametrize(
    "text",
    [
        "constexpr int f(int n) { return f(n + 1); }\nconstexpr int v = f(0);",
        "constexpr int f() { int n = 0; while (true) ++n; return n; }\nconstexpr int v = f();",
        "template <int n> struct A { static constexpr int v = A<n + 1>::v; };\nint v = A<0>::v;",
        "int v = " + "(" * 5000 + "1" + ")" * 5000 + ";",
        '#include "kernel.cpp"',
    ],
    ids=["recursion", "loop", "templates", "nesting", "includes itself"],
)
def test_compiler_bombs_are_compile_errors(twin: Twin, text: str) -> None:
    result = twin.compile(kernel("", ARGUMENTS, before=text), timeout_s=20.0)
    assert result.outcome is Outcome.COMPILE_ERROR
    assert result.diagnostics[0].message


def test_thousands_of_errors_are_cut_short(twin: Twin) -> None:
    text = "\n".join(f"int v{n} = undeclared_{n};" for n in range(20_000))
    result = twin.compile(kernel("", ARGUMENTS, before=text))
    assert result.outcome is Outcome.COMPILE_ERROR
    assert 1 < len(result.diagnostics) < 50


def test_unknown_function_does_not_link(twin: Twin) -> None:
    finished = twin.run("elsewhere();", before='extern "C" void elsewhere();  // here')
    assert finished.outcome is Outcome.COMPILE_ERROR
    assert finished.found == [("host_call", finished.marked)]
    assert "elsewhere" in finished.errors[0].message


def test_unknown_cpp_function_is_told_at_its_line(twin: Twin) -> None:
    finished = twin.run("odd::Elsewhere2(nullptr, 1);", before="namespace odd { int Elsewhere2(char*, int); }  // here")
    assert finished.found == [("host_call", finished.marked)]


def test_failed_compilations_leave_nothing(twin: Twin) -> None:
    before = set(twin_folder(twin))
    twin.compile(kernel("int a = b;", ARGUMENTS))
    assert set(twin_folder(twin)) == before


def test_a_compilation_that_is_broken_off_leaves_nothing(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(twin_folder(twin))

    def broken_off(*_: object, work: Path, **__: object) -> None:
        (work / "half.o").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("npukb_twin.executor.driver.compile_kernel", broken_off)
    with pytest.raises(KeyboardInterrupt):
        twin.compile(kernel("", ARGUMENTS))
    monkeypatch.undo()
    assert set(twin_folder(twin)) == before


def twin_folder(twin: Twin) -> list[str]:
    twin.run(WRITE_ONE)  # so that there is a folder
    work = twin.executor._work
    assert work is not None
    return [path.name for path in work.path.iterdir() if not any(path.glob("kernel.so"))]


def test_no_compiler_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ToolchainError) as caught:
        TwinExecutor(TwinArgs())
    assert caught.value.remedy == "pip install ziglang==0.13.0"


def test_system_compiler_when_zig_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/somewhere/{name}" if name == "g++" else None)
    monkeypatch.setattr(toolchain, "_version_of", lambda path: "g++ (Debian) 12.2.0")
    executor = TwinExecutor(TwinArgs())
    assert executor.describe()["toolchain"].startswith("g++ ")
    warned = [finding.detail for finding in executor.diagnose() if finding.status.value == "warning"]
    assert any("specialisations in class scope" in text for text in warned)
    assert any("separate stack for return addresses" in text for text in warned)


@pytest.mark.parametrize(
    ("version", "usable"), [("g++ 10.2.1", False), ("g++ 11.4.0", True), ("clang version 14.0.6", False)]
)
def test_old_compilers_are_refused(monkeypatch: pytest.MonkeyPatch, version: str, usable: bool) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/somewhere/{name}")
    monkeypatch.setattr(toolchain, "_version_of", lambda path: version)
    if usable:
        assert toolchain.find("cc-of-mine").name == "cc-of-mine"
    else:
        with pytest.raises(UsageError, match="missing or not usable"):
            toolchain.find("cc-of-mine")


WRITE_ONE = "GlobalTensor<float> to;\nto.SetGlobalBuffer((__gm__ float*)y);\nto.SetValue(0, 1.0f);"
ADD = f"""{on_queues(depth=2, buffers=2, size_bytes=512)}
    GlobalTensor<half> xs, ys;
    xs.SetGlobalBuffer((__gm__ half*)x + GetBlockIdx() * 128, 128);
    ys.SetGlobalBuffer((__gm__ half*)y + GetBlockIdx() * 128, 128);
    LocalTensor<half> a = in.AllocTensor<half>();
    DataCopy(a, xs, 128);
    in.EnQue(a);
    a = in.DeQue<half>();
    LocalTensor<half> b = out.AllocTensor<half>();
    Exp(b, a, 128);
    Adds(b, b, (half)0.5f, 128);
    Add(b, b, a, 128);
    out.EnQue(b);
    in.FreeTensor(a);
    b = out.DeQue<half>();
    DataCopy(ys, b, 128);
    out.FreeTensor(b);
"""


def test_two_compilers_agree(twin: Twin, gcc: Twin) -> None:
    x = np.random.default_rng(3).normal(size=48 * 128).astype(np.float16)

    def finish(twin: Twin) -> Finished:
        return twin.run(ADD, {"x": x}, {"y": (x.shape, DType.FLOAT16)}, block=None)

    ours, theirs = finish(twin), finish(gcc)
    np.testing.assert_array_equal(ours.output(), theirs.output())
    assert ours.seen is not None
    assert theirs.seen is not None
    own, other = ours.seen.profile, theirs.seen.profile
    assert own is not None
    assert other is not None
    assert own.time_us == pytest.approx(other.time_us, rel=0.01)  # only clang counts operations of plain C++
    for name in own.counters:
        if name.endswith(("_instructions", "_kb")):
            assert own.counters[name] == other.counters[name], name


@pytest.mark.parametrize(
    ("body", "text", "outcome"),
    [
        ("int n = undeclared;  // here", "undeclared", Outcome.COMPILE_ERROR),
        ("LocalTensor<int32_t> t;\nSqrt(t, t, 8);  // here", "Sqrt is not available", Outcome.COMPILE_ERROR),
        ("LocalTensor<float> t;\nAddd(t, t, t, 8);  // here", "Addd", Outcome.COMPILE_ERROR),
        (
            "LocalTensor<float> t;\nLoadImageToLocal(t, t);  // here",
            "LoadImageToLocal is Ascend C",
            Outcome.INFRA_ERROR,
        ),
        (
            "LocalTensor<float> t;\nAscendC::LoadImageToLocal(t, t);  // here",
            "LoadImageToLocal is Ascend C",
            Outcome.INFRA_ERROR,
        ),
        ("CheckLocalMemoryIA(1);  // here", "CheckLocalMemoryIA is Ascend C", Outcome.INFRA_ERROR),
    ],
)
def test_gcc_messages_are_understood(gcc: Twin, body: str, text: str, outcome: Outcome) -> None:
    check_line(gcc, body, text, outcome=outcome)


def test_gcc_missing_include_and_entry_called_as_libm(gcc: Twin) -> None:
    source = kernel(WRITE_ONE, ARGUMENTS)
    missing = gcc.run_source(source.replace('#include "kernel_operator.h"', ""))
    assert "does not include kernel_operator.h" in missing.errors[0].message
    assert gcc.run_source("#include <cmath>\n" + source.replace("probe", "sqrt"), entry="sqrt").output()[0] == 1.0


def test_a_kernel_without_its_file_is_no_code(twin: Twin) -> None:
    from npukernelbench.generate.extract import candidate_of
    from npukernelbench.nouns import CompileRequest, Track

    task = task_for({}, SMALL)
    request = CompileRequest(task, task.cases[0], Track.STATIC, candidate_of({"host.cpp": "int a;"}), 10.0)
    assert twin.executor.compile(request).outcome is Outcome.NO_CODE


def test_discarded_branches_may_hold_what_the_element_type_does_not_take(twin: Twin) -> None:
    before = """
    typedef bfloat16_t DTYPE_X;
    class Kernel {
      public:
        __aicore__ inline void Run() {
            LocalTensor<DTYPE_X> a, b;
            LocalTensor<int8_t> c;
            LocalTensor<float> f;
            LocalTensor<double> d;
            if constexpr (std::is_same_v<DTYPE_X, float>) {
                Muls(a, b, static_cast<DTYPE_X>(2.0f), 64);
                Exp(a, b, 64);
                Add(a, a, b, 64);
                Cast(f, c, RoundMode::CAST_NONE, 64);
                Duplicate(c, static_cast<int8_t>(1), 64);
                Muls(d, d, 2.0, 4);
            }
        }
    };
    """
    done = twin.run("Kernel kernel;\nkernel.Run();", before=before)
    assert done.outcome is Outcome.OK, [str(diagnostic) for diagnostic in done.diagnostics]


def test_forms_that_kernels_of_the_field_use(twin: Twin) -> None:
    body = """
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 2, 40);
    if (buffer.Get<float>().GetSize() != 32) Trap();
    DataCopyPadExtParams pad{true, 0, 0, 1.5f};
    static_assert(std::is_same_v<decltype(pad), DataCopyPadExtParams<float>>);
    UnaryRepeatParams half_to_float(1, 1, DEFAULT_REPEAT_STRIDE, HALF_DEFAULT_REPEAT_STRIDE);
    LocalTensor<float> x = buffer.Get<float>();
    Duplicate(x, 1.0f, 16);
    x.SetValue(5, 7.0f);
    WholeReduceMax(x[16], x, 16, 1, 1, 1, 8);
    int64_t register_of_extreme = get_max_min_cnt();
    if (*reinterpret_cast<float*>(&register_of_extreme) != 7.0f || register_of_extreme >> 32 != 5) Trap();
    """
    done = twin.run(body)
    assert done.outcome is Outcome.OK, [str(diagnostic) for diagnostic in done.diagnostics]


def test_a_build_knows_no_link_on_the_way_to_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Precompiled headers remember where their parts lie, and links come and go."""
    machine, linked = tmp_path / "machine", tmp_path / "linked"
    (machine / "twin").mkdir(parents=True)
    linked.mkdir()
    (linked / "twin").symlink_to(machine / "twin")
    made: list[Path] = []
    monkeypatch.setattr(build, "make", lambda folder, _: made.append(folder))
    with pytest.raises(AssertionError):  # nothing is there: making was replaced
        build.ensure(toolchain.find(), linked)
    assert made[-1].parent == (machine / "twin").resolve()


def test_templates_of_the_headers_are_made_once_and_not_for_every_kernel(tmp_path: Path) -> None:
    chosen = toolchain.find()
    command = driver.compile_command(chosen, build.ensure(chosen, default_cache_dir()), driver.Unit("", "", ()))
    traced = (*command, "-ftime-trace=trace.json", "-ftime-trace-granularity=0")

    def instantiated(text: str) -> list[str]:
        (tmp_path / "kernel.unit.cc").write_text(text, encoding="ascii")
        subprocess.run(traced, cwd=tmp_path, env=toolchain.clean_environment(tmp_path), check=True, timeout=60)
        events = json.loads((tmp_path / "trace.json").read_bytes())["traceEvents"]
        return [event["args"]["detail"] for event in events if event["name"] == "InstantiateFunction"]

    assert instantiated("") == []
    assert instantiated("template <class T> T f() { return 1; }\nint a = f<int>();") == ["f<int>"]
