"""From options to a plan: cases, sampling, folder."""

from __future__ import annotations

import pytest

from npukernelbench.cli.plan import sampling_params, select_cases
from npukernelbench.config import Config, resolve
from npukernelbench.errors import UsageError
from npukernelbench.tasks.registry import TaskRegistry
from npukernelbench.testing import tiny_case, tiny_task

TASKS = TaskRegistry(
    [
        tiny_task("One", cases=tuple(tiny_case(str(i)) for i in range(7))),
        tiny_task("Two", cases=(tiny_case("0"), tiny_case("Big"))),
    ]
)


def config(**options: object) -> Config:
    return resolve(environ={}, options=options)


def chosen(**options: object) -> dict[str, list[str]]:
    """Task to case ids."""
    return {
        selected.task.name: [case.id for case in selected.cases] for selected in select_cases(TASKS, config(**options))
    }


@pytest.mark.parametrize(
    ("limit", "counts"), [("1", (1, 1)), ("3", (3, 2)), ("0.5", (4, 1)), ("0.01", (1, 1)), ("100", (7, 2))]
)
def test_a_limit_takes_the_first_cases_of_each_task(limit, counts):
    assert tuple(len(ids) for ids in chosen(tasks="all", limit=limit).values()) == counts
    assert chosen(tasks="all", limit=limit)["One"] == [str(i) for i in range(counts[0])]


@pytest.mark.parametrize(("limit", "count"), [("0.3", 3), ("0.7", 7), ("0.1", 1), ("0.9", 9)])
def test_a_fraction_means_what_it_says(limit, count):
    tasks = TaskRegistry([tiny_task("Ten", cases=tuple(tiny_case(str(i)) for i in range(10)))])
    (selected,) = select_cases(tasks, config(tasks="ten", limit=limit))
    assert len(selected.cases) == count


def test_samples_name_cases_and_imply_tasks():
    assert chosen(samples='{"one": [3, "0"], "TWO": ["big"]}') == {"One": ["0", "3"], "Two": ["Big"]}


def test_samples_narrow_only_the_tasks_they_name():
    assert chosen(tasks="all", samples='{"two": [0]}') == {"One": [str(i) for i in range(7)], "Two": ["0"]}


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"samples": '{"one": [99]}'}, "no case '99'"),
        ({"samples": '{"one": []}'}, "an empty list"),
        ({"samples": '{"onee": [0]}'}, "did you mean One"),
        ({"samples": '{"two": [0]}', "tasks": "one"}, "which --tasks leaves out"),
        ({"samples": '{"two": [0]}', "limit": "1"}, "exclude each other"),
        ({}, "npukb ls tasks"),
        ({"tasks": "thre"}, "there is no task or group 'thre'"),
    ],
)
def test_what_does_not_fit_is_a_usage_error(options, word):
    with pytest.raises(UsageError) as caught:
        chosen(**options)
    assert word in str(caught.value)


@pytest.mark.parametrize("name", ["max_tokens", "max_gen_toks", "max_new_tokens"])
def test_sampling_parameters_have_their_known_names(name):
    params = sampling_params({"temperature": 1, "top_p": 0.9, name: 64, "top_k": 5})
    assert (params.temperature, params.top_p, params.max_tokens, params.extra) == (1.0, 0.9, 64, {"top_k": 5})


def test_no_sampling_parameters_leave_the_choice_to_the_backend():
    params = sampling_params({})
    assert (params.temperature, params.top_p, params.max_tokens, params.extra) == (None, None, None, {})


@pytest.mark.parametrize(
    "gen_kwargs",
    [
        {"temperature": "hot"},
        {"top_p": True},
        {"max_tokens": 0},
        {"max_tokens": 1.5},
        {"max_tokens": 1, "max_gen_toks": 1},
    ],
)
def test_wrong_sampling_parameters(gen_kwargs):
    with pytest.raises(UsageError, match=r"gen_kwargs|can be given"):
        sampling_params(gen_kwargs)
