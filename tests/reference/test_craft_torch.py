"""The 52 references of the suite ``ascendcraft`` against torch, and torch in float32 against the tolerances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from npukernelbench.judge.check import pcl
from npukernelbench.nouns import Case, DType, Task, TensorShape
from npukernelbench.plugins import Plugins
from npukernelbench.reference import expected_outputs
from npukernelbench.tasks import generate_inputs, load_registry

torch = pytest.importorskip("torch", reason="torch is not installed; test_craft.py stands alone")
F = torch.nn.functional

SUITE = {
    task.name: task for task in load_registry(Plugins.load(autoload=False)).values() if task.suite == "ascendcraft"
}


def exclusive(x: Any, dim: int) -> Any:
    return x.cumsum(dim) - x


def hinge(predictions: Any, targets: Any) -> Any:
    rows = targets.expand_as(predictions)
    return F.hinge_embedding_loss(predictions * rows, -torch.ones_like(rows), margin=1.0)


def stepped(kind: Callable[..., Any], param: Any, grad: Any, state: dict[str, Any], **options: Any) -> Any:
    """The parameter after one step of a torch optimizer whose state is given."""
    parameter = torch.nn.Parameter(param.clone())
    parameter.grad = grad.clone()
    optimizer = kind([parameter], **options)
    optimizer.state[parameter] = {name: value.clone() for name, value in state.items()}
    optimizer.step()
    return parameter.detach()


def adagrad(param: Any, grad: Any, accum: Any, lr: float, eps: float) -> Any:
    state = {"step": torch.tensor(0.0), "sum": accum}
    return stepped(torch.optim.Adagrad, param, grad, state, lr=lr, eps=eps)


def adam(param: Any, grad: Any, m: Any, v: Any, beta1: float, beta2: float, lr: float, eps: float, step: int) -> Any:
    state = {"step": torch.tensor(float(step - 1)), "exp_avg": m, "exp_avg_sq": v}
    return stepped(torch.optim.Adam, param, grad, state, lr=lr, betas=(beta1, beta2), eps=eps)


def lamb(param: Any, m: Any, v: Any, lr: float, eps: float) -> Any:
    r = m / (v.sqrt() + eps)
    return param - lr * param.norm() / (r.norm() + eps) * r


def rmsprop(param: Any, grad: Any, v: Any, lr: float, alpha: float, eps: float) -> Any:
    state = {"step": torch.tensor(0.0), "square_avg": v}
    return stepped(torch.optim.RMSprop, param, grad, state, lr=lr, alpha=alpha, eps=eps)


def sgd(param: Any, grad: Any, velocity: Any, momentum: float, lr: float) -> Any:
    return stepped(torch.optim.SGD, param, grad, {"momentum_buffer": velocity}, lr=lr, momentum=momentum)


def batch_norm(x: Any, gamma: Any, beta: Any, eps: float) -> Any:
    return F.batch_norm(x, None, None, gamma, beta, training=True, eps=eps)


#: What torch calls it: called with the task's inputs and attributes by name.
TORCH: dict[str, Callable[..., Any]] = {
    "CraftElu": lambda x, alpha: F.elu(x, alpha),
    "CraftGelu": lambda x: F.gelu(x),
    "CraftHardsigmoid": lambda x: F.hardsigmoid(x),
    "CraftHardtanh": lambda x: F.hardtanh(x),
    "CraftLeakyRelu": lambda x, negative_slope: F.leaky_relu(x, negative_slope),
    "CraftLogSoftmax": lambda x, dim: torch.log_softmax(x, dim),
    "CraftMinGptNewGelu": lambda x: F.gelu(x, approximate="tanh"),
    "CraftRelu": lambda x: torch.relu(x),
    "CraftSelu": lambda x: torch.selu(x),
    "CraftSigmoid": lambda x: torch.sigmoid(x),
    "CraftSoftmax": lambda x: torch.softmax(x, -1),
    "CraftSoftplus": lambda x: F.softplus(x),
    "CraftSoftsign": lambda x: F.softsign(x),
    "CraftSwish": lambda x: F.silu(x),
    "CraftTanh": lambda x: torch.tanh(x),
    "CraftCosineSimilarityLoss": lambda predictions, targets: (1 - F.cosine_similarity(predictions, targets)).mean(),
    "CraftCrossEntropyLoss": lambda predictions, targets: F.cross_entropy(predictions, targets),
    "CraftHingeLoss": hinge,
    "CraftHuberLoss": lambda predictions, targets: F.smooth_l1_loss(predictions, targets),
    "CraftKlDivLoss": lambda predictions, targets: F.kl_div(predictions.log(), targets, reduction="batchmean"),
    "CraftMseLoss": lambda predictions, targets: F.mse_loss(predictions, targets),
    "CraftTripletMarginLoss": F.triplet_margin_loss,
    "CraftCumprod": lambda x, dim: x.cumprod(dim),
    "CraftCumsum": lambda x, dim: x.cumsum(dim),
    "CraftCumsumExclusive": exclusive,
    "CraftCumsumReverse": lambda x, dim: x.flip(dim).cumsum(dim).flip(dim),
    "CraftMaskedCumsum": lambda x, mask, dim: (x * mask).cumsum(dim),
    "CraftMatrixScalarMultiplication": lambda A, s: A * s,
    "CraftBatchNorm": batch_norm,
    "CraftFrobeniusNorm": lambda x: x / torch.norm(x, p="fro"),
    "CraftGroupNorm": lambda x, gamma, beta, num_groups, eps: F.group_norm(x, num_groups, gamma, beta, eps),
    "CraftInstanceNorm": lambda x, eps: F.instance_norm(x, eps=eps),
    "CraftL1Norm": lambda x: x / x.abs().mean(1, keepdim=True),
    "CraftL2Norm": lambda x: F.normalize(x, dim=1),
    "CraftLayerNorm": lambda x, gamma, beta, eps: F.layer_norm(x, gamma.shape, gamma, beta, eps),
    "CraftRmsNorm": lambda x, eps: F.rms_norm(x.movedim(1, -1), (x.shape[1],), eps=eps).movedim(-1, 1),
    "CraftAdagrad": adagrad,
    "CraftAdam": adam,
    "CraftLamb": lamb,
    "CraftRmsprop": rmsprop,
    "CraftSgd": sgd,
    "CraftMaxReductionOverADimension": lambda x, dim: x.max(dim).values,
    "CraftMeanReductionOverADimension": lambda x, dim: x.mean(dim),
    "CraftMinReductionOverADimension": lambda x, dim: x.min(dim).values,
    "CraftProductReductionOverADimension": lambda x, dim: x.prod(dim),
    "CraftSumReductionOverADimension": lambda x, dim: x.sum(dim, keepdim=True),
    "CraftAveragePooling1d": lambda x, kernel_size, stride, padding: F.avg_pool1d(x, kernel_size, stride, padding),
    "CraftAveragePooling2d": lambda x, kernel_size, stride, padding: F.avg_pool2d(x, kernel_size, stride, padding),
    "CraftAveragePooling3d": lambda x, kernel_size, stride, padding: F.avg_pool3d(x, kernel_size, stride, padding),
    "CraftMaxPooling1d": lambda x, kernel_size, stride, padding: F.max_pool1d(x, kernel_size, stride, padding),
    "CraftMaxPooling2d": lambda x, kernel_size, stride, padding: F.max_pool2d(x, kernel_size, stride, padding),
    "CraftMaxPooling3d": lambda x, kernel_size, stride, padding: F.max_pool3d(x, kernel_size, stride, padding),
}


def both(task: Task, case: Case, real: Any) -> tuple[Any, Any]:
    """What torch computes in the type ``real``, and what the reference says."""
    inputs: dict[str, Any] = dict(generate_inputs(task, case, 11))
    floats = {name: float(np.float32(v)) if isinstance(v, float) else v for name, v in case.attributes.items()}
    tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}
    wide = {name: value.to(real) if value.is_floating_point() else value for name, value in tensors.items()}
    [expected] = expected_outputs(task, case, inputs).values()
    return TORCH[task.name](**wide, **floats).numpy(), expected


def test_torch_has_a_word_for_every_operator_of_the_suite() -> None:
    assert set(TORCH) == set(SUITE)


@pytest.mark.parametrize("name", TORCH)
def test_reference_agrees_with_torch_in_double_precision(name: str) -> None:
    actual, expected = both(SUITE[name], SUITE[name].case("smoke"), torch.float64)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=3e-9 if name == "CraftSoftplus" else 1e-12)


@pytest.mark.parametrize("profile", ["smoke", "cpu"])
@pytest.mark.parametrize("name", TORCH)
def test_torch_in_single_precision_is_accepted(name: str, profile: str) -> None:
    task = SUITE[name]
    [case] = [item for item in task.cases if profile in item.profiles]
    actual, expected = both(task, case, torch.float32)
    assert case.outputs == {task.outputs[0].name: TensorShape(actual.shape, DType.FLOAT32)}
    result = pcl(actual, expected, DType.FLOAT32, task.tolerance.limits[DType.FLOAT32])
    assert result.passed, (result.reason, result.metrics)


@pytest.mark.parametrize("profile", ["smoke", "cpu"])
@pytest.mark.parametrize("name", [name for name in TORCH if not name.endswith("Loss")])
def test_inputs_in_half_precision_are_refused(name: str, profile: str) -> None:
    task = SUITE[name]
    [case] = [item for item in task.cases if profile in item.profiles]
    inputs: dict[str, Any] = dict(generate_inputs(task, case, 11))
    [expected] = expected_outputs(task, case, inputs).values()
    half = {
        name: value.astype(np.float16).astype(np.float32) if value.dtype.kind == "f" else value
        for name, value in inputs.items()
    }
    [coarse] = expected_outputs(task, case, half).values()
    result = pcl(np.asarray(coarse).astype(np.float32), expected, DType.FLOAT32, task.tolerance.limits[DType.FLOAT32])
    assert not result.passed, result.metrics
