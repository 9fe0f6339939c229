"""Which language: ``--lang`` before ``NPUKB_LANG`` before the locale of the process; English where none is known."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from npukernelbench.errors import UsageError

__all__ = ["LANGUAGES", "chosen", "from_environment"]

#: Languages by their short names, with the locale of the catalogue; None for the language of the sources.
LANGUAGES: Mapping[str, str | None] = MappingProxyType({"en": None, "zh": "zh_CN"})

#: The order of POSIX.
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")


def chosen(name: str, *, field: str = "--lang") -> str:
    """The language that somebody named: ``zh``, ``zh_CN``, ``zh_CN.UTF-8``. UsageError for one without a catalogue."""
    language = _language(name)
    if language not in LANGUAGES:
        raise UsageError(f"there is no language {name!r}", field=field, remedy=f"write one of {', '.join(LANGUAGES)}")
    return language


def from_environment(environ: Mapping[str, str]) -> str:
    """The language of ``environ``. UsageError for an unknown one in ``NPUKB_LANG``; an unknown locale means English."""
    if named := environ.get("NPUKB_LANG"):
        return chosen(named, field="NPUKB_LANG")
    locale = next((environ[name] for name in _LOCALE if environ.get(name)), "")
    language = _language(locale)
    return language if language in LANGUAGES else "en"


def _language(name: str) -> str:
    return name.partition(".")[0].partition("@")[0].replace("-", "_").partition("_")[0].lower()
