"""What a core cannot execute is refused at its line, and nothing else is."""

from __future__ import annotations

import pytest

from npukb_twin.compile.toolchain import find
from npukernelbench.nouns import Outcome
from tests.twin.running import Twin

pytestmark = pytest.mark.skipif(not find().is_clang, reason="g++ does not mark functions")

OUT = "GlobalTensor<float> to;\nto.SetGlobalBuffer((__gm__ float*)y, 256);\n"

#: Rule, part of the message, what stands before the entry, and its body.
REFUSED = {
    "a function without the mark": (
        "host_function",
        "Twice is not marked __aicore__",
        "inline int Twice(int v) { return 2 * v; }",
        OUT + "to.SetValue(0, Twice(3));  // here",
    ),
    "a member without the mark": (
        "host_function",
        "Tile::Size is not marked",
        "struct Tile { int Size() const { return 2; } };\n"
        "template <typename T> __aicore__ inline int Ask(const T& t) {\n    return t.Size();  // here\n}",
        OUT + "Tile t;\nto.SetValue(0, Ask(t));",
    ),
    "a constructor without the mark": (
        "host_function",
        "Tile::Tile is not marked",
        "struct Tile { int n; Tile(int v) : n(v) {} };",
        OUT + "Tile t(3);  // here\nto.SetValue(0, t.n);",
    ),
    "a function template without the mark": (
        "host_function",
        "Twice is not marked",
        "template <typename T>\nT Twice(T v)\n{\n    return v + v;\n}",
        OUT + "to.SetValue(0, Twice(3.0f));  // here",
    ),
    "virtual functions": (
        "virtual_function",
        "Base has virtual functions",
        "struct Base {\n    virtual __aicore__ int Size() const { return 1; }  // here\n};",
        OUT + "Base b;\nto.SetValue(0, b.Size());",
    ),
    "a function that calls itself": (
        "recursion",
        "Sum calls Sum",
        "__aicore__ inline int Sum(int n) {\n    if (n == 0) return 0;\n    return n + Sum(n - 1);  // here\n}",
        OUT + "to.SetValue(0, Sum(to.GetSize()));",
    ),
    "functions that call each other": (
        "recursion",
        "calls",
        "__aicore__ int Odd(int n);\n"
        "__aicore__ inline int Even(int n) { return n == 0 ? 1 : Odd(n - 1); }\n"
        "__aicore__ int Odd(int n) { return n == 0 ? 0 : Even(n - 1); }",
        OUT + "to.SetValue(0, Even(to.GetSize()));",
    ),
    "an algorithm of the library": (
        "std_library",
        "std::sort is not available",
        "#include <algorithm>",
        OUT + "int a[3] = {3, 1, 2};\nstd::sort(a, a + 3);  // here\nto.SetValue(0, a[0]);",
    ),
    "a tuple of the library": (
        "std_library",
        "std::tuple is not available",
        "#include <tuple>",
        OUT
        + "int n = to.GetSize();\nstd::tuple<int, float> both(n, 1.0f);  // here\nto.SetValue(0, std::get<0>(both));",
    ),
    "a kernel that calls a kernel": (
        "kernel_call",
        "probe calls the kernel other",
        'extern "C" __global__ __aicore__ void other(GM_ADDR y) { SetAtomicNone(); }',
        "other(y);  // here",
    ),
    "numbers of double precision": (
        "double_precision",
        "does not compute with",
        "",
        OUT + "double scale = to.GetSize();  // here\nto.SetValue(0, static_cast<float>(scale * 0.5));",
    ),
    "rounding that the compiler has an instruction for": (
        "host_call",
        "floorf is no function",
        "#include <cmath>",
        OUT + "float scale = to.GetSize() * 0.3f;\nto.SetValue(0, floorf(scale));  // here",
    ),
    "the same by its name in the library, in a function": (
        "host_call",
        "ceil is no function",
        "#include <cmath>\n__aicore__ inline int Up(float v) {\n    return static_cast<int>(std::ceil(v));  // here\n}",
        OUT + "to.SetValue(0, Up(to.GetSize() * 0.3f));",
    ),
    "a product that is added without rounding": (
        "host_call",
        "fmaf is no function",
        "#include <cmath>",
        OUT + "float a = to.GetSize();\nto.SetValue(0, fmaf(a, a, 1.5f));  // here",
    ),
    "memory from the heap": ("host_call", "operator new", "", "int* p = new int(3);  // here\n*p = 1;"),
    "exceptions": ("compile", "exceptions", "", "if (GetBlockNum() == 0) throw 1;  // here"),
    "types at run time": (
        "compile",
        "typeid",
        "#include <typeinfo>",
        OUT + "to.SetValue(0, typeid(to).name()[0] == 0);  // here",
    ),
}

#: What the documentation offers, or does not speak of.
ACCEPTED = {
    "constexpr without the mark": (
        "constexpr int Up(int n) { return (n + 31) / 32 * 32; }\n"
        "template <typename T> constexpr T Half(T v) { return v / 2; }",
        OUT + "to.SetValue(0, Up(to.GetSize()) + Half(to.GetSize()));",
    ),
    "recursion of the compiler": (
        "constexpr int Log(int n) { return n < 2 ? 0 : 1 + Log(n / 2); }\n"
        "template <int n> __aicore__ inline int Count() {\n"
        "    if constexpr (n > 0) return 1 + Count<n - 1>(); else return 0;\n}",
        OUT + "constexpr int n = Log(64);\nto.SetValue(0, Count<n>());",
    ),
    "lambdas": (
        "template <typename F> __aicore__ inline int Apply(F f) { return f(2); }",
        OUT + "int k = to.GetSize();\nto.SetValue(0, Apply([&](int v) { return v * k; }));",
    ),
    "members of the compiler": (
        "struct Part { int a = 1; };\nstruct Whole { Part p; TPipe pipe; };\n"
        "struct Named { int v; Named() = default; __aicore__ inline Named(int n) : v{n} {} };",
        OUT + "Whole w;\nNamed n(3), m = n, k;\nk = m;\nto.SetValue(0, w.p.a + k.v);",
    ),
    "members of the compiler in a template of numbers": (
        "template <typename T, CMPMODE MODE> struct Choice {\n"
        "    TBuf<TPosition::VECCALC> a, b, c, d;\n    TQue<TPosition::VECIN, 1> e, f;\n    T value = T(1);\n};",
        OUT
        + "Choice<half, CMPMODE::LT> c;\nif (to.GetSize() > 3) {\n    to.SetValue(0, static_cast<float>(c.value));\n}",
    ),
    "the mark behind a macro, in brackets, on a declaration": (
        "#define DEVICE __aicore__ inline\nDEVICE int A(int v) { return v; }\n[aicore] int B(int v) { return A(v); }\n"
        "__aicore__ int C(int v);\nint C(int v) { return B(v); }\nstruct S { __aicore__ inline int D(int v); };\n"
        "inline int S::D(int v) { return C(v); }",
        OUT + "S s;\nto.SetValue(0, s.D(3));",
    ),
    "host code that nobody calls": (
        "#include <vector>\nstruct Host { virtual int f() { return 1; } };\n"
        "inline int Plan(int n) { std::vector<int> v(n); return n > 0 ? Plan(n - 1) : static_cast<int>(v.size()); }",
        OUT + "to.SetValue(0, 1);",
    ),
    "elements of double precision that are moved, and constants": (
        "template <typename T> __aicore__ inline void Move(GM_ADDR y) {\n"
        "    GlobalTensor<T> to;\n    to.SetGlobalBuffer((__gm__ T*)y, 8);\n    to.SetValue(1, to.GetValue(0));\n}",
        OUT + "constexpr double half = 0.5;\nMove<double>(y);\nto.SetValue(4, static_cast<float>(half));",
    ),
    "functions of the kernel with names of the library, and conversions": (
        "__aicore__ inline int floor(int a, int b) { return a / b; }\n"
        "struct T { __aicore__ inline float ceil(float v) { return v + 1.0f; } };",
        OUT + "T t;\nfloat v = to.GetSize() * 0.3f;\nto.SetValue(0, floor(static_cast<int>(v), 2) + t.ceil(v));",
    ),
    "minimum and maximum of the library": (
        "#include <algorithm>\n#include <utility>",
        OUT + "int a = to.GetSize(), b = 3;\nto.SetValue(0, std::min(a, b) + std::max(a, std::move(b)));",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(twin: Twin, what: str) -> None:
    rule, text, before, body = REFUSED[what]
    done = twin.run(body, before=before)
    assert done.outcome is Outcome.COMPILE_ERROR, [str(said) for said in done.diagnostics]
    said = done.errors[0]
    assert (said.rule, text in said.message) == (rule, True), str(said)
    if "// here" in body + before:
        assert said.line == done.marked, str(said)


@pytest.mark.parametrize("what", ACCEPTED)
def test_is_accepted(twin: Twin, what: str) -> None:
    before, body = ACCEPTED[what]
    done = twin.run(body, before=before)
    assert (done.outcome, [str(said) for said in done.diagnostics]) == (Outcome.OK, [])


def test_a_bit_of_the_control_register_is_the_saturating_mode(twin: Twin) -> None:
    said = """
        SetCtrlSpr<48, 48>(0);
        to.SetValue(0, GetCtrlSpr<48, 48>());
        to.SetValue(1, GetSaturationFlag<SaturationMode::FLOAT>());
        ResetCtrlSpr<48, 48>();
        to.SetValue(2, GetCtrlSpr<48, 48>());
    """
    assert list(twin.run(OUT + said).output()[:3]) == [0, 1, 1]
    other = twin.run("SetCtrlSpr<60, 60>(0);  // here")
    assert (other.outcome, other.found) == (Outcome.COMPILE_ERROR, [("compile", other.marked)])


def test_a_constant_that_a_parameter_cannot_hold_is_told(twin: Twin) -> None:
    """256 repeats are none: refused, with the compiler's own word. Other warnings of the compiler stay unsaid, and what
    it refuses by itself is refused.
    """
    setup = (
        "TPipe pipe;\nTBuf<TPosition::VECCALC> b;\npipe.InitBuffer(b, 1024);\nLocalTensor<float> t = b.Get<float>();\n"
    )
    done = twin.run(setup + "int unused;\nAdds(t, t, 1.0f, 64, 256, {1, 1, 8, 8});  // here")
    assert (done.outcome, done.found) == (
        Outcome.RULE_VIOLATION,
        [("compile", done.marked), ("lost_bits", done.marked)],
    )
    assert done.diagnostics[0].message == (
        "implicit conversion from 'int' to 'unsigned char', which repeatTime of Adds is, changes value from 256 to 0"
    )
    narrowed = twin.run(setup + "Adds(t, t, 1.0f, 64, 2, {1, 1, 8, 256});  // here")
    assert narrowed.outcome is Outcome.COMPILE_ERROR
    assert [(error.rule, error.line) for error in narrowed.errors] == [("compile", narrowed.marked)]
