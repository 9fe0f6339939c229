"""Right code that the twin once refused or warned of: it is accepted, without a word."""

from __future__ import annotations

import numpy as np
import pytest

from npukb_twin.compile.imports import readable
from npukb_twin.compile.templates import template_of
from npukb_twin.operator.host_types import OperatorDescription, TilingField, TilingStruct
from npukb_twin.operator.variants import Variant, prelude
from npukernelbench.nouns import DType, Outcome, Severity
from tests.twin.cubes import CUBE
from tests.twin.hosting import DEFINITION, HEAD, Hosting
from tests.twin.running import Twin


def test_an_image_is_read_as_far_as_its_extents_reach(twin: Twin) -> None:
    """The map is 4096 pixels high, the buffer holds 32 rows, and two fractals of rows are loaded."""
    a = np.arange(32 * 16, dtype=np.float16).reshape(32, 16) % 9
    body = """
        Cube cube;
        cube.Fractals(cube.a1.Get<half>(), Gm<half>(a), 32, 16);
        LoadData3DParamsV2<half> p;
        p.l1H = 4096, p.l1W = 1, p.channelSize = 16, p.kExtension = 16, p.mExtension = {rows};
        LoadData(cube.a2.Get<half>(), cube.a1.Get<half>(512), p);
    """
    whole = twin.run("KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);" + body.format(rows=32), {"a": a}, before=CUBE)
    assert (whole.outcome, whole.diagnostics) == (Outcome.OK, ())
    past = twin.run("KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);" + body.format(rows=48), {"a": a}, before=CUBE)
    assert [(diagnostic.rule, "512 bytes past" in diagnostic.message) for diagnostic in past.diagnostics] == [
        ("past_tensor", True)
    ]


@pytest.mark.parametrize(("elements", "told"), [(100, False), (128, False), (132, True)])
def test_counter_mode_reaches_as_far_as_its_elements(twin: Twin, elements: int, told: bool) -> None:
    done = twin.run(
        f"""
        TPipe pipe;
        TBuf<TPosition::VECCALC> one, two;
        pipe.InitBuffer(one, 512);
        pipe.InitBuffer(two, 512);
        LocalTensor<float> a = one.Get<float>(), b = two.Get<float>();
        Duplicate(a, 1.0f, 128);
        Duplicate(b, 1.0f, 128);
        SetMaskCount();
        SetVectorMask<float, MaskMode::COUNTER>(0, {elements});
        Add<float, false>(a, a, b, MASK_PLACEHOLDER, 1, {{1, 1, 1, 8, 8, 8}});
        SetMaskNorm();
        ResetMask();
        """
    )
    assert {diagnostic.rule for diagnostic in done.diagnostics} == ({"past_tensor"} if told else set())


def test_names_of_ours_are_free_for_kernels(twin: Twin) -> None:
    before = """
        namespace detail { __aicore__ inline int Twice(int v) { return 2 * v; } }
        struct ImageParams { int a; };
        __aicore__ inline int Assertion(int v) { return v; }
        template <typename T> __aicore__ inline int RegisterAs(T v) { return v; }
        __aicore__ inline void CheckSelect() {}
    """
    body = """
        ImageParams p{3};
        CheckSelect();
        GlobalTensor<float> to;
        to.SetGlobalBuffer((__gm__ float*)y, 256);
        to.SetValue(0, detail::Twice(Assertion(RegisterAs(p.a))));
    """
    assert twin.run(body, before=before).output()[0] == 6


def test_tiling_structures_can_be_declared_ahead(twin: Twin) -> None:
    before = """
        namespace AscendC { namespace tiling { struct TCubeTiling; struct SoftMaxTiling; } }
        __aicore__ inline uint32_t Size(const AscendC::tiling::TCubeTiling* a) { return a->M; }
    """
    body = """
        TCubeTiling t;
        t.M = 7;
        AscendC::tiling::TCubeTiling& same = t;
        GlobalTensor<float> to;
        to.SetGlobalBuffer((__gm__ float*)y, 256);
        to.SetValue(0, Size(&same));
    """
    assert twin.run(body, before=before).output()[0] == 7


def test_a_structure_of_the_device_code_is_not_given_to_it_again() -> None:
    struct = TilingStruct("ProbeTiling", 4, (TilingField("length", "uint32_t", 0, "", 0),))
    description = OperatorDescription(
        name="Probe", inputs=(), outputs=(), attributes=(), socs=(), tiling={"Probe": struct}
    )

    def given(text: str) -> str:
        return prelude(description, Variant(()), text, frozenset())

    assert "struct ProbeTiling {" in given("struct Other { struct ProbeTiling { int a; }; };")
    plain = given("struct ProbeTiling { uint32_t length; };")
    assert "struct ProbeTiling;\nusing NpukbTiling = ProbeTiling;" in plain
    assert "struct ProbeTiling {" not in plain
    inside = given("namespace a::b {\nnamespace c { class ProbeTiling final { uint32_t length; }; } }")
    assert "namespace a { namespace b { namespace c { struct ProbeTiling; } } }" in inside
    assert "using NpukbTiling = a::b::c::ProbeTiling;" in inside


def test_host_code_is_as_strict_as_its_own_compiler(hosting: Hosting) -> None:
    source = HEAD + "static int64_t wide = 7;\nstruct Pair { int32_t a, b; };\nPair pair{wide, 2};  // here\n"
    done = hosting.compile({"op_host/probe.cpp": source + DEFINITION.format(body="")})
    assert done.outcome is Outcome.OK
    [warned] = done.diagnostics
    assert (warned.severity, warned.line) == (Severity.WARNING, 6)
    assert "narrowed" in warned.message


@pytest.mark.parametrize(
    "text",
    [
        "#if ON\ntemplate <int A>\n#endif\n__global__ __aicore__ void probe(GM_ADDR x) {}\n",
        '#ifdef OLD\nextern "C" __global__ __aicore__ void probe(GM_ADDR x) {}\n#else\n'
        "template <int A>\n__global__ __aicore__ void probe(GM_ADDR x) {}\n#endif\n",
    ],
)
def test_a_template_head_between_directives_is_one(text: str) -> None:
    keys = "ASCENDC_TPL_ARGS_DECL(Probe, ASCENDC_TPL_BOOL_DECL(A, 0, 1));\n"
    parameters = template_of({"kernel.cpp": keys + text}, "probe")
    assert parameters is not None
    assert [parameter.name for parameter in parameters] == ["A"]


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Znwm", "operator new"),
        ("_ZdaPv", "operator delete[]"),
        ("_Z3Fooi", "Foo"),
        ("_ZSt4sortIPiEvT_S1_", "std::sort"),
        ("_ZN2my4TileIfLi3EE4LoadEv", "my::Tile::Load"),
        ("_ZN2my4TileC2Ev", "my::Tile::Tile"),
        ("_ZNKSt3__16vectorIiNS_9allocatorIiEEE4sizeEv", "std::vector::size"),
        ("__wrap_memcpy", "memcpy"),
        ("malloc", "malloc"),
    ],
)
def test_symbols_are_shown_as_the_source_calls_them(symbol: str, name: str) -> None:
    assert readable(symbol) == name


def test_what_is_missing_is_named_at_its_line(twin: Twin) -> None:
    memory = twin.run("// new\nint* p = new int[4];  // here\np[0] = 1;")
    [said] = memory.errors
    assert (said.rule, said.line) == ("host_call", memory.marked)
    assert said.message.startswith("operator new[]")
    missing = twin.run("Missing(3);", before="__aicore__ void Missing(int v);  // here")
    [said] = missing.errors
    assert (said.rule, said.line) == ("host_call", missing.marked)
    assert "undefined symbol: Missing is" in said.message


@pytest.mark.parametrize(("count", "outcome"), [(64, Outcome.OK), (1 << 14, Outcome.RULE_VIOLATION)])
def test_a_table_of_the_kernels_own_lies_in_global_memory(twin: Twin, count: int, outcome: Outcome) -> None:
    """It is moved like any tensor, as far as the constants reach."""
    table = f"static const __gm__ int32_t table[64] = {{{', '.join(map(str, range(64)))}}};"
    body = f"""
        GlobalTensor<int32_t> from, to;
        from.SetGlobalBuffer((__gm__ int32_t*)table, {count});
        to.SetGlobalBuffer((__gm__ int32_t*)y, 64);
        TPipe pipe;
        TBuf<TPosition::VECCALC> room;
        pipe.InitBuffer(room, 65536);
        LocalTensor<int32_t> local = room.Get<int32_t>();
        DataCopy(local, from, {count});  // here
        PipeBarrier<PIPE_ALL>();
        DataCopy(to, local, 64);
    """
    done = twin.run(body, outputs={"y": ((64,), DType.INT32)}, before=table)
    assert done.outcome is outcome, done.errors
    if outcome is Outcome.OK:
        assert np.asarray(done.output()).tolist() == list(range(64))
        assert done.diagnostics == ()
    else:
        assert done.found == [("illegal_read", done.marked)]
