"""A corpus as tables: packing wastes little and cuts nothing, Parquet gives back what went in, near duplicates go."""

from __future__ import annotations

import gzip
import json
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelgen_lm.cli import main
from kernelgen_lm.corpus.chat import ChatWish, conversation, make_chat
from kernelgen_lm.corpus.check import Checked, Finding, statistics
from kernelgen_lm.corpus.pack import first_fit, pack, sequences
from kernelgen_lm.corpus.page import lengths_of, operators_of, render_page
from kernelgen_lm.corpus.sample import Message, Sample, answer_text, read_samples, write_lines
from kernelgen_lm.corpus.similar import near_duplicates, shingles
from kernelgen_lm.corpus.table import read_table, write_rows, write_samples
from kernelgen_lm.training.plain import Tokens
from npukernelbench.errors import UsageError

TASKS = Path(__file__).resolve().parents[2] / "tasks"

needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow (extra parquet)")
needs_datasets = pytest.mark.skipif(find_spec("datasets") is None, reason="needs datasets (extra train)")
needs_torch = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("torch", "transformers", "tokenizers")), reason="needs torch (extra train)"
)


def sample(number: int, code: str = "", **changes: object) -> Sample:
    """A sample whose answer holds ``code``."""
    messages = (
        Message(role="user", content=f"Write number {number}."),
        Message(role="assistant", content=answer_text("Thus.", code or f"int x = {number};")),
    )
    made = Sample(
        id=f"s{number}",
        kind="kernel",
        family="rows",
        operator=f"Op{number % 3}",
        dtype="float32",
        shape=(number, 2),
        messages=messages,
        question={"family": "rows", "numbers": [number, None, 1.5]},
        style={"structure": "class"},
        provenance={"source": "made up", "index": number},
        licence="MIT",
        hashes={"source": str(number)},
        verdict={"outcome": "ok"},
    )
    return made.model_copy(update=changes)


@given(st.lists(st.integers(1, 120), max_size=60), st.integers(20, 100))
@settings(max_examples=80, deadline=None)
def test_packing_is_first_fit_with_the_longest_first(lengths: list[int], length: int) -> None:
    packing = first_fit(lengths, length)
    placed = [index for sequence in packing.bins for index in sequence]
    assert sorted([*placed, *packing.too_long]) == list(range(len(lengths)))
    assert all(sum(lengths[index] for index in sequence) <= length for sequence in packing.bins)
    assert packing.too_long == [index for index, sample_length in enumerate(lengths) if sample_length > length]
    assert packing == first_fit(lengths, length)
    naive: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: (-lengths[index], index)):
        if lengths[index] <= length:
            room = next(
                (sequence for sequence in naive if sum(lengths[i] for i in sequence) + lengths[index] <= length), None
            )
            naive.append([index]) if room is None else room.append(index)
    assert packing.bins == naive


def test_sequences_keep_their_samples_apart() -> None:
    encoded = [Tokens([1, 2, 3, 4], 2), Tokens([5, 6], 1), Tokens([7, 8, 9], 0), Tokens(list(range(20)), 3)]
    samples = [sample(index) for index in range(4)]
    packing, facts = pack(encoded, 6)
    rows = list(sequences(packing, samples, encoded))
    assert rows[0] == {
        "input_ids": [1, 2, 3, 4, 5, 6],
        "labels": [-100, -100, 3, 4, -100, 6],
        "position_ids": [0, 1, 2, 3, 0, 1],
        "cu_seq_lens": [0, 4, 6],
        "samples": ["s0", "s1"],
    }
    assert rows[1]["samples"] == ["s2"]
    assert (facts.samples, facts.too_long, facts.sequences, facts.least_sequences, facts.tokens) == (3, 1, 2, 2, 9)
    assert facts.waste == 0.25
    assert facts.samples_per_sequence == {"fewest": 1, "median": 1.5, "most": 2}
    assert pack([], 6)[1].waste == 0
    with pytest.raises(UsageError, match="is no length"):
        first_fit([1], 0)


def test_many_samples_waste_little() -> None:
    rng = Random(1)
    lengths = [int(rng.lognormvariate(7, 0.6)) + 1 for _ in range(20_000)]
    packing = first_fit(lengths, 32_768)
    tokens = sum(length for length in lengths if length <= 32_768)
    assert tokens / (32_768 * len(packing.bins)) > 0.99


@needs_pyarrow
def test_parquet_gives_back_what_went_in(tmp_path: Path) -> None:
    from pyarrow import parquet

    samples = [sample(number) for number in range(700)]
    path = tmp_path / "samples.parquet"
    write_samples(path, samples)
    assert list(read_table(path)) == samples
    write_samples(tmp_path / "more.jsonl", [sample(1000)])
    assert list(read_table(tmp_path)) == [sample(1000), *samples]
    assert parquet.read_table(path).column("messages")[3].as_py()[0] == {"role": "user", "content": "Write number 3."}
    assert not list(tmp_path.glob("*.partial"))
    with pytest.raises(UsageError, match="nothing to write"):
        write_rows(tmp_path / "empty.parquet", [])


def test_without_pyarrow_json_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UsageError, match="needs the package pyarrow"):
        write_samples(tmp_path / "samples.parquet", [sample(1)])
    write_samples(tmp_path / "samples.jsonl.gz", [sample(1), sample(2)])
    write_samples(tmp_path / "samples.jsonl", [sample(1), sample(2)])
    assert list(read_table(tmp_path / "samples.jsonl.gz")) == list(read_table(tmp_path / "samples.jsonl"))
    with pytest.raises(UsageError, match="an unknown ending"):
        write_samples(tmp_path / "samples.csv", [])
    words = ["corpus", "check", str(tmp_path / "samples.jsonl"), "--out", str(tmp_path / "samples.csv")]
    assert main(words) == 2  # before anything is compared


def test_files_that_cannot_be_read_are_named_with_the_line(tmp_path: Path) -> None:
    good = sample(1).line().encode()
    packed = gzip.compress(good * 3)
    for name, content, place, said in (
        ("latin.jsonl", good + good.replace(b"Write", b"\xc9crit"), 2, "invalid unicode code point"),
        ("latin.jsonl.gz", gzip.compress(good + good.replace(b"Write", b"\xc9crit")), 2, "invalid unicode code point"),
        ("plain.jsonl.gz", good, 1, "cannot be unpacked"),
        ("short.jsonl.gz", packed[:-8], 4, "cannot be unpacked"),
        ("spoiled.jsonl.gz", packed[:20] + bytes(20) + packed[40:], 1, "cannot be unpacked"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match=said) as caught:
            list(read_samples(tmp_path / name))
        assert str(caught.value.location) == f"{tmp_path / name}:{place}"


@pytest.mark.parametrize("name", ["samples.jsonl", "samples.jsonl.gz"])
def test_lone_surrogates_of_models_are_written_as_question_marks(tmp_path: Path, name: str) -> None:
    write_samples(tmp_path / name, [sample(1, code="a\ud800b")])
    [taken] = read_table(tmp_path / name)
    assert "a?b" in taken.answer


def code(rng: Random, lines: int = 60) -> list[str]:
    names = ("Add", "Mul", "Exp", "Sub", "Max", "Cast")
    return [
        f"{rng.choice(names)}(t{rng.randrange(9)}, t{rng.randrange(9)}, {rng.randrange(99)});" for _ in range(lines)
    ]


def test_near_duplicates_of_earlier_samples_go() -> None:
    rng = Random(2)
    texts = [code(rng) for _ in range(30)]
    samples = [sample(index, "\n".join(text)) for index, text in enumerate(texts)]
    changed = [*texts[4][:30], "Abs(t1, t2, 7);", *texts[4][31:]]
    samples.append(sample(100, "\n".join(changed)))
    samples.append(sample(101, "// another comment\n" + "\n".join(texts[7])))
    samples.append(sample(102, "\n".join([*texts[9][:30], *code(rng, 30)])))
    assert near_duplicates(samples, 0.85) == {"s100": "s4", "s101": "s7"}
    assert near_duplicates(samples, 1.0) == {"s101": "s7"}


@given(st.integers(0, 2**32), st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_pairs_are_found_when_they_are_as_similar_as_that(seed: int, changes: int) -> None:
    rng = Random(seed)
    text = code(rng)
    other = list(text)
    for _ in range(changes):
        other[rng.randrange(len(other))] = f"Relu(t0, t{rng.randrange(9)}, {rng.randrange(99)});"
    pair = [sample(0, "\n".join(text)), sample(1, "\n".join(other))]
    left, right = (set(shingles(sample.answer).tolist()) for sample in pair)
    share = len(left & right) / len(left | right)
    for threshold in (0.6, 0.8, 0.95):
        if share >= threshold + 0.02:
            assert near_duplicates(pair, threshold) == {"s1": "s0"}
        elif share < threshold:
            assert near_duplicates(pair, threshold) == {}


def test_words_are_compared_where_there_is_no_code() -> None:
    def words(number: int, text: str) -> Sample:
        answer = Message(role="assistant", content=f"<think>\n{number}\n</think>\n\n{text}")
        return sample(number).model_copy(update={"messages": (answer,)})

    text = "one two three four five six seven eight nine ten"
    assert near_duplicates([words(1, text), words(2, text), words(3, text[::-1])], 0.9) == {"s2": "s1"}


@pytest.mark.parametrize("threshold", [0.3, 1.2])
def test_a_threshold_has_a_range(threshold: float) -> None:
    with pytest.raises(UsageError, match="is no threshold"):
        near_duplicates([], threshold)


def test_the_page_says_what_the_checks_found() -> None:
    samples = [sample(number) for number in range(30)]
    samples += [sample(number, operator=f"Op|{number}", licence="BSD") for number in range(30, 60)]
    checked = Checked(
        211, [Finding("s0", "Sqrt", "code: x"), Finding("s0", "Sqrt", "wording: y")], 1, 5, [("s3", "crash")]
    )
    text = render_page({**checked.facts(samples, 4), "operator": operators_of(samples)})
    for line in (
        "| samples that have something of them | 1 |",
        "| near duplicates left out | 4 |",
        "| kernels executed again | 5, 1 of them not right |",
        "| MIT | 30 |",
        "| 13 others | 13 |",
        "| Op\\|30 | 1 |",
        "| static | 60 |",
        "| made up | 60 |",
    ):
        assert line in text.splitlines()
    assert tuple(lengths_of(range(100))) == (0, 50, 90, 99, 99)
    assert tuple(lengths_of([])) == (0, 0, 0, 0, 0)
    assert render_page(Checked(0, [], 0, 0, []).facts([]))
    assert statistics(samples)["licence"] == {"MIT": 30, "BSD": 30}


def test_check_takes_several_files_and_drops_near_duplicates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = Random(3)
    texts = ["\n".join(code(rng)) for _ in range(3)]
    write_lines(tmp_path / "one.jsonl", [sample(0, texts[0]).line(), sample(1, texts[1]).line()])
    write_lines(tmp_path / "two.jsonl", [sample(2, texts[2]).line(), sample(3, texts[0]).line()])
    words = ["corpus", "check", str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl"), "--near-duplicates", "0.9"]
    words += ["--out", str(tmp_path / "all.jsonl.gz"), "--page", str(tmp_path / "page.md")]
    assert main(words) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["samples"], printed["near duplicates"], printed["findings"]) == (3, 1, [])
    assert [sample.id for sample in read_samples(tmp_path / "all.jsonl.gz")] == ["s0", "s1", "s2"]
    assert "| near duplicates left out | 1 |" in (tmp_path / "page.md").read_text(encoding="utf-8")
    assert main(["corpus", "check", str(tmp_path / "one.jsonl"), "--near-duplicates", "0.1"]) == 2


def _said(role: str, content: object) -> dict[str, object]:
    return {"role": role, "content": content}


@pytest.mark.parametrize(
    ("row", "roles"),
    [
        (
            {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
            ["user", "assistant"],
        ),
        ({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}, ["user", "assistant"]),
        ({"instruction": "a", "input": "more", "output": "b"}, ["user", "assistant"]),
        ({"prompt": "a", "completion": "b"}, ["user", "assistant"]),
        (
            {
                "messages": [
                    {"role": "system", "content": "s"},
                    {"role": "user", "content": "a"},
                    {"role": "assistant", "content": "b"},
                    {"role": "user", "content": "c"},
                ]
            },
            ["system", "user", "assistant"],
        ),
        ({"messages": [{"role": "assistant", "content": "b"}]}, []),
        ({"messages": [{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}]}, []),
        ({"messages": [{"role": "user", "content": ["picture"]}, {"role": "assistant", "content": "b"}]}, []),
        ({"messages": ["a", "b"]}, []),
        ({"text": "a"}, []),
        ({}, []),
    ],
)
def test_rows_of_many_forms_are_conversations(row: dict[str, object], roles: list[str]) -> None:
    assert [message.role for message in conversation(row)] == roles


def test_chat_is_taken_once_and_needs_a_licence() -> None:
    wish = ChatWish("some/chats", "train", "", "abc", "MIT", 2, 100, 0)
    rows = [{"prompt": text, "completion": "b"} for text in ("a", "a", "x" * 200, "c", "d")]
    samples, counts = make_chat([{"text": "no"}, *rows], wish, "MIT")
    assert counts == {"ok": 2, "repeated": 1, "too_long": 1, "no_conversation": 1}
    assert [sample.messages[0].content for sample in samples] == ["a", "c"]
    assert samples[0].provenance["revision"] == "abc"
    with pytest.raises(UsageError, match="licence is unknown"):
        make_chat(rows, wish, "")


@needs_datasets
def test_chat_comes_out_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "chats"
    rows = [
        {"messages": [{"role": "user", "content": f"{n}?"}, {"role": "assistant", "content": f"{n}."}]}
        for n in range(9)
    ]
    write_lines(folder / "train.jsonl", [json.dumps(row) + "\n" for row in rows])
    words = [
        "corpus",
        "chat",
        str(folder),
        "--out",
        str(tmp_path / "chat.jsonl"),
        "--licence",
        "CC0-1.0",
        "--limit",
        "5",
    ]
    assert main(words) == 0
    taken = list(read_samples(tmp_path / "chat.jsonl"))
    assert len(taken) == 5
    assert {(sample.kind, sample.licence, sample.provenance["origin"]) for sample in taken} == {
        ("chat", "CC0-1.0", "chats")
    }
    assert main(["corpus", "chat", str(tmp_path / "nothing"), "--out", str(tmp_path / "x.jsonl")]) == 2
    assert "cannot be loaded" in capsys.readouterr().err


def test_a_tokenizer_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(tmp_path / "one.jsonl", [sample(0).line()])
    words = [
        "corpus",
        "pack",
        str(tmp_path / "one.jsonl"),
        "--tokenizer",
        str(tmp_path),
        "--out",
        str(tmp_path / "p.jsonl"),
    ]
    assert main(words) == 2
    assert "--tokenizer" in capsys.readouterr().err


@needs_torch
def test_packed_samples_do_not_read_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    from kernelgen_lm.training.nano import NanoConfig, make_model, train_tokenizer

    size = {"hidden": 32, "layers": 2, "heads": 2, "key_value_heads": 1, "feed_forward": 64, "window": 4096}
    config = NanoConfig(vocabulary=300, **size)
    tokenizer = train_tokenizer([sample(0).answer], config)
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    samples = [sample(number, "\n".join(code(Random(number), number + 1))) for number in range(4)]
    write_lines(tmp_path / "samples.jsonl", [sample.line() for sample in samples])
    words = ["corpus", "pack", str(tmp_path / "samples.jsonl"), "--tokenizer", str(tmp_path / "tokenizer")]
    assert main([*words, "--out", str(tmp_path / "packed.jsonl"), "--length", "4096"]) == 0
    facts = json.loads(capsys.readouterr().out)
    [row] = [json.loads(line) for line in (tmp_path / "packed.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (facts["sequences"], facts["samples"], facts["tokens"]) == (1, 4, len(row["input_ids"]))
    assert sorted(row["samples"]) == ["s0", "s1", "s2", "s3"]
    model = make_model(config, tokenizer, 0).eval()
    ids = torch.tensor([row["input_ids"]])
    with torch.no_grad():
        packed = model(input_ids=ids, position_ids=torch.tensor([row["position_ids"]]), use_cache=False).logits[0]
        for start, end in zip(row["cu_seq_lens"], row["cu_seq_lens"][1:], strict=False):
            alone = model(input_ids=ids[:, start:end], use_cache=False).logits[0]
            assert torch.allclose(packed[start:end], alone, atol=1e-4)
