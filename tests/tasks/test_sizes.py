"""The smallest and the largest case of a task: inputs count as well as outputs, and full-size cases are no laptop's."""

from __future__ import annotations

from dataclasses import replace

from npukernelbench.nouns import DType, TensorShape
from npukernelbench.tasks.sizes import input_bytes, largest_case, output_bytes, smallest_case
from npukernelbench.testing.tasks import tiny_case, tiny_task

SMALL = replace(tiny_case("small", shape=(8, 8)), profiles=frozenset({"cpu"}))
MIDDLE = replace(tiny_case("middle", shape=(80, 80)), profiles=frozenset({"cpu", "full"}))
#: A loss: one number out of very many.
LOSS = replace(
    tiny_case("loss", shape=(32768, 32768)),
    outputs={"y": TensorShape((1,), DType.FLOAT32)},
    profiles=frozenset({"full"}),
)
TASK = tiny_task(cases=(LOSS, MIDDLE, SMALL))


def test_bytes_of_inputs_and_outputs() -> None:
    assert (input_bytes(SMALL), output_bytes(SMALL)) == (256, 256)
    assert (input_bytes(LOSS), output_bytes(LOSS)) == (1 << 32, 4)


def test_a_small_output_does_not_make_a_small_case() -> None:
    assert smallest_case(TASK).id == "small"
    assert smallest_case(tiny_task(cases=(LOSS, MIDDLE))).id == "middle"


def test_the_largest_case_is_one_for_a_laptop_where_there_is_one() -> None:
    assert largest_case(TASK).id == "middle"
    assert largest_case(tiny_task(cases=(LOSS,))).id == "loss"
