"""On-policy training without a GPU: the curriculum, what is refused, alarms, conversations; with torch the sampler."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelgen_lm.config_file import read_config
from kernelgen_lm.corpus.questions import draw_question
from kernelgen_lm.corpus.tasks import write_tasks
from kernelgen_lm.training import measuring, online
from kernelgen_lm.training.alarms import Watch, alarms, metrics_of
from kernelgen_lm.training.curriculum import choose, rates_of, read_rates, refuse_held_out
from kernelgen_lm.training.online import GRPOSettings
from kernelgen_lm.training.rollout import Conversations, TurnReward, turn_tokens
from kernelgen_lm.training.sampler import Sampling, behind, roomy_cache, sample
from npukernelbench.errors import UsageError
from npukernelbench.generate import Hints
from npukernelbench.nouns import FinishReason, Outcome, Owner, SampleKey, Stage, Task, Tier, Track, Verdict
from npukernelbench.report.estimates import Judged
from npukernelbench.rewards import METRIC_NAMES, Answer, Reward
from npukernelbench.rewards.scoring import Turn


def settings_for(folder: Path, *changes: str) -> GRPOSettings:
    return read_config(GRPOSettings, None, [f"tasks={folder}", "steps=4", *changes])


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("ABCDEFGH"), st.integers(0, 4)))
def test_tasks_that_teach_nothing_are_left_out_and_easy_ones_come_first(rights: dict[str, int]) -> None:
    judged = [
        Judged(SampleKey(task, "0", Track.STATIC, index), _verdict(Outcome.OK if index < right else Outcome.CRASH))
        for task, right in rights.items()
        for index in range(4)
    ]
    judged.append(Judged(SampleKey("Z", "0", Track.STATIC, 0), _verdict(Outcome.INFRA_ERROR)))
    rates = rates_of(judged)
    assert rates == {task: right / 4 for task, right in rights.items()}
    chosen = choose("ABCDEFGHZ", rates)
    assert set(chosen) == {task for task, right in rights.items() if 0 < right < 4}
    assert [rates[task] for task in chosen] == sorted((rates[task] for task in chosen), reverse=True)
    assert set(choose("ABCDEFGHZ", rates, above=-1, below=2)) == rights.keys()


def _verdict(outcome: Outcome) -> Verdict:
    return Verdict(Track.STATIC, Tier.TWIN, Stage.DONE if outcome is Outcome.OK else Stage.RUN, outcome, outcome.owner)


def test_held_out_operators_and_benchmark_tasks_are_refused(tmp_path: Path) -> None:
    write_tasks(tmp_path / "held", 2, held_out=True, share=0.1, seed=1)
    with pytest.raises(UsageError, match="held out") as caught:
        online.train(settings_for(tmp_path / "held"), tmp_path / "run", print)
    assert caught.value.remedy == "write others: kernelgen-lm corpus tasks --trained"
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match="tasks of the benchmark"):
        refuse_held_out([named("Sqrt"), named("Mine")], 0.0, {"Sqrt"})
    refuse_held_out([named("Mine")], 0.0, {"Sqrt"})
    with pytest.raises(UsageError, match="holds neither a run nor a measured round"):
        read_rates([tmp_path])


def named(name: str) -> Task:
    return replace(draw_question(Random(1)).task(), name=name)


def test_rates_come_from_the_rounds_of_another_training(tmp_path: Path) -> None:
    for number, right in enumerate((1.0, 0.0)):
        (tmp_path / f"round-{number}").mkdir()
        lines = [
            {"task": "A", "correct": right},
            {"task": "B", "correct": None},
            {"task": f"C{number}", "correct": 1.0},
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"round-{number}" / "measured.jsonl").write_text(text, encoding="utf-8")
    assert read_rates([tmp_path]) == {"A": 0.5, "C0": 1.0, "C1": 1.0}
    assert read_rates([tmp_path / "round-1"]) == {"A": 0.0, "C1": 1.0}


@pytest.mark.parametrize("line", ["{", "[]", '{"task": "A"}', "7"])
def test_a_line_that_is_no_measurement_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "measured.jsonl"
    path.write_text('{"task": "A", "correct": 1.0}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"measured\.jsonl:2: is not a line of a measurement") as caught:
        read_rates([tmp_path])
    assert caught.value.field == "measured"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        (["micro_batch=3"], "group"),
        (["rounds=5"], "steps"),
        (["rounds=2", "lora={rank: 4}"], "lora"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(tmp_path: Path, changes: list[str], field: str) -> None:
    with pytest.raises(UsageError) as caught:
        online.train(settings_for(tmp_path, *changes), tmp_path / "run", print)
    assert caught.value.field == field
    assert not (tmp_path / "run").exists()


def test_rounds_measure_choose_and_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = write_tasks(tmp_path / "tasks", 3, held_out=False, share=0.1, seed=1)
    told: list[str] = []
    calls: list[tuple[int, str, list[str]]] = []
    measured = [{names[0]: 0.0, names[1]: 0.25, names[2]: 0.75}, {names[0]: 0.5, names[1]: 1.0, names[2]: 1.0}]

    def measure(settings: GRPOSettings, number: int, start: str, rows: Any, place: Path, _: Any) -> dict[str, float]:
        return measured[number]

    def round_(settings: Any, number: int, start: str, chosen: Any, place: Path, *_: Any) -> None:
        calls.append((number, start, [row["npukb_task"] for row in chosen]))
        (place / "model").mkdir()
        (place / "model" / "config.json").write_text("{}", encoding="utf-8")
        rows = [{"step": step, "reward": 0.1 * step, "npukb/correct": 0.5} for step in (1, 2)]
        (place / "log.json").write_text(json.dumps(rows), encoding="utf-8")

    class Saved:
        def save_pretrained(self, path: str) -> None:
            Path(path).mkdir(exist_ok=True)

    monkeypatch.setattr(online, "_measure", measure)
    monkeypatch.setattr(online, "_round", round_)
    monkeypatch.setattr(online, "load_model", lambda name: (Saved(), Saved()))
    run = tmp_path / "run"
    settings = settings_for(tmp_path / "tasks", "rounds=2", "model=first")
    for _ in range(2):  # the second time everything is there
        online.train(settings, run, told.append)
    assert calls == [
        (0, "first", [f"{names[2]}/0", f"{names[1]}/0"]),
        (1, str(run / "round-0" / "model"), [f"{names[0]}/0"]),
    ]
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["step"], row["round"]) for row in rows] == [(1, 0), (2, 0), (3, 1), (4, 1)]
    measured[0] = dict.fromkeys(names, 1.0)
    with pytest.raises(UsageError, match="none of 3 tasks"):
        online.train(settings, tmp_path / "other", told.append)
    measured[0], measured[1] = dict.fromkeys(names, 0.5), dict.fromkeys(names, 1.0)
    online.train(settings, tmp_path / "ends", told.append)
    assert told == ["round 1: no task is sometimes right and sometimes wrong any more; training ends here"]


def test_metrics_and_alarms_are_there_while_it_runs(tmp_path: Path) -> None:
    told: list[str] = []
    watch = Watch(tmp_path, told.append)
    log: list[dict[str, float]] = []
    for step in range(1, 13):
        cheat = 0.5 if step > 8 else 0.0
        log.append({"step": step, "reward": 0.1, "npukb/correct": 0.25, "npukb/infra": 0.04, "npukb/cheat": cheat})
        watch.look(log)
        lines = (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(lines[-1])["step"] == step
        assert json.loads(lines[-1])["pass@1"] == pytest.approx(0.25 / 0.96)
        assert bool(told) == (step > 8)
    assert len(told) == 1
    assert (tmp_path / "alarms.txt").read_text(encoding="utf-8").startswith("cheating: ")
    later = Watch(tmp_path, told.append, watch.whole(log), 1)
    later.look([{"step": 1, "reward": 0.1}])
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["step"], row["round"]) for row in rows] == [*((step, 0) for step in range(1, 13)), (13, 1)]
    assert metrics_of([{"loss": 1.0}]) == []


def test_a_reward_that_rises_without_right_kernels_is_an_alarm() -> None:
    rows = [{"reward": 0.1 * i, "npukb/correct": 0.5 - 0.02 * i, "npukb/compiled": 0.9} for i in range(16)]
    assert [alarm.split(":")[0] for alarm in alarms(rows)] == ["reward hacking"]
    dull = [{"reward": 0.5, "frac_reward_zero_std": 1.0}] * 8
    assert [alarm.split(":")[0] for alarm in alarms(dull)] == ["signal"]


class Characters:
    """A tokenizer of one number per character; 0 ends a turn."""

    def apply_chat_template(self, messages: Any, tokenize: bool, add_generation_prompt: bool = False) -> str:
        text = "".join(f"{message['role'][0]}:{message['content']}\0" for message in messages)
        return text + ("a:" if add_generation_prompt else "")

    def __call__(self, text: str, add_special_tokens: bool) -> dict[str, list[int]]:
        return {"input_ids": [ord(letter) for letter in text]}

    def decode(self, tokens: Sequence[int], skip_special_tokens: bool) -> str:
        return "".join(chr(token) for token in tokens if token)


class Grader:
    """Right is what begins with 'r'; the words of the next turn repeat the answer."""

    def repair(self, answers: Sequence[Answer], hints: Hints) -> list[Turn]:
        turns = []
        for answer in answers:
            right = answer.text.startswith("r")
            metrics = dict.fromkeys(METRIC_NAMES, 0.0) | {"correct": float(right)}
            reward = Reward(float(right), Stage.DONE, Outcome.OK, Owner.NONE, "p", metrics)
            turns.append(Turn(reward, "" if right else f"no {answer.text}"))
        return turns


def test_a_conversation_is_one_sequence_of_which_the_judges_words_are_not_learned() -> None:
    says = {"q1": ["right\0"], "q2": ["wrong\0", "right\0"], "q3": ["wrong\0", "worse\0"], "q4": ["endless"]}
    asked: list[list[str]] = []

    class Scripted(Conversations):
        def _draw(self, prompts: list[list[int]], trainer: Any) -> list[tuple[list[int], list[float | None] | None]]:
            texts = ["".join(map(chr, prompt)) for prompt in prompts]
            asked.append(texts)
            return [([ord(c) for c in says[text[2:4]][text.count("\0a:") - 1]], None) for text in texts]

    sampling = Sampling(1.0, 50, 200, frozenset({0}), 0)
    prompts = [[{"role": "user", "content": name}] for name in says]
    rollout = Scripted(
        sampling, Characters(), {name: f"T/{name}" for name in says}, Grader(), turns=2, hints=Hints.NONE
    )  # type: ignore[arg-type]
    drawn = rollout(prompts, SimpleNamespace(use_vllm=False))
    assert drawn["logprobs"] is None
    assert asked[1] == ["u:q2\0a:wrong\0u:no wrong\0a:", "u:q3\0a:wrong\0u:no wrong\0a:"]
    assert drawn["npukb_answer"] == ["right", "right", "worse", "endless"]
    assert drawn["npukb_turns"] == [1, 2, 2, 1]
    assert drawn["npukb_first"] == [1.0, 0.0, 0.0, 0.0]
    assert drawn["npukb_cut"] == [False, False, False, True]
    for tokens, mask, said in zip(drawn["completion_ids"], drawn["env_mask"], says.values(), strict=True):
        own = "".join(chr(token) for token, own_token in zip(tokens, mask, strict=True) if own_token)
        assert len(tokens) == len(mask)
        assert own == "".join(said)
    short = Scripted(
        Sampling(1.0, 50, 60, frozenset({0}), 0), Characters(), {"q2": "T/q2"}, Grader(), turns=2, hints=Hints.NONE
    )  # type: ignore[arg-type]
    assert short([prompts[1]], SimpleNamespace(use_vllm=False))["npukb_turns"] == [1]  # no room for a repair
    with pytest.raises(UsageError, match="a prompt has"):
        Scripted(
            Sampling(1.0, 5, 3, frozenset({0}), 0), Characters(), {"q2": "T/q2"}, Grader(), turns=1, hints=Hints.NONE
        )(  # type: ignore[arg-type]
            [prompts[1]], None
        )


def test_answers_of_vllm_come_with_their_chances_and_the_judges_words_with_none() -> None:
    class Engine:
        def generate(self, prompts: list[list[int]], images: None, num_generations: int) -> tuple[Any, ...]:
            assert (images, num_generations) == (None, 1)
            says = [[ord(c) for c in "wrong\0"]] * len(prompts)
            return prompts, says, [[[-0.5], *([[-0.25]] * 4), [None]]] * len(prompts), None

    sampling = Sampling(1.0, 50, 200, frozenset({0}), 0)
    rollout = Conversations(sampling, Characters(), {"q3": "T/q3"}, Grader(), turns=2, hints=Hints.NONE)  # type: ignore[arg-type]
    trainer = SimpleNamespace(use_vllm=True, vllm_generation=Engine())
    drawn = rollout([[{"role": "user", "content": "q3"}]], trainer)
    tokens, mask, chances = drawn["completion_ids"][0], drawn["env_mask"][0], drawn["logprobs"][0]
    assert len(tokens) == len(mask) == len(chances)
    own = [chance for chance, own_token in zip(chances, mask, strict=True) if own_token]
    assert own == [-0.5, -0.25, -0.25, -0.25, -0.25, None] * 2
    assert {chance for chance, own_token in zip(chances, mask, strict=True) if not own_token} == {0.0}


def test_a_repaired_kernel_is_worth_less_and_a_loss_stays_a_loss() -> None:
    logged: dict[str, float] = {}

    def reward(**columns: Any) -> list[float | None]:
        assert columns["completions"] == ["a", "b", "c", "d"]
        assert columns["truncated"] == [False] * 4
        return [1.0, 1.0, -1.0, None]

    reward.__name__ = "kernel_reward"
    values = TurnReward(reward, 0.5)(  # type: ignore[arg-type]
        npukb_answer=["a", "b", "c", "d"],
        npukb_cut=[False] * 4,
        npukb_turns=[1, 3, 2, 1],
        npukb_first=[1.0, 0.0, 0.0, 0.0],
        completions=["whole conversations"] * 4,
        log_metric=logged.__setitem__,
    )
    assert values == [1.0, 0.25, -1.0, None]
    assert logged == {"npukb/turns": 1.75, "npukb/first_correct": 0.25}


@pytest.mark.skipif(find_spec("transformers") is None or find_spec("torch") is None, reason="needs torch, transformers")
def test_the_sampler_draws_what_the_model_alone_would() -> None:
    import torch

    from kernelgen_lm.training.nano import NanoConfig, make_model, train_tokenizer

    tokenizer = train_tokenizer(["int x = 1;", "auto y = x + 2;"] * 3, NanoConfig(vocabulary=300))
    config = NanoConfig(vocabulary=300, hidden=32, layers=2, heads=2, key_value_heads=1, feed_forward=64, window=96)
    model = make_model(config, tokenizer, 3).eval()
    prompts = [tokenizer(text)["input_ids"] for text in ("int", "auto y = x", "x + 2; int x = 1", "y")]
    cold = Sampling(1e-6, 24, 96, frozenset(), tokenizer.pad_token_id)
    greedy = []
    for prompt in prompts:
        ids = list(prompt)
        for _ in range(24):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        greedy.append(ids[len(prompt) :])
    assert sample(model, prompts, cold) == greedy
    ends = frozenset(row[5] for row in greedy[:3])
    cut = [next((row[: at + 1] for at, token in enumerate(row) if token in ends), row) for row in greedy]
    assert sample(model, prompts, Sampling(1e-6, 24, 96, ends, tokenizer.pad_token_id)) == cut
    lengths = {len(row) for row in sample(model, prompts, Sampling(1.0, 200, 40, frozenset(), 0))}
    assert lengths == {40 - len(prompt) for prompt in prompts}
    torch.manual_seed(1)
    first = sample(model, prompts, Sampling(1.0, 9, 96, frozenset(), 0))
    torch.manual_seed(1)
    assert first == sample(model, prompts, Sampling(1.0, 9, 96, frozenset(), 0))
    between = str(tokenizer.decode(turn_tokens(tokenizer, "wrong")))
    assert between == "<|im_end|>\n<|im_start|>user\nwrong<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.skipif(find_spec("transformers") is None or find_spec("torch") is None, reason="needs torch, transformers")
def test_keys_and_values_grow_into_room_without_moving_and_without_touching_rows_that_left() -> None:
    import torch

    from kernelgen_lm.training.nano import NanoConfig, make_model, train_tokenizer

    whole = torch.arange(2 * 3 * 200 * 4, dtype=torch.float32).reshape(2, 3, 200, 4)
    parts = whole.split([5, *[1] * 195], dim=-2)
    old = room = torch.tensor([])
    places = []
    for part in parts:
        old, room = behind(old, part, room)
        places.append(room.data_ptr())
    assert torch.equal(old, whole)
    assert len(set(places)) <= 5 < len(places)
    left, other = behind(old[[1]], parts[0][[1]], room)
    assert torch.equal(left, torch.cat([whole[[1]], parts[0][[1]]], -2))
    assert torch.equal(old, whole)
    assert other.data_ptr() != room.data_ptr()

    tokenizer = train_tokenizer(["int x = 1;"] * 3, NanoConfig(vocabulary=300))
    config = NanoConfig(vocabulary=300, hidden=32, layers=2, heads=2, key_value_heads=1, feed_forward=64, window=96)
    model = make_model(config, tokenizer, 3).eval()
    cache = roomy_cache(model)
    assert [type(layer).__name__ for layer in cache.layers] == ["Roomy", "Roomy"]


class Oddly:
    """A scorer to whom every other answer is right, and one is nobody's fault."""

    def __init__(self) -> None:
        self.scored: list[Answer] = []

    def score(self, answers: Sequence[Answer]) -> list[Reward]:
        rewards = []
        for answer in answers:
            value = None if len(self.scored) == 1 else float(len(self.scored) % 2)
            self.scored.append(answer)
            rewards.append(Reward(value, Stage.DONE, Outcome.OK, Owner.NONE, "p", {"correct": value or 0.0}))
        return rewards


def _measured() -> tuple[Any, Any, list[dict[str, Any]]]:
    """A tiny model with random weights, its tokenizer, and three questions."""
    from kernelgen_lm.training.nano import NanoConfig, make_model, train_tokenizer

    tokenizer = train_tokenizer(["int x = 1;", "auto y = x + 2;"] * 3, NanoConfig(vocabulary=300))
    config = NanoConfig(vocabulary=300, hidden=32, layers=2, heads=2, key_value_heads=1, feed_forward=64, window=96)
    rows = [{"prompt": [{"role": "user", "content": text}], "npukb_task": f"{text}/0"} for text in ("A", "B", "C")]
    return make_model(config, tokenizer, 3), tokenizer, rows


@pytest.mark.skipif(find_spec("transformers") is None or find_spec("torch") is None, reason="needs torch, transformers")
def test_equal_answers_of_a_measurement_are_judged_once(tmp_path: Path) -> None:
    model, tokenizer, rows = _measured()
    # So cold that every answer is the likeliest one.
    sampling = Sampling(1e-6, 9, 96, frozenset(), tokenizer.pad_token_id)
    scorer: Any = Oddly()
    path = tmp_path / "measured.jsonl"
    assert measuring.Measurement(sampling, scorer, 4, 5).rates(model, tokenizer, rows, path) == {"A": 0.0, "C": 0.0}
    assert [answer.question.task for answer in scorer.scored] == ["A", "B", "C"]
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    known = {"A": 0.0, "B": None, "C": 0.0}
    assert [(line["task"], line["correct"]) for line in lines] == [(task, known[task]) for task in "AAAABBBBCCCC"]


@pytest.mark.skipif(find_spec("transformers") is None or find_spec("torch") is None, reason="needs torch, transformers")
def test_a_measurement_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_BATCH", 3)
    model, tokenizer, rows = _measured()
    sampling = Sampling(1.0, 9, 96, frozenset(), tokenizer.pad_token_id)
    scorer: Any = Oddly()
    path = tmp_path / "round-0" / "measured.jsonl"
    rates = measuring.Measurement(sampling, scorer, 4, 5).rates(model, tokenizer, rows, path)
    assert rates == {"A": 1 / 3, "B": 0.5, "C": 0.5}
    assert [answer.question.task for answer in scorer.scored] == [*"AAAABBBBCCCC"]
    assert {answer.finish_reason for answer in scorer.scored} == {FinishReason.LENGTH}
    kept = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(kept[:6]), encoding="utf-8")
    again: Any = Oddly()
    again.scored = scorer.scored[:6]
    assert measuring.Measurement(sampling, again, 4, 5).rates(model, tokenizer, rows, path) == rates
    assert again.scored == scorer.scored
    assert path.read_text(encoding="utf-8").splitlines(keepends=True) == kept


@settings(max_examples=5, deadline=None)
@given(st.integers(1, 3))
def test_the_preset_for_a_cpu_is_consistent(group: int) -> None:
    preset = read_config(GRPOSettings, Path("grpo-tile-nano-cpu"), [f"accumulate={group}"])
    assert preset.micro_batch * preset.accumulate % preset.group == 0
    online._check(preset)


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 6))
def test_there_are_enough_rows_for_a_step(count: int, prompts: int) -> None:
    rows = [{"npukb_task": str(number)} for number in range(count)]
    enough = online._enough(rows, GRPOSettings(tasks=Path(), group=2, micro_batch=2, accumulate=prompts))
    assert len(enough) >= prompts
    assert enough == rows * (len(enough) // count)
    assert len(enough) < prompts + count
