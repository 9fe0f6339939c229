"""A small model on questions that are drawn while it trains: from nothing, on from a state, and with its tokenizer."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers import AutoTokenizer  # noqa: E402

from kernelgen_lm.corpus.exclusion import Exclusion  # noqa: E402
from kernelgen_lm.formulas.phrases import phrase_tokenizer, pieces  # noqa: E402
from kernelgen_lm.formulas.short import stream_short  # noqa: E402
from kernelgen_lm.training.nano import NanoConfig  # noqa: E402
from kernelgen_lm.training.streaming import StreamSettings, questions, train_stream  # noqa: E402
from npukernelbench.errors import UsageError  # noqa: E402

TINY = NanoConfig(hidden=16, layers=1, heads=2, key_value_heads=1, feed_forward=16, window=512)


def test_phrases_are_whole_texts_and_few_tokens() -> None:
    texts = [text for short in stream_short(1, 400) for text in (short.prompt, short.program)]
    tokenizer = phrase_tokenizer(texts, 512)
    for text in [*texts[:80], "Ünknown <i9>\n"]:
        assert "".join(pieces(text)) == text
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    lengths = [len(tokenizer(text)["input_ids"]) for text in texts[1::2]]
    assert sorted(lengths)[len(lengths) // 2] < 80


def test_a_run_that_goes_on_sees_what_a_whole_run_sees(tmp_path: Path) -> None:
    whole = StreamSettings(model=TINY, steps=4, batch=2, save_every=2, phrases=60, schedule="constant", seed=3)
    train_stream(whole, tmp_path / "whole", Exclusion([]))
    train_stream(whole.model_copy(update={"steps": 2}), tmp_path / "parts", Exclusion([]))
    train_stream(whole, tmp_path / "parts", Exclusion([]))
    states = [torch.load(tmp_path / name / "state.pt", weights_only=True) for name in ("whole", "parts")]
    for name, weight in states[0]["model"].items():
        assert torch.equal(weight, states[1]["model"][name]), name
    # It is a run as any other: the card reads its settings, and others do not go on from it.
    assert json.loads((tmp_path / "parts" / "kernelgen.json").read_text(encoding="utf-8"))["steps"] == 4
    with pytest.raises(UsageError, match="holds a run of another configuration"):
        train_stream(whole.model_copy(update={"seed": 4}), tmp_path / "parts", Exclusion([]))
    assert json.loads((tmp_path / "whole" / "model" / "slots.json").read_text(encoding="utf-8")) == {"format": 2}


def test_a_run_from_a_model_keeps_its_words_and_learns_those_of_its_questions(tmp_path: Path) -> None:
    first = StreamSettings(model=TINY, steps=1, batch=2, phrases=60, seed=3)
    train_stream(first, tmp_path / "first", Exclusion([]))
    start = str(tmp_path / "first" / "model")
    train_stream(first.model_copy(update={"start": start}), tmp_path / "same", Exclusion([]))
    train_stream(first.model_copy(update={"start": start, "phrases": 300}), tmp_path / "more", Exclusion([]))
    held, same, more = (AutoTokenizer.from_pretrained(tmp_path / name / "model") for name in ("first", "same", "more"))
    assert same.get_vocab() == held.get_vocab()
    assert held.get_vocab().items() < more.get_vocab().items()
    state = torch.load(tmp_path / "more" / "state.pt", weights_only=True)
    assert state["model"]["model.embed_tokens.weight"].shape[0] == len(more)
    # Going on finds the grown tokenizer.
    train_stream(
        first.model_copy(update={"start": start, "phrases": 300, "steps": 2}), tmp_path / "more", Exclusion([])
    )
    assert torch.load(tmp_path / "more" / "state.pt", weights_only=True)["step"] == 2


def test_a_start_that_is_no_model_in_slots_is_named(tmp_path: Path) -> None:
    settings = StreamSettings(model=TINY, start=str(tmp_path / "none"), steps=1)
    with pytest.raises(UsageError, match="none holds no checkpoint to go on from") as caught:
        train_stream(settings, tmp_path / "run", Exclusion([]))
    assert caught.value.field == "start"
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="none does not read slots"):
        train_stream(settings, tmp_path / "run", Exclusion([]))
    assert not (tmp_path / "run").exists()


def test_questions_return_as_often_as_settings_say() -> None:
    texts = [short.prompt + short.program for short in stream_short(0, 300)]
    tokenizer = phrase_tokenizer(texts, 512)
    settings = StreamSettings(model=TINY, batch=2, repeats=3)
    drawn = [tuple(sample.ids) for batch in islice(questions(tokenizer, settings, None), 72) for sample in batch]
    assert len(drawn) == 144
    assert len(set(drawn)) <= 60
