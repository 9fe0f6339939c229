"""Compiling host code: which files count, what is said about errors, and the C++ library behind it."""

from __future__ import annotations

import pytest

from npukb_twin.compile.build import source_root
from npukb_twin.compile.elf import Elf
from npukb_twin.operator.host_build import sources_of
from npukb_twin.operator.host_messages import host_names, known_gaps
from npukernelbench.nouns import Outcome
from tests.twin.hosting import DEFINITION, HEAD, PLAIN, TILING, Hosting


def test_which_files_are_host_sources() -> None:
    files = {
        "op_host/add.cpp": "",
        "op_host/sub/add_def.cc": "",
        "op_host/add_tiling.h": "",
        "op_host/aclnn_add.cpp": "",
        "op_host/add_l0.cpp": "",
        "op_host/call.cpp": '#include "opdev/make_op_executor.h"\n',
        "op_host/pad.cpp": '#include "pad.h"\n',
        "op_host/pad.h": '#include "opdev/op_executor.h"\n',
        "op_host/run.cpp": '#include "run.h"\nvoid Run(void* s) { add<<<8, nullptr, s>>>(nullptr); }\n',
        "op_host/run.h": "void Run(void* stream);\n",
        "op_kernel/add.cpp": "",
    }
    assert sources_of(files) == ["op_host/add.cpp", "op_host/sub/add_def.cc"]
    assert sources_of({"add.cpp": "", "op_kernel/add.cpp": ""}) == ["add.cpp"]
    defining = '#include "pad.h"\nOP_ADD(Pad);\n'
    assert "op_host/pad.cpp" in sources_of({**files, "op_host/pad.cpp": defining})


def test_several_sources_and_a_shared_header(hosting: Hosting) -> None:
    files = {
        "op_host/probe_tiling.h": f'#pragma once\n{HEAD}#include "shared.h"\n' + TILING.format(body="", before=""),
        "op_host/probe.cpp": '#include "probe_tiling.h"\n' + DEFINITION.format(body=PLAIN),
        "op_host/probe_more.cpp": '#include "probe_tiling.h"\n',
        "op_kernel/shared.h": "#pragma once\nint64_t Twice(int64_t n) { return 2 * n; }\n",
    }
    assert hosting.compile(files).outcome is Outcome.OK


def test_the_library_is_compiled_once_and_not_with_every_operator(hosting: Hosting) -> None:
    """Functions of the headers and usual instances of templates are in the program that loads the image."""
    source = TILING.format(body="said[0] = std::stoi(std::to_string(7));", before="") + DEFINITION.format(body=PLAIN)
    symbols = Elf(hosting.image(source)).symbols(".dynsym")
    missing = {symbol.name for symbol in symbols if symbol.section == 0}
    assert any(name.startswith("_ZN4gert13TilingContext") for name in missing), sorted(missing)
    assert any("vectorI" in name or "basic_string" in name for name in missing), sorted(missing)
    assert not {symbol.name for symbol in symbols if symbol.section and "gert" in symbol.name}


def test_the_cxx_library(hosting: Hosting) -> None:
    before = """
    }
    #include <charconv>
    #include <regex>
    #include <thread>
    namespace optiling {
    struct Shape { virtual ~Shape() = default; virtual int Sides() const = 0; };
    struct Square : Shape { int Sides() const override { return 4; } };
    """
    body = """
    std::map<std::string, int> ordered{{"b", 2}, {"a", 1}};
    std::unordered_map<std::string, std::vector<int>> hashed{{"x", {3, 1, 2}}};
    std::sort(hashed["x"].begin(), hashed["x"].end());
    std::ostringstream text;
    text << ordered.begin()->first << 1.5 << std::boolalpha << true;
    said[0] = text.str() == "a1.5true";
    said[1] = hashed["x"][2] * 10 + std::stoi("7");
    std::unique_ptr<Shape> shape = std::make_unique<Square>();
    said[2] = dynamic_cast<Square*>(shape.get())->Sides();
    std::function<int(int)> twice = [](int n) { return 2 * n; };
    std::mutex mutex;
    int seen = 0;
    std::thread([&] { std::lock_guard<std::mutex> lock(mutex); seen = twice(21); }).join();
    said[3] = seen;
    try { ordered.at("c"); } catch (const std::out_of_range&) { said[4] = 1; }
    said[5] = std::regex_match("b16", std::regex("[a-z]\\\\d+"));
    double parsed = 0;
    const char digits[] = "2.5";
    std::istringstream("2.5") >> parsed;
    said[6] = static_cast<int64_t>(parsed * 2 + std::ceil(parsed) + std::pow(2.0, 3.0));
    static std::string kept = std::to_string(sizeof digits);
    said[7] = kept == "4";
    """
    assert hosting.said(body, before=before) == (1, 37, 4, 42, 1, 1, 16, 1)


def test_an_error_names_file_and_line(hosting: Hosting) -> None:
    compiled = hosting.compile("int f() {\n    return undeclared;\n}\n")
    assert compiled.outcome is Outcome.COMPILE_ERROR
    [error] = compiled.diagnostics
    assert (error.file, error.line) == ("op_host/probe.cpp", 5)


@pytest.mark.parametrize(
    ("source", "outcome", "message"),
    [
        ("int f(gert::TilingContext* c) { return c->GetInputShapes(0); }", Outcome.COMPILE_ERROR,
         "the twin's host headers have no such name"),
        ('#include "aclnn/aclnn_base.h"', Outcome.NO_CODE, "there is no host source"),
        ('#include "hccl/hccl.h"', Outcome.INFRA_ERROR, "hccl/hccl.h is not among the host headers of the twin"),
        ('#include "mine.h"', Outcome.COMPILE_ERROR, "mine.h is not among the host headers"),
        ("conv_tiling::Conv3dTiling tiling;", Outcome.INFRA_ERROR, "the twin does not support it yet"),
        ("namespace optiling { ContextBuilder builder; }", Outcome.INFRA_ERROR,
         "ContextBuilder is documented host API"),
    ],
)  # fmt: skip
def test_whose_fault_an_error_is(hosting: Hosting, source: str, outcome: Outcome, message: str) -> None:
    compiled = hosting.compile(source)
    assert compiled.outcome is outcome
    assert message in compiled.diagnostics[0].message


def test_a_near_name_is_offered(hosting: Hosting) -> None:
    compiled = hosting.compile("uint64_t f(gert::TilingContext* c) { return c->GetTilingKeys(); }")
    assert "GetTilingKey" in compiled.diagnostics[0].remedy


def test_a_function_without_body(hosting: Hosting) -> None:
    from npukb_twin.operator.host_side import describe
    from npukb_twin.operator.host_types import HostFailure

    failure = describe(hosting.image("int Missing(int n); int f() { return Missing(3); }"), hosting.runtime)
    assert isinstance(failure, HostFailure)
    assert "declares Missing(int), calls it and does not define it" in failure.diagnostics[0].message


def test_gaps_are_gaps() -> None:
    assert not known_gaps()["names"] & host_names()
    assert not (source_root() / "include_host/hccl").exists()


def test_an_array_of_variable_size_may_begin_with_values_as_in_gxx(hosting: Hosting) -> None:
    """Host code is built with g++, which takes both; what is not one array in its statement is left to the compiler."""
    body = """
    const size_t count = context->GetInputTensor(0)->GetShapeSize() / 16;
    int64_t some[count] = {5, static_cast<int64_t>(count) }; uint32_t none[count + 1] = {};
    double one[2 * count] = {0}; // int64_t other[count] = {1};
    for (size_t i = 0; i < count; ++i) said[i] = some[i] + none[i] + static_cast<int64_t>(one[i]);
    """
    tiled = hosting.said(body)
    assert tiled[:4] == (5, 4, 0, 0)
    for declared in ("int64_t a[count] = {1}, b = 2;", "const int64_t a[count] = {1};", "int64_t a[count][2] = {{1}};"):
        text = body.replace("double one", declared + " double one")
        made = hosting.compile(
            {"op_host/probe.cpp": HEAD + TILING.format(body=text, before="") + DEFINITION.format(body=PLAIN)}
        )
        assert made.outcome is Outcome.COMPILE_ERROR
        assert "variable-sized object may not be initialized" in made.diagnostics[0].message
