"""What torch calls the operators of the tasks: one table, for the eager baseline and for tests.

An entry is a function of the module ``torch`` (``t``) and of the task's inputs and attributes by their names, as far as
it needs them, and ``out_dtype`` and ``out_device`` of what it makes; it returns all outputs in the task's order. Only
torch's own operators are used, several where torch has no single one: torch_npu's fused operators could not be compared
with the references without a device. Not yet run on hardware.
"""
# ruff: noqa: ARG005, N803  one signature for all; names of inputs and attributes are the operators' own

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from npukernelbench.reference import foreach_unary

__all__ = ["HOST", "OPERATORS"]

Operator = Callable[..., Any]


def _swish(t: Any, x: Any, scale: float) -> Any:
    return x * t.sigmoid(scale * x)


def _gelu(t: Any, x: Any, approximate: int) -> Any:
    return t.nn.functional.gelu(x, approximate=("none", "tanh")[approximate])


def _geglu(t: Any, x: Any, dim: int, approximate: int, activate_left: bool) -> Any:
    left, right = t.chunk(x, 2, dim)
    gate = _gelu(t, left if activate_left else right, approximate)
    return gate * (right if activate_left else left), gate


def _gelu_gradient(t: Any, dy: Any, x: Any, approximate: int) -> Any:
    return t.ops.aten.gelu_backward(dy, x, approximate=("none", "tanh")[approximate])


def _geglu_grad(t: Any, dy: Any, x: Any, gelu: Any, dim: int, approximate: int, activate_left: bool) -> Any:
    left, right = t.chunk(x, 2, dim)
    a, b = (left, right) if activate_left else (right, left)
    # `gelu` is the activated half as the forward pass saved it
    da, db = _gelu_gradient(t, dy * b, a, approximate), dy * gelu
    return t.cat((da, db) if activate_left else (db, da), dim)


def _swiglu(t: Any, x: Any, dim: int) -> Any:
    gate, linear = t.chunk(x, 2, dim)
    return t.nn.functional.silu(gate) * linear


def _swiglu_grad(t: Any, y_grad: Any, x: Any, dim: int) -> Any:
    a, b = t.chunk(x, 2, dim)
    return t.cat((t.ops.aten.silu_backward(y_grad * b, a), y_grad * t.nn.functional.silu(a)), dim)


def _fast_gelu_grad(t: Any, dy: Any, x: Any) -> Any:
    p = t.sigmoid(1.702 * x)
    return dy * p * (1 + 1.702 * x * (1 - p))


def _softmax_grad(t: Any, softmaxOutput: Any, gradOutput: Any, values: Any) -> Any:
    # the product of the softmax with `values` is part of the operator: its gradient comes first
    grad = t.matmul(gradOutput, values.transpose(0, 1))
    return (grad - (softmaxOutput * grad).sum(-1, keepdim=True)) * softmaxOutput


def _mul_sigmoid(t: Any, x1: Any, x2: Any, t1: float, t2: float, t3: float) -> Any:
    p = t.sigmoid(t1 * x1)
    return (t.where(p < t2, p, 2 * p) * x2.reshape(1, -1) * t3).reshape(x1.shape[0], *x2.shape[1:])


def _flash_attention(t: Any, query: Any, key: Any, value: Any, scale_value: float, head_num: int) -> Any:
    q, k, v = (tensor.unflatten(2, (head_num, -1)).transpose(1, 2) for tensor in (query, key, value))
    scores = scale_value * t.matmul(q, k.transpose(2, 3))
    # torch's own attention does not return the largest score and the sum of the powers
    largest = scores.max(-1, keepdim=True).values
    powers = t.exp(scores - largest)
    total = powers.sum(-1, keepdim=True)
    # the operator repeats both statistics over a block of 32 bytes: eight floats
    return largest.expand(-1, -1, -1, 8), total.expand(-1, -1, -1, 8), _merged(t, t.matmul(powers, v) / total)


def _merged(t: Any, heads: Any) -> Any:
    return t.flatten(heads.transpose(1, 2), 2)


def _non_finite(t: Any, tensor_list: Any) -> Any:
    # Python's `all` would copy each tensor's answer to the host and wait for it
    return t.stack([t.isfinite(tensor).all() for tensor in tensor_list]).all().logical_not().float().reshape(1)


def _unscale(t: Any, scaled_grads: Any, found_inf: Any, inv_scale: float) -> Any:
    bad = t.stack([t.isfinite(scaled_grad).all() for scaled_grad in scaled_grads]).all().logical_not()
    # the flag is only ever raised: one that other gradients have set stays
    return t._foreach_mul(scaled_grads, inv_scale), t.maximum(found_inf, bad.to(found_inf.dtype))


def _rounded(t: Any, x: Any, roundMode: int) -> Any:
    if roundMode == 4:
        # halves away from zero, where torch rounds to the even number
        return t._foreach_add(t._foreach_trunc(x), t._foreach_trunc(t._foreach_mul(t._foreach_frac(x), 2)))
    if roundMode == 6:
        # down where that is odd, else up; a whole number is both
        low, high = t._foreach_floor(x), t._foreach_ceil(x)
        even = t._foreach_mul(t._foreach_floor(t._foreach_mul(low, 0.5)), 2)
        return t._foreach_add(high, t._foreach_mul(t._foreach_sub(low, high), t._foreach_sub(low, even)))
    modes = {1: t._foreach_round, 2: t._foreach_floor, 3: t._foreach_ceil, 5: t._foreach_trunc, 7: t._foreach_frac}
    return modes[roundMode](x)


def _quant_matmul(t: Any, a: Any, b: Any, scale: Any, per_token_scale: Any) -> Any:
    # torch.matmul of int8 has a result of int8, in which sums wrap
    return t.matmul(a.to(scale.dtype), b.to(scale.dtype)) * scale * per_token_scale[:, None]


def _group_gemm(t: Any, a: Any, b: Any, c: Any, alpha: Any, beta: Any, mList: Any, kList: Any, nList: Any) -> Any:
    # the matrices of all groups lie flat in one tensor, one behind the other
    sizes = list(zip(mList, kList, nList, strict=True))
    lefts, rights = t.split(a, [m * k for m, k, _ in sizes]), t.split(b, [k * n for _, k, n in sizes])
    sums = t.split(c, [m * n for m, _, n in sizes])
    parts = [
        alpha[i] * t.matmul(lefts[i].view(m, k), rights[i].view(k, n)) + beta[i] * sums[i].view(m, n)
        for i, (m, k, n) in enumerate(sizes)
    ]
    return t.cat([part.reshape(-1) for part in parts])


def _lengths(ends: Any) -> list[int]:
    return [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _slice_m(t: Any, a: Any, b: Any, groupList: Any) -> Any:
    parts = t.split(a, _lengths(groupList))
    return t.cat([t.matmul(part, b[group]) for group, part in enumerate(parts)]).reshape(-1)


def _slice_k(t: Any, a: Any, b: Any, groupList: Any) -> Any:
    # `a` lies column by column in memory, although its shape says [m, k]
    columns, lengths = a.reshape(a.shape[1], a.shape[0]), _lengths(groupList)
    parts = zip(t.split(columns, lengths), t.split(b, lengths), strict=True)
    return t.stack([t.matmul(left.transpose(0, 1), right) for left, right in parts]).reshape(-1)


def _slice_m_dequant(t: Any, a: Any, b: Any, scale: Any, per_token_scale: Any, groupList: Any) -> Any:
    lengths = _lengths(groupList)
    parts = zip(t.split(a.to(scale.dtype), lengths), t.split(per_token_scale, lengths), strict=True)
    wide = b.to(scale.dtype)
    scaled = [t.matmul(part, wide[g]) * scale[g] * token[:, None] for g, (part, token) in enumerate(parts)]
    return t.cat(scaled).reshape(-1)


def _slice_k_dequant(t: Any, a: Any, b: Any, scale: Any, per_token_scale: Any, groupList: Any) -> Any:
    product = _slice_k(t, a.to(scale.dtype), b.to(scale.dtype), groupList).view(len(groupList), a.shape[0], b.shape[1])
    return (product * scale[:, None, :] * per_token_scale[:, :, None]).reshape(-1)


def _gather(t: Any, x: Any, indices: Any, axis: int, batchDims: int, negativeIndexSupport: bool) -> Any:
    axis = axis % x.ndim
    where = t.where(indices < 0, indices + x.shape[axis], indices) if negativeIndexSupport else indices
    if batchDims == 0:
        taken = t.index_select(x, axis, where.reshape(-1).long())
        return taken.reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    shape = (*x.shape[:axis], *indices.shape[batchDims:], *x.shape[axis + 1 :])
    flat = x.reshape(-1, *x.shape[batchDims:])
    rows = where.reshape(flat.shape[0], -1).long()
    return t.stack(
        [t.index_select(table, axis - batchDims, row) for table, row in zip(flat, rows, strict=True)]
    ).reshape(shape)


def _cross(t: Any, x1: Any, x2: Any, dim: int) -> Any:
    # -65530 is the operator's default for an absent axis: then it is the first of extent 3
    return t.linalg.cross(x1, x2, dim=x1.shape.index(3) if dim == -65530 else dim)


def _cross_entropy(
    t: Any,
    input: Any,
    target: Any,
    weight: Any,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    lse_square_scale_for_zloss: float,
    return_zloss: bool,
) -> Any:
    loss = t.nn.functional.cross_entropy(
        input, target, weight=weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )
    log_prob = t.log_softmax(input, 1)
    if not return_zloss:
        return loss, log_prob, None, None
    lse = t.logsumexp(input, 1)
    return loss, log_prob, (lse_square_scale_for_zloss * (lse * lse).mean()).reshape(1), lse


def _mse_grad(t: Any, predict: Any, label: Any, dout: Any, reduction: str) -> Any:
    # the backward function takes the number of ATen's enumeration instead of the word
    code = {"none": 0, "mean": 1, "sum": 2}[reduction]
    if dout.numel() == 1 or reduction == "none":
        return t.ops.aten.mse_loss_backward(dout, predict, label, code)
    return t.ops.aten.mse_loss_backward(dout, predict, label, 0) / (predict.numel() if code == 1 else 1)


def _masked_select(t: Any, x: Any, mask: Any) -> Any:
    chosen = t.masked_select(x, mask)
    # rank and extent of the first output, which only the data decide
    return chosen, t.tensor([1, chosen.numel()])


def _muls(t: Any, x: Any, value: float) -> Any:
    # integers times a fraction are floats in torch; the operator truncates them back to their type
    return t.mul(x, value) if x.is_floating_point() else t.mul(x, value).to(x.dtype)


def _negate_second_half(t: Any, input: Any) -> Any:
    half = input.shape[-1] // 2
    return t.cat((input[..., :half], -input[..., half:]), -1)


def _strided(x: Any, n: int, incx: int) -> Any:
    return x.reshape(-1)[: (n - 1) * incx + 1 : incx]


def _ccopy(t: Any, x: Any, n: int, incx: int, incy: int) -> Any:
    y = t.zeros((n - 1) * incy + 1, dtype=x.dtype, device=x.device)
    y[::incy] = _strided(x, n, incx)
    return y


def _sums(t: Any, x: Any, n: int, incx: int) -> Any:
    chosen = _strided(x, n, incx)
    # single precision, so that ties of the operator are ties here, too
    return (t.abs(chosen.real) + t.abs(chosen.imag)).float()


def _sscal(t: Any, x: Any, alpha: float, n: int, incx: int) -> Any:
    # the product is in place, and the inputs are used again for later samples
    y = t.clone(x)
    _strided(y, n, incx).mul_(alpha)
    return y


def _layer_norm(t: Any, x: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
    return t.native_layer_norm(x, list(gamma.shape), gamma, beta, epsilon)


def _rms_norm(t: Any, x: Any, gamma: Any, epsilon: float) -> Any:
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    rstd = t.rsqrt((x * x).mean(axes, keepdim=True) + epsilon)
    return x * rstd * gamma, rstd


def _add_layer_norm(
    t: Any, x1: Any, x2: Any, gamma: Any, beta: Any, bias: Any, epsilon: float, additional_output: bool
) -> Any:
    x = x1 + x2 if bias is None else x1 + x2 + bias
    return (*_layer_norm(t, x, gamma, beta, epsilon), x if additional_output else None)


def _inplace_add_layer_norm(
    t: Any, x1: Any, x2: Any, gamma: Any, beta: Any, bias: Any, epsilon: float, additional_output: bool
) -> Any:
    # the last output is in the memory of `x2`: where no sum is asked for, it is `x2` itself
    y, mean, rstd, x = _add_layer_norm(t, x1, x2, gamma, beta, bias, epsilon, True)
    return y, mean, rstd, x if additional_output else x2


def _add_rms_norm(t: Any, x1: Any, x2: Any, gamma: Any, epsilon: float) -> Any:
    x = x1 + x2
    return (*_rms_norm(t, x, gamma, epsilon), x)


def _add_rms_norm_cast(t: Any, x1: Any, x2: Any, gamma: Any, epsilon: float) -> Any:
    y, rstd, x = _add_rms_norm(t, x1, x2, gamma, epsilon)
    return y.float(), y, rstd, x


def _deep_norm(t: Any, x: Any, gx: Any, beta: Any, gamma: Any, alpha: float, epsilon: float) -> Any:
    y, mean, rstd = _layer_norm(t, alpha * x + gx, gamma, beta, epsilon)
    return mean, rstd, y


def _batch_norm(
    t: Any, x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
    epsilon: float, momentum: float, is_training: bool,
) -> Any:  # fmt: skip
    # torch updates running statistics in place
    mean, variance = t.clone(running_mean), t.clone(running_var)
    y, save_mean, save_rstd = t.native_batch_norm(x, weight, bias, mean, variance, is_training, momentum, epsilon)
    return (y, mean, variance, save_mean, save_rstd) if is_training else (y, mean, variance, None, None)


def _group_norm_swish(
    t: Any, x: Any, gamma: Any, beta: Any, num_groups: int, eps: float, activate_swish: bool, swish_scale: float
) -> Any:
    rows, channels = x.shape[:2]
    z, mean, rstd = t.native_group_norm(
        x, gamma, beta, rows, channels, x.numel() // rows // channels, num_groups, eps
    )  # fmt: skip
    return _swish(t, z, swish_scale) if activate_swish else z, mean, rstd


def _layer_norm_grad(t: Any, dy: Any, x: Any, mean: Any, rstd: Any, gamma: Any) -> Any:
    return t.ops.aten.native_layer_norm_backward(
        dy, x, list(gamma.shape), mean, rstd, gamma, t.zeros_like(gamma), [True, True, True]
    )


def _add_layer_norm_grad(t: Any, dy: Any, x1: Any, x2: Any, rstd: Any, mean: Any, gamma: Any, dsum: Any) -> Any:
    dx, dgamma, dbeta = _layer_norm_grad(t, dy, x1 + x2, mean, rstd, gamma)
    return dx if dsum is None else dx + dsum, dgamma, dbeta


def _deep_norm_grad(t: Any, dy: Any, x: Any, gx: Any, gamma: Any, mean: Any, rstd: Any, alpha: float) -> Any:
    dgx, dgamma, dbeta = _layer_norm_grad(t, dy, alpha * x + gx, mean, rstd, gamma)
    return alpha * dgx, dgx, dbeta, dgamma


def _rms_norm_grad(t: Any, dy: Any, x: Any, rstd: Any, gamma: Any) -> Any:
    first = x.ndim - gamma.ndim
    xhat, g = x * rstd, dy * gamma
    dx = rstd * (g - xhat * (g * xhat).mean(tuple(range(first, x.ndim)), keepdim=True))
    products = dy * xhat
    return dx, t.sum(products, tuple(range(first))) if first else products


def _adam_w(
    t: Any, var: Any, m: Any, v: Any, grad: Any, step: float, max_grad_norm: Any, lr: float, beta1: float, beta2: float,
    weight_decay: float, eps: float, amsgrad: bool, maximize: bool,
) -> Any:  # fmt: skip
    # `step` counts the steps before this one; the correction of the bias counts this one, too
    gradient, count = -grad if maximize else grad, step + 1
    m, v = beta1 * m + (1 - beta1) * gradient, t.addcmul(beta2 * v, gradient, gradient, value=1 - beta2)
    largest = t.maximum(max_grad_norm, v) if amsgrad else max_grad_norm
    scale = t.sqrt((largest if amsgrad else v) / (1 - beta2**count)) + eps
    return t.addcdiv(var * (1 - lr * weight_decay), m, scale, value=-lr / (1 - beta1**count)), m, v, largest


def _mhc_post_grad(t: Any, grad_y: Any, x: Any, h_res: Any, h_out: Any, h_post: Any) -> Any:
    return (
        t.matmul(h_res.transpose(-1, -2), grad_y),
        t.matmul(grad_y, x.transpose(-1, -2)),
        (h_post[..., None] * grad_y).sum(-2),
        (grad_y * h_out[..., None, :]).sum(-1),
    )


def _gated_sum(
    t: Any, add_0_input0: Any, add_0_input1: Any, mul_0_input1: Any, mult_1_input1: Any, mult_2_input1: Any
) -> Any:
    return (t.sigmoid((add_0_input0 + add_0_input1) * mul_0_input1) * mult_1_input1 * mult_2_input1).sum(1)


def _product_norm(
    t: Any, mul0_input0: Any, mul0_input1: Any, mul1_input0: Any, add_y: Any, gamma: Any, beta: Any
) -> Any:
    variance, mean = t.var_mean(product := mul0_input0 * mul0_input1 * mul1_input0, 1, correction=0, keepdim=True)
    return gamma * (product - mean) * t.rsqrt(variance + add_y) + beta


def _coalesce(t: Any, unique_len: Any, unique_indices: Any, indices: Any, values: Any) -> Any:
    count, places = unique_len.numel(), unique_indices.long()
    new_indices = t.zeros((count, indices.shape[1]), dtype=indices.dtype, device=indices.device)
    new_values = t.zeros((count, *values.shape[1:]), dtype=values.dtype, device=values.device)
    return new_indices.index_copy(0, places, indices), new_values.index_add(0, places, values)


def _feeds_repeat(t: Any, feeds: Any, feeds_repeat_times: Any, output_feeds_size: int) -> Any:
    repeated = t.repeat_interleave(feeds, feeds_repeat_times, 0)
    rest = t.zeros((output_feeds_size - len(repeated), *feeds.shape[1:]), dtype=feeds.dtype, device=feeds.device)
    return t.cat((repeated, rest))


def _strided_slice_assign(
    t: Any, var: Any, input_value: Any, begin: Any, end: Any, strides: Any, axes: Any
) -> Any:  # fmt: skip
    places = [slice(None)] * var.ndim
    for position, axis in enumerate(range(len(begin)) if axes is None else axes):
        places[axis] = slice(begin[position], end[position], strides[position])
    result = t.clone(var)
    result[tuple(places)] = input_value
    return result


def _reverse_sequence(t: Any, x: Any, seq_lengths: Any, seq_dim: int, batch_dim: int) -> Any:
    moved = x.movedim((batch_dim, seq_dim), (0, 1))
    # torch's `flip` reverses whole axes; here each row has a length of its own
    lengths, place = seq_lengths.long()[:, None], t.arange(moved.shape[1], device=x.device)[None]
    source = t.where(place < lengths, lengths - 1 - place, place)
    source = source.reshape(*source.shape, *(1,) * (x.ndim - 2)).expand(moved.shape)
    return t.gather(moved, 1, source).movedim((0, 1), (batch_dim, seq_dim)).contiguous()


def _eye(t: Any, y: Any, num_rows: int, num_columns: int) -> Any:
    # 0 columns stand for a square matrix
    return t.eye(num_rows, num_columns or num_rows, dtype=y.dtype, device=y.device).expand(y.shape).contiguous()


def _on_lists(name: str) -> Operator:
    """What torch does to every tensor of a list."""
    return lambda t, x: getattr(t, f"_foreach_{name}")(x)


#: By reference of the task; the suite ``ascendcraft`` is in :mod:`npukb_npu.eager_craft`.
OPERATORS: Mapping[str, Operator] = {
    "activation.fast_gelu": lambda t, x: x * t.sigmoid(1.702 * x),
    "activation.fused_matmul_softmax_grad": _softmax_grad,
    "activation.geglu": _geglu,
    "activation.gelu": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    "activation.mul_sigmoid": _mul_sigmoid,
    "activation.softmax": lambda t, x: t.softmax(x, -1),
    "activation.swiglu": _swiglu,
    "activation.swish": _swish,
    "activation_grad.fast_gelu_grad": _fast_gelu_grad,
    "activation_grad.geglu_grad": _geglu_grad,
    "activation_grad.gelu_grad": lambda t, dy, x: _gelu_gradient(t, dy, x, 1),
    "activation_grad.swiglu_grad": _swiglu_grad,
    "attention.flash_attention": _flash_attention,
    "comparison.equal": lambda t, x1, x2: t.eq(x1, x2),
    "comparison.less": lambda t, x1, x2: t.lt(x1, x2),
    "comparison.less_equal": lambda t, x1, x2: t.le(x1, x2),
    "condition.is_finite": lambda t, x: t.isfinite(x),
    "condition.is_inf": lambda t, x: t.isinf(x),
    "condition.non_finite_check": _non_finite,
    "foreach.add_list": lambda t, x1, x2, alpha: t._foreach_add(x1, x2, alpha=alpha),
    "foreach.add_scalar": lambda t, x, scalar: t._foreach_add(x, scalar),
    "foreach.add_scalar_list": lambda t, x, scalars: t._foreach_add(x, scalars),
    "foreach.addcdiv_list": lambda t, x1, x2, x3, scalars: t._foreach_addcdiv(x1, x2, x3, scalars),
    "foreach.addcdiv_scalar": lambda t, x1, x2, x3, scalar: t._foreach_addcdiv(x1, x2, x3, scalar),
    "foreach.addcmul_list": lambda t, x1, x2, x3, scalars: t._foreach_addcmul(x1, x2, x3, scalars),
    "foreach.addcmul_scalar": lambda t, x1, x2, x3, scalar: t._foreach_addcmul(x1, x2, x3, scalar),
    "foreach.div_list": lambda t, x1, x2: t._foreach_div(x1, x2),
    "foreach.div_scalar": lambda t, x, scalar: t._foreach_div(x, scalar),
    "foreach.div_scalar_list": lambda t, x, scalars: t._foreach_div(x, scalars),
    "foreach.lerp_scalar": lambda t, x1, x2, weight: t._foreach_lerp(x1, x2, weight),
    "foreach.maximum_list": lambda t, x1, x2: t._foreach_maximum(x1, x2),
    "foreach.maximum_scalar": lambda t, x, scalar: t._foreach_maximum(x, scalar),
    "foreach.minimum_list": lambda t, x1, x2: t._foreach_minimum(x1, x2),
    "foreach.minimum_scalar": lambda t, x, scalar: t._foreach_minimum(x, scalar),
    "foreach.mul_list": lambda t, x1, x2: t._foreach_mul(x1, x2),
    "foreach.mul_scalar": lambda t, x, scalar: t._foreach_mul(x, scalar),
    "foreach.mul_scalar_list": lambda t, x, scalars: t._foreach_mul(x, scalars),
    "foreach.non_finite_check_and_unscale": _unscale,
    "foreach.norm": lambda t, x, scalar: t._foreach_norm(x, scalar),
    "foreach.pow_scalar": lambda t, x, scalar: t._foreach_pow(x, scalar),
    "foreach.pow_scalar_and_tensor": lambda t, scalar, x: t._foreach_pow(scalar, x),
    "foreach.sub_list": lambda t, x1, x2, alpha: t._foreach_sub(x1, x2, alpha=alpha),
    "foreach.sub_scalar": lambda t, x, scalar: t._foreach_sub(x, scalar),
    "foreach.sub_scalar_list": lambda t, x, scalars: t._foreach_sub(x, scalars),
    "foreach.zero": lambda t, x: [t.zeros_like(tensor) for tensor in x],
    **{f"foreach_unary.{name}": _on_lists(name) for name in foreach_unary.__all__},
    "foreach_unary.absolute": _on_lists("abs"),
    "foreach_unary.copy": lambda t, x: [t.clone(tensor) for tensor in x],
    "foreach_unary.round_off_number": _rounded,
    "gmm.gemm": lambda t, a, b, c, alpha, beta: t.addmm(c, a, b, alpha=alpha, beta=beta),
    "gmm.gemv": lambda t, a, x, y, alpha, beta: t.addmv(y, a, x, alpha=alpha, beta=beta),
    "gmm.group_gemm": _group_gemm,
    "gmm.grouped_matmul_slice_k": _slice_k,
    "gmm.grouped_matmul_slice_k_per_token_dequant": _slice_k_dequant,
    "gmm.grouped_matmul_slice_m": _slice_m,
    "gmm.grouped_matmul_slice_m_per_token_dequant": _slice_m_dequant,
    "gmm.matmul": lambda t, a, b: t.matmul(a, b),
    "gmm.matmul_add": lambda t, a, b, c: t.addmm(c, a, b),
    "gmm.matmul_bias": lambda t, a, b, bias: t.addmm(bias, a, b),
    "gmm.quant_matmul": _quant_matmul,
    "hyper_connection.mhc_post": lambda t, x, h_res, h_out, h_post: (
        t.matmul(h_res, x) + h_post[..., None] * h_out[..., None, :]
    ),
    "hyper_connection.mhc_post_grad": _mhc_post_grad,
    "index.gather": _gather,
    "linalg.cross": _cross,
    "loss.cross_entropy_loss": _cross_entropy,
    "loss.mse_loss": lambda t, predict, label, reduction: t.nn.functional.mse_loss(predict, label, reduction=reduction),
    "loss.mse_loss_grad": _mse_grad,
    "mask.masked_select": _masked_select,
    "mask.tril": lambda t, x, diagonal: t.tril(x, diagonal),
    "mask.triu": lambda t, x, diagonal: t.triu(x, diagonal),
    "math.absolute": lambda t, x: t.abs(x),
    "math.add": lambda t, x, y: t.add(x, y),
    "math.addcdiv": lambda t, input_data, x1, x2, value: t.addcdiv(input_data, x1, x2, value=value),
    "math.addcmul": lambda t, input_data, x1, x2, value: t.addcmul(input_data, x1, x2, value=value),
    "math.cast": lambda t, x, out_dtype: x.to(out_dtype),
    "math.clip_by_value": lambda t, x, clip_value_min, clip_value_max: t.clamp(x, clip_value_min, clip_value_max),
    "math.complex_mat_dot": lambda t, matx, maty: t.mul(matx, maty),
    "math.cos": lambda t, x: t.cos(x),
    "math.lerp": lambda t, start, end, weight: t.lerp(start, end, weight),
    "math.multiply_by_scalar": _muls,
    "math.negate": lambda t, x: t.neg(x),
    "math.negate_second_half": _negate_second_half,
    "math.rsqrt": lambda t, x: t.rsqrt(x),
    "math.sin": lambda t, x: t.sin(x),
    "math.sqrt": lambda t, x: t.sqrt(x),
    "math.tanh": lambda t, x: t.tanh(x),
    "math_blas.ccopy": _ccopy,
    "math_blas.icamax": lambda t, x, n, incx: t.argmax(_sums(t, x, n, incx)) + 1,
    "math_blas.icamin": lambda t, x, n, incx: t.argmin(_sums(t, x, n, incx)) + 1,
    "math_blas.isamax": lambda t, x, n, incx: t.argmax(t.abs(_strided(x, n, incx))) + 1,
    "math_blas.isamin": lambda t, x, n, incx: t.argmin(t.abs(_strided(x, n, incx))) + 1,
    "math_blas.sasum": lambda t, x, n, incx: t.abs(_strided(x, n, incx)).sum(),
    "math_blas.snrm2": lambda t, x, n, incx: t.linalg.vector_norm(_strided(x, n, incx)),
    "math_blas.sscal": _sscal,
    "norm.add_layer_norm": _add_layer_norm,
    "norm.add_rms_norm": _add_rms_norm,
    "norm.add_rms_norm_cast": _add_rms_norm_cast,
    "norm.batch_norm": _batch_norm,
    "norm.deep_norm": _deep_norm,
    "norm.group_norm_swish": _group_norm_swish,
    "norm.inplace_add_layer_norm": _inplace_add_layer_norm,
    "norm.inplace_add_rms_norm": _add_rms_norm,
    "norm.layer_norm": lambda t, x, normalized_shape, gamma, beta, epsilon: t.native_layer_norm(
        x, normalized_shape, gamma, beta, epsilon
    ),
    "norm.pre_layer_norm": lambda t, x, y, gamma, beta, epsilon: t.nn.functional.layer_norm(
        x + y, gamma.shape, gamma, beta, epsilon
    ),
    "norm.rms_norm": _rms_norm,
    "norm_grad.add_layer_norm_grad": _add_layer_norm_grad,
    "norm_grad.deep_norm_grad": _deep_norm_grad,
    "norm_grad.rms_norm_grad": _rms_norm_grad,
    "optim.adam_w_step": _adam_w,
    "reduce.gated_sum": _gated_sum,
    "reduce.product_norm": _product_norm,
    "reduce.scaled_sigmoid": lambda t, input, mulscalar1, mulscalar2, addscalar3: (
        t.sigmoid(input * mulscalar1) * mulscalar2 + addscalar3
    ),
    "reduce.selected_softmax": lambda t, sel, input1, input2: t.softmax(t.where(sel, input1, input2), -1),
    "sort.top_k": lambda t, x, k, dim, largest: t.topk(x, k, dim=dim, largest=largest, sorted=True),
    "tensor_creation.arange": lambda t, start, end, step, out_dtype, out_device: t.arange(
        start, end, step, dtype=out_dtype, device=out_device
    ),
    "tensor_creation.eye": _eye,
    "tensor_creation.fill": lambda t, dims, value, out_dtype, out_device: t.full(
        dims, value, dtype=out_dtype, device=out_device
    ),
    "tensor_move.coalesce_sparse": _coalesce,
    "tensor_move.expand": lambda t, x, shape: x.expand(shape).contiguous(),
    "tensor_move.feeds_repeat": _feeds_repeat,
    "tensor_move.reverse_sequence": _reverse_sequence,
    "tensor_move.strided_slice_assign": _strided_slice_assign,
}


_SCALAR, _SCALARS, _GROUPS = frozenset({"scalar"}), frozenset({"scalars[]"}), frozenset({"groupList[]"})

#: Inputs that torch takes as numbers of the host, or as a list of them: ``name[]``; by reference.
HOST: Mapping[str, frozenset[str]] = {
    **{f"foreach.{name}_scalar": _SCALAR for name in ("add", "sub", "mul", "div", "maximum", "minimum", "pow")},
    **{f"foreach.{name}_scalar_list": _SCALARS for name in ("add", "sub", "mul", "div")},
    **{f"foreach.{name}_scalar": _SCALAR for name in ("addcdiv", "addcmul")},
    **{f"foreach.{name}_list": _SCALARS for name in ("addcdiv", "addcmul")},
    **{f"foreach.{name}_list": frozenset({"alpha"}) for name in ("add", "sub")},
    "foreach.lerp_scalar": frozenset({"weight"}),
    "foreach.non_finite_check_and_unscale": frozenset({"inv_scale"}),
    "foreach.norm": _SCALAR,
    "foreach.pow_scalar_and_tensor": _SCALAR,
    "foreach_unary.round_off_number": frozenset({"roundMode"}),
    **{f"gmm.grouped_matmul_slice_{axis}": _GROUPS for axis in "mk"},
    **{f"gmm.grouped_matmul_slice_{axis}_per_token_dequant": _GROUPS for axis in "mk"},
    "index.gather": frozenset({"axis"}),
    "math.addcdiv": frozenset({"value"}),
    "math.addcmul": frozenset({"value"}),
    "math.clip_by_value": frozenset({"clip_value_min", "clip_value_max"}),
    "math.multiply_by_scalar": frozenset({"value"}),
    "norm.layer_norm": frozenset({"normalized_shape[]"}),
    "optim.adam_w_step": frozenset({"step"}),
    "sort.top_k": frozenset({"k"}),
    "tensor_creation.arange": frozenset({"start", "end", "step"}),
    "tensor_creation.fill": frozenset({"dims[]", "value"}),
    "tensor_move.strided_slice_assign": frozenset({"begin[]", "end[]", "strides[]", "axes[]"}),
}
