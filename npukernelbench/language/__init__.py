"""Texts for people in other languages: sources are English, a catalogue holds their translations.

Translation happens where a person reads, and nowhere before: in the help of commands and in the remedies that a
terminal shows. Results, JSON, prompts and rewards are English whatever the language is.
"""

from npukernelbench.language.choice import LANGUAGES, chosen, from_environment
from npukernelbench.language.words import ENGLISH, Words, load_words

__all__ = ["ENGLISH", "LANGUAGES", "Words", "chosen", "from_environment", "load_words"]
