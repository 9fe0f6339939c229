"""The hf backend on tiny checkpoints made here."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from npukb_hf.args import HFArgs
from npukb_hf.backend import HFBackend
from npukb_hf.sampling import RowSampler
from npukernelbench.errors import BackendError
from npukernelbench.generate import GenerationFault
from npukernelbench.nouns import Completion, FinishReason, Task
from tests.backends.asking import ask, request
from tests.backends.checkpoints import build

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("checkpoint"), ["Write a kernel. You write kernels."], window=128)


def backend(checkpoint: Path, **args: object) -> HFBackend:
    return HFBackend(HFArgs.model_validate({"model": str(checkpoint), **args}))


def texts(checkpoint: Path, requests: list[object], **args: object) -> dict[int, str]:
    texts_by_index = {}
    for index, result in ask(backend(checkpoint, **args), requests).items():  # type: ignore[arg-type]
        assert isinstance(result.answer, Completion), result.answer
        texts_by_index[index] = result.answer.text
    return texts_by_index


def test_an_answer_does_not_depend_on_its_batch(checkpoint: Path, task: Task) -> None:
    asked = [request(task, i, text="a" * (1 + 5 * i), temperature=0.9, top_p=0.9, max_tokens=12) for i in range(5)]
    together = texts(checkpoint, asked, batch_size=5)
    assert texts(checkpoint, asked, batch_size=2) == together
    assert texts(checkpoint, asked[3:4]) == {3: together[3]}
    assert len(set(together.values())) > 1


def test_temperature_0_takes_no_notice_of_the_seed(checkpoint: Path, task: Task) -> None:
    answers = texts(checkpoint, [request(task, i, temperature=0.0, max_tokens=8) for i in range(3)])
    assert len(set(answers.values())) == 1


def test_an_answer_that_reaches_its_limit_says_so(checkpoint: Path, task: Task) -> None:
    (result,) = ask(backend(checkpoint), [request(task, temperature=0.0, max_tokens=3)]).values()
    assert isinstance(result.answer, Completion)
    assert result.answer.finish_reason is FinishReason.LENGTH
    assert result.answer.usage.completion == 3
    assert result.answer.usage.prompt > 0


def test_a_prompt_beyond_the_window_costs_only_itself(checkpoint: Path, task: Task) -> None:
    long, short = request(task, 0, text="x " * 500, max_tokens=2), request(task, 1, max_tokens=2)
    results = ask(backend(checkpoint), [long, short])
    assert isinstance(results[0].answer, GenerationFault)
    assert "window" in results[0].answer.message
    assert isinstance(results[1].answer, Completion)


def test_an_unknown_sampling_parameter_is_named(checkpoint: Path, task: Task) -> None:
    with pytest.raises(BackendError, match="'beams'"):
        ask(backend(checkpoint), [request(task, beams=3)])


def test_a_folder_without_weights_cannot_be_opened(tmp_path: Path, task: Task) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}')
    with pytest.raises(BackendError, match="cannot be loaded"):
        ask(backend(tmp_path), [request(task)])


def test_a_row_draws_from_what_is_possible_only() -> None:
    import torch

    scores = torch.full((2, 6), float("-inf"))
    scores[0, 4] = 1.0
    scores[1, 1] = scores[1, 5] = 0.0
    sampler = RowSampler([7, 8])
    drawn = [sampler(torch.empty(0), scores).argmax(dim=-1).tolist() for _ in range(50)]
    assert {row[0] for row in drawn} == {4}
    assert {row[1] for row in drawn} == {1, 5}
