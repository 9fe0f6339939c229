"""Attention."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from npukernelbench.reference.arrays import Floats

__all__ = ["flash_attention", "mla"]


#: How often the statistics of a row are repeated along their last axis: one block of 32 bytes.
_REPEATS = 8


def flash_attention(
    query: Floats, key: Floats, value: Floats, scale_value: float, head_num: int
) -> tuple[Floats, Floats, Floats]:
    """``softmax(scale * Q K^T) V`` per batch and head for ``[B, S, H]``: largest scores, sums of powers, result.

    ``H`` holds ``head_num`` heads one behind the other. The first two results, of shape ``[B, head_num, S, 8]``, are
    the largest scaled score of a row and the sum of ``exp(score - largest)``, each 8 times; the last has the shape of
    ``query``. ``scale_value`` counts as the float32 that a kernel receives. Source: Vaswani et al., arXiv 1706.03762;
    statistics as in CANN's ``aclnnFlashAttentionScore``.
    """
    batches, rows, width = query.shape
    if head_num < 1 or width % head_num:
        raise ValueError(f"{width} columns cannot hold {head_num} heads")
    # Kernels get attributes in single precision.
    scale = float(np.float32(scale_value))
    largest = np.empty((batches, head_num, rows))
    sums, result = np.empty_like(largest), np.empty_like(query)
    # Head by head: the scores of all heads at once would take far more memory.
    for batch in range(batches):
        for head in range(head_num):
            part = slice(head * width // head_num, (head + 1) * width // head_num)
            scores = scale * (query[batch, :, part] @ key[batch, :, part].T)
            peak, total, rated = _weighted(scores, value[batch, :, part])
            largest[batch, head], sums[batch, head], result[batch, :, part] = peak, total, rated
    return _repeated(largest), _repeated(sums), result


def mla(
    query_nope: Floats,
    query_rope: Floats,
    kv_nope_cache: Floats,
    kv_rope_cache: Floats,
    block_tables: NDArray[np.int32],
    q_seqlen_list: tuple[int, ...],
    k_seqlen_list: tuple[int, ...],
) -> Floats:
    """Multi-head latent attention over a paged cache, without a mask.

    Sequence ``s`` has ``q_seqlen_list[s]`` of the query tokens, in order, and ``k_seqlen_list[s]`` cached tokens, of
    which number ``t`` is row ``t % block_size`` of block ``block_tables[s, t // block_size]``. Queries and keys are the
    parts without and with rotary embedding side by side; values are the keys' part without. Query head ``h`` uses the
    cached head ``h // (heads / kv_heads)``, scores are divided by the square root of the queries' width. Shapes:
    queries ``[tokens, heads, D]``, caches ``[blocks, block_size, kv_heads, D]``, result as ``query_nope``. Source:
    DeepSeek-V2, arXiv 2405.04434, in the absorbed form; paging as in arXiv 2309.06180.
    """
    if len(q_seqlen_list) != len(k_seqlen_list) or sum(q_seqlen_list) != len(query_nope):
        raise ValueError("the sequences do not cover the query tokens")
    # The sum of both parts' products is one product of the parts side by side.
    queries = np.concatenate([query_nope, query_rope], axis=2)
    block_size, kv_heads = kv_nope_cache.shape[1:3]
    shared = queries.shape[1] // kv_heads
    result, start = np.empty_like(query_nope), 0
    for sequence, (count, length) in enumerate(zip(q_seqlen_list, k_seqlen_list, strict=True)):
        place = np.arange(length)
        blocks, rows = block_tables[sequence, place // block_size], place % block_size
        values = kv_nope_cache[blocks, rows]
        keys = np.concatenate([values, kv_rope_cache[blocks, rows]], axis=2)
        tokens = slice(start, start + count)
        for head in range(queries.shape[1]):
            scores = queries[tokens, head] @ keys[:, head // shared].T / math.sqrt(queries.shape[2])
            result[tokens, head] = _weighted(scores, values[:, head // shared])[2]
        start += count
    return result


def _weighted(scores: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Largest score and sum of powers per row, and the values weighted by the softmax of the scores."""
    largest = scores.max(axis=-1)
    # Less the largest score, so that nothing overflows.
    powers = np.exp(scores - largest[..., np.newaxis])
    sums = powers.sum(axis=-1)
    return largest, sums, powers @ values / sums[..., np.newaxis]


def _repeated(statistics: Floats) -> Floats:
    return np.repeat(statistics[..., np.newaxis], _REPEATS, axis=-1)
