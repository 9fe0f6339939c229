"""Normalisation against NumPy in float64: every function, both forms of scratch, half and float, padded rows."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import DType
from tests.twin.programs import DTYPES, Program, near, sample
from tests.twin.running import Twin

B, S, H, REAL = 2, 8, 80, 77
TMP = "TBuf<TPosition::VECCALC> b_t;\npipe.InitBuffer(b_t, 16384);\nLocalTensor<uint8_t> tmp = b_t.Get<uint8_t>();"
EPSILON = 1e-3


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


def close(actual: np.ndarray, wanted: np.ndarray, value: str) -> bool:
    """Equal up to rounding of values around one."""
    limit = 2.0**-9 if value == "half" else 2.0**-19
    return bool(np.abs(wide(actual).reshape(-1) - wanted.reshape(-1)).max() <= limit * max(1.0, np.abs(wanted).max()))


def padded(dtype: DType, seed: int) -> np.ndarray:
    x = sample(dtype, (B * S, H), seed, 2)
    x[:, REAL:] = 0
    return x


def moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)


def epsilon_of(value: str) -> float:
    return float(np.array(EPSILON).astype(DTYPES[value].numpy()))


@pytest.mark.parametrize("value", ["half", "float"])
def test_layer_norm_deep_norm_and_rms_norm(twin: Twin, value: str) -> None:
    vt = DTYPES[value]
    x, gx = padded(vt, 1), padded(vt, 2)
    gamma, beta = sample(vt, (H,), 3, 1), sample(vt, (H,), 4, 1)
    p = Program()
    for name, values in {"x": x, "gx": gx, "gamma": gamma, "beta": beta}.items():
        p.load(name, values)
    for name in ("y", "z", "deep", "rms"):
        p.tensor(name, B * S * H, value)
    for name in ("mean", "var", "mean2", "var2", "dmean", "dvar"):
        p.tensor(name, B * S, value)
    p.call(TMP)
    for kind, name in (("LayerNormTiling", "ln"), ("DeepNormTiling", "dn"), ("RmsNormTiling", "rn")):
        p.call(f"{kind} {name};\n{name}.bLength = {B};\n{name}.sLength = {S};\n{name}.hLength = {H};")
        p.call(f"{name}.originalHLength = {REAL};")
    e = f"({value}){EPSILON}"
    p.call(f"LayerNorm<{value}, false>(l_y, l_mean, l_var, l_x, l_gamma, l_beta, {e}, ln);")
    p.call(f"LayerNorm<{value}>(l_z, l_mean2, l_var2, l_x, l_gamma, l_beta, tmp, {e}, ln);")
    p.call(f"DeepNorm<{value}>(l_deep, l_dmean, l_dvar, l_x, l_gx, l_beta, l_gamma, tmp, ({value})0.5, {e}, dn);")
    p.call(f"RmsNorm<{value}>(l_rms, l_x, l_gamma, tmp, {e}, rn);")
    seen = p.run(twin)
    g, b, eps = wide(gamma)[:REAL], wide(beta)[:REAL], epsilon_of(value)
    for row, mean, var, source in (
        ("y", "mean", "var", wide(x)),
        ("z", "mean2", "var2", wide(x)),
        ("deep", "dmean", "dvar", wide(x) * 0.5 + wide(gx)),
    ):
        m, v = moments(source[:, :REAL])
        wanted = (source[:, :REAL] - m) / np.sqrt(v + eps) * g + b
        assert close(seen[row].reshape(-1, H)[:, :REAL], wanted, value)
        assert close(seen[mean], m, value)
        assert close(seen[var], v, value)
    square = (wide(x)[:, :REAL] ** 2).mean(axis=1, keepdims=True)
    assert near(seen["rms"].reshape(-1, H)[:, :REAL], wide(x)[:, :REAL] / np.sqrt(square + eps) * g, 6)


@pytest.mark.parametrize(("value", "weight"), [("half", "half"), ("half", "float"), ("float", "float")])
def test_layer_norm_with_rstd_and_normalize(twin: Twin, value: str, weight: str) -> None:
    vt, wt = DTYPES[value], DTYPES[weight]
    x = padded(vt, 5)
    gamma, beta = sample(wt, (H,), 6, 1), sample(wt, (H,), 7, 1)
    m, v = moments(wide(x)[:, :REAL])
    p = Program()
    p.load("x", x)
    p.load("gamma", gamma)
    p.load("beta", beta)
    p.load("m", m.astype(np.float32))
    p.load("v", v.astype(np.float32))
    for name in ("y", "plain", "n"):
        p.tensor(name, B * S * H, value)
    for name in ("mean", "rstd", "mean2", "rstd2", "rstd3"):
        p.tensor(name, B * S, "float")
    p.call(TMP)
    p.call(f"LayerNormSeparateTiling tiling;\nLayerNormPara para{{{B * S}, {REAL}, {H}}};")
    p.call(f"LayerNorm<{weight}, {value}>(l_y, l_mean, l_rstd, l_x, l_gamma, l_beta, {EPSILON}f, tmp, para, tiling);")
    p.call(f"LayerNorm<{weight}, {value}, false, bare>"
           f"(l_plain, l_mean2, l_rstd2, l_x, l_gamma, l_beta, {EPSILON}f, para, tiling);")  # fmt: skip
    p.call(f"Normalize<{weight}, {value}, false, NLCFG_NORM>(l_n, l_rstd3, l_m, l_v, l_x, l_gamma, l_beta, tmp,"
           f" {EPSILON}f, NormalizePara({B * S}, {REAL}, {H}));")  # fmt: skip
    seen = p.run(twin, "static constexpr LayerNormConfig bare = {true, true, false};")
    rstd = 1 / np.sqrt(v + float(np.float32(EPSILON)))
    centred = (wide(x)[:, :REAL] - m) * rstd
    wanted = centred * wide(gamma)[:REAL] + wide(beta)[:REAL]
    assert close(seen["y"].reshape(-1, H)[:, :REAL], wanted, value)
    assert close(seen["n"].reshape(-1, H)[:, :REAL], wanted, value)
    assert close(seen["plain"].reshape(-1, H)[:, :REAL], centred, value)
    for name in ("rstd", "rstd2", "rstd3"):
        assert close(seen[name], rstd, "float")
    assert close(seen["mean"], m, "float")


@pytest.mark.parametrize("value", ["half", "float"])
def test_layer_norm_gradients(twin: Twin, value: str) -> None:
    vt = DTYPES[value]
    x, dy = sample(vt, (B * S, H), 8, 1), sample(vt, (B * S, H), 9, 1)
    gamma = sample(vt, (H,), 10, 1)
    m, v = moments(wide(x))
    m, v = m.astype(vt.numpy()), v.astype(vt.numpy())
    p = Program()
    for name, values in {"x": x, "dy": dy, "gamma": gamma, "m": m, "v": v}.items():
        p.load(name, values)
    for name in ("pdx", "res", "pdx2", "res2"):
        p.tensor(name, B * S * H, value)
    p.tensor("pdgamma", H, value)
    p.tensor("pdbeta", H, value)
    p.call(TMP)
    for kind, name in (("LayerNormGradTiling", "lg"), ("LayerNormGradBetaTiling", "lb")):
        p.call(f"{kind} {name};\n{name}.bLength = {B};\n{name}.sLength = {S};\n{name}.hLength = {H};")
    e = f"({value}){EPSILON}"
    p.call(f"LayerNormGrad<{value}, false>(l_pdx, l_res, l_dy, l_x, l_v, l_m, l_gamma, tmp, {e}, lg);")
    p.call(f"LayerNormGrad<{value}>(l_pdx2, l_res2, l_dy, l_x, l_v, l_m, l_gamma, {e}, lg, {{DataFormat::ND}});")
    p.call("LayerNormGradBeta(l_pdgamma, l_pdbeta, l_res, l_dy, tmp, lb);")
    seen = p.run(twin)
    eps = epsilon_of(value)
    x1 = wide(dy) * wide(gamma)
    x2 = wide(x) - wide(m)
    var = wide(v) + eps
    pd_var = (-0.5 * x1 * x2 * var**-1.5).sum(axis=1, keepdims=True)
    pd_mean = (-x1 * var**-0.5).sum(axis=1, keepdims=True) + pd_var / H * (-2 * x2).sum(axis=1, keepdims=True)
    pd_x = x1 * var**-0.5 + pd_var * 2 / H * x2 + pd_mean / H
    assert close(seen["pdx"], pd_x, value)
    assert np.array_equal(seen["pdx2"], seen["pdx"])
    assert np.array_equal(seen["res2"], seen["res"])
    assert close(seen["res"], x2 * var**-0.5, value)
    res = wide(seen["res"]).reshape(-1, H)
    assert close(seen["pdgamma"], (wide(dy) * res).sum(axis=0), value)
    assert close(seen["pdbeta"], wide(dy).sum(axis=0), value)


@pytest.mark.parametrize("value", ["half", "float"])
def test_batch_norm_and_group_norm(twin: Twin, value: str) -> None:
    vt = DTYPES[value]
    n, c, hw, align, groups = 2, 6, 13, 16, 3
    x = sample(vt, (16, H), 11, 2)
    gamma, beta = sample(vt, (16,), 12, 1), sample(vt, (16,), 13, 1)
    image = sample(vt, (n * c, align), 14, 2)
    p = Program()
    for name, values in {"x": x, "gamma": gamma, "beta": beta, "i": image}.items():
        p.load(name, values)
    p.tensor("y", 16 * H, value)
    p.tensor("g", n * c * align, value)
    for name, size in {"mean": H, "var": H, "gmean": 16, "gvar": 16}.items():
        p.tensor(name, size, value)
    p.call(TMP)
    p.call(f"BatchNormTiling bn;\nbn.originalBLength = 16;\nbn.meanVarSize = {H};")
    p.call(f"GroupNormTiling gn;\ngn.n = {n};\ngn.c = {c};\ngn.hw = {hw};\ngn.hwAlignSize = {align};\ngn.g = {groups};")
    e = f"({value}){EPSILON}"
    p.call(f"BatchNorm<{value}>(l_y, l_mean, l_var, l_x, l_gamma, l_beta, tmp, {e}, bn);")
    p.call(f"GroupNorm<{value}>(l_g, l_gmean, l_gvar, l_i, l_gamma, l_beta, {e}, gn);")
    seen = p.run(twin)
    eps = epsilon_of(value)
    m, v = wide(x).mean(axis=0), wide(x).var(axis=0)
    wanted = (wide(x) - m) / np.sqrt(v + eps) * wide(gamma)[:, None] + wide(beta)[:, None]
    assert close(seen["y"], wanted, value)
    assert close(seen["mean"], m, value)
    assert close(seen["var"], v, value)
    real = wide(image).reshape(n, c, align)[:, :, :hw].reshape(n, groups, -1)
    m, v = moments(real)
    wanted = ((real - m) / np.sqrt(v + eps)).reshape(n, c, hw) * wide(gamma)[:c, None] + wide(beta)[:c, None]
    assert close(seen["g"].reshape(n, c, align)[:, :, :hw], wanted, value)
    assert close(seen["gmean"][: n * groups], m, value)
    assert close(seen["gvar"][: n * groups], v, value)


@pytest.mark.parametrize("value", ["half", "float"])
@pytest.mark.parametrize("form", ["plain", "tail", "counts"])
def test_welford(twin: Twin, value: str, form: str) -> None:
    """A row of several pieces, the last of which may be short, has the mean and variance of the whole."""
    vt, k = DTYPES[value], 64
    total = 3 * k if form == "plain" else 2 * k + 40
    tail = total - 2 * k
    row = sample(vt, (3 * k,), 15, 2)
    p = Program()
    p.load("x", row)
    p.load("zero", np.zeros(k, np.float32))
    p.load("count", np.where(np.arange(k) < tail, 3, 2).astype(np.int32))
    for name in ("m1", "v1", "m2", "v2", "m3", "v3"):
        p.tensor(name, k, "float")
    p.tensor("mean", 8, "float")
    p.tensor("var", 8, "float")
    p.call(TMP)
    p.call(f"WelfordUpdateParam para = {{1, {k}, {k}, 1.0f}};")
    p.call(f"WelfordUpdate<{value}, float>(l_m1, l_v1, l_zero, l_zero, l_x, para);")
    p.call("para.nRec = 0.5f;")
    p.call(f"WelfordUpdate<{value}, float, false, keep>(l_m2, l_v2, l_m1, l_v1, l_x[{k}], tmp, para);")
    p.call(f"para.nRec = 1.0f / 3;\npara.abComputeLength = {tail};")
    p.call(f"WelfordUpdate<{value}, float, false, keep>(l_m3, l_v3, l_m2, l_v2, l_x[{2 * k}], para);")
    head = f"3, {tail}, 2, {k - tail}" if form != "plain" else f"3, {k}, 0, 0"
    p.call(f"WelfordFinalizePara end = {{3, {k}, {head}, 1.0f / {k}, 1.0f / {total}}};")
    counts = "l_count, " if form == "counts" else ""
    p.call(f"WelfordFinalize<false>(l_mean, l_var, l_m3, l_v3, {counts}tmp, end);")
    seen = p.run(twin, "static constexpr WelfordUpdateConfig keep = {true};")
    whole = wide(row)[:total]
    assert close(seen["mean"][:1], whole.mean(), "float")
    assert close(seen["var"][:1], whole.var(), "float")
