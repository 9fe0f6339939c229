"""A tokenizer of phrases: what lies between two slots of a program is one token, formulas are single signs and names.

Bytes stand for what is no phrase, so that no text is beyond the tokenizer. It is a fast tokenizer like any other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernelgen_lm.formulas.slots import SLOT

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["TEMPLATE", "learn_phrases", "phrase_tokenizer", "pieces"]

_START, _END, _PAD = "<|question|>", "<|end|>", "<|pad|>"
#: A question, then its answer.
TEMPLATE = """{%- for message in messages -%}
{%- if message.role == 'user' -%}{{- '<|question|>' + message.content -}}
{%- elif message.role == 'assistant' -%}{{- message.content + '<|end|>' -}}
{%- endif -%}
{%- endfor -%}"""
_TYPE = r"\b(?:bfloat16|float16|float32|bool|int32|int8|uint8|int16|int64)\b"
# In this order: a row of the interface with its type, extents, slots, powers and numbers, signs, words,
# and any other character.
_SIGNS = re.compile(
    rf"\n<[ioa]\d> (?:list )?(?:{_TYPE}|float|int|bool|absent)| (?:1|<d\d>)+|{SLOT.pattern}"
    r"| \*\* 2|\d\.0\b|\d+\.\d+(?:e\d+)?|\d| [-+*/<>=!]=? |, | if | else |\^[23]|[A-Za-z_]\w*\(?|.",
    re.DOTALL,
)
#: Where a program is cut: lines, and the arguments of its kernel.
_CUTS = re.compile(r"(?<=\n)|(?<=def <k>\()|(?<=\], )")
#: What differs between programs of a family; all other lines stand together.
_VARIES = re.compile(rf"{_TYPE}|<i\d>_in|<[fva]\d>|Attribute")
# Widening an input is the same line in every program: it belongs to the phrase around it.
_WIDENED = re.compile(r"float32\(<i\d>_in\)$")
#: Phrases that are rarer are bytes.
_RAREST = 4


def pieces(text: str) -> list[str]:
    """A text cut into phrases; together they are the text."""
    # The question comes first and is cut otherwise than the program behind it.
    begin = text.find("```python")
    begin = len(text) if begin < 0 else begin
    made = _SIGNS.findall(text[:begin])
    fixed = ""
    for line in text[begin:].splitlines(keepends=True):
        head, mark, tail = line.rstrip("\n").partition("[:] = ")
        if mark and not _WIDENED.match(tail):
            made += [*_cut(fixed), head + mark, *_SIGNS.findall(tail)]
            # The end of this line, which was cut off above, begins the next phrase.
            fixed = "\n"
        else:
            fixed += line
    return made + _cut(fixed)


def _cut(text: str) -> list[str]:
    """Lines, neighbours together where nothing in them varies."""
    made: list[str] = []
    for part in _CUTS.split(text):
        if made and not (_VARIES.search(part) or _VARIES.search(made[-1])) and not made[-1].endswith("("):
            made[-1] += part
        else:
            made.append(part)
    return [part for part in made if part]


def _frequent(texts: Iterable[str]) -> list[str]:
    counts = Counter(piece for text in texts for piece in pieces(text))
    # Single characters need no token of their own: their bytes are enough.
    return sorted(piece for piece, count in counts.items() if count >= _RAREST and len(piece) > 1)


def learn_phrases(tokenizer: PreTrainedTokenizerFast, texts: Iterable[str]) -> int:
    """Give a tokenizer the phrases of ``texts`` that it cuts; how many they are."""
    from tokenizers import AddedToken

    # What is one token already would stand in the vocabulary twice.
    unknown = [phrase for phrase in _frequent(texts) if len(tokenizer.tokenize(phrase)) > 1]
    # Not normalized: a phrase is found exactly as it stands in the text, blanks included.
    tokenizer.add_tokens([AddedToken(phrase, normalized=False) for phrase in unknown])
    return len(unknown)


def phrase_tokenizer(texts: Iterable[str], window: int) -> PreTrainedTokenizerFast:
    """A tokenizer whose words are the phrases of ``texts``."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    phrases = _frequent(texts)
    # Every slot that may occur, also those that these texts lack: numbers of inputs differ from text to text.
    slots = [
        f"<{letter}{at}>"
        for letter, most in zip("ifoandvu", (8, 8, 4, 8, 8, 8, 5, 5), strict=True)
        for at in range(most)
    ]
    tokenizer = Tokenizer(models.BPE())
    # Without the usual cut at words, which would separate phrases before they are looked for.
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    # Bytes alone: phrases are not merged from them, but stand beside them.
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + 3,
        special_tokens=[_PAD, _START, _END],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    # Nothing is learned: the trainer takes in the alphabet and the special tokens.
    tokenizer.train_from_iterator([], trainer)
    words = dict.fromkeys([*slots, "<k>", *phrases])
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in words])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=_END, pad_token=_PAD)
    fast.chat_template = TEMPLATE
    fast.model_max_length = window
    return fast
