"""Chinese at the command line: help, remedies and errors; what programs read stays English."""

from __future__ import annotations

import io

from kernelgen_lm.cli import main as train
from npukernelbench.cli import main
from npukernelbench.cli.group import COMMANDS
from npukernelbench.cli.translated import lift_language
from npukernelbench.console import Console
from npukernelbench.generate.extract import candidate_of
from npukernelbench.language import load_words
from npukernelbench.language.cells import cells
from npukernelbench.nouns import Diagnostic, Outcome, Owner, Severity, Stage, Tier, Track, Verdict
from npukernelbench.report.verdict import Subject, render_verdict


def test_help_of_every_command_fits_eighty_columns(npukb, monkeypatch):
    """Chinese characters are two cells wide; no line begins with a mark that closes."""
    monkeypatch.setenv("COLUMNS", "80")
    for command in ((), *((name,) for name in (*COMMANDS, "tile", "suites", "mcp", "calibrate"))):
        lines = npukb(*command, "--help", "--lang", "zh").out.splitlines()
        assert lines[0].startswith("用法:")
        assert [line for line in lines if cells(line) > 80] == []
        assert [line for line in lines if line.strip().startswith(tuple("，。；：）"))] == []
        assert any("显示本帮助并退出。" in line for line in lines)


def test_the_language_may_stand_anywhere(npukb, monkeypatch):
    english = npukb("judge", "--help").out
    assert english.startswith("Usage: npukb judge")
    chinese = npukb("judge", "--help", "--lang", "zh").out
    for words in (
        ("--lang", "zh", "judge", "--help"),
        ("judge", "--lang=zh", "-h"),
        ("--lang", "zh_CN", "judge", "-h"),
    ):
        assert npukb(*words).out == chinese
    monkeypatch.setenv("NPUKB_LANG", "zh")
    assert npukb("judge", "--help").out == chinese
    assert npukb("judge", "--help", "--lang", "en").out == english
    assert "评判一个核函数的源代码。" in npukb().out
    assert "转换、检查和解释 tile 程序。" in npukb().out
    assert "把程序转换为 Ascend C。" in npukb("tile", "--help").out
    assert lift_language(["run", "--", "--lang", "zh"]) == (None, ["run", "--", "--lang", "zh"])
    assert lift_language(["run", "--lang"]) == ("", ["run"])


def test_errors_tell_their_remedy_in_chinese(npukb):
    for words, parts in (
        (("ls", "tasks", "--colour", "--lang", "zh"), ("错误: 没有", "参见: npukb ls --help")),
        (("report", "nowhere", "--lang", "zh"), ("建议: 给出 'npukb run' 写入的文件夹；除非 --output_path",)),
        (("doctor", "--lang", "fr"), ("--lang: there is no language 'fr'", "remedy: write one of en, zh")),
    ):
        finished = npukb(*words)
        assert finished.code == 2
        assert all(part in finished.err for part in parts), finished.err


def test_a_verdict_tells_meaning_and_remedy_in_chinese():
    """Those of the twin's rules have values in them."""
    remedy = "Put SetFlag and WaitFlag<HardEvent::MTE2_V> between them, or use a queue."
    note = Diagnostic(Severity.ERROR, "missing_sync", "Add reads what DataCopy writes", remedy=remedy)
    verdict = Verdict(Track.STATIC, Tier.TWIN, Stage.RUN, Outcome.RULE_VIOLATION, Owner.MODEL, diagnostics=(note,))
    subject = Subject("Sqrt", "0", candidate_of({}))
    shown = "\n".join(render_verdict(subject, verdict, lambda text, _: text, load_words("zh")))
    assert "核函数违反硬件规则：在设备上会出错、卡死或破坏数据。" in shown
    assert "阶段 run，责任方：model" in shown
    assert "建议: 在两者之间加上 SetFlag 和 WaitFlag<HardEvent::MTE2_V>，或使用队列。" in shown
    assert "remedy: " + remedy in "\n".join(render_verdict(subject, verdict, lambda text, _: text))


def test_what_programs_read_stays_english(npukb, fake, kernel):
    words = ("judge", "Sqrt", kernel("rule_violation"), "--executor", "fake", "--json")
    assert npukb(*words, "--lang", "zh").json == npukb(*words).json


def test_training_speaks_chinese_too(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert train(["--lang", "zh", "corpus", "build", "--help"]) == 0
    assert "生成核函数，保留评判为正确的。" in capsys.readouterr().out
    assert train(["sft", "--help"]) == 0
    assert "Fine-tune on a corpus." in capsys.readouterr().out


def test_a_terminal_that_cannot_show_chinese_gets_english():
    for encoding, language in (("ascii", "en"), ("latin-1", "en"), ("gbk", "zh"), ("utf-8", "zh")):
        out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        console = Console(stdout=out, stderr=out, environ={"LANG": "zh_CN"})
        console.speak()
        assert console.words.language == language


def test_completion_asks_for_no_language(monkeypatch, capsys):
    for name, value in (("_NPUKB_COMPLETE", "zsh_complete"), ("COMP_WORDS", "npukb --la"), ("COMP_CWORD", "1")):
        monkeypatch.setenv(name, value)
    assert main([]) == 0
    assert "--lang" in capsys.readouterr().out
