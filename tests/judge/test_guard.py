"""Static guards: what is refused, with which words, and that nothing right is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge import guard
from npukernelbench.nouns import Severity
from npukernelbench.testing import candidate, tiny_task

TASK = tiny_task()
GUARDS = [guard.size_limit, guard.binary, guard.encoding, guard.file_names, guard.include_paths]
KERNEL = """#include "kernel_operator.h"
#include <cstdint>
// a path in a comment: #include is fine here "/etc/passwd"
constexpr const char* kNote = "../not/an/include";
extern "C" __global__ __aicore__ void tinysqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {}
"""


@pytest.mark.parametrize("check", GUARDS)
def test_an_ordinary_kernel_passes(check):
    assert check(candidate(KERNEL), TASK) == []


@pytest.mark.parametrize("check", GUARDS)
@given(text=st.text(st.characters(), max_size=300))
def test_no_text_makes_a_guard_raise(check, text):
    for diagnostic in check(candidate(text), TASK):
        assert diagnostic.severity is Severity.ERROR
        assert diagnostic.message
        assert diagnostic.remedy


def test_a_source_beyond_the_limit_is_refused_with_both_numbers():
    limit = guard.MAX_SOURCE_BYTES
    assert guard.size_limit(candidate("x" * limit), TASK) == []
    (diagnostic,) = guard.size_limit(candidate("é" * (limit // 2 + 1)), TASK)
    assert str(limit) in diagnostic.message
    assert diagnostic.details == {"bytes": limit + 2, "limit": limit}


def test_binary_and_undecodable_sources_are_refused_at_their_line():
    (nul,) = guard.binary(candidate("a\nb\0"), TASK)
    assert (nul.rule, nul.file, nul.line) == ("binary_source", "kernel.cpp", 2)
    (surrogate,) = guard.encoding(candidate("a\n\n\ud800"), TASK)
    assert (surrogate.rule, surrogate.line) == ("bad_encoding", 3)


@pytest.mark.parametrize("name", ["/etc/x.cpp", "../x.cpp", "a/../../x.cpp", "C:\\x.cpp", "a\\..\\x.cpp", ""])
def test_file_names_that_leave_the_folder_are_refused(name):
    assert guard.file_names(candidate("int x;", name), TASK)[0].rule == "bad_file_name"


@pytest.mark.parametrize(
    "line",
    [
        '#include "/etc/passwd"',
        "#include </usr/include/stdio.h>",
        '#include "../secret.h"',
        '#include "a/../../b.h"',
        '#include "C:/x.h"',
        '#include "..\\\\x.h"',
        '  # /* here */ include /**/ "/x.h"',
        '/* before */ #include "/x.h"',
        '%:include "/x.h"',
        '??=include "/x.h"',
        '#include_next "/x.h"',
        '#import "/x.h"',
        '#embed "/x.bin"',
        '#inc\\\nlude "/x.h"',
        '#include \\\n "/x.h"',
        "#include NAME",
        # Compilers also join lines at a backslash with blanks behind it, and end lines at a carriage return.
        '#inc\\ \nlude "/x.h"',
        '#inc\\\t\v\f\r\nlude "/x.h"',
        '#inc\\\rlude "/x.h"',
        'int x;\r#include "/x.h"',
        '// x\r#include "/x.h"',
        '#/*\n*/include "/x.h"',
        '\\/**/\n#include "/x.h"',
    ],
)
def test_forbidden_includes_are_refused_however_they_are_written(line):
    (diagnostic,) = guard.include_paths(candidate("int a;\n" + line + "\nint b;\n"), TASK)
    assert diagnostic.rule == "forbidden_include"
    assert diagnostic.line in (2, 3)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\ufeff", ""),
        ('constexpr auto s = FOOR"(";\n', ""),
        ('#define A 1e+R"("\n', ""),
        ('auto s = R"(a)\\\n" /* )";\n', ""),
        ("int a = 1'0; /*\n R\"(\n*/\n", ""),
        ('auto s = u8R"(\n/*)";\n', ""),
        ('/\\\n* R"(\n*/\n', ""),
        ("#warning /*\n", "//*/"),
        ('#warning R"(\n', '//)"'),
        ('#include "a\\" /* "\n R"(\n*/\n', ""),
        ("#include <a'> /* \n R\"(\n*/\n", ""),
    ],
)
def test_no_text_around_an_include_hides_it(before, after):
    (diagnostic, *_) = guard.include_paths(candidate(f'{before}#include "/x.h"\n{after}'), TASK)
    assert diagnostic.rule == "forbidden_include"


@pytest.mark.parametrize(
    "line",
    [
        '#include "a.h"',
        "#include <a/b.h>",
        '#include "a..b.h"',
        "#includes",
        'auto s = R"(\n#include "/x.h"\n)";',
        '/*\n#include "/x.h"\n*/',
        '// #include "/x.h"',
        '#define include "/x"',
        '// a \\ \n#include "/x.h"',
        'auto s = u8R"x(\r#include "/x.h"\n)x";',
        'int a = 1\'000; /*\n#include "/x.h"\n*/',
        "#error no, /* really */ it isn't",
    ],
)
def test_harmless_lines_are_let_through(line):
    assert guard.include_paths(candidate(line + "\n"), TASK) == []


def test_the_number_of_reports_is_bounded():
    assert len(guard.include_paths(candidate('#include "/x"\n' * 1000), TASK)) == 20


def test_what_is_refused_for_its_size_is_not_read_for_includes():
    text = '#include "/x"\n' * (guard.MAX_SOURCE_BYTES // 14)
    assert guard.size_limit(candidate(text), TASK) == []
    assert guard.include_paths(candidate(text), TASK)
    assert guard.size_limit(candidate(text * 2), TASK)
    assert guard.include_paths(candidate(text * 2), TASK) == []


@pytest.mark.parametrize(
    "piece",
    [
        "/*\n",
        "#include /*",
        "# ",
        "\\\n",
        "*/",
        '#include "',
        "/**/",
        'R"(',
        "'",
        '"\\\\',
        "/\\\n",
        "\\ ",
        "#error /*\n*/",
        "1'a",
    ],
)
def test_guards_are_linear_in_hostile_text(piece):
    """A quadratic search would take hours: that all guards answer, each with a bounded list, is the test."""
    text = piece * ((1 << 20) // len(piece))
    for check in GUARDS:
        assert len(check(candidate(text), TASK)) <= 20


@pytest.mark.parametrize("text", ["", "  \n\t", "\ufeff\n", "\0\0"])
def test_white_space_is_no_source(text):
    assert not guard.has_source(candidate(text))
    assert guard.has_source(candidate(text + "x"))


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ('#include "../base.h"', False),
        ('#include "../erf/../base.h"', False),
        ("#include <../base.h>", True),
        ('#include "../missing.h"', True),
        ('#include "../../base.h"', True),
        ('#include "../../../op_kernel/base.h"', True),
        ('#include "..\\\\base.h"', True),
        ('#include "/op_kernel/base.h"', True),
    ],
)
def test_a_parent_relative_include_may_name_a_file_of_the_candidate(line, refused):
    files = {"op_kernel/base.h": "int a;\n", "op_kernel/erf/deep.h": line + "\n"}
    assert bool(guard.include_paths(candidate_of(files), TASK)) is refused
