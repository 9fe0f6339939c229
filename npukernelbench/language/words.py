"""The words of one language: fixed texts, and texts with values in them.

A text of the sources with values in it is in the catalogue with ``{0}``, ``{1}`` … in their places; what comes in is
the finished English sentence. The values are found in it, and put into the translation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from npukernelbench.language.catalogue import HEADER, catalogue_path, read_catalogue
from npukernelbench.language.choice import LANGUAGES

__all__ = ["ENGLISH", "PLACE", "Words", "load_words"]

#: Where a value goes.
PLACE = re.compile(r"\{(\d)\}")
# Click writes a default behind the help, in brackets and after two blanks.
_DEFAULT = re.compile(r"(?s)(?P<help>.*?)(?:(?:^|  )\[(?P<extra>[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\])?$")


class Words:
    """Translations by English text; a text without one stays as it is."""

    def __init__(self, language: str, entries: Mapping[str, str]) -> None:
        self.language = language
        self._entries = {msgid: msgstr for msgid, msgstr in entries.items() if msgid != HEADER and msgstr}

    @property
    def sample(self) -> str:
        """Some characters of the language: what cannot carry these can carry none of its texts."""
        return "".join(self._entries.values())[:100]

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """Texts with values, those that say most first."""
        patterns = [msgid for msgid in self._entries if PLACE.search(msgid)]
        patterns.sort(key=lambda msgid: -len(PLACE.sub("", msgid)))
        return [(_pattern(msgid), self._entries[msgid]) for msgid in patterns]

    def text(self, english: str) -> str:
        """The translation of a fixed text."""
        return self._entries.get(english, english)

    def sentence(self, english: str) -> str:
        """The translation of a text that may hold values, such as a remedy."""
        if english in self._entries or not self._entries:
            return self.text(english)
        for pattern, translation in self._patterns:
            if (match := pattern.fullmatch(english)) is not None:
                values = {name: self._value(value) for name, value in match.groupdict().items()}
                return _filled(translation, values)
        return english

    def _value(self, value: str) -> str:
        """A value is a name or a number; one of several words may be a sentence itself."""
        return self.sentence(value) if " " in value else value

    def prose(self, english: str) -> str:
        """The translation of a help text, paragraph by paragraph."""
        if not self._entries:
            return english
        return "\n\n".join(self.text(" ".join(part.split())) for part in re.split(r"\n\s*\n", english.strip()))

    def option(self, english: str) -> str:
        """The translation of an option's help, and of what follows it in brackets."""
        if not self._entries:
            return english
        match = _DEFAULT.match(english)
        assert match is not None
        help_text = self.prose(match["help"]) if match["help"] else ""
        if match["extra"] is None:
            return help_text
        extra = "; ".join(self._extra(item) for item in match["extra"].split("; "))
        return f"{help_text}  [{extra}]" if help_text else f"[{extra}]"

    def _extra(self, item: str) -> str:
        word, colon, value = item.partition(": ")
        return f"{self.text(word)}{colon}{self._value(value)}"


#: The language of the sources.
ENGLISH = Words("en", {})


def load_words(language: str) -> Words:
    """The words of one of ``LANGUAGES``."""
    locale = LANGUAGES[language]
    return ENGLISH if locale is None else Words(language, read_catalogue(catalogue_path(locale)))


def _filled(translation: str, values: Mapping[str, str]) -> str:
    return PLACE.sub(lambda place: values[f"v{place[1]}"], translation)


def _pattern(msgid: str) -> re.Pattern[str]:
    """What matches the finished sentences of a text; a value that is there twice is the same twice."""
    seen: set[str] = set()

    def group(piece: str) -> str:
        if piece in seen:
            return f"(?P=v{piece})"
        seen.add(piece)
        return f"(?P<v{piece}>.*?)"

    pieces = PLACE.split(msgid)
    return re.compile("".join(group(p) if i % 2 else re.escape(p) for i, p in enumerate(pieces)), re.DOTALL)
