from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import attention

RNG = np.random.default_rng(16)


def attend(queries: Any, keys: Any, values: Any, scale: float) -> tuple[list[float], list[float], Any]:
    """One head in plain Python: largest scores, sums, result."""
    peaks, sums, rows = [], [], []
    for query in queries:
        scores = [scale * math.fsum(x * y for x, y in zip(query, key, strict=True)) for key in keys]
        powers = [math.exp(score - max(scores)) for score in scores]
        peaks.append(max(scores))
        sums.append(math.fsum(powers))
        columns = [
            math.fsum(p * value[d] for p, value in zip(powers, values, strict=True)) for d in range(len(values[0]))
        ]
        rows.append([column / sums[-1] for column in columns])
    return peaks, sums, np.array(rows)


def test_flash_attention_head_by_head() -> None:
    q, k, v = RNG.normal(size=(3, 2, 5, 12))
    largest, sums, out = attention.flash_attention(q, k, v, 0.3, 3)
    assert (largest.shape, sums.shape, out.shape) == ((2, 3, 5, 8), (2, 3, 5, 8), (2, 5, 12))
    scale = float(np.float32(0.3))
    for batch, head in np.ndindex(2, 3):
        part = slice(4 * head, 4 * head + 4)
        peaks, totals, rows = attend(q[batch, :, part], k[batch, :, part], v[batch, :, part], scale)
        for repeat in range(8):
            np.testing.assert_allclose(largest[batch, head, :, repeat], peaks, rtol=1e-12)
            np.testing.assert_allclose(sums[batch, head, :, repeat], totals, rtol=1e-12)
        np.testing.assert_allclose(out[batch, :, part], rows, rtol=1e-10, atol=1e-13)


def test_heads_must_divide_the_columns() -> None:
    x = np.zeros((1, 2, 6))
    for heads in (0, 4):
        with pytest.raises(ValueError, match="6 columns"):
            attention.flash_attention(x, x, x, 1.0, heads)


def paged(kv_heads: int) -> dict[str, Any]:
    return {
        "query_nope": RNG.normal(size=(3, 4, 5)),
        "query_rope": RNG.normal(size=(3, 4, 3)),
        "kv_nope_cache": RNG.normal(size=(6, 4, kv_heads, 5)),
        "kv_rope_cache": RNG.normal(size=(6, 4, kv_heads, 3)),
        "block_tables": np.array([[5, 0, 2], [3, 1, 4]], np.int32),
        "q_seqlen_list": (2, 1),
        "k_seqlen_list": (11, 6),
    }


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_mla_token_by_token(kv_heads: int) -> None:
    case = paged(kv_heads)
    out = attention.mla(**case)
    token = 0
    for sequence, (count, length) in enumerate(zip(case["q_seqlen_list"], case["k_seqlen_list"], strict=True)):
        cached = [(case["block_tables"][sequence][t // 4], t % 4) for t in range(length)]
        for _ in range(count):
            for head in range(4):
                shared = head // (4 // kv_heads)
                values = [case["kv_nope_cache"][block, row, shared] for block, row in cached]
                ropes = [case["kv_rope_cache"][block, row, shared] for block, row in cached]
                keys = [[*nope, *rope] for nope, rope in zip(values, ropes, strict=True)]
                query = [*case["query_nope"][token, head], *case["query_rope"][token, head]]
                expected = attend([query], keys, values, 1 / math.sqrt(8))[2][0]
                np.testing.assert_allclose(out[token, head], expected, rtol=1e-10, atol=1e-13)
            token += 1


def test_sequences_must_cover_the_queries() -> None:
    with pytest.raises(ValueError, match="do not cover"):
        attention.mla(**{**paged(1), "q_seqlen_list": (1, 1)})


def test_agreement_with_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    attend_ = torch.nn.functional.scaled_dot_product_attention
    q, k, v = RNG.normal(size=(3, 2, 6, 8))
    heads = [torch.from_numpy(item).reshape(2, 6, 2, 4).transpose(1, 2) for item in (q, k, v)]
    expected = attend_(*heads, scale=0.25).transpose(1, 2).reshape(2, 6, 8)
    largest, sums, out = attention.flash_attention(q, k, v, 0.25, 2)
    np.testing.assert_allclose(out, expected.numpy(), rtol=1e-9, atol=1e-12)
    scores = heads[0] @ heads[1].transpose(2, 3) * 0.25
    total = np.log(sums[..., 0]) + largest[..., 0]
    np.testing.assert_allclose(total, torch.logsumexp(scores, dim=-1).numpy(), rtol=1e-11, atol=1e-12)
    case = paged(2)
    t = {name: torch.from_numpy(value) for name, value in case.items() if isinstance(value, np.ndarray)}
    keys = torch.cat([t["kv_nope_cache"], t["kv_rope_cache"]], dim=-1)[t["block_tables"][0].long()].reshape(12, 2, 8)[
        :11
    ]
    queries = torch.cat([t["query_nope"], t["query_rope"]], dim=-1)[:2]
    expected = attend_(
        queries.transpose(0, 1),
        keys.transpose(0, 1).repeat_interleave(2, dim=0),
        keys[..., :5].transpose(0, 1).repeat_interleave(2, dim=0),
    ).transpose(0, 1)
    np.testing.assert_allclose(attention.mla(**case)[:2], expected.numpy(), rtol=1e-9, atol=1e-12)
