"""Published pairs about objects that multiply matrices, and about the place of TPipe: rebuilt after their descriptions.

Descriptions say shapes, cores and the step. The rest is the same for all where it can be: base blocks of 128 × 256 × 64
(m × n × k), two of each operand in L1, results of halfs. Floats are excluded by bytes: 128 × 30720 of them leave 24
cores in 8.7 µs at the published rate of Fixpipe, and the faster kernel of the pair about constants ends after 7.87 µs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.calibration.harness import Bench, Inputs

__all__ = ["PAIRS", "Pair", "predicted"]

_WORDS = 64  # of a TCubeTiling, and some
_NO_FLAG = (
    "GetNormalConfig(false, false, false, BatchMode::BATCH_LESS_THAN_L1, true, IterateOrder::UNDEF, "
    "ScheduleType::INNER_PRODUCT, false)"
)


class Shape(NamedTuple):
    """Of a product, or of a part of it."""

    m: int
    k: int
    n: int


_BASE = Shape(128, 64, 256)


@dataclass(frozen=True, slots=True)
class Product:
    """A kernel of ``kernels/matmul.cpp``: parts of the result on so many cores, and what differs from the defaults.

    Of a mixed kernel, each vector core has its part.
    """

    whole: Shape
    part: Shape
    cores: int
    base: Shape = _BASE
    mixed: bool = False
    steps: int = 1  # along K, that come into L1 together
    depths: tuple[int, int] = (2, 2)  # base blocks of either matrix in L1
    macros: Mapping[str, object] = field(default_factory=dict)

    def but(self, **macros: object) -> Product:
        """The same product with other macros."""
        return replace(self, macros={**self.macros, **macros})


@dataclass(frozen=True, slots=True)
class Addition:
    """A kernel of ``kernels/add.cpp`` on one core."""

    count: int
    macros: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Grouped:
    """A kernel of ``kernels/grouped.cpp``: eight products of int8 that vector cores scale, on eight blocks."""

    vectors: int  # to a cube core
    places: int = 1
    buffers: int = 1


Kernel = Product | Addition | Grouped


@dataclass(frozen=True, slots=True)
class Pair:
    """A published step: times before and after it in us, of the slowest core or of the task; our kernels for both.

    ``missing`` says why the model does not know what the step changes. Such a pair shows what it predicts all the same.
    """

    step: str
    kernel: str
    published_us: tuple[float, float]
    before: Kernel
    after: Kernel
    missing: str = ""
    soc: str = "ascend910b1"
    whole_task: bool = False


def predicted(bench: Bench, pair: Pair) -> float:
    """The predicted time after the step, divided by that before it."""
    return _time(bench, pair, pair.after) / _time(bench, pair, pair.before)


def _time(bench: Bench, pair: Pair, kernel: Kernel) -> float:
    profile = bench.time(pair.soc, *_run(kernel))
    # The time of the slowest core has no launch in it.
    return profile.time_us - (0 if pair.whole_task else profile.counters["launch_time"])


class _Run(NamedTuple):
    name: str
    macros: Mapping[str, object]
    inputs: Inputs
    output_bytes: int


def _run(kernel: Kernel) -> _Run:
    match kernel:
        case Addition():
            return _addition(kernel)
        case Grouped():
            return _grouped(kernel)
        case Product():
            return _product(kernel)


def _addition(kernel: Addition) -> _Run:
    plain = {"CORES": 1, "TOTAL": kernel.count, "BYPASS": 0, "SKEW": 0, "SCALAR": 0, "SERIAL": 0, "INSIDE": 0}
    x = np.zeros(kernel.count, np.float16)
    return _Run("add", {**plain, **kernel.macros}, {"x": x, "y": x}, x.nbytes)


def _product(kernel: Product) -> _Run:
    m, k, n = kernel.whole
    macros = {
        "CONFIG": "CFG_NORM", "STATIC": 0, "SHARE_A": 0, "SHARE_B": 0, "POLICY": "MatmulPolicy", "L2_M": 1,
        "FRACTALS": 0, "KIND": f"KERNEL_TYPE_{'MIX_AIC_1_2' if kernel.mixed else 'AIC_ONLY'}",
        "CUBE_ONLY": int(not kernel.mixed), "CORES": kernel.cores, **kernel.macros,
    }  # fmt: skip
    inputs = {"a": np.zeros((m, k), np.float16), "b": np.zeros((k, n), np.float16), "tiling": _tiling(kernel)}
    # A fractal is 16 columns wide, and the last one is filled up.
    fractals = -(-n // 16) * 16 * k if macros["FRACTALS"] else 0
    return _Run("matmul", macros, inputs, 2 * (m * n + fractals))


def _grouped(kernel: Grouped) -> _Run:
    groups, cores, whole, base = 8, 8, Shape(128, 1024, 8192), Shape(128, 128, 256)
    macros = {
        "KIND": f"KERNEL_TYPE_MIX_AIC_1_{kernel.vectors}", "VECTORS": kernel.vectors, "SLOTS": kernel.places,
        "BUFFERS": kernel.buffers, "CORES": cores,
    }  # fmt: skip
    block = Product(whole, Shape(base.m, whole.k, base.n), cores, base, steps=4, depths=(8, 8))
    inputs = {
        "x": np.zeros((groups * whole.m, whole.k), np.int8), "w": np.zeros((groups, whole.k, whole.n), np.int8),
        "columns": np.zeros((groups, whole.n), np.float32), "rows": np.zeros(groups * whole.m, np.float32),
        "tiling": _tiling(block),
    }  # fmt: skip
    sums_bytes = 4 * cores * kernel.places * base.m * base.n
    return _Run("grouped", macros, inputs, 2 * groups * whole.m * whole.n + sums_bytes)


def _tiling(kernel: Product) -> NDArray[np.int32]:
    """A TCubeTiling, member by member as it lies in memory; all behind what is told here is zero."""
    (m, k, n), part, base, steps = kernel.whole, kernel.part, kernel.base, kernel.steps
    words = np.zeros(_WORDS, np.int32)
    words[:8] = kernel.cores, m, n, k, k, part.m, part.n, part.k
    words[8:15] = base.m, base.n, base.k, *kernel.depths, 1, 1
    words[26:28] = steps  # stepKa, stepKb
    words[30:33] = 2, 2, 1  # dbL0A, dbL0B, dbL0C
    return words


_ADD = Addition(5120, {"TILE": 640, "BUFFERS": 2})
_WIDE = Product(Shape(128, 64, 30720), Shape(128, 64, 1280), 24)
_ON_TWENTY = replace(_WIDE, part=Shape(128, 64, 1536), cores=20)
_SHAPES = "MatmulShapeParams{128, 1280, 64, 128, 256, 64}"
_DEEP = Product(Shape(128, 1024, 30720), Shape(128, 1024, 1280), 24, steps=4, depths=(8, 8))
_UNALIGNED = Product(Shape(1024, 1024, 4095), Shape(128, 1024, 688), 48, mixed=True)
#: Of these two descriptions leave the parts of a core open: the squarest that there are.
_TALL = Product(
    Shape(30720, 1024, 4096), Shape(2560, 1024, 2048), 24, steps=4, depths=(8, 8), macros={"CONFIG": "CFG_MDL"}
)
_SHORT = Product(
    Shape(768, 6144, 2048), Shape(256, 6144, 256), 24, steps=4, depths=(8, 8), macros={"CONFIG": "CFG_MDL"}
)
#: All of K lies in L1, and two base blocks of the right matrix.
_LOADED = Product(
    Shape(128, 512, 24576), Shape(128, 512, 1024), 24, Shape(128, 64, 128), steps=8, depths=(8, 16),
    macros={"CONFIG": "CFG_MDL"},
)  # fmt: skip
_NINE = Product(
    Shape(256, 192, 512), Shape(256, 192, 512), 1, steps=3, depths=(3, 3),
    macros={"CONFIG": "CFG_MDL"},
)  # fmt: skip


def _by_two(whole: Shape) -> Product:
    """Both vector cores of one block have half of the rows, and all of K lies in L1."""
    part = Shape(whole.m // 2, whole.k, whole.n)
    steps = whole.k // 64
    return Product(whole, part, 2, Shape(part.m, 64, 256), mixed=True, steps=steps, depths=(steps, steps))


def _along_k(parts: int) -> Product:
    return Product(Shape(16, 1024, 16), Shape(16, 1024 // parts, 16), parts, Shape(16, 64, 16), mixed=True)


#: Why the model does not know what a step changes.
_PACE = (
    "ours reads less from memory (157 instead of 252 MB), and its loads end sooner, but its cube units bound it; "
    "the published one is bound by loads"
)
_KEPT = (
    "the left matrix is loaded once instead of twice, but these loads are a small part of ours, which takes 13 µs; "
    "no description says what the other 20 of the published one are"
)
_DRY = "ours is bounded by its cube cores, whose pipes run dry at every flag of vector cores (an assumption)"
_STAGGERED = "GetMDLConfig(false, false, 0, false, false, false, false, true, true, false, false, true)"
_THREE = (
    "GetMMConfig<MatmulConfigMode::CONFIG_MDL>(MatmulFuncParams{false, false, false, false, 0, IterateOrder::UNDEF, "
    "ScheduleType::N_BUFFER_33})"
)
_SHARING = {"CONFIG": "CFG_IBSHARE_NORM", "SHARE_B": 1}
_FEW, _HALF = _by_two(Shape(128, 384, 256)), _by_two(Shape(64, 384, 256))
_ONCE = replace(_FEW, part=_FEW.whole, cores=1, base=_BASE).but(**_SHARING, SHARE_A=1)

_EIGHT = "GroupedMatmul of int8, 8 × (128 × 1024 × 8192), 8 cores"

#: Shapes are m × k × n.
PAIRS: tuple[Pair, ...] = (
    Pair(
        "several base blocks with a transfer (MDL)", "Matmul 128 × 1024 × 30720, 24 cores", (83.68, 53.4),
        _DEEP, _DEEP.but(CONFIG="CFG_MDL"),
    ),
    Pair(
        "constants in the place of the tiling", "Matmul 128 × 64 × 30720, 24 cores", (10.62, 7.87),
        _WIDE, _WIDE.but(STATIC=1, CONFIG=f"GetMMConfig<MatmulConfigMode::CONFIG_NORM>({_SHAPES})"),
    ),
    Pair(
        "unit flags", "Matmul 128 × 64 × 30720, 20 cores", (37.39, 34.66),
        _ON_TWENTY.but(CONFIG=_NO_FLAG), _ON_TWENTY, soc="ascend910b3",
    ),
    Pair(
        "cube cores alone", "Matmul 128 × 64 × 30720 on cores of both kinds", (17.85, 11.21),
        replace(_WIDE, part=Shape(128, 64, 640), cores=48, mixed=True), _WIDE,
    ),
    Pair("K divided among cores", "Matmul 16 × 1024 × 16, one core", (19.6, 13.7), _along_k(1), _along_k(16)),
    Pair(
        "unaligned rows made fractals by vector cores", "Matmul 1024 × 1024 × 4095", (149.82, 93.76),
        _UNALIGNED, _UNALIGNED.but(FRACTALS=1), whole_task=True,
    ),
    Pair(
        "both matrices shared by the vector cores of a block", "Matmul 128 × 384 × 256, one block", (27.11, 22.44),
        _FEW, _ONCE,
    ),
    Pair(
        "two vector cores for a cube core", f"{_EIGHT}, one vector core each", (218.1, 154.2),
        Grouped(1), Grouped(2), whole_task=True,
    ),
    Pair(
        "four places between cube and vector cores", f"{_EIGHT}, two vector cores each", (154.2, 131.8),
        Grouped(2), Grouped(2, places=4), whole_task=True,
    ),
    Pair(
        "one matrix shared by the vector cores of a block", "Matmul 64 × 384 × 256, one block", (10.29, 9.93),
        _HALF, _HALF.but(**_SHARING),
    ),
    Pair(
        "pieces of a product that stay in L2", "Matmul 30720 × 1024 × 4096, 24 cores", (867, 805.6),
        _TALL, _TALL.but(L2_M=2), _PACE,
    ),
    Pair(
        "cores begin at different places of K", "Matmul 768 × 6144 × 2048", (98.72, 85.68),
        _SHORT, _SHORT.but(CONFIG=_STAGGERED),
    ),
    Pair(
        "loads ahead of time (MTE2 preload)", "Matmul 128 × 512 × 24576, 24 cores", (30.88, 28.5),
        _LOADED, _LOADED.but(CONFIG="GetMDLConfig(false, false, 2)"),
    ),
    Pair(
        "three by three base blocks in L1 (NBuffer33)", "Matmul 256 × 192 × 512", (34.01, 32.66),
        _NINE, _NINE.but(CONFIG=_THREE, POLICY="NBuffer33MatmulPolicy"), _KEPT,
    ),
    Pair(
        "double buffering on vector cores of a product", f"{_EIGHT}, four places", (131.8, 128.1),
        Grouped(2, places=4), Grouped(2, places=4, buffers=2), _DRY, whole_task=True,
    ),
    Pair(
        "TPipe outside the object", "Add of 5120 halfs, one core of a 910B4", (5.9, 5.18),
        replace(_ADD, macros={**_ADD.macros, "INSIDE": 1}), _ADD, soc="ascend910b4", whole_task=True,
    ),
)  # fmt: skip
