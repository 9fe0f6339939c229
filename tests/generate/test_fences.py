"""Finding, naming and writing fenced blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.generate.fences import relative_name, scan, wrap

SOURCES = st.text(st.characters(codec="utf-8") | st.sampled_from("`~\n<>#/ \r"), min_size=1, max_size=400)


@given(SOURCES)
def test_what_is_wrapped_comes_back_byte_for_byte(source: str) -> None:
    scanned = scan(f"Here it is:\n\n{wrap(source)}\nDone.")
    expected = source if source.endswith("\n") else source + "\n"
    assert [block.text for block in scanned.blocks] == [expected]
    assert scanned.blocks[0].language == "cpp"
    assert not scanned.unclosed


@given(st.text(max_size=400))
def test_any_text_is_scanned_without_complaint(text: str) -> None:
    scanned = scan(text)
    assert all(block.text in text + "\n" for block in scanned.blocks)


@pytest.mark.parametrize(
    ("info", "language", "name"),
    [
        ("", "", ""),
        ("cpp", "cpp", ""),
        ("C++", "c++", ""),
        ("AscendC", "ascendc", ""),
        ("cpp kernel.cpp", "cpp", "kernel.cpp"),
        ("cpp:op_kernel/sqrt.cpp", "cpp", "op_kernel/sqrt.cpp"),
        ('cpp title="tiling.h"', "cpp", "tiling.h"),
        ("c++ filename=./a.hpp", "c++", "a.hpp"),
        ("kernel.cpp", "cpp", "kernel.cpp"),
        ("{.cpp}", "cpp", ""),
        ("cpp ../../etc/x.cpp", "cpp", ""),
        ("cpp /abs/x.cpp", "cpp", ""),
        ("python", "python", ""),
    ],
)
def test_info_strings(info: str, language: str, name: str) -> None:
    (block,) = scan(f"```{info}\nint a;\n```").blocks
    assert (block.language, block.name, block.text) == (language, name, "int a;\n")


@pytest.mark.parametrize(
    "above",
    [
        "kernel.cpp",
        "**kernel.cpp**",
        "`kernel.cpp`:",
        "### kernel.cpp",
        "File: kernel.cpp",
        "2. `kernel.cpp`",
        "> File name: **kernel.cpp**\n",
    ],
)
def test_a_file_name_alone_on_the_line_above_names_the_block(above: str) -> None:
    (block,) = scan(f"Some words.\n\n{above}\n```cpp\nint a;\n```").blocks
    assert block.name == "kernel.cpp"


@pytest.mark.parametrize(
    "above", ["Put this into kernel.cpp please", "kernel", "../kernel.cpp", "see kernel.cpp\n\n\n"]
)
def test_other_lines_above_do_not_name_it(above: str) -> None:
    (block,) = scan(f"{above}\n```cpp\nint a;\n```").blocks
    assert block.name == ""


def test_an_unfinished_block_swallows_nothing() -> None:
    scanned = scan("```cpp\nint draft;\n\nNo, wait.\n```cpp\nint answer;\n```\n")
    assert [block.text for block in scanned.blocks] == ["int answer;\n"]
    assert not scanned.unclosed


def test_a_source_block_inside_a_markdown_block_is_found() -> None:
    scanned = scan("````markdown\n# Answer\n```cpp\nint a;\n```\n````\n")
    assert [block.text for block in scanned.blocks] == ["int a;\n"]


def test_a_longer_fence_protects_shorter_ones() -> None:
    scanned = scan("````cpp\n// ```cpp\n```\nint a;\n````\n")
    assert [block.text for block in scanned.blocks] == ["// ```cpp\n```\nint a;\n"]


def test_indented_tilde_and_carriage_return_fences() -> None:
    scanned = scan("1. step\r\n   ~~~cpp\r\n   int a;\r\n   ~~~\r\n")
    assert [block.text for block in scanned.blocks] == ["   int a;\r\n"]


def test_an_opening_fence_may_follow_words_and_a_closing_one_code() -> None:
    assert [block.text for block in scan("Kernel: ```cpp\nint a;\n// see ```\n}```\nDone").blocks] == [
        "int a;\n// see ```\n}"
    ]


def test_words_that_end_in_a_bare_fence_open_nothing() -> None:
    assert scan("I quote with ```\nint a;\n") == scan("nothing here")


def test_inline_code_opens_nothing() -> None:
    assert scan("```int a;``` is code\nand so on\n") == scan("nothing here")


def test_the_end_of_the_text_inside_a_block_is_reported() -> None:
    assert scan("```cpp\nint a;").unclosed


@pytest.mark.parametrize("name", ["../a.cpp", "/a.cpp", "a/../../b.h", "", ".", "c:\\a.cpp", "a\0.cpp"])
def test_names_that_lead_out_of_the_folder_are_no_names(name: str) -> None:
    assert relative_name(name) == ""


def test_hostile_text_takes_linear_time() -> None:
    # A square of 300,000 would take minutes, the tests' own time-out would notice; the outcome is what is asserted.
    text = "```" + "a" * 300_000 + "\n" + "*" * 300_000 + "\n" + "```cpp\n" * 50_000
    assert scan(text).unclosed
