"""Configuration: precedence, origins, and what every bad input is told."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
from pathlib import Path

import pytest

from npukernelbench.config import Config, resolve, settings
from npukernelbench.errors import ConfigError, UsageError
from npukernelbench.nouns import Track


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(content: str, name: str = "npukb.yaml") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def test_defaults() -> None:
    config = resolve(environ={"HOME": "/home/somebody"})
    assert config.executor == "twin"
    assert config.track is Track.STATIC
    assert config.output_path == Path("results")
    assert config.cache_dir == Path("/home/somebody/.cache/npukernelbench")
    assert 1 <= config.jobs <= (os.cpu_count() or 1)
    assert config.limit is None
    assert {config.origin(setting.name) for setting in settings()} == {"default"}


def test_cache_folder_follows_xdg() -> None:
    assert resolve(environ={"XDG_CACHE_HOME": "/c", "HOME": "/h"}).cache_dir == Path("/c/npukernelbench")


def test_each_source_overrides_the_weaker_ones() -> None:
    write("seed: 1\njobs: 1\nnum_samples: 1\n")
    config = resolve(environ={"NPUKB_JOBS": "2", "NPUKB_NUM_SAMPLES": "2"}, options={"num_samples": 3, "limit": None})
    assert (config.seed, config.jobs, config.num_samples, config.limit) == (1, 2, 3, None)
    origins = {name: config.origin(name) for name in ("seed", "jobs", "num_samples", "limit", "parser")}
    assert origins == {
        "seed": "npukb.yaml:1",
        "jobs": "environment NPUKB_JOBS",
        "num_samples": "--num_samples",
        "limit": "default",
        "parser": "default",
    }


def test_a_named_file_takes_the_place_of_the_one_in_the_folder() -> None:
    write("seed: 1\n")
    named = write("# a comment\n\njobs: 5\n", "elsewhere/mine.yaml")
    config = resolve(file=named, environ={})
    assert (config.seed, config.jobs) == (0, 5)
    assert config.origin("jobs") == "elsewhere/mine.yaml:3"


def test_paths_of_a_file_are_relative_to_it() -> None:
    named = write("output_path: out\ninclude_path: [tasks, /abs]\n", "elsewhere/mine.yaml")
    config = resolve(file=named, environ={"NPUKB_CACHE_DIR": "cache"})
    assert config.output_path == Path("elsewhere/out")
    assert config.include_path == (Path("elsewhere/tasks"), Path("/abs"))
    assert config.cache_dir == Path("cache")


def test_every_type_from_a_file() -> None:
    write(
        """\
model: my-model
model_args: {temperature: .5, eps: 1e-6, deep: {a: [1, null, "7"]}, day: 2024-01-01, answer: no}
tasks: [sqrt, level2]
track: dynamic
limit: 0.25
samples: {sqrt: [0, big]}
run_timeout_s: 5
predict_only: true
fail_under: 0.5
"""
    )
    config = resolve(environ={})
    assert config.model_args == {
        "temperature": 0.5,
        "eps": 1e-6,
        "deep": {"a": [1, None, "7"]},
        "day": "2024-01-01",
        "answer": "no",
    }
    assert config.tasks == ("sqrt", "level2")
    assert config.track is Track.DYNAMIC
    assert config.limit == 0.25
    assert config.samples == {"sqrt": ("0", "big")}
    assert config.run_timeout_s == 5.0
    assert config.predict_only is True
    assert config.fail_under == "0.5"


def test_every_type_from_text() -> None:
    environ = {
        "NPUKB_MODEL_ARGS": 'url=http://h:1/v1?a=b,n=3,f=.5,flag=True,none=None,list=[1,2],obj={"a": 1}'
        r""",q="x,y",quoted="a\",b\\",s='x,y\',empty=""",
        "NPUKB_GEN_KWARGS": '{"temperature": 0.1, "stop": ["a", "b"]}',
        "NPUKB_TASKS": "sqrt, level2 gelu",
        "NPUKB_LIMIT": "10",
        "NPUKB_SAMPLES": '{"sqrt": ["0", 3]}',
        "NPUKB_PREDICT_ONLY": "Yes",
        "NPUKB_INCLUDE_PATH": "a,b",
        "NPUKB_FAIL_UNDER": "correct@1 = 0.5",
        "NPUKB_SEED": "-3",
        "NPUKB_DISABLED_PLUGINS": "",
    }
    config = resolve(environ=environ)
    assert config.model_args == {
        "url": "http://h:1/v1?a=b",
        "n": 3,
        "f": 0.5,
        "flag": True,
        "none": None,
        "list": [1, 2],
        "obj": {"a": 1},
        "q": "x,y",
        "quoted": 'a",b\\',
        "s": "x,y\\",
        "empty": None,
    }
    assert config.gen_kwargs == {"temperature": 0.1, "stop": ["a", "b"]}
    assert config.tasks == ("sqrt", "level2", "gelu")
    assert config.limit == 10
    assert config.samples == {"sqrt": ("0", "3")}
    assert config.predict_only is True
    assert config.include_path == (Path("a"), Path("b"))
    assert config.fail_under == "correct@1=0.5"
    assert config.seed == -3
    assert config.origin("disabled_plugins") == "default"


def test_an_apostrophe_inside_a_value_does_not_swallow_the_next_pair() -> None:
    assert resolve(environ={}, options={"model_args": "system=don't,n=1"}).model_args == {"system": "don't", "n": 1}


BAD_VALUES = {
    "jobs": ["many", "0", "-1", "1.5", "true", "[1]", "null"],
    "num_samples": ["0"],
    "seed": ["1.5", "x"],
    "limit": ["0", "-3", "2.5", ".nan", "x"],
    "compile_timeout_s": ["0", "-1", "soon", "inf"],
    "track": ["both", "3", "[static]"],
    "predict_only": ["maybe", "2"],
    "model": ["[a]", "''", "3"],
    "tasks": ["{a: 1}", "[1]", "3"],
    "model_args": ["[1]", "temperature", "'=3'", "'a=1,a=2'", "'{\"a\": 1'", '\'{"a": 1, "a": 2}\''],
    "samples": ["[1]", "{sqrt: 3}", "{sqrt: [true]}", "{sqrt: [[1]]}", "'not json'"],
    "output_path": ["[x]", "''", "7"],
    "include_path": ["{a: b}", "[3]", "3"],
    "fail_under": ["high", "'correct='", "[1]", "true"],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in BAD_VALUES.items() for v in vs])
def test_a_bad_value_in_a_file_is_located(name: str, value: str) -> None:
    write(f"# first line\n{name}: {value}\n")
    with pytest.raises(ConfigError) as raised:
        resolve(environ={})
    error = raised.value
    assert str(error).startswith(f"npukb.yaml:2: {name}: expected ")
    assert error.remedy is not None
    assert error.remedy.startswith(f"write for instance: {name}: ")


@pytest.mark.parametrize("setting", settings(), ids=lambda setting: setting.name)
def test_the_example_of_every_error_is_accepted(setting: object) -> None:
    from npukernelbench.config import Setting
    from npukernelbench.config.values import Wrong

    assert isinstance(setting, Setting)
    with pytest.raises(Wrong) as raised:
        setting.read(object())
    setting.read(raised.value.example)


def test_a_bad_variable_and_a_bad_option_are_named() -> None:
    with pytest.raises(ConfigError, match=r"^environment NPUKB_JOBS: expected a whole number of at least 1, got 'x'"):
        resolve(environ={"NPUKB_JOBS": "x"})
    with pytest.raises(UsageError, match=r"(?s)^--run_timeout: expected a number above 0, got '-1'.*--run_timeout 60"):
        resolve(environ={}, options={"run_timeout_s": "-1"})
    with pytest.raises(UsageError, match=r"--samples: expected a JSON object"):
        resolve(environ={}, options={"samples": "{"})
    with pytest.raises(UsageError, match=r"(?s)no setting 'num_sample'.*did you mean 'num_samples'"):
        resolve(environ={}, options={"num_sample": 3})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("job: 3\n", r"npukb\.yaml:1: job: there is no such setting\n  remedy: did you mean 'jobs'\?"),
        ("zzz: 3\n", r"npukb\.yaml:1: zzz: there is no such setting\n  remedy: settings: model, "),
        ("jobs: 3\nseed: 1\njobs: 4\n", r"npukb\.yaml:3:1: 'jobs' appears twice, first in line 1"),
        ("model_args:\n  a: 1\n  a: 2\n", r"npukb\.yaml:3:3: 'a' appears twice, first in line 2"),
        ("jobs: [1\n", r"npukb\.yaml:2:1: not valid YAML"),
        ("jobs: 1\n---\njobs: 2\n", r"npukb\.yaml:2:1: not valid YAML"),
        ("- jobs\n", r"npukb\.yaml:1:1: expected keys and values"),
        ("jobs\n", r"npukb\.yaml:1:1: expected keys and values"),
        ("3: 4\n", r"npukb\.yaml:1:1: a key must be text"),
        ("[a]: 4\n", r"npukb\.yaml:1:1: a key must be text"),
        ("model: !secret x\n", r"npukb\.yaml:1:8: tag !secret is not allowed"),
        ("model_args: &a {b: *a}\n", r"npukb\.yaml:1:13: an alias refers to a value that contains it"),
        ("model_args: {b: *c}\n", r"npukb\.yaml:1:17: not valid YAML"),
        ("model: \x01\n", r"npukb\.yaml: not valid YAML"),
    ],
)
def test_a_bad_file_is_located(content: str, message: str) -> None:
    write(content)
    with pytest.raises(ConfigError, match=f"^{message}"):
        resolve(environ={})


def test_a_file_that_cannot_be_read() -> None:
    with pytest.raises(ConfigError, match=r"^nowhere\.yaml: the file does not exist"):
        resolve(file=Path("nowhere.yaml"), environ={})
    Path("folder.yaml").mkdir()
    with pytest.raises(ConfigError, match=r"^folder\.yaml: the file cannot be read"):
        resolve(file=Path("folder.yaml"), environ={})
    Path("latin.yaml").write_bytes(b"model: \xe9\n")
    with pytest.raises(ConfigError, match=r"^latin\.yaml: the file cannot be read"):
        resolve(file=Path("latin.yaml"), environ={})


@pytest.mark.parametrize("content", ["", "# nothing\n", "---\n"])
def test_an_empty_file_is_fine(content: str) -> None:
    write(content)
    assert resolve(environ={}).executor == "twin"


def test_a_misspelt_variable_is_pointed_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        resolve(environ={"NPUKB_NUM_SAMPELS": "3", "NPUKB_LOAD_PLUGINS": "", "NPUKB_MY_PLUGIN_DEVICE": "0"})
    assert caplog.messages == [
        "environment variable NPUKB_NUM_SAMPELS is not a setting; did you mean NPUKB_NUM_SAMPLES?"
    ]


def test_it_is_frozen_and_reads_by_name() -> None:
    config = resolve(environ={}, options={"model_args": {"a": 1}})
    assert config.get("model_args") == {"a": 1}
    with pytest.raises(KeyError):
        config.get("origins")
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.seed = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        config.model_args["a"] = 2  # type: ignore[index]


def test_no_credentials_are_saved() -> None:
    arguments = {
        "api_key": "sk-1",
        "API-KEY": "sk-2",
        "headers": {"Authorization": "Bearer sk-3", "x": "y"},
        "hf_token": "sk-4",
        "base_url": "https://me:sk-5@host/v1",
        "client_secret": "sk-6",
        "max_tokens": 5,
        "tokenizer": "t",
        "api_key_env": "MY_KEY",
        "list": [{"password": "sk-7"}],
        "token": None,
    }
    config = resolve(environ={}, options={"model_args": arguments})
    assert config.model_args["api_key"] == "sk-1"
    saved = json.dumps(config.as_dict())
    assert "sk-" not in saved
    kept = config.as_dict()["model_args"]
    assert isinstance(kept, dict)
    assert kept["max_tokens"] == 5
    assert kept["tokenizer"] == "t"
    assert kept["api_key_env"] == "MY_KEY"
    assert kept["base_url"] == "https://<redacted>@host/v1"
    assert kept["token"] is None


@pytest.mark.parametrize("secret", ["zebra", "12345678"])
def test_the_secret_of_hidden_cases_is_kept_and_never_shown(secret: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"hidden_seed: {secret}\n")
    for config in (
        resolve(environ={"NPUKB_HIDDEN_SEED": secret}),
        resolve(environ={}, options={"hidden_seed": secret}),
        resolve(environ={}, file=file),
    ):
        assert config.hidden_seed == secret
        assert config.as_dict()["hidden_seed"] == "<redacted>"
        assert secret not in repr(config)
    assert resolve(environ={}).as_dict()["hidden_seed"] is None


def test_what_is_saved_resolves_to_the_same() -> None:
    config = resolve(
        environ={"HOME": "/h"},
        options={"tasks": "a,b", "limit": 0.5, "samples": {"a": [1]}, "fail_under": "x=1", "track": "dynamic"},
    )
    again = resolve(environ={}, options=config.as_dict())
    assert again.as_dict() == config.as_dict()
    assert all(getattr(again, f.name) == getattr(config, f.name) for f in dataclasses.fields(Config) if f.metadata)
