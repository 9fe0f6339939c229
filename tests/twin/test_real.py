"""Elementary functions of the runtime: the same bits whatever instructions the compiler may use."""

from __future__ import annotations

import ctypes
import platform
import subprocess
from pathlib import Path

import numpy as np
import pytest

from npukb_twin.compile import build, toolchain

NAMES = (
    *(
        "Acos",
        "Acosh",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "Cos",
        "Cosh",
        "Digamma",
        "Erf",
        "Erfc",
        "Exp",
        "Expm1",
        "Lgamma",
    ),
    *("Log", "Log10", "Log1p", "Log2", "Sigmoid", "Sin", "Sinh", "Tan", "Tanh"),
)
TARGETS = {"x86_64": ("x86-64-v2", "x86-64-v3", "native"), "aarch64": ("armv8.2-a", "native")}


def library(march: str, folder: Path) -> ctypes.CDLL:
    """Every function over arrays of doubles, compiled for one kind of processor."""
    chosen = toolchain.find()
    root = build.source_root() / "runtime"
    loops = "\n".join(
        f'extern "C" __attribute__((visibility("default"))) '
        f"void each_{name}(double* __restrict d, const double* __restrict a, long n) "
        f"{{ for (long i = 0; i < n; ++i) d[i] = twin::real::{name}(a[i]); }}"
        for name in NAMES
    )
    source = folder / "loops.cpp"
    source.write_text(f'#include "{root}/semantics/real_special.h"\n{loops}\n')
    flags = [march if flag == "-march=native" else flag for flag in build.runtime_flags()]
    flags = [f"-march={flag}" if flag == march else flag for flag in flags]
    target, image = folder / "loops.o", folder / f"{march}.so"
    subprocess.run([*chosen.compile, *flags, "-c", str(source), "-o", str(target)], check=True)
    subprocess.run([*chosen.link_kernel, str(target), "-o", str(image)], check=True)
    return ctypes.CDLL(str(image))


def apply(functions: ctypes.CDLL, name: str, x: np.ndarray) -> np.ndarray:
    result = np.empty_like(x)
    pointer = ctypes.c_void_p
    getattr(functions, f"each_{name}")(pointer(result.ctypes.data), pointer(x.ctypes.data), ctypes.c_long(x.size))
    return result


@pytest.mark.skipif(platform.machine() not in TARGETS, reason="no other processor to compare with")
def test_same_bits_on_every_processor(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**32, 4096, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        x = np.concatenate([bits, rng.uniform(-4, 4, 4096).astype(np.float32)]).astype(np.float64)
        images = [library(march, tmp_path) for march in TARGETS[platform.machine()]]
        for name in NAMES:
            first, *others = [apply(image, name, x) for image in images]
            for other in others:
                equal = (first.view(np.int64) == other.view(np.int64)) | (np.isnan(first) & np.isnan(other))
                assert equal.all(), (name, x[~equal][:5])
