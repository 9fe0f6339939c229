"""Training with torch alone: a run that is killed goes on to the same weights; TRL's packing isolates."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelgen_lm.corpus.sample import Message, Sample
from kernelgen_lm.training import plain
from kernelgen_lm.training.common import claim, load_model, progress_line
from kernelgen_lm.training.sft import SFTSettings, tokens_of, train
from kernelgen_lm.training.trainers import last_checkpoint
from npukernelbench.errors import UsageError

TORCH = pytest.mark.skipif(
    find_spec("transformers") is None or find_spec("torch") is None, reason="needs torch, transformers"
)


def samples(count: int, seed: int) -> list[plain.Tokens]:
    rng = Random(seed)
    lengths = [rng.randint(2, 30) for _ in range(count)]
    return [plain.Tokens([rng.randint(4, 250) for _ in range(n)], rng.randint(0, n - 1)) for n in lengths]


def tiny() -> tuple[Any, Any]:
    from kernelgen_lm.training.nano import NanoConfig, make_model, train_tokenizer

    config = NanoConfig(vocabulary=300, hidden=32, layers=2, heads=2, key_value_heads=1, feed_forward=64, window=128)
    tokenizer = train_tokenizer(["int x = 1;", "auto y = x + 2;"] * 3, config)
    return make_model(config, tokenizer, 3), tokenizer


def test_packing_and_adapters_are_for_the_other_engine(tmp_path: Path) -> None:
    for field, changes in (("packing", {"packing": True}), ("engine", {"lora": {"rank": 4}})):
        wanted = SFTSettings.model_validate({"corpus": "corpus", "engine": "plain", **changes})
        with pytest.raises(UsageError) as caught:
            train(wanted, tmp_path / "run")
        assert (caught.value.field, caught.value.remedy) == (field, "use engine: trl")
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(find_spec("trl") is None, reason="needs trl")
def test_a_sequence_that_trl_packs_has_the_loss_of_separate_samples_without_flash_attention() -> None:
    import torch
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    model, _ = tiny()
    assert model.config._attn_implementation == "sdpa"
    chosen = samples(4, 5)
    row = {
        "input_ids": [token for sample in chosen for token in sample.ids],
        "labels": [label for sample in chosen for label in plain._learned(sample)],
        "seq_lengths": [len(sample.ids) for sample in chosen],
    }
    batch = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)([row])
    assert "attention_mask" not in batch
    fields = {name: batch[name] for name in ("input_ids", "position_ids", "labels")}
    separate = plain.batch_of(chosen, 0, torch.device("cpu"))
    with torch.no_grad():
        # without a cache, as its trainer calls the model: only then do transformers look for packed positions
        packed = float(model(**fields, use_cache=False).loss)
        assert packed == pytest.approx(float(model(**separate).loss), rel=1e-5)


class Killed(BaseException):
    """As a signal would end it."""


@TORCH
def test_a_run_that_is_killed_goes_on_to_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    chosen = samples(20, 1)
    wanted = SFTSettings(corpus=Path(), engine="plain", micro_batch=2, accumulate=2, steps=9)
    wanted = wanted.model_copy(update={"save_every": 2, "log_every": 1, "max_length": 64})

    told: list[str] = []

    def run(folder: Path) -> None:
        model, tokenizer = tiny()
        plain.train(model, tokenizer, chosen, wanted, folder, told.append)

    run(tmp_path / "whole")
    assert [line.split(":")[0] for line in told] == [f"step {step} of 9" for step in range(1, 10)]
    save, kills = plain.save_state, iter([True, False, True, True, False, False, False, False])

    def save_then_die(folder: Path, model: Any, optimizer: Any, step: int) -> None:
        save(folder, model, optimizer, step)
        if next(kills):
            raise Killed

    monkeypatch.setattr(plain, "save_state", save_then_die)
    ended = 0
    for _ in range(4):
        try:
            run(tmp_path / "killed")
        except Killed:
            ended += 1
    assert ended == 3
    logs = [json.loads((tmp_path / name / "log.json").read_text(encoding="utf-8")) for name in ("whole", "killed")]
    assert logs[0] == logs[1]
    weights = [AutoModelForCausalLM.from_pretrained(tmp_path / name / "model") for name in ("whole", "killed")]
    pairs = zip(weights[0].parameters(), weights[1].parameters(), strict=True)
    assert all(torch.equal(first, second) for first, second in pairs)
    assert logs[0][-1]["loss"] < logs[0][0]["loss"]


def test_progress_says_where_a_run_is() -> None:
    assert progress_line(3, 40, {"loss": 0.51239, "epoch": 1.0, "reward": 1}) == "step 3 of 40: loss 0.5124, reward 1"
    assert progress_line(40, 40, {"train_runtime": 3.0}) == ""


def test_a_half_written_checkpoint_is_passed_over(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    for step, state in ((2, '{"global_step": 2}'), (10, '{"global_'), (12, None)):
        folder = tmp_path / "steps" / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        if state is not None:
            (folder / "trainer_state.json").write_text(state, encoding="utf-8")
    assert last_checkpoint(tmp_path) == str(tmp_path / "steps" / "checkpoint-2")


def test_a_folder_of_an_older_version_is_taken_up_and_one_of_other_settings_refused(tmp_path: Path) -> None:
    wanted = SFTSettings(corpus=Path("corpus"), steps=9)
    claim(wanted, tmp_path)
    path = tmp_path / "kernelgen.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    del stored["packing"]  # as if it had been added since
    path.write_text(json.dumps(stored), encoding="utf-8")
    claim(wanted, tmp_path)
    assert "packing" in json.loads(path.read_text(encoding="utf-8"))
    for other in (wanted.model_copy(update={"steps": 8}), wanted.model_copy(update={"packing": True})):
        with pytest.raises(UsageError, match="another configuration"):
            claim(other, tmp_path)
    more = wanted.model_copy(update={"steps": 10})
    claim(more, tmp_path, free=("steps",))
    with pytest.raises(UsageError, match="another configuration"):
        claim(more.model_copy(update={"seed": 1}), tmp_path, free=("steps",))
    path.write_text('{"pairs": []}', encoding="utf-8")
    with pytest.raises(UsageError, match="another configuration"):
        claim(wanted, tmp_path)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_the_first_token_of_a_sample_is_never_learned(seed: int) -> None:
    for sample in samples(3, seed):
        labels = plain._learned(sample)
        assert len(labels) == len(sample.ids)
        assert labels[0] == -100
        assert labels[max(1, sample.prompt) :] == sample.ids[max(1, sample.prompt) :]


@TORCH
def test_weights_that_are_trained_are_float32_whatever_the_checkpoint_holds(tmp_path: Path) -> None:
    import torch

    model, tokenizer = tiny()
    model.to(torch.bfloat16).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    trained, _ = load_model(str(tmp_path))
    assert {parameter.dtype for parameter in trained.parameters()} == {torch.float32}
    assert {parameter.dtype for parameter in load_model(str(tmp_path), adapted=True)[0].parameters()} == {
        torch.bfloat16
    }
    assert load_model(str(tmp_path), attention="eager")[0].config._attn_implementation == "eager"
    # A step of usual size moves nearly every weight; in bfloat16 it would move one in a hundred.
    before = [parameter.detach().clone() for parameter in trained.parameters()]
    wanted = SFTSettings(corpus=Path(), engine="plain", steps=1, micro_batch=4, learning_rate=1e-5, max_length=64)
    plain.train(trained, tokenizer, samples(4, 1), wanted, tmp_path / "run")
    pairs = list(zip(before, trained.parameters(), strict=True))
    assert sum(int((first != second).sum()) for first, second in pairs) > 0.9 * sum(first.numel() for first, _ in pairs)


#: How templates of public models end a prompt and write a finished answer.
_BEGIN = "{% for m in messages %}<{{ m.role }}>{{ BODY }}<|end|>{% endfor %}{% if add_generation_prompt %}<assistant>"
TEMPLATES = {
    "plain": (_BEGIN.replace("BODY", "m.content") + "{% endif %}", "<think>\nT\n</think>\n\nA<|end|>"),
    "opens a thought": (
        _BEGIN.replace("BODY", "m.content.split('</think>')[-1].lstrip()") + "<think>\n{% endif %}",
        "T\n</think>\n\nA<|end|>",
    ),
}


@TORCH
@pytest.mark.parametrize("name", TEMPLATES)
def test_no_part_of_the_prompt_is_learned_whatever_the_template_opens(name: str) -> None:
    _, tokenizer = tiny()
    tokenizer.chat_template, learned = TEMPLATES[name]
    asked, answer = Message(role="user", content="Q"), Message(role="assistant", content="<think>\nT\n</think>\n\nA")
    fields = {"operator": "x", "dtype": "float32", "shape": (1,), "question": {}, "provenance": {}, "licence": "x"}
    sample = Sample(id="a", kind="kernel", family="f", messages=(asked, answer), hashes={}, **fields)  # type: ignore[arg-type]
    tokens = tokens_of(sample, tokenizer)
    opening = "<think>\n" if name != "plain" else ""
    assert tokenizer.decode(tokens.ids[: tokens.prompt]) == f"<user>Q<|end|><assistant>{opening}"
    assert tokenizer.decode(tokens.ids[tokens.prompt :]) == learned
    short = sample.model_copy(update={"messages": (asked, Message(role="assistant", content="A"))})
    said = tokens_of(short, tokenizer)
    ends = "A<|end|>" if name == "plain" else "\n</think>\n\nA<|end|>"
    assert tokenizer.decode(said.ids[said.prompt :]) == ends
