"""What a kernel's author reads: planted defects must be named, located and met with the right advice."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.judge.explain import explain
from npukernelbench.judge.patterns import Pattern, Surroundings
from npukernelbench.judge.poison import poison
from npukernelbench.nouns import DType

SHAPE = (16, 96)
WANT = np.random.default_rng(0).uniform(1, 5, SHAPE)
POISON = poison(WANT.size * 4, 7, "y")
UNTOUCHED = POISON.view(np.float32).reshape(SHAPE)


def told(got, want=WANT, *, dtype=DType.FLOAT32, blocks=0, inputs=None):
    with np.errstate(all="ignore"):
        wrong = ~(np.abs(got.astype(np.float64) - want) <= 1e-4 * np.abs(want))
    return explain("y", got, want, dtype, wrong.reshape(-1), Surroundings(POISON, inputs or {}, blocks))


def right():
    return WANT.astype(np.float32)


def spoil(defect):
    got = right()
    flat = got.reshape(-1)
    if defect == "tail":
        flat[-40:] = UNTOUCHED.reshape(-1)[-40:]
    elif defect == "head":
        flat[:64] = 0
    elif defect == "core":
        flat[3 * 192 : 4 * 192] = UNTOUCHED.reshape(-1)[3 * 192 : 4 * 192]
    elif defect == "range":
        flat[200:260] = 9
    elif defect == "row tail":
        got[:, -7:] = UNTOUCHED[:, -7:]
    elif defect == "rows":
        got[[2, 9]] = 0
    elif defect == "periodic":
        for start in range(10, WANT.size - 8, 128):
            flat[start : start + 4] = -1
    elif defect == "scattered":
        flat[[5, 77, 78, 900]] = -1
    return got


@pytest.mark.parametrize(
    ("defect", "pattern"),
    [
        ("tail", Pattern.TAIL),
        ("head", Pattern.HEAD),
        ("core", Pattern.CORE_SHARE),
        ("range", Pattern.RANGE),
        ("row tail", Pattern.ROW_TAIL),
        ("rows", Pattern.ROWS),
        ("periodic", Pattern.PERIODIC),
        ("scattered", Pattern.SCATTERED),
    ],
)
def test_the_place_of_a_defect_is_named(defect, pattern):
    words = told(spoil(defect), blocks=8)
    assert pattern.value in words.details["patterns"]
    if pattern.remedy:
        assert words.remedy == pattern.remedy


@pytest.mark.parametrize(
    ("got", "pattern"),
    [
        (UNTOUCHED, Pattern.NEVER_WRITTEN),
        (np.zeros(SHAPE, np.float32), Pattern.ZEROS),
        (np.full(SHAPE, np.nan, np.float32), Pattern.NAN),
        (np.full(SHAPE, 2.25, np.float32) + 10, Pattern.CONSTANT),
        (right() * 3, Pattern.FACTOR),
        (-right(), Pattern.FACTOR),
        (right() + 2, Pattern.OFFSET),
        (np.roll(right().reshape(-1), 1).reshape(SHAPE), Pattern.SHIFTED),
        (np.roll(right().reshape(-1), -16).reshape(SHAPE), Pattern.SHIFTED),
        (right() * np.where(np.arange(96) % 2, 1.01, 0.99).astype(np.float32), Pattern.PRECISION),
    ],
)
def test_the_value_of_a_defect_is_named(got, pattern):
    words = told(got)
    assert words.details["patterns"] == [pattern.value, Pattern.EVERYWHERE.value]
    assert words.remedy == pattern.remedy


def test_a_kernel_that_wrote_nothing_is_told_from_one_that_wrote_half():
    half = UNTOUCHED.copy()
    half.reshape(-1)[:40] = 0
    assert [told(got).details["untouched"] for got in (UNTOUCHED, half, right() + 2)] == [True, False, False]
    assert told(half).details["patterns"][0] == Pattern.NEVER_WRITTEN.value


def test_a_copied_input_is_recognised_by_name():
    x = np.random.default_rng(5).normal(size=SHAPE).astype(np.float32)
    words = told(x, inputs={"x": x})
    assert "those of the input x, unchanged" in words.text


def test_the_never_written_tail_says_both_things():
    words = told(spoil("tail"))
    assert "never written" in words.text
    assert "the last 40 of 1536 elements, from element 1496 on" in words.text
    assert "DataCopyPad" in words.remedy


def test_a_core_share_names_the_core():
    assert "elements 576 to 767, the share of core 3 of 8" in told(spoil("core"), blocks=8).text


@pytest.mark.parametrize(
    ("first", "length", "told_as"),
    [
        (512, 256, "the share of core 2 of 8"),  # 8 shares rounded up to 256 elements would hold 2048
        (190, 195, "the share of core 1 of 8"),  # an even share of 192, a few elements off
        (0, 192, "the share of core 0 of 8"),
        (500, 192, "they fill one range"),
        (0, 400, "they are the first 400"),
        (512, 512, "they fill one range"),
    ],
)
def test_shares_of_cores_are_told_from_other_ranges(first, length, told_as):
    got = right()
    got.reshape(-1)[first : first + length] = 0
    assert told_as in told(got, blocks=8).text


def test_first_elements_show_index_got_and_expected_and_the_worst_follows():
    got = right()
    got[2, 3:11] = WANT[2, 3:11] + [1, 1, 1, 1, 1, 1, 50, 1]
    words = told(got)
    lines = words.text.splitlines()
    assert lines[0] == "first wrong elements:"
    assert lines[1] == f"  y[2, 3] = {got[2, 3].item():.7g}, expected {WANT[2, 3]:.7g}"
    assert sum(line.startswith("  y[") for line in lines) == 6
    assert f"  y[2, 9] = {got[2, 9].item():.7g}" in words.text
    assert words.details["first"][0] == {
        "index": [2, 3],
        "got": f"{got[2, 3].item():.7g}",
        "expected": f"{WANT[2, 3]:.7g}",
    }
    assert words.details["wrong"] == 8
    assert words.details["total"] == WANT.size


def test_a_scalar_output_has_no_index():
    words = explain("y", np.array(3.0, np.float32), np.array(2.0), DType.FLOAT32, np.array([True]), Surroundings())
    assert "  y = 3, expected 2" in words.text


def test_large_integers_are_shown_in_full():
    got, want = np.array([2**62 + 1, 5]), np.array([2**62, 5])
    words = explain("y", got, want, DType.INT64, got != want, Surroundings())
    assert f"y[0] = {2**62 + 1}, expected {2**62}" in words.text


def test_a_boolean_that_is_no_boolean_shows_its_byte():
    got = np.array([1, 200, 0], np.uint8).view(np.bool_)
    words = explain("y", got, np.array([1, 1, 0], np.uint8), DType.BOOL, np.array([0, 1, 0], bool), Surroundings())
    assert "y[1] = 200, expected 1" in words.text


def test_complex_values_are_shown_whole():
    got, want = np.array([1 + 2j, 3], np.complex64), np.array([1 - 2j, 3])
    words = explain("y", got, want, DType.COMPLEX64, np.array([True, False]), Surroundings())
    assert "y[0] = 1+2j, expected 1-2j" in words.text


def test_poison_depends_on_seed_and_name_only():
    assert poison(100, 1, "y").tobytes() == poison(200, 1, "y")[:100].tobytes()
    assert poison(96, 1, "y").tobytes() != poison(96, 2, "y").tobytes()
    assert poison(96, 1, "y").tobytes() != poison(96, 1, "z").tobytes()
    assert poison(0, 1, "y").size == 0


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64])
def test_poison_is_finite_and_huge_in_every_float_type(dtype):
    values = np.abs(poison(8192, 3, "y").view(dtype.numpy()).astype(np.float64))
    assert np.isfinite(values).all()
    assert values.min() >= 2.0**15
    assert len(set(values)) > 100


def test_poison_is_never_a_boolean():
    assert poison(8192, 3, "y").min() > 1
