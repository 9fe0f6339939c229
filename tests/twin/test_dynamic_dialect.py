"""Forms of the vendor compiler's dialect that repositories use: each compiles, and nothing moves."""

from __future__ import annotations

import pytest

from npukb_twin.compile.dialect import entry_named, masked, translate, translate_files
from npukernelbench.nouns import Outcome
from tests.twin.running import HEAD, Twin

ENTRY = """
extern "C" __global__ __aicore__ void probe(GM_ADDR y, GM_ADDR workspace) {
    if (GetBlockIdx() != 0) return;
    GlobalTensor<float> to;
    to.SetGlobalBuffer((__gm__ float*)y);
    to.SetValue(0, %s);
}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__forceinline__ [aicore] void f();", "__forceinline__  __ac__  void f();"),
        ("static [host, aicore] int g();", "static  __ac__        int g();"),
        ("inline[aicore] int g();", "inline __ac__  int g();"),
        ("#define DEVICE __forceinline__ [aicore]\n", "#define DEVICE __forceinline__  __ac__ \n"),
        ("[aicore] A() {}", " __ac__  A() {}"),
        ("k<<<blocks, l2, stream>>>(x, y);", "k                        (x, y);"),
        ("k<T, 2><<<GetBlocks(1), nullptr, s>>>\n  (x);", "k<T, 2>                              \n  (x);"),
        ("k<<<n,\n  0, s>>>(x);", "k     \n         (x);"),
        ("A<B<C<int>>> v;", None),
        ('#include "lib/math/kernel_operator_sin_intf.h"  // x', '#include "kernel_operator.h"  // x'),
        ("# include <kernel_tiling/kernel_tiling.h>", '# include "kernel_operator.h"'),
        ('#include "kernel_utils.h"', '#include "kernel_operator.h"'),
        ('#include "impl/dav_c220/kernel_operator_reg_others_impl.h"', '#include "kernel_operator.h"'),
        ('#include "kernel_operator.h"', None),
        ('#include "kernel_foreach_base.h"', None),
        ('#include "library/mine.h"', None),
        ("operator<<<T>(a); B<C<D<int>>>();", None),
        ("table[aicore] = 1;", None),
        ("f()[aicore] = 1;", None),
        ("// [aicore] and k<<<1, 0, s>>>(x)", None),
        ('const char* s = "[aicore] <<<1>>>(x)";', None),
        ("/* [host, aicore]\n */", None),
        ("int a = 1'000; [aicore] void f(); int b = 2'0;", "int a = 1'000;  __ac__  void f(); int b = 2'0;"),
    ],
)
def test_rewriting(text: str, expected: str | None) -> None:
    got = translate(text)
    assert got == (text if expected is None else expected)
    assert "#" in text or len(got) == len(text)


def test_a_header_of_the_candidate_is_not_the_toolkits() -> None:
    files = {"op_kernel/kernel_utils.h": "", "op_kernel/a.cpp": '#include "kernel_utils.h"\n#include "lib/other.h"\n'}
    assert (
        translate_files(files, "a").files["op_kernel/a.cpp"]
        == '#include "kernel_utils.h"\n#include "kernel_operator.h"\n'
    )


CALLS = "{ f(sqrt(1.0f), a.sqrt(), std::sqrt(2.0)); }"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"__global__ __aicore__ void sqrt(GM_ADDR x) {CALLS}", f"__global__ __aicore__ void sq__(GM_ADDR x) {CALLS}"),
        ("__global__ __mix__(1, 2) void\nsqrt(GM_ADDR x);", "__global__ __mix__(1, 2) void\nsq__(GM_ADDR x);"),
        (
            "s() { sqrt<<<1, 0, s>>>(x); }\n__global__ void sqrt(int);",
            "s() {                       }\n__global__ void sq__(int);",
        ),
        ("ENTRY(sqrt) { __global__ }", "ENTRY(sqrt) { __global__ }"),
        ("__global__ void other(int x) { sqrt(x); }", "__global__ void other(int x) { sqrt(x); }"),
    ],
)
def test_only_the_entry_is_renamed(text: str, expected: str) -> None:
    assert translate_files({"a.cpp": text}, "sqrt").files["a.cpp"] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void f(int n) {\n if (n) { k<<<n, 0, s>>>(x); }\n#endif\n}", "void f(int n) {\n" + " " * 30 + "\n#endif\n}"),
        ("namespace a { void f() { k<<<1, 0, s>>>(x); } int g() { return 1; } }",
         "namespace a { void f() {                    } int g() { return 1; } }"),
        ("int y = 1; k<<<1, 0, s>>>(x);", "int y = 1; k             (x);"),
    ],
)  # fmt: skip
def test_the_hosts_functions_are_left_out(text: str, expected: str) -> None:
    assert translate(text) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_stay(end: str) -> None:
    text = end.join(["a [aicore] b", "k<<<1,", "2>>>(x)", "/* <<<", " */", "// c \\", " [aicore]"])
    assert [len(line) for line in translate(text).splitlines()] == [len(line) for line in text.splitlines()]
    assert translate(text).splitlines()[-1] == " [aicore]"


@pytest.mark.parametrize(
    "text",
    [
        "// a\rasm();",
        "#define A\rasm();",
        'FOOR"("; asm();',
        'auto s = u8R"x(\n)" /* )x"; asm();',
        '/\\\n* R"(\n*/ asm();',
    ],
)
def test_what_compilers_read_as_code_is_not_masked(text: str) -> None:
    assert masked(text).rpartition("\n")[2].strip('"; FOR') == "asm()"


def test_a_backslash_with_blanks_behind_it_joins_lines() -> None:
    assert masked("// a \\ \nasm();\n").split() == []
    assert masked("#define A \\ \t\r\nb") == "#define A  \t\\\r\nb"


@pytest.mark.parametrize("text", ["<<<" * 5000, "[aicore" * 5000, '"' * 9999, "/*" * 9999, 'R"(' * 3000, "'" * 9999])
def test_any_text_is_fast_and_keeps_its_length(text: str) -> None:
    assert len(translate(text)) == len(masked(text)) == len(text)


HAZARDS = {
    "attributes": """
        struct Policy {
            __forceinline__ [aicore] Policy() {}
            [host, aicore] int Value() const { return 1; }
        };
        """,
    "launch stub": """
        void probe_do(uint32_t blocks, void* l2, void* stream, uint8_t* y, uint8_t* workspace) {
            probe<<<blocks, l2, stream>>>(y, workspace);
        }
        """,
    "assertions vanish": """
        __aicore__ inline int Quotient(int a, int b) {
            ASSERT(b != 0 && nowhere.declared) return a / b;
        }
        """,
    "specialisation in class scope": """
        struct Part {
            template <int core> void Run();
            template <> void Run<0>() {}
        };
        """,
    "core type is a constant": """
        template <int core = g_coreType> struct Side { static constexpr int value = core; };
        static_assert(Side<>::value == AIV && AscendC::AIC != AscendC::AIV, "");
        __aicore__ inline void Both() {
            if ASCEND_IS_AIV { int a = 1; }
            if ASCEND_IS_AIC { static_assert(sizeof(int) == 4, ""); }
            if constexpr (g_coreType == AscendC::AIC) { int b = 2; }
        }
        """,
    "template keyword without arguments": """
        template <typename Q, typename T> __aicore__ inline void Give(Q& queue, T& tensor) {
            queue.template FreeTensor(tensor);
        }
        """,
    "architecture": """
        #if __CCE_AICORE__ != 220 || defined(__CCE_KT_TEST__)
        #error "not this chip"
        #endif
        """,
    "names at global scope": """
        #undef NPUKB_NOTHING
        __aicore__ inline void Names() {
            ::GetTPipePtr(); TEventID id = 0; ::event_t e = EVENT_ID0; ::pipe_t p = PIPE_V;
            int64_t a = block_idx + get_block_idx() + get_block_num();
        }
        """,
    "a local called like the block index": """
        __aicore__ inline int64_t Mine() { int64_t block_idx = GetBlockIdx(); return block_idx; }
        """,
    "member pointers": """
        struct Mover { void Go() {} };
        template <void (Mover::*f)()> __aicore__ inline void Call(Mover* mover) { (mover->*f)(); }
        """,
    "own helpers with common names": """
        template <typename TILING_KEY> struct Keyed {};
        constexpr int BLOCK_SIZE = 32, BUFFER_NUM = 2;
        template <typename T> __aicore__ inline T CeilDiv(T a, T b) { return (a + b - 1) / b; }
        """,
}


def test_hazards_compile(twin: Twin) -> None:
    """All of them in one kernel; the launch stub comes after the entry that it names."""
    stub = HAZARDS["launch stub"]
    before = "\n".join(text for name, text in HAZARDS.items() if name != "launch stub")
    source = HEAD + before + ENTRY % "Policy().Value() + Quotient(4, 2)" + stub
    finished = twin.run_source(source)
    assert finished.outcome is Outcome.OK, [str(diagnostic) for diagnostic in finished.diagnostics]
    assert finished.output()[0] == 3.0


def test_columns_are_the_authors(twin: Twin) -> None:
    source = HEAD + "__forceinline__ [aicore] int f() { return missing; }\n" + ENTRY % "1.0f"
    error = twin.run_source(source).errors[0]
    assert (error.line, error.column) == (3, source.splitlines()[2].index("missing") + 1)


def test_entry_named_like_a_library_function(twin: Twin) -> None:
    source = HEAD + ENTRY.replace("probe", "sqrt") % "static_cast<float>(std::sqrt(4.0f))"
    assert twin.run_source(source, entry="sqrt").output()[0] == 2.0


def test_a_type_called_as_a_library_function_gets_another_name() -> None:
    text = (
        "// RmsNorm\nclass RmsNorm {\n  public:\n    RmsNorm() { AscendC::RmsNorm(a, b); op.RmsNorm(); }\n};\n"
        "RmsNorm one;\n"
    )
    made = translate_files({"k.cpp": text}, "k")
    [(other, name)] = made.types.items()
    assert name == "RmsNorm"
    assert len(other) == len(name)
    assert made.files["k.cpp"] == text.replace("class RmsNorm", f"class {other}").replace(
        "    RmsNorm()", f"    {other}()"
    ).replace("\nRmsNorm one", f"\n{other} one")


def test_functions_and_other_types_keep_their_names() -> None:
    text = "class MyNorm {};\nvoid RmsNorm(int a);\n"
    made = translate_files({"k.cpp": text}, "k")
    assert made.types == {}
    assert made.files["k.cpp"] == text


def test_an_entry_may_differ_from_the_converted_name_in_underscores() -> None:
    own = 'extern "C" __global__ __aicore__ void apply_v_2(GM_ADDR x) {}'
    other = 'extern "C" __global__ __aicore__ void apply(GM_ADDR x) {}\n// __global__ void applyv2(int x)'
    assert entry_named([own, other], "apply_v2") == "apply_v_2"
    assert entry_named([own, other], "apply") == "apply"
    assert entry_named([own, own.replace("v_2", "v2")], "apply_v2") == "apply_v2"
    assert entry_named([own, own.replace("apply_v_2", "app_ly_v2")], "apply_v2") == "apply_v2", "two are none"
