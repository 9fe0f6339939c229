"""The core selection, ``--tasks core``: 40 tasks that span the suites, for cheap comparisons.

It is what :func:`npukernelbench.tasks.difficulty.derive_core` chooses of our tasks, and stored because results name it:
a test holds both equal.
"""

from __future__ import annotations

__all__ = ["CORE"]

CORE = frozenset((
    "AddCustom", "AddLayerNorm", "ApplyFusedEmaAdam", "BatchNormV3", "Ccopy", "CoalesceSparse",
    "CraftCrossEntropyLoss", "CraftCumsumExclusive", "CraftLamb", "CraftMaxPooling3d", "CraftMinGptNewGelu",
    "CraftMinReductionOverADimension", "CraftRmsNorm", "CraftTanh", "Cross", "CrossEntropyLossGrad", "Equal",
    "Fill", "FlashAttentionScoreWithLargeHeadDim", "ForeachAbs", "ForeachAddList", "ForeachCopy", "ForeachExpm1",
    "ForeachLog10", "ForeachMinimumScalar", "ForeachPowScalar", "ForeachSinh", "GeGluGradV2", "Gemv", "IsInf",
    "MhcPostGrad", "MulMulReduceMeanDTwice", "Muls", "RmsNorm", "ScatterList", "Spence", "SplitkMatmul", "SwiGlu",
    "TopKV3", "Triu",
))  # fmt: skip
