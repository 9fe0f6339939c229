"""What torch calls the operators of the suite ``ascendcraft``, by name of the task; see ``eager_operators``.

Not yet run on hardware.
"""

# ruff: noqa: ARG005, N803  one signature for all; names of inputs and attributes are the operators' own

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["CRAFT"]

Operator = Callable[..., Any]


def _exclusive(t: Any, x: Any, dim: int) -> Any:
    return t.cumsum(x, dim) - x


def _hinge(t: Any, predictions: Any, targets: Any) -> Any:
    rows = targets.expand_as(predictions)
    # torch has no plain hinge loss; for labels of -1 this one is max(0, margin - x)
    return t.nn.functional.hinge_embedding_loss(predictions * rows, -t.ones_like(rows), margin=1.0)


def _stepped(
    t: Any, kind: Callable[..., Any], param: Any, grad: Any, state: Mapping[str, Any], options: Mapping[str, Any]
) -> Any:
    """The parameter after one step of a torch optimizer whose state is given."""
    parameter = t.nn.Parameter(param.clone())
    # clones: an optimizer works in place, and the inputs are used again for later samples
    parameter.grad = grad.clone()
    optimizer = kind([parameter], **options)
    optimizer.state[parameter] = {name: value.clone() for name, value in state.items()}
    optimizer.step()
    return parameter.detach()


def _adagrad(t: Any, param: Any, grad: Any, accum: Any, lr: float, eps: float) -> Any:
    # the number of steps enters only where the learning rate decays
    state = {"step": t.tensor(0.0), "sum": accum}
    return _stepped(t, t.optim.Adagrad, param, grad, state, {"lr": lr, "eps": eps})


def _adam(
    t: Any, param: Any, grad: Any, m: Any, v: Any, beta1: float, beta2: float, lr: float, eps: float, step: int
) -> Any:
    # torch counts this step itself, before it corrects the bias
    state = {"step": t.tensor(float(step - 1)), "exp_avg": m, "exp_avg_sq": v}
    return _stepped(t, t.optim.Adam, param, grad, state, {"lr": lr, "betas": (beta1, beta2), "eps": eps})


def _lamb(t: Any, param: Any, m: Any, v: Any, lr: float, eps: float) -> Any:
    r = m / (t.sqrt(v) + eps)
    return param - lr * param.norm() / (r.norm() + eps) * r


def _rmsprop(t: Any, param: Any, grad: Any, v: Any, lr: float, alpha: float, eps: float) -> Any:
    state = {"step": t.tensor(0.0), "square_avg": v}
    return _stepped(t, t.optim.RMSprop, param, grad, state, {"lr": lr, "alpha": alpha, "eps": eps})


def _sgd(t: Any, param: Any, grad: Any, velocity: Any, momentum: float, lr: float) -> Any:
    return _stepped(t, t.optim.SGD, param, grad, {"momentum_buffer": velocity}, {"lr": lr, "momentum": momentum})


def _pooling(name: str) -> Operator:
    def pooled(t: Any, x: Any, kernel_size: Any, stride: Any, padding: Any) -> Any:
        return getattr(t.nn.functional, name)(x, kernel_size, stride, padding)

    return pooled


#: The suite ``ascendcraft``, by name of the task.
CRAFT: Mapping[str, Operator] = {
    "CraftElu": lambda t, x, alpha: t.nn.functional.elu(x, alpha),
    "CraftGelu": lambda t, x: t.nn.functional.gelu(x),
    "CraftHardsigmoid": lambda t, x: t.nn.functional.hardsigmoid(x),
    "CraftHardtanh": lambda t, x: t.nn.functional.hardtanh(x),
    "CraftLeakyRelu": lambda t, x, negative_slope: t.nn.functional.leaky_relu(x, negative_slope),
    "CraftLogSoftmax": lambda t, x, dim: t.log_softmax(x, dim),
    "CraftMinGptNewGelu": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    "CraftRelu": lambda t, x: t.relu(x),
    "CraftSelu": lambda t, x: t.selu(x),
    "CraftSigmoid": lambda t, x: t.sigmoid(x),
    "CraftSoftmax": lambda t, x: t.softmax(x, -1),
    "CraftSoftplus": lambda t, x: t.nn.functional.softplus(x),
    "CraftSoftsign": lambda t, x: t.nn.functional.softsign(x),
    "CraftSwish": lambda t, x: t.nn.functional.silu(x),
    "CraftTanh": lambda t, x: t.tanh(x),
    "CraftCosineSimilarityLoss": lambda t, predictions, targets: (
        1 - t.nn.functional.cosine_similarity(predictions, targets)
    ).mean(),
    "CraftCrossEntropyLoss": lambda t, predictions, targets: t.nn.functional.cross_entropy(predictions, targets),
    "CraftHingeLoss": _hinge,
    "CraftHuberLoss": lambda t, predictions, targets: t.nn.functional.smooth_l1_loss(predictions, targets),
    "CraftKlDivLoss": lambda t, predictions, targets: t.nn.functional.kl_div(
        predictions.log(), targets, reduction="batchmean"
    ),
    "CraftMseLoss": lambda t, predictions, targets: t.nn.functional.mse_loss(predictions, targets),
    "CraftTripletMarginLoss": lambda t, anchor, positive, negative, margin: t.nn.functional.triplet_margin_loss(
        anchor, positive, negative, margin
    ),
    "CraftCumprod": lambda t, x, dim: t.cumprod(x, dim),
    "CraftCumsum": lambda t, x, dim: t.cumsum(x, dim),
    "CraftCumsumExclusive": _exclusive,
    "CraftCumsumReverse": lambda t, x, dim: x.flip(dim).cumsum(dim).flip(dim),
    "CraftMaskedCumsum": lambda t, x, mask, dim: t.cumsum(x * mask, dim),
    "CraftMatrixScalarMultiplication": lambda t, A, s: A * s,
    "CraftBatchNorm": lambda t, x, gamma, beta, eps: t.nn.functional.batch_norm(
        x, None, None, gamma, beta, training=True, eps=eps
    ),
    "CraftFrobeniusNorm": lambda t, x: x / t.norm(x, p="fro"),
    "CraftGroupNorm": lambda t, x, gamma, beta, num_groups, eps: t.nn.functional.group_norm(
        x, num_groups, gamma, beta, eps
    ),
    "CraftInstanceNorm": lambda t, x, eps: t.nn.functional.instance_norm(x, eps=eps),
    "CraftL1Norm": lambda t, x: x / x.abs().mean(1, keepdim=True),
    "CraftL2Norm": lambda t, x: t.nn.functional.normalize(x, dim=1),
    "CraftLayerNorm": lambda t, x, gamma, beta, eps: t.nn.functional.layer_norm(x, gamma.shape, gamma, beta, eps),
    "CraftRmsNorm": lambda t, x, eps: t.nn.functional.rms_norm(x.movedim(1, -1), (x.shape[1],), eps=eps).movedim(-1, 1),
    "CraftAdagrad": _adagrad,
    "CraftAdam": _adam,
    "CraftLamb": _lamb,
    "CraftRmsprop": _rmsprop,
    "CraftSgd": _sgd,
    "CraftMaxReductionOverADimension": lambda t, x, dim: x.max(dim).values,
    "CraftMeanReductionOverADimension": lambda t, x, dim: x.mean(dim),
    "CraftMinReductionOverADimension": lambda t, x, dim: x.min(dim).values,
    "CraftProductReductionOverADimension": lambda t, x, dim: x.prod(dim),
    "CraftSumReductionOverADimension": lambda t, x, dim: x.sum(dim, keepdim=True),
    **{
        f"Craft{kind}Pooling{rank}d": _pooling(f"{name}_pool{rank}d")
        for kind, name in (("Average", "avg"), ("Max", "max"))
        for rank in (1, 2, 3)
    },
}
