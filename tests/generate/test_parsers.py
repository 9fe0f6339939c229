"""The built-in parsers on answers as models write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.generate import wrap
from npukernelbench.generate.parsers import auto, fenced, has_unclosed_block, tagged

ENTRY = 'extern "C" __global__ __aicore__ void sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace)\n{\n}\n'
KERNEL = f'#include "kernel_operator.h"\n{ENTRY}'
MARKS = ["`", "~", "\n", "<kernel>", "</kernel>", "```cpp\n", "\n```\n", "kernel.cpp\n", "// ```"]
TEXT = st.lists(st.text(max_size=20) | st.sampled_from(MARKS), max_size=30).map("".join)
PROSE = st.text(st.characters(exclude_characters="`~<>"), max_size=200)


@given(TEXT)
@pytest.mark.parametrize("parser", [auto, fenced, tagged])
def test_any_text_gives_files_or_none(parser: object, text: str) -> None:
    assert callable(parser)
    files = parser(text)
    assert files is None or all(isinstance(name, str) and source.strip() for name, source in files.items())
    assert has_unclosed_block(text) in (True, False)


@given(PROSE, st.text(st.characters(exclude_characters="`~"), min_size=1).filter(str.strip), PROSE)
def test_a_fenced_kernel_comes_back_byte_for_byte(before: str, kernel: str, after: str) -> None:
    answer = f"{before}\n\nThe kernel:\n{wrap(kernel)}{after}"
    files = fenced(answer)
    assert files is not None
    assert list(files.values()) == [kernel if kernel.endswith("\n") else kernel + "\n"]


@given(PROSE, st.text(st.characters(exclude_characters="`~<")).filter(str.strip), PROSE)
def test_a_tagged_kernel_comes_back_byte_for_byte(before: str, kernel: str, after: str) -> None:
    assert tagged(f"{before}<kernel_impl>\n{kernel}</kernel_impl>{after}") == {"kernel.cpp": kernel}


def test_the_last_block_is_the_answer() -> None:
    assert fenced(f"{wrap('int a;')} better: {wrap('int b;')}") == {"kernel.cpp": "int b;\n"}


def test_a_host_snippet_after_the_kernel_is_not_the_answer() -> None:
    answer = f"{wrap(KERNEL)}\nUsage:\n{wrap('int main() { launch(); }')}\n{wrap('$ ./build.sh', '')}"
    assert fenced(answer) == {"kernel.cpp": KERNEL}


def test_blocks_in_other_languages_are_not_source() -> None:
    assert fenced(wrap("print(1)", "python")) is None
    assert fenced(f"{wrap('int a;')}{wrap('print(1)', 'python')}") == {"kernel.cpp": "int a;\n"}


def test_an_untagged_block_is_source_when_nothing_better_is_there() -> None:
    assert fenced(wrap("int a;", "")) == {"kernel.cpp": "int a;\n"}
    assert fenced(f"{wrap('int a;')}{wrap('output: 1', '')}") == {"kernel.cpp": "int a;\n"}


def test_several_named_files() -> None:
    answer = (
        f"**op_host/sqrt_tiling.h**\n{wrap('struct Tiling {};')}\n"
        f"{wrap(KERNEL, 'cpp op_kernel/sqrt.cpp')}\n### `op_host/sqrt.cpp`:\n{wrap('int host;')}"
    )
    assert fenced(answer) == {
        "op_host/sqrt_tiling.h": "struct Tiling {};\n",
        "op_kernel/sqrt.cpp": KERNEL,
        "op_host/sqrt.cpp": "int host;\n",
    }


def test_a_named_header_beside_an_unnamed_kernel() -> None:
    assert fenced(f"helper.h\n{wrap('int h;')}\nAnd the kernel\n{wrap(KERNEL)}") == {
        "helper.h": "int h;\n",
        "kernel.cpp": KERNEL,
    }


def test_a_later_unnamed_kernel_corrects_the_named_one() -> None:
    answer = f"sqrt.cpp\n{wrap(KERNEL)}\nWait, that forgets the tail.\n{wrap(KERNEL + '// tail')}"
    assert fenced(answer) == {"sqrt.cpp": KERNEL + "// tail\n"}


def test_a_corrected_file_of_the_same_name_wins() -> None:
    assert fenced(f"{wrap('int a;', 'cpp k.cpp')}{wrap('int b;', 'cpp k.cpp')}") == {"k.cpp": "int b;\n"}


def test_blank_blocks_are_no_code() -> None:
    assert fenced("```cpp\n\n```") is None
    assert tagged("<kernel>\n</kernel>") is None


@pytest.mark.parametrize("tag", ["kernel_impl", "kernel", "kernel_code", "KERNEL_IMPL"])
def test_tags_of_kernel_models(tag: str) -> None:
    assert tagged(f"Plan: write <{tag}> once.\n<{tag}>\n{KERNEL}</{tag}>\nBye") == {"kernel.cpp": KERNEL}


def test_a_fence_inside_a_tag_is_unpacked() -> None:
    assert tagged(f"<kernel_impl>\n{wrap(KERNEL)}</kernel_impl>") == {"kernel.cpp": KERNEL}


def test_a_mention_of_the_tags_is_not_an_answer() -> None:
    assert tagged(f"<kernel_impl>\n{KERNEL}</kernel_impl>\nI used <kernel_impl> and </kernel_impl>.") == {
        "kernel.cpp": KERNEL
    }


def test_template_arguments_are_no_tags() -> None:
    assert tagged("Run<kernel>(x); Run<kernel>(y);") is None
    assert not has_unclosed_block(wrap("Run<kernel>(x);"))


def test_auto_prefers_tags_then_fences_then_plain_source() -> None:
    assert auto(f"{wrap('int a;')}<kernel>int b;</kernel>") == {"kernel.cpp": "int b;"}
    assert auto(wrap("int a;")) == {"kernel.cpp": "int a;\n"}
    assert auto(KERNEL) == {"kernel.cpp": KERNEL}


def test_auto_does_not_take_prose_or_unfinished_blocks_for_source() -> None:
    assert auto("I cannot write this kernel.") is None
    assert auto(f"```cpp\n{KERNEL}") is None
    assert auto(f"<kernel_impl>\n{KERNEL}") is None


@pytest.mark.parametrize("text", ["```cpp\nint a;", "<kernel_impl>\nint a;", f"{wrap('int a;')}\n  <kernel>\nint b"])
def test_unclosed_blocks_are_noticed(text: str) -> None:
    assert has_unclosed_block(text)


def test_hostile_text_takes_linear_time() -> None:
    hostile = "<kernel " + " " * 300_000 + "<kernel>" * 50_000 + "```" * 50_000
    assert auto(hostile) is None
    assert has_unclosed_block(hostile) in (True, False)
