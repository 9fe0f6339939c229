"""Is the work that a right kernel did commensurate with its task? Told as a warning, and looked at more closely.

The executor says how much its units can have done at most while they were busy (two counters of the profile), the
task's definition how much there is to do at least (:mod:`npukernelbench.judge.operations`). A kernel whose units did
far less has computed elsewhere: with the scalar unit, whose arithmetic the prediction sees in part only, or not at all.
Such a kernel is not rejected, but judged on more inputs.
"""

from __future__ import annotations

from npukernelbench.judge.operations import least_operations
from npukernelbench.judge.reads import depends_on_part
from npukernelbench.nouns import Case, Diagnostic, Profile, Severity, Task

__all__ = ["CUBE_PRODUCTS", "RULE", "VECTOR_RESULTS", "little_work"]

#: Counters of a profile: bytes that can have left vector instructions, and products that the cube can have formed.
VECTOR_RESULTS, CUBE_PRODUCTS = "vector_result_bytes", "cube_products"
RULE = "lint_little_work"

_LEAST_SHARE = 0.5
_SMALLEST_BYTES = 4096  # of less, a scalar loop is what an engineer would write
_PRODUCT_BYTES = 2  # a vector instruction forms a product per element


def little_work(task: Task, case: Case, profile: Profile | None) -> Diagnostic | None:
    """The warning about a kernel whose units cannot have done half of the task's least work; None otherwise."""
    if profile is None or VECTOR_RESULTS not in profile.counters:
        return None
    least = least_operations(task, case, partial=depends_on_part(task))
    done = profile.counters[VECTOR_RESULTS]
    products = profile.counters.get(CUBE_PRODUCTS, 0.0) + done / _PRODUCT_BYTES
    for what, unit, wanted, found in (
        ("vector units", "bytes of results", least.vector_bytes, done),
        ("cube units", "products", least.products, products),
    ):
        if wanted > _SMALLEST_BYTES and found < _LEAST_SHARE * wanted:
            message = f"the {what} can have produced at most {found:.0f} {unit}; the task needs at least {wanted:.0f}"
            remedy = "Compute with vector or cube instructions; the predicted time of other arithmetic is too short."
            return Diagnostic(Severity.WARNING, RULE, message, remedy=remedy)
    return None
