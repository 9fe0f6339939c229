"""The numeric policies: does an output tensor hold the right values?

Every policy records the same metrics, among them the verdicts of ``pcl`` and ``cann`` whichever of them decides; see
``docs/metrics.md``. Integers and booleans are exact under every policy. Shapes and types are compared before a policy
is asked (:mod:`npukernelbench.judge.compare`).

Quantised outputs are the one exception: where the task states limits for an integer type and its reference yields
unrounded values, an element is right if it is an integer nearest to its value, up to the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from npukernelbench.errors import TaskError
from npukernelbench.judge.numerics import DEFAULT_LIMITS, FLOATS, Allowance, ErrorStats, measure, refused
from npukernelbench.nouns import DType, Outcome, ToleranceLimits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from npukernelbench.nouns.execution import Array

__all__ = ["METRICS", "CheckResult", "Checker", "cann", "exact", "loosened", "pcl", "ulp"]

#: Names of the metrics of every built-in policy.
METRICS = (
    "pcl_pass",
    "cann_pass",
    "max_abs_error",
    "max_rel_error",
    "mean_rel_error",
    "mismatch_fraction",
    "max_ulp",
)

#: How much the largest relative error may exceed the limit of the mean, in the ``cann`` policy.
_CANN_MAX_FACTOR = 10.0
_DEFAULT_ULPS = 2.0
#: How much wider limits are where it matters only whether a kernel computes at all.
_LOOSE = 10.0


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A policy's word on one output tensor.

    ``reason`` is one sentence on why it failed, without the output's name. ``wrong`` marks the refused elements, flat;
    None when there are none or the policy judges the tensor as a whole.
    """

    passed: bool
    outcome: Outcome
    metrics: Mapping[str, float]
    reason: str = ""
    # Not compared: == of two arrays is an array, which has no truth value.
    wrong: NDArray[np.bool_] | None = field(default=None, compare=False, repr=False)


#: (actual, expected, dtype, limits) -> result. ``actual`` has the output's type; ``expected`` is float64, complex128 or
#: exact. Both have the same shape. ``limits`` are the task's for ``dtype``, None where it states none.
Checker: TypeAlias = Callable[["Array", "Array", DType, "ToleranceLimits | None"], CheckResult]


def pcl(actual: Array, expected: Array, dtype: DType, limits: ToleranceLimits | None) -> CheckResult:
    """An element is wrong only if its absolute and its relative error both exceed the limits."""
    if dtype.is_exact:
        return exact(actual, expected, dtype, limits)
    bound = limits or DEFAULT_LIMITS[dtype]
    allowance = Allowance(bound.atol, bound.rtol)
    stats = measure(actual, expected, dtype, (allowance,))
    metrics = _metrics(stats, dtype, stats.outside[0])
    outside = f"beyond both the absolute limit {bound.atol:.3g} and the relative limit {bound.rtol:.3g}"
    return _element_wise(actual, expected, dtype, allowance, stats, metrics, outside)


def rounded(actual: Array, expected: Array, dtype: DType, limits: ToleranceLimits | None) -> CheckResult:
    """As ``pcl``, of the reference rounded to the output's type: the rule of benchmarks whose reference has it."""
    if dtype.is_exact:
        return exact(actual, expected, dtype, limits)
    import numpy as np

    # What the output's type cannot hold becomes infinite, as it is meant; NumPy would warn of it.
    with np.errstate(over="ignore"):
        return pcl(actual, np.asarray(expected).astype(dtype.numpy()), dtype, limits)


def cann(actual: Array, expected: Array, dtype: DType, limits: ToleranceLimits | None) -> CheckResult:
    """Mean relative error within the type's threshold and no element beyond ten times that.

    The relative error of an element is ``|actual - expected| / (|expected| + small)``; see ``docs/metrics.md``.
    """
    if dtype.is_exact:
        return exact(actual, expected, dtype, limits)
    form, bound = FLOATS[dtype], limits or DEFAULT_LIMITS[dtype]
    allowance = Allowance(rtol=_CANN_MAX_FACTOR * form.threshold, small=form.small)
    # Two counts: that of `pcl`, which every policy records, and that of this policy.
    stats = measure(actual, expected, dtype, (Allowance(bound.atol, bound.rtol), allowance))
    metrics = _metrics(stats, dtype, stats.outside[0])
    if metrics["cann_pass"]:
        return CheckResult(True, Outcome.OK, metrics)
    # Before the mean: single elements have places that can be explained, a mean has none.
    if stats.non_finite or stats.outside[1]:
        outside = f"beyond the relative limit {allowance.rtol:.3g} for single elements"
        failed = ErrorStats([stats.outside[1]], stats.size, stats.non_finite)
        return _element_wise(actual, expected, dtype, allowance, failed, metrics, outside)
    reason = f"the mean relative error {stats.mean_rel:.3g} is beyond {form.threshold:.3g}"
    return CheckResult(False, Outcome.WRONG_VALUE, metrics, reason)


def allclose(actual: Array, expected: Array, dtype: DType, limits: ToleranceLimits | None) -> CheckResult:
    """An element is wrong if it is more than ``atol + rtol * |expected|`` away, as tensor libraries compare."""
    if dtype.is_exact:
        return exact(actual, expected, dtype, limits)
    bound = limits or DEFAULT_LIMITS[dtype]
    sum_of_both = bound.rtol > 0
    # An `Allowance` has no sum of both limits, but rtol·(|expected| + atol/rtol) is the same.
    small = bound.atol / bound.rtol if sum_of_both else 0.0
    allowance = Allowance(0.0 if sum_of_both else bound.atol, bound.rtol, small)
    outside = f"more than {bound.atol:.3g} + {bound.rtol:.3g} of the expected value away"
    return _beyond(allowance, actual, expected, dtype, outside)


def ulp(actual: Array, expected: Array, dtype: DType, limits: ToleranceLimits | None) -> CheckResult:
    """An element is wrong if it is more than ``rtol`` units in the last place (default 2) and ``atol`` away."""
    if dtype.is_exact:
        return exact(actual, expected, dtype, limits)
    units, floor = (limits.rtol, limits.atol) if limits else (_DEFAULT_ULPS, 0.0)
    allowance = Allowance(atol=floor, units=units)
    outside = f"more than {units:.3g} units in the last place away"
    return _beyond(allowance, actual, expected, dtype, outside)


def exact(actual: Array, expected: Array, dtype: DType, limits: ToleranceLimits | None) -> CheckResult:
    """Every element equals the reference, rounded to the output's type where that is a floating-point one.

    With ``limits`` for an integer type and an unrounded reference, every element is a nearest integer.
    """
    if not dtype.is_exact:
        return _exact_float(actual, expected, dtype)
    import numpy as np

    if limits is not None and np.asarray(expected).dtype.kind == "f":
        return _nearest(actual, expected, limits)

    got = _bits(actual.reshape(-1), dtype)
    want = _bits(_as_exact(expected, dtype).reshape(-1), dtype)
    wrong = got != want
    count = int(np.count_nonzero(wrong))
    passed = count == 0
    metrics = dict.fromkeys(METRICS, 0.0) | {"pcl_pass": float(passed), "cann_pass": float(passed)}
    if passed:
        return CheckResult(True, Outcome.OK, metrics)
    # Differences of unsigned integers would wrap around.
    theirs = want.astype(np.float64)
    error = np.abs(got.astype(np.float64) - theirs)
    relative = error / np.maximum(np.abs(theirs), 1.0)
    metrics |= {
        "max_abs_error": float(error.max()),
        # Neighbouring integers are 1 apart, so that a difference counts units in the last place.
        "max_ulp": float(error.max()),
        "max_rel_error": float(relative.max()),
        "mean_rel_error": float(relative.mean()),
        "mismatch_fraction": count / got.size,
    }
    reason = f"{_share(count, got.size)} differ from the exact result"
    return CheckResult(False, Outcome.WRONG_VALUE, metrics, reason, wrong)


def loosened(checker: Checker) -> Checker:
    """The same policy with limits ten times as wide: for inputs that say whether a kernel computes its outputs, not how
    well. Sums of sorted numbers may be further off than those of numbers as they come, and at the end of a type's range
    it takes one rounding to be infinite.
    """

    def check(actual: Array, expected: Array, dtype: DType, limits: ToleranceLimits | None) -> CheckResult:
        # Not for every policy: `ulp` would take these limits for units in the last place.
        usual = DEFAULT_LIMITS.get(dtype) if checker is pcl else None
        bound = limits or usual
        wide = None if bound is None else ToleranceLimits(_LOOSE * bound.atol, _LOOSE * bound.rtol)
        return checker(_not_quite_infinite(actual, expected, dtype), expected, dtype, wide)

    return check


def _not_quite_infinite(actual: Array, expected: Array, dtype: DType) -> Array:
    """``actual`` with the reference in the place of infinities where that is nearly as large as numbers get."""
    import ml_dtypes
    import numpy as np

    if not dtype.is_float or not np.isinf(actual).any():
        return actual
    finfo: Any = ml_dtypes.finfo
    # NumPy's own `finfo` does not know bfloat16.
    largest = float(finfo(dtype.numpy()).max)
    want = np.asarray(expected, np.float64).reshape(actual.shape)
    near = np.isinf(actual) & (np.abs(want) >= largest * (1 - 2**-6)) & (np.sign(actual) == np.sign(want))
    with np.errstate(over="ignore"):
        array: Array = np.where(near, want, actual).astype(actual.dtype)
    return array


def _nearest(actual: Array, expected: Array, limits: ToleranceLimits) -> CheckResult:
    """Whether integers are at most half a step, plus what the limits allow, away from unrounded values.

    The error of an element is its distance to the value rounded half to even; both neighbours of a value near a tie
    are right.
    """
    import numpy as np

    got, want = actual.reshape(-1).astype(np.float64), np.asarray(expected, np.float64).reshape(-1)
    scale = np.abs(want)
    slack = Allowance(limits.atol, limits.rtol).limit(scale, scale)
    # Negated, so that NaN is wrong: it is not greater than anything either.
    wrong = ~(np.abs(got - want) <= 0.5 + slack)
    count = int(np.count_nonzero(wrong))
    # Metrics are finite, whatever the reference holds.
    error = np.nan_to_num(np.abs(got - np.rint(want)))
    relative = error / np.maximum(np.nan_to_num(scale), 1.0)
    passed = float(count == 0)
    metrics = dict.fromkeys(METRICS, 0.0) | {"pcl_pass": passed, "cann_pass": passed}
    if error.size:
        metrics |= {
            "max_abs_error": float(error.max()),
            "max_ulp": float(error.max()),
            "max_rel_error": float(relative.max()),
            "mean_rel_error": float(relative.mean()),
            "mismatch_fraction": count / error.size,
        }
    if not count:
        return CheckResult(True, Outcome.OK, metrics)
    reason = f"{_share(count, got.size)} are not the nearest integer, with {limits.atol:.3g} to spare for ties"
    return CheckResult(False, Outcome.WRONG_VALUE, metrics, reason, wrong)


def _exact_float(actual: Array, expected: Array, dtype: DType) -> CheckResult:
    """Bitwise equality up to the sign of zero and the payload of NaN."""
    import numpy as np

    with np.errstate(all="ignore"):
        rounded = np.asarray(expected).astype(dtype.numpy())
    nothing = Allowance()
    bound = DEFAULT_LIMITS[dtype]
    # Metrics are those of the unrounded reference, as under every policy; only the verdict is of the rounded one.
    stats = measure(actual, expected, dtype, (Allowance(bound.atol, bound.rtol),))
    metrics = _metrics(stats, dtype, stats.outside[0])
    strict = measure(actual, rounded, dtype, (nothing,))
    return _element_wise(actual, rounded, dtype, nothing, strict, metrics, "not equal to the rounded reference")


def _beyond(allowance: Allowance, actual: Array, expected: Array, dtype: DType, outside: str) -> CheckResult:
    """The result of a policy that refuses elements outside ``allowance``; its metrics are counted by usual limits."""
    usual = DEFAULT_LIMITS[dtype]
    stats = measure(actual, expected, dtype, (Allowance(usual.atol, usual.rtol), allowance))
    failed = ErrorStats([stats.outside[1]], stats.size, stats.non_finite)
    return _element_wise(actual, expected, dtype, allowance, failed, _metrics(stats, dtype, stats.outside[0]), outside)


def _metrics(stats: ErrorStats, dtype: DType, outside: int) -> dict[str, float]:
    form = FLOATS[dtype]
    cann_pass = (
        not stats.non_finite and stats.mean_rel <= form.threshold and stats.max_rel <= _CANN_MAX_FACTOR * form.threshold
    )
    return {
        "pcl_pass": float(not (outside or stats.non_finite)),
        "cann_pass": float(cann_pass),
        "max_abs_error": stats.max_abs,
        "max_rel_error": stats.max_rel,
        "mean_rel_error": stats.mean_rel,
        "mismatch_fraction": (outside + stats.non_finite) / stats.size if stats.size else 0.0,
        "max_ulp": stats.max_ulp,
    }


def _element_wise(
    actual: Array,
    expected: Array,
    dtype: DType,
    allowance: Allowance,
    stats: ErrorStats,
    metrics: Mapping[str, float],
    outside: str,
) -> CheckResult:
    """The result of a policy that judges element by element; the slow tier runs only after a failure."""
    failures = stats.outside[0] + stats.non_finite
    if not failures:
        return CheckResult(True, Outcome.OK, metrics)
    # `measure` counts without a mask: right outputs, which are most, need none.
    wrong = refused(actual, expected, dtype, allowance)
    if not stats.non_finite:
        return CheckResult(False, Outcome.WRONG_VALUE, metrics, f"{_share(failures, stats.size)} are {outside}", wrong)
    reason = f"{_share(stats.non_finite, stats.size)} disagree with the reference about NaN or infinity"
    if stats.outside[0]:
        reason += f", and {_share(stats.outside[0], stats.size)} are {outside}"
    return CheckResult(False, Outcome.NON_FINITE, metrics, reason, wrong)


def _share(count: int, size: int) -> str:
    percent = 100 * count / size
    return f"{count} of {size} elements ({'<0.001' if percent < 0.001 else f'{percent:.3g}'} %)"


def _as_exact(expected: Array, dtype: DType) -> Array:
    """``expected`` in the output's integer type. TaskError if the reference does not yield values of that type."""
    import numpy as np

    values = np.asarray(expected)
    target = dtype.numpy()
    if values.dtype == target:
        return values
    with np.errstate(all="ignore"):
        # A cast that loses a value raises nothing, so it is undone and compared.
        cast: NDArray[Any] = values.astype(target)
        if not np.array_equal(cast.astype(values.dtype), values):
            raise TaskError(
                f"the reference yields {values.dtype} values that {dtype.value} cannot hold",
                remedy="round or clip in the reference as the operator's definition says",
            )
    return cast


def _bits(values: Array, dtype: DType) -> Array:
    """Booleans as the bytes they are, so that a byte other than 0 and 1 is seen."""
    import numpy as np

    return np.ascontiguousarray(values).view(np.uint8) if dtype is DType.BOOL else values
