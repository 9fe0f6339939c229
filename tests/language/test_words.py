"""Words of a language: fixed texts, texts with values, help; and the choice of the language."""

from __future__ import annotations

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.language import ENGLISH, LANGUAGES, Words, chosen, from_environment, load_words
from npukernelbench.language.cells import cells, wrap

WORDS = Words(
    "zh",
    {
        "": "header",
        "give {0}": "给出 {0}",
        "give {0} or {1}": "给出 {1} 或 {0}",
        "give {0}, then {0}": "先后给出 {0} 和 {0}",
        "two words": "两个词",
        "default": "默认值",
        "A task.": "一个任务。",
    },
)


def test_values_go_into_their_places() -> None:
    for english, expected in (
        ("give x", "给出 x"),
        ("give x or y", "给出 y 或 x"),
        ("give x, then x", "先后给出 x 和 x"),
        ("give x, then y", "给出 x, then y"),
        ("give two words", "给出 两个词"),
        ("give default", "给出 default"),
        ("take x", "take x"),
        ("give {1}", "给出 {1}"),
        ("", ""),
    ):
        assert WORDS.sentence(english) == expected, english
    assert ENGLISH.sentence("give x") == "give x"


def test_help_is_translated_paragraph_by_paragraph() -> None:
    assert WORDS.prose("A\n  task.\n\n  Other.\n") == "一个任务。\n\nOther."
    for english, expected in (
        ("A task.", "一个任务。"),
        ("A task.  [default: 16]", "一个任务。  [默认值: 16]"),
        ("A task.  [default: two words; required]", "一个任务。  [默认值: 两个词; required]"),
        ("[default: default]", "[默认值: default]"),
        ("", ""),
    ):
        assert WORDS.option(english) == expected, english
    assert ENGLISH.option("A task.  [default: 16]") == "A task.  [default: 16]"


def test_the_language_is_that_of_the_option_the_variable_or_the_locale() -> None:
    for environ, language in (
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_GB", "LC_MESSAGES": "zh_CN"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "NPUKB_LANG": "en"}, "en"),
        ({"NPUKB_LANG": "", "LC_ALL": "zh_TW@x"}, "zh"),
    ):
        assert from_environment(environ) == language, environ
    assert [chosen(name) for name in ("zh", "zh-CN", "ZH_cn.gbk", "en")] == ["zh", "zh", "zh", "en"]
    with pytest.raises(UsageError, match="there is no language 'fr'") as caught:
        from_environment({"NPUKB_LANG": "fr"})
    assert (caught.value.field, caught.value.remedy) == ("NPUKB_LANG", "write one of en, zh")
    assert [load_words(language).language for language in LANGUAGES] == [*LANGUAGES]


def test_lines_are_measured_in_cells() -> None:
    assert cells("核 UB\x1b[1m！\x1b[0m") == 7
    assert wrap("核函数的元素，使用 DataCopyPad 搬运。", 12, first="- ", rest="  ") == [
        *("- 核函数的元", "  素，使用", "  DataCopyPad", "  搬运。"),
    ]
    assert wrap("（核函数）核", 8) == ["（核函", "数）核"]
    assert wrap("核函，核函", 5) == ["核", "函，", "核函"]
    assert wrap("a  b c", 3) == ["a", "b c"]
    assert wrap("", 5, first="x") == ["x"]
