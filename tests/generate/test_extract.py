"""From answers to candidates and outcomes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.errors import PluginError
from npukernelbench.generate import candidate_of, wrap
from npukernelbench.generate.arrange import arranged, place_of_file
from npukernelbench.generate.extract import extract, extract_with, without_thinking
from npukernelbench.generate.parsers import auto, fenced
from npukernelbench.nouns import Candidate, Completion, FinishReason, Outcome, Task, Track
from npukernelbench.plugins import Plugins, Registration
from npukernelbench.testing.tasks import tiny_task

TASK: Task = tiny_task("Sqrt")
KERNEL = '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void sqrt(GM_ADDR x)\n{\n}\n'


def take(
    text: str, finish_reason: FinishReason = FinishReason.STOP, track: Track = Track.STATIC
) -> Candidate | Outcome:
    return extract_with(auto, Completion(text, finish_reason), TASK, track)


def parser(target: object) -> Registration:
    return Registration(name="odd", target=target, plugin="stranger", distribution="stranger", version="1")


@given(
    st.text() | st.text(st.sampled_from("`\n<>/thinkcpp_kernel ")),
    st.sampled_from(FinishReason),
    st.sampled_from(Track),
)
def test_any_text_is_a_candidate_or_an_outcome(text: str, finish_reason: FinishReason, track: Track) -> None:
    answer = take(text, finish_reason, track)
    assert isinstance(answer, Candidate) or answer in (Outcome.NO_CODE, Outcome.TRUNCATED)


@given(st.text(st.characters(exclude_characters="`~<")).filter(str.strip), st.sampled_from(FinishReason))
def test_a_wrapped_kernel_is_recovered_byte_for_byte(kernel: str, finish_reason: FinishReason) -> None:
    answer = take(f"<think>{wrap('int draft;')}</think>\nHere:\n{wrap(kernel)}", finish_reason)
    assert answer == candidate_of({"kernel.cpp": kernel if kernel.endswith("\n") else kernel + "\n"})


@pytest.mark.parametrize("text", ["", "   \n", "I am sorry.", "```cpp\n```", f"<think>{wrap(KERNEL)}</think>"])
def test_no_code(text: str) -> None:
    assert take(text) is Outcome.NO_CODE
    assert take(text, FinishReason.LENGTH) is Outcome.TRUNCATED


@pytest.mark.parametrize(
    "text",
    [
        f"```cpp\n{KERNEL}",
        f"<kernel_impl>\n{KERNEL}",
        f"{wrap('int example;')}\nNow the kernel:\n```cpp\n{KERNEL}",
        "<think>Let me think about ",
        f"<think>{wrap(KERNEL)} but",
        KERNEL,
    ],
)
def test_an_answer_cut_off_inside_its_code_is_truncated(text: str) -> None:
    assert take(text, FinishReason.LENGTH) is Outcome.TRUNCATED


def test_an_answer_cut_off_after_its_code_is_whole() -> None:
    assert take(f"{wrap(KERNEL)}\nThis kernel copies its in", FinishReason.LENGTH) == candidate_of(
        {"kernel.cpp": KERNEL}
    )


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a<think>b</think>c", "ac"),
        ("b</think>c", "c"),
        ("<think>b", ""),
        ("<THINKING>b</thinking>c<think>d</think>e", "ce"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("no thought", "no thought"),
    ],
)
def test_thinking_is_removed(text: str, rest: str) -> None:
    assert without_thinking(text) == rest


def test_reasoning_is_never_searched() -> None:
    assert extract_with(auto, Completion("Sorry.", reasoning=wrap(KERNEL)), TASK, Track.STATIC) is Outcome.NO_CODE


def test_the_named_kernel_becomes_the_device_source_of_the_static_track() -> None:
    answer = take(
        f"{wrap('#pragma once', 'cpp sqrt_tiling.h')}{wrap(KERNEL, 'cpp sqrt.cpp')}{wrap('int m;', 'cpp main.cpp')}"
    )
    assert answer == candidate_of({"kernel.cpp": KERNEL, "sqrt_tiling.h": "#pragma once\n", "main.cpp": "int m;\n"})


def test_names_stay_on_the_dynamic_track() -> None:
    answer = take(
        f"{wrap(KERNEL, 'cpp op_kernel/sqrt.cpp')}{wrap('int h;', 'cpp op_host/sqrt.cpp')}", track=Track.DYNAMIC
    )
    assert answer == candidate_of({"op_kernel/sqrt.cpp": KERNEL, "op_host/sqrt.cpp": "int h;\n"})


def test_the_hash_covers_names_and_texts_but_not_their_order() -> None:
    a, b = candidate_of({"a.cpp": "1", "b.cpp": "2"}), candidate_of({"b.cpp": "2", "a.cpp": "1"})
    assert a == b
    assert len(a.hash) == 64
    others = [{"a.cpp": "12", "b.cpp": ""}, {"a.cpp": "2", "b.cpp": "1"}, {"a.cp": "p1", "b.cpp": "2"}, {"a.cpp": "1"}]
    assert a.hash not in [candidate_of(files).hash for files in others]


def test_every_built_in_parser_is_registered() -> None:
    parsers = Plugins.load(autoload=False, environ={}).parsers
    for name in ("auto", "fenced", "tagged"):
        assert extract(parsers.find(name), Completion("nothing"), TASK, Track.STATIC) is Outcome.NO_CODE
    assert parsers.find("fenced").load() is fenced


def broken(text: str) -> None:
    raise ValueError("oh no")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (broken, "raised ValueError: oh no"),
        (42, "is not a function but int"),
        (lambda text: text, "returned str"),
        (lambda text: {"kernel.cpp": b"bytes"}, "returned str: bytes"),
        (lambda text: {"../../evil.cpp": "int a;"}, "not a plain relative path"),
    ],
)
def test_a_broken_parser_is_the_plugins_fault(target: object, message: str) -> None:
    with pytest.raises(PluginError, match=message) as caught:
        extract(parser(target), Completion("text"), TASK, Track.STATIC)
    assert "'odd' of plugin 'stranger'" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("op_host/a.cpp", "", "op_host/a.cpp"),
        ("AddCustom/op_kernel/deep/a.h", "", "op_kernel/deep/a.h"),
        ("op_kernel/op_host/a.h", "", "op_host/a.h"),
        ("a.cpp", "__global__ void a()", "op_kernel/a.cpp"),
        ("a.h", "__aicore__ inline int a();", "op_kernel/a.h"),
        ("host/a.cpp", "gert::TilingContext* c;", "op_host/a.cpp"),
        ("a_tiling.h", "BEGIN_TILING_DATA_DEF(A)", "op_host/a_tiling.h"),
    ],
)
def test_files_of_an_operator_find_their_folder(name: str, text: str, place: str) -> None:
    assert place_of_file(name, text) == place
    assert arranged({name: text}) == {place: text}


def test_two_files_never_become_one() -> None:
    files = {"x/op_host/a.cpp": "1", "y/op_host/a.cpp": "2"}
    assert sorted(arranged(files).values()) == ["1", "2"]


def test_three_named_blocks_are_an_answer_of_the_dynamic_track() -> None:
    files = {"op_host/a_tiling.h": "// t\n", "op_host/a.cpp": "// h\n", "op_kernel/a.cpp": KERNEL}
    text = "\n".join(f"Now `{name}`:\n\n{wrap(source, name=name)}" for name, source in files.items())
    assert take(text, track=Track.DYNAMIC) == candidate_of(files)
    spelled = "\n".join(f"**{name}**\n{wrap(source)}" for name, source in files.items())
    assert take(spelled, track=Track.DYNAMIC) == candidate_of(files)
