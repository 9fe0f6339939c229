"""The catalogues: all that a person reads has a translation, which keeps what counts; nothing else is there."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from npukernelbench.errors import ConfigError
from npukernelbench.language import LANGUAGES, Words
from npukernelbench.language.catalogue import HEADER, catalogue_path, read_catalogue, write_catalogue
from npukernelbench.language.words import PLACE
from tests.tables import read_yaml

ROOT = Path(__file__).resolve().parents[2]
#: What a reader types or looks up, and numbers.
_EXACT = re.compile(
    r"--[a-z]\w+|\b[A-Z]+_\w+|\b[A-Z][a-z]+[A-Z]\w+|docs/\w+\.md|\d+(?:\.\d+)*|\b[A-Z]{2,}\b|\b\w+_\w+\b|\w+=\S+"
)
#: Expressions in which no text stands: values of other kinds, and what comes from another process.
_NO_TEXTS = """\
npukernelbench/nouns/decode.py: data
npukernelbench/rewards/service.py: 256 << 20
plugins/npukb_mcp/sessions.py: 1 << 20
plugins/npukb_tile/kernelreader.py: form
plugins/npukb_tile/making.py: json.loads(done.report)
plugins/npukb_twin/operator/derive.py: _INCLUDE.sub(replace, files[name].replace('#pragma once', ''))
plugins/npukb_twin/operator/derive.py: include.group()
""".splitlines()


@pytest.fixture(scope="module", params=[locale for locale in LANGUAGES.values() if locale])
def entries(request: pytest.FixtureRequest) -> dict[str, str]:
    return read_catalogue(catalogue_path(request.param))


def test_catalogues_hold_what_the_sources_say(script: ModuleType, entries: dict[str, str], tmp_path: Path) -> None:
    """Every command's help, every remedy of Python sources and of the twin's runtime, every outcome: nothing is missing
    and nothing is left over. ``python scripts/catalogue.py`` adds and takes out.
    """
    sections = script.wanted()
    texts = {text for section in sections.values() for text in section}
    assert len(texts) > 1100
    assert sorted(texts - entries.keys()) == []
    assert sorted(entries.keys() - texts) == [HEADER]
    assert [msgid for msgid, msgstr in entries.items() if not msgstr] == []
    for locale in filter(None, LANGUAGES.values()):
        write_catalogue(tmp_path / "again.po", entries, sections)
        assert (tmp_path / "again.po").read_text("utf-8") == catalogue_path(locale).read_text("utf-8")


def test_every_remedy_was_followed_to_its_text(script: ModuleType) -> None:
    """A remedy that is made in a way that the script cannot follow would stay English unnoticed."""
    remedies, runtime = script.remedies()
    assert sorted(remedies.lost) == _NO_TEXTS
    assert runtime.lost == []
    declared = (script.ROOT / "plugins/npukb_twin/runtime/check/diagnostics.h").read_text()
    most = int(re.findall(r"char remedy\[(\d+)\];", declared)[0])
    assert [text for text in runtime.found if len(text) >= most] == [], "the runtime would cut it off"


def test_translations_keep_values_options_names_and_numbers(entries: dict[str, str]) -> None:
    changed = {}
    for msgid, msgstr in entries.items():
        places = sorted(PLACE.findall(msgid)), sorted(PLACE.findall(msgstr))
        lost = [word for word in _EXACT.findall(msgid) if word.rstrip(".,;:)") not in msgstr]
        if msgid != HEADER and (places[0] != places[1] or lost):
            changed[msgid] = (lost, places)
    assert changed == {}


def test_translations_use_the_terms_of_the_glossary(entries: dict[str, str]) -> None:
    """docs/languages.md says how the vendor's documentation calls things."""
    page = (ROOT / "docs" / "languages.md").read_text("utf-8")
    terms = dict(re.findall(r"^\| ([a-z ]+) \| ([^|]+?) \| always \|$", page, re.MULTILINE))
    assert len(terms) >= 12
    wrong = {
        (english, term): msgid
        for english, term in terms.items()
        for msgid, msgstr in entries.items()
        if re.search(rf"(?<![@\w-]){english}s?\b(?! def)", msgid) and term not in msgstr
    }
    assert wrong == {}


def test_every_sentence_is_recognised_with_its_values(entries: dict[str, str]) -> None:
    """No other text that is nearly alike takes its place."""
    words = Words("zh", entries)
    wrong = {}
    for msgid, msgstr in entries.items():
        if msgid != HEADER:
            english, expected = (PLACE.sub(lambda place: f"V{place[1]}", text) for text in (msgid, msgstr))
            if words.sentence(english) != expected:
                wrong[english] = words.sentence(english)
    assert wrong == {}


def test_what_the_twin_said_of_every_rule_is_translated(chinese: Words) -> None:
    """Finished remedies, with values, of kernels that tests run: found otherwise than by reading sources."""
    paths = sorted((ROOT / "docs" / "rules").glob("*.yaml"))
    said = [row["remedy"] for path in paths for row in read_yaml(path) if "remedy" in row]
    assert len(said) > 40
    assert [remedy for remedy in said if chinese.sentence(remedy) == remedy] == []


def test_what_is_wrong_in_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.po"
    for text, line in (
        ('msgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"\n', 5),
        ('msgid "a"\nmsgstr "b\n', 2),
        ("msgid a\n", 1),
        ('"a"\n', 1),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            read_catalogue(path)
        assert caught.value.location is not None
        assert caught.value.location.line == line, text


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new.po"
    entries = {HEADER: "Language: zh\n", "a\n\tb": 'c\n"d"', "e": "", "gone": "x"}
    write_catalogue(path, entries, {"one": ["a\n\tb", "e"], "two": ["e", "new"]})
    assert read_catalogue(path) == {HEADER: "Language: zh\n", "a\n\tb": 'c\n"d"', "e": "", "new": ""}
    assert path.read_text().count("#. one\n") == 2


def test_what_is_missing_is_counted_by_language(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "wanted", lambda: {"one": ["said"]})
    monkeypatch.setattr(script, "LANGUAGES", {"zh": "zh_CN", "de": "de_DE"})
    monkeypatch.setattr(script, "catalogue_path", lambda locale: tmp_path / f"{locale}.po")
    for locale, said in {"zh_CN": "", "de_DE": "gesagt"}.items():
        write_catalogue(tmp_path / f"{locale}.po", {HEADER: "Language: x\n", "said": said}, {"one": ["said"]})
    assert script.main() == 1
    out = capsys.readouterr().out
    assert "zh_CN: 1 texts, 1 without a translation" in out
    assert "de_DE: 1 texts, 0 without a translation" in out
