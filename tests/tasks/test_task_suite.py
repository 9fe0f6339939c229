"""The tasks of the harness itself: every public case is there, and nothing about them is accidental."""

from __future__ import annotations

import pytest

from npukernelbench.nouns import Core, DType, Task, TensorCase, TensorShape
from npukernelbench.tasks.hidden import hidden_cases
from npukernelbench.tasks.registry import TaskRegistry
from tests.suite import suite
from tests.tasks.smoke import assert_small_and_ragged

#: Task: (level, category, entry, arguments before the workspace, ids of the source suite's cases).
SUITE: dict[str, tuple[int, str, str, str, list[int]]] = {
    "Sqrt": (1, "Math", "sqrt", "x y", [*range(5)]),
    "AddCustom": (1, "Math", "add_custom", "x y z", [*range(5)]),
    "AbsMath": (1, "Math", "abs_math", "x y", [*range(18)]),
    "Muls": (1, "Math", "muls", "x value y", [*range(12), *range(15, 21)]),
    "Equal": (1, "Comparison", "equal", "x1 x2 y", [*range(9)]),
    "Fill": (1, "TensorCreation", "fill", "dims value y", [*range(21)]),
    "Swish": (2, "Activation", "swish", "x y", [*range(6)]),
    "Gelu": (2, "Activation", "gelu", "x y", [*range(7)]),
    "SwiGlu": (2, "Activation", "swi_glu", "x y", [*range(14)]),
    "RmsNorm": (2, "Norm", "rms_norm", "x gamma y rstd", [*range(9)]),
    "MseLoss": (2, "Loss", "mse_loss", "predict label y", [*range(7)]),
    "ForeachAddScalar": (2, "Foreach", "foreach_add_scalar", "x scalar y", [*range(5)]),
    "Less": (1, "Comparison", "less", "x1 x2 y", [*range(21)]),
    "LessEqual": (1, "Comparison", "less_equal", "x1 x2 y", [*range(4)]),
    "IsFinite": (1, "Condition", "is_finite", "x y", [*range(4)]),
    "IsInf": (1, "Condition", "is_inf", "x y", [*range(4)]),
    "NonFiniteCheckOp": (1, "Condition", "non_finite_check_op", "tensor_list found_flag", [*range(8)]),
    "GatherV3": (1, "Index", "gather_v3", "x indices axis y", [*range(7)]),
    "ScatterList": (1, "Index", "scatter_list", "var indice updates mask varOut", [*range(7)]),
    "Addcdiv": (1, "Math", "addcdiv", "input_data x1 x2 value y", [*range(7)]),
    "Addcmul": (1, "Math", "addcmul", "input_data x1 x2 value y", [*range(7)]),
    "CastMath": (1, "Math", "cast_math", "x y", [*range(6)]),
    "Ccopy": (1, "Math", "ccopy", "x y", [*range(5)]),
    "ClipByValue": (1, "Math", "clip_by_value", "x clip_value_min clip_value_max y", [*range(6)]),
    "ComplexMatDot": (1, "Math", "complex_mat_dot", "matx maty result", [*range(9)]),
    "CosMath": (1, "Math", "cos_math", "x y", [*range(9)]),
    "Icamax": (1, "Math", "icamax", "x result", [*range(6)]),
    "Icamin": (1, "Math", "icamin", "x result", [*range(6)]),
    "Isamax": (1, "Math", "isamax", "x result", [*range(5)]),
    "Isamin": (1, "Math", "isamin", "x result", [*range(5)]),
    "Lerp": (1, "Math", "lerp", "start end weight y", [*range(5)]),
    "Neg": (1, "Math", "neg", "x y", [*range(15)]),
    "Rsqrt": (1, "Math", "rsqrt", "x y", [*range(5)]),
    "Sasum": (1, "Math", "sasum", "x result", [*range(3)]),
    "SinMath": (1, "Math", "sin_math", "x y", [*range(9)]),
    "Snrm2": (1, "Math", "snrm2", "x result", [*range(4)]),
    "Spence": (1, "Math", "spence", "x y", [*range(6)]),
    "Sscal": (1, "Math", "sscal", "x x_ref", [*range(4)]),
    "StridesliceNegConcatV2": (1, "Math", "strideslice_neg_concat_v2", "input output", [*range(6)]),
    "TanhMath": (1, "Math", "tanh_math", "x y", [*range(9)]),
    "UnalignAdd": (1, "Math", "unalign_add", "x y z", [*range(6)]),
    "Arange": (1, "TensorCreation", "arange", "start end step out", [*range(12)]),
    "Eye": (1, "TensorCreation", "eye", "y y_ref", [*range(6)]),
    "DequantSwigluQuant": (
        2,
        "Activation",
        "dequant_swiglu_quant",
        "x weight_scale activation_scale bias quant_scale quant_offset group_index y scale",
        [*range(19)],
    ),
    "FastGelu": (2, "Activation", "fast_gelu", "x y", [*range(6)]),
    "FastGeluGrad": (2, "Activation", "fast_gelu_grad", "dy x z", [*range(6)]),
    "GeGluGradV2": (2, "Activation", "ge_glu_grad_v2", "dy x gelu dx", [*range(5)]),
    "GeGluV2": (2, "Activation", "ge_glu_v2", "x y gelu", [*range(5)]),
    "GeluGrad": (2, "Activation", "gelu_grad", "dy x y z", [*range(7)]),
    "GeluQuant": (2, "Activation", "gelu_quant", "x input_scale input_offset y out_scale", [*range(9)]),
    "InplaceAttnSoftmax": (2, "Activation", "inplace_attn_softmax", "x y", [*range(5)]),
    "InplaceFusedMatmulSoftmaxGrad": (
        2,
        "Activation",
        "inplace_fused_matmul_softmax_grad",
        "softmaxOutput gradOutput values output",
        [0, 1, 2, 4, 5, 8],
    ),
    "MulSigmoid": (2, "Activation", "mul_sigmoid", "x1 x2 out", [*range(6)]),
    "SwiGluGrad": (2, "Activation", "swi_glu_grad", "y_grad x x_grad", [*range(14)]),
    "CrossEntropyLoss": (
        2,
        "Loss",
        "cross_entropy_loss",
        "input target weight loss log_prob zloss lse_for_zloss",
        [*range(12)],
    ),
    "CrossEntropyLossGrad": (
        2,
        "Loss",
        "cross_entropy_loss_grad",
        "grad_loss log_prob target weight grad_zloss lse_for_zloss x_grad",
        [*range(11)],
    ),
    "MseLossGradV2": (2, "Loss", "mse_loss_grad_v2", "predict label dout y", [*range(10)]),
    "AddLayerNorm": (2, "Norm", "add_layer_norm", "x1 x2 gamma beta bias y mean rstd x", [*range(10)]),
    "AddLayerNormGrad": (
        2,
        "Norm",
        "add_layer_norm_grad",
        "dy x1 x2 rstd mean gamma dsum dx dgamma dbeta",
        [*range(15)],
    ),
    "AddRmsNorm": (2, "Norm", "add_rms_norm", "x1 x2 gamma y rstd x", [*range(8)]),
    "AddRmsNormCast": (2, "Norm", "add_rms_norm_cast", "x1 x2 gamma y1 y2 rstd x", [*range(10)]),
    "AddRmsNormQuant": (
        2,
        "Norm",
        "add_rms_norm_quant",
        "x1 x2 gamma scales1 scales2 zero_points1 zero_points2 y1 y2 x",
        [*range(5)],
    ),
    "BatchNormV3": (
        2,
        "Norm",
        "batch_norm_v3",
        "x weight bias running_mean running_var y running_mean_out running_var_out save_mean save_rstd",
        [*range(10)],
    ),
    "DeepNorm": (2, "Norm", "deep_norm", "x gx beta gamma mean rstd y", [*range(8)]),
    "DeepNormGrad": (2, "Norm", "deep_norm_grad", "dy x gx gamma mean rstd dx dgx dbeta dgamma", [*range(8)]),
    "GroupNormSwish": (2, "Norm", "group_norm_swish", "x gamma beta y mean rstd", [*range(12)]),
    "GroupNormSwishGrad": (
        2,
        "Norm",
        "group_norm_swish_grad",
        "dy mean rstd x gamma beta dx dgamma dbeta",
        [*range(7)],
    ),
    "InplaceAddLayerNorm": (2, "Norm", "inplace_add_layer_norm", "x1 x2 gamma beta bias y mean rstd x", [*range(10)]),
    "InplaceAddRmsNorm": (2, "Norm", "inplace_add_rms_norm", "x1 x2 gamma y rstd x", [*range(10)]),
    "LayerNormV4": (2, "Norm", "layer_norm_v4", "x normalized_shape gamma beta y mean rstd", [*range(11)]),
    "PreLayerNorm": (2, "Norm", "pre_layer_norm", "x y gamma beta res_out", [*range(6)]),
    "RmsNormGrad": (2, "Norm", "rms_norm_grad", "dy x rstd gamma dx dgamma", [*range(10)]),
}


@pytest.fixture(scope="module")
def registry() -> TaskRegistry:
    return suite()


def tensors(task: Task, case_id: str) -> list[TensorShape]:
    case = task.case(case_id)
    items = [item for value in case.inputs.values() for item in (value if isinstance(value, tuple) else (value,))]
    shapes = [item.tensor for item in items if isinstance(item, TensorCase)]
    for value in case.outputs.values():
        shapes += value if isinstance(value, tuple) else (value,)
    return shapes


@pytest.mark.parametrize("name", SUITE)
def test_identity_interface_and_public_cases(registry: TaskRegistry, name: str) -> None:
    task = registry[name]
    level, category, kernel, arguments, ids = SUITE[name]
    assert (task.level, task.category, task.kernel, task.suite) == (level, category, kernel, "npukernelbench")
    assert task.core is (Core.MIX if name == "InplaceFusedMatmulSoftmaxGrad" else Core.VECTOR)
    assert task.arguments == (*arguments.split(), "workspace")
    assert [case.id for case in task.cases if "full" in case.profiles] == [str(item) for item in ids]


def test_the_suite_has_the_tasks_of_the_harness(registry: TaskRegistry) -> None:
    assert set(SUITE) <= set(registry)


@pytest.mark.parametrize("name", SUITE)
def test_exactly_one_smoke_case_small_and_ragged(registry: TaskRegistry, name: str) -> None:
    task = registry[name]
    assert [case.id for case in task.cases if "smoke" in case.profiles] == ["smoke"]
    shapes = tensors(task, "smoke")
    assert_small_and_ragged(shapes)


@pytest.mark.parametrize("name", SUITE)
def test_the_cpu_profile_holds_affordable_public_cases(registry: TaskRegistry, name: str) -> None:
    for case in registry[name].cases:
        if "cpu" in case.profiles:
            assert "full" in case.profiles
            assert max(shape.size for shape in tensors(registry[name], case.id)) <= 4 * 2**20


def test_decisions_that_the_source_leaves_open(registry: TaskRegistry) -> None:
    magnitudes = registry["AbsMath"].case("16")
    assert magnitudes.outputs == {"y": TensorShape((512, 3), DType.FLOAT32)}
    assert tensors(registry["AbsMath"], "16")[0].dtype is DType.COMPLEX64
    assert registry["Equal"].case("2").outputs == {"y": TensorShape((32, 64, 128), DType.BOOL)}
    assert registry["MseLoss"].case("0").outputs == {"y": TensorShape((), DType.FLOAT16)}
    assert registry["RmsNorm"].case("5").outputs["rstd"] == TensorShape((1, 2, 1), DType.FLOAT32)
    assert registry["SwiGlu"].case("7").outputs == {"y": TensorShape((32, 16, 768), DType.FLOAT32)}
    assert tensors(registry["Muls"], "9")[1] == TensorShape((1,), DType.FLOAT32)
    assert registry["MseLoss"].workspace_bytes > 0
    assert registry["IsInf"].case("0").outputs == {"y": TensorShape((48, 128, 512), DType.BOOL)}
    assert registry["Spence"].case("2").outputs == {"y": TensorShape((1920,), DType.FLOAT16)}
    assert registry["Arange"].case("2").outputs == {"out": TensorShape((151,), DType.FLOAT16)}
    assert registry["Sasum"].case("1").outputs == {"result": TensorShape((), DType.FLOAT16)}
    assert registry["CastMath"].case("3").outputs == {"y": TensorShape((128,), DType.BOOL)}
    assert registry["StridesliceNegConcatV2"].case("4").outputs["output"] == TensorShape(
        (1, 64, 1024, 2048), DType.BFLOAT16
    )


@pytest.mark.parametrize(
    ("name", "source", "output"), [("Sscal", "x", "x_ref"), ("Eye", "y", "y_ref"), ("ScatterList", "var", "varOut")]
)
def test_what_is_updated_in_place_has_an_output_that_says_so(
    registry: TaskRegistry, name: str, source: str, output: str
) -> None:
    task = registry[name]
    assert {spec.name: spec.alias_of for spec in task.outputs} == {output: source}
    for case in task.cases:
        value = case.inputs[source]
        shapes = value.tensor if isinstance(value, TensorCase) else tuple(item.tensor for item in value or ())
        assert case.outputs[output] == shapes


def test_an_absent_mask_is_absent(registry: TaskRegistry) -> None:
    task = registry["ScatterList"]
    assert [case.id for case in task.cases if case.inputs["mask"] is None] == ["no_mask"]


@pytest.mark.parametrize(
    ("name", "case_id", "aliases"),
    [
        ("InplaceAddLayerNorm", "0", {"y": "x1", "x": "x2"}),
        ("InplaceAddRmsNorm", "0", {"y": "x1", "x": "x2"}),
        ("BatchNormV3", "3", {"running_mean_out": "running_mean", "running_var_out": "running_var"}),
        ("InplaceAttnSoftmax", "0", {"y": "x"}),
        ("InplaceFusedMatmulSoftmaxGrad", "0", {"output": "softmaxOutput"}),
    ],
)
def test_outputs_in_the_memory_of_inputs(
    registry: TaskRegistry, name: str, case_id: str, aliases: dict[str, str]
) -> None:
    task = registry[name]
    assert {spec.name: spec.alias_of for spec in task.outputs if spec.alias_of} == aliases
    case = task.case(case_id)
    for output, source in aliases.items():
        tensor = case.inputs[source]
        assert isinstance(tensor, TensorCase)
        assert case.outputs[output] == tensor.tensor


@pytest.mark.parametrize(
    ("name", "case_id", "output"),
    [
        ("AddLayerNorm", "0", "x"),
        ("AddRmsNormQuant", "2", "y2"),
        ("BatchNormV3", "3", "save_mean"),
        ("CrossEntropyLoss", "0", "zloss"),
        ("DequantSwigluQuant", "0", "scale"),
        ("GeluQuant", "0", "out_scale"),
        ("GroupNormSwishGrad", "3", "dbeta"),
    ],
)
def test_what_a_case_does_not_produce_is_empty(registry: TaskRegistry, name: str, case_id: str, output: str) -> None:
    found = registry[name].case(case_id).outputs[output]
    assert isinstance(found, TensorShape)
    assert found.shape == (0,)
    produced = registry[name].case("smoke").outputs[output]
    assert isinstance(produced, TensorShape)
    assert produced.size > 0


def test_optional_inputs_are_absent_where_the_source_has_none(registry: TaskRegistry) -> None:
    absent = {
        name: {spec for spec, value in registry[name].case(case_id).inputs.items() if value is None}
        for name, case_id in (("LayerNormV4", "2"), ("AddLayerNorm", "2"), ("CrossEntropyLossGrad", "1"))
    }
    assert absent == {
        "LayerNormV4": {"gamma"},
        "AddLayerNorm": {"bias"},
        "CrossEntropyLossGrad": {"weight", "grad_zloss", "lse_for_zloss"},
    }
    grouped = registry["DequantSwigluQuant"].case("18").inputs
    assert isinstance(index := grouped["group_index"], TensorCase)
    assert index.tensor.shape == (229,)
    assert grouped["bias"] is None


def test_float_outputs_have_limits_no_looser_than_the_source_suite(registry: TaskRegistry) -> None:
    loosest = {
        DType.FLOAT16: (1e-3, 2e-3),
        DType.BFLOAT16: (1e-3, 8e-3),
        DType.FLOAT32: (1e-3, 1e-3),
        DType.FLOAT64: (1e-3, 1e-3),
        DType.COMPLEX64: (1e-3, 1e-3),
        DType.INT8: (1e-2, 0.0),
    }
    for task in registry.values():
        for dtype, limits in task.tolerance.limits.items():
            atol, rtol = loosest[dtype]
            assert limits.atol <= atol, (task.name, dtype)
            assert limits.rtol <= rtol, (task.name, dtype)


def test_hidden_cases_draw_what_public_ones_leave_out() -> None:
    """The z-loss, which no public case but the smoke case asks for."""
    drawn = hidden_cases(suite()["CrossEntropyLoss"], "one")
    asked = [case for case in drawn if case.attributes["return_zloss"]]
    assert asked
    assert len(asked) < len(drawn)
    for case in asked:
        rows = case.inputs["input"].tensor.shape[0]
        assert (case.outputs["zloss"].shape, case.outputs["lse_for_zloss"].shape) == ((1,), (rows,))
