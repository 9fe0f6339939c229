"""One plausible mistake per operator of the suite ``ascendcraft``: its smoke case refuses every one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from npukernelbench.judge.check import pcl
from npukernelbench.nouns import DType
from npukernelbench.reference import expected_outputs
from npukernelbench.tasks import generate_inputs
from tests.suite import suite

torch = pytest.importorskip("torch", reason="torch is not installed; the mistakes are written in it")
F = torch.nn.functional

SUITE = {task.name: task for task in suite().values() if task.suite == "ascendcraft"}

#: The other approximation, a missing correction, the wrong axis or padding, a sum for a mean, a lost attribute.
MISTAKES: dict[str, Callable[..., Any]] = {
    "CraftGelu": lambda x: F.gelu(x, approximate="tanh"),
    "CraftMinGptNewGelu": lambda x: F.gelu(x),
    "CraftElu": lambda x, alpha: F.elu(x, 1.0),
    "CraftLeakyRelu": lambda x, negative_slope: F.leaky_relu(x, 0.01),
    "CraftSoftmax": lambda x: torch.exp(x) / torch.exp(x).sum(1, keepdim=True),
    "CraftLogSoftmax": lambda x, dim: x - torch.log(torch.exp(x).sum(1, keepdim=True)),
    "CraftSoftplus": lambda x: torch.log(1 + torch.exp(x)),
    "CraftSwish": lambda x: F.hardswish(x),
    "CraftSigmoid": lambda x: F.hardsigmoid(x),
    "CraftSelu": lambda x: F.elu(x, 1.6732632),
    "CraftHardsigmoid": lambda x: torch.clamp(0.2 * x + 0.5, 0, 1),
    "CraftSoftsign": lambda x: torch.tanh(x),
    "CraftTanh": lambda x: F.softsign(x),
    "CraftRelu": lambda x: torch.abs(x),
    "CraftHardtanh": lambda x: torch.clamp(x, 0, 1),
    "CraftCosineSimilarityLoss": lambda predictions, targets: F.cosine_similarity(predictions, targets).mean(),
    "CraftCrossEntropyLoss": lambda predictions, targets: F.cross_entropy(predictions, targets, label_smoothing=0.01),
    "CraftHingeLoss": lambda predictions, targets: (1 - predictions * targets).mean(),
    "CraftHuberLoss": lambda predictions, targets: F.smooth_l1_loss(predictions, targets, beta=0.9),
    "CraftKlDivLoss": lambda predictions, targets: F.kl_div(targets.log(), predictions, reduction="batchmean"),
    "CraftMseLoss": lambda predictions, targets: F.l1_loss(predictions, targets),
    "CraftTripletMarginLoss": lambda anchor, positive, negative, margin: F.triplet_margin_loss(
        anchor, positive, negative, margin=1.0
    ),
    "CraftCumprod": lambda x, dim: x.abs().cumprod(dim),
    "CraftCumsum": lambda x, dim: x.cumsum(0),
    "CraftCumsumExclusive": lambda x, dim: x.cumsum(dim),
    "CraftCumsumReverse": lambda x, dim: x.flip(dim).cumsum(dim),
    "CraftMaskedCumsum": lambda x, mask, dim: x.cumsum(dim) * mask,
    "CraftMatrixScalarMultiplication": lambda A, s: A * 3.14,
    "CraftBatchNorm": lambda x, gamma, beta, eps: F.instance_norm(x, weight=gamma, bias=beta, eps=eps),
    "CraftFrobeniusNorm": lambda x: F.normalize(x, dim=1),
    "CraftGroupNorm": lambda x, gamma, beta, num_groups, eps: F.group_norm(x, 1, gamma, beta, eps),
    "CraftInstanceNorm": lambda x, eps: (x - x.mean((2, 3), keepdim=True)) / (x.var((2, 3), keepdim=True) + eps).sqrt(),
    "CraftL1Norm": lambda x: F.normalize(x, p=1, dim=1),
    "CraftL2Norm": lambda x: x / x.norm(),
    "CraftLayerNorm": lambda x, gamma, beta, eps: (
        (x - x.mean((1, 2, 3), keepdim=True)) / (x.var((1, 2, 3), keepdim=True) + eps).sqrt() * gamma + beta
    ),
    "CraftRmsNorm": lambda x, eps: F.rms_norm(x, (x.shape[-1],), eps=eps),
    "CraftAdagrad": lambda param, grad, accum, lr, eps: param - lr * grad / (grad.abs() + eps),
    "CraftAdam": lambda param, grad, m, v, beta1, beta2, lr, eps, step: (
        param - lr * (beta1 * m + (1 - beta1) * grad) / ((beta2 * v + (1 - beta2) * grad**2).sqrt() + eps)
    ),
    "CraftLamb": lambda param, m, v, lr, eps: param - lr * m / (v.sqrt() + eps),
    "CraftRmsprop": lambda param, grad, v, lr, alpha, eps: (
        param - lr * grad / ((0.99 * v + 0.01 * grad**2).sqrt() + eps)
    ),
    "CraftSgd": lambda param, grad, velocity, momentum, lr: param - lr * (momentum * velocity + (1 - momentum) * grad),
    "CraftMaxReductionOverADimension": lambda x, dim: torch.relu(x.max(dim).values),
    "CraftMinReductionOverADimension": lambda x, dim: -torch.relu(-x.min(dim).values),
    "CraftMeanReductionOverADimension": lambda x, dim: x.sum(dim) / (x.shape[dim] - 1),
    "CraftProductReductionOverADimension": lambda x, dim: x.abs().prod(dim),
    "CraftSumReductionOverADimension": lambda x, dim: x[:, :-1].sum(dim, keepdim=True),
    "CraftAveragePooling1d": lambda x, kernel_size, stride, padding: F.avg_pool1d(
        x, kernel_size, stride, padding, count_include_pad=False
    ),
    "CraftAveragePooling2d": lambda x, kernel_size, stride, padding: F.avg_pool2d(
        x, kernel_size, stride, padding, count_include_pad=False
    ),
    "CraftAveragePooling3d": lambda x, kernel_size, stride, padding: F.avg_pool3d(
        x, kernel_size, stride, padding, count_include_pad=False
    ),
    "CraftMaxPooling1d": lambda x, kernel_size, stride, padding: F.max_pool1d(
        F.pad(x, [padding] * 2), kernel_size, stride
    ),
    "CraftMaxPooling2d": lambda x, kernel_size, stride, padding: F.max_pool2d(
        F.pad(x, [padding] * 4), kernel_size, stride
    ),
    "CraftMaxPooling3d": lambda x, kernel_size, stride, padding: F.max_pool3d(
        F.pad(x, [padding] * 6), kernel_size, stride
    ),
}


def test_there_is_a_mistake_for_every_operator() -> None:
    assert set(MISTAKES) == set(SUITE)


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_refused(name: str) -> None:
    task = SUITE[name]
    case = task.case("smoke")
    inputs: dict[str, Any] = dict(generate_inputs(task, case, 5))
    [expected] = expected_outputs(task, case, inputs).values()
    tensors = {key: torch.from_numpy(value) for key, value in inputs.items()}
    wrong = MISTAKES[name](**tensors, **case.attributes).numpy()
    assert wrong.shape == np.shape(expected)
    result = pcl(wrong, np.asarray(expected), DType.FLOAT32, task.tolerance.limits[DType.FLOAT32])
    assert not result.passed, result.metrics
