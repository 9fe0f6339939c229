from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.machine import Machine
from npukernelbench.nouns.outcomes import Track
from npukernelbench.nouns.task import Case, InputSpec, OutputSpec, Presence, Task, TensorCase, TensorShape, ValueSpec
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import PromptStyle, TemplateStyle, interface_skeleton, signature
from npukernelbench.prompts.interface import tensor_text
from npukernelbench.prompts.style import CATEGORY_SHOT, DEFAULT, TERSE
from npukernelbench.tasks.registry import TaskRegistry
from npukernelbench.testing.tasks import candidate, tiny_task
from tests.prompts.examples import run_example
from tests.suite import suite

STYLES = [DEFAULT, TERSE]


@pytest.fixture(scope="module")
def registry() -> TaskRegistry:
    return suite()


def user(style: TemplateStyle, task: Task, case: Case | None, track: Track) -> str:
    system, message = style.render(task, case, track).messages
    assert (system.role, message.role) == ("system", "user")
    assert system.content.strip()
    return message.content


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_every_prompt_of_every_case_shows_interface_and_sizes(style: TemplateStyle, registry: TaskRegistry) -> None:
    for task in registry.values():
        for case in task.cases:
            text = user(style, task, case, Track.STATIC)
            assert text.count(signature(task, Track.STATIC)) == 2
            assert interface_skeleton(task, case, Track.STATIC).rstrip() in text
            assert task.summary in text
            for line in task.formula.splitlines():
                assert line in text
            for name, value in case.attributes.items():
                assert f"{name} = {value}" in text
            assert not re.search(r"\{\{|\{%|Undefined|None\b", text)
            assert "tiling" not in text


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_dynamic_prompts_list_every_case_and_ask_for_host_code(style: TemplateStyle, registry: TaskRegistry) -> None:
    for task in registry.values():
        text = user(style, task, None, Track.DYNAMIC)
        assert text.count(signature(task, Track.DYNAMIC)) == (1 if style is DEFAULT else 2)
        assert text.count("filled with zeros before the launch") >= sum(item.zeroed for item in task.outputs)
        assert text.count(" -> ") == len(task.cases)
        for name in ("_tiling.h", ".cpp"):
            assert f"`op_host/{task.kernel}{name}`" in text
        assert not re.search(r"\{\{|\{%|Undefined", text)


def test_fences_stand_alone_on_their_lines(registry: TaskRegistry) -> None:
    for style in STYLES:
        for task in registry.values():
            text = user(style, task, task.case("smoke"), Track.STATIC)
            fences = [line for line in text.splitlines() if "```" in line and "opens with" not in line]
            assert set(fences) == {"```", "```cpp"}
            assert len(fences) == (4 if style is DEFAULT else 2)


def test_equal_requests_give_equal_prompts_and_hashes(registry: TaskRegistry) -> None:
    task = registry["Sqrt"]
    case, other = task.case("0"), task.case("1")
    prompt = DEFAULT.render(task, case, Track.STATIC)
    assert DEFAULT.render(task, case, Track.STATIC) == prompt
    assert prompt.template == "default@4"
    hashes = {
        prompt.hash,
        DEFAULT.render(task, other, Track.STATIC).hash,
        DEFAULT.render(task, None, Track.DYNAMIC).hash,
        TERSE.render(task, case, Track.STATIC).hash,
        replace(DEFAULT, version=9).render(task, case, Track.STATIC).hash,
        replace(DEFAULT, hardware=Machine(vector_cores=40)).render(task, case, Track.STATIC).hash,
    }
    assert len(hashes) == 6


def test_the_hash_covers_template_files_that_leave_no_trace(registry: TaskRegistry) -> None:
    task = registry["Sqrt"]
    more = replace(TERSE, files=(*TERSE.files, "example.cpp"))
    plain, wider = (style.render(task, task.case("0"), Track.STATIC) for style in (TERSE, more))
    assert plain.messages == wider.messages
    assert plain.hash != wider.hash


def test_the_machine_of_the_prompt_is_an_argument(registry: TaskRegistry) -> None:
    task = registry["Sqrt"]
    style = replace(DEFAULT, hardware=Machine(soc="ascend910b4", vector_cores=40, ub_usable_bytes=12345))
    text = user(style, task, task.case("0"), Track.STATIC)
    assert "ascend910b4" in text
    assert "launches the entry on 40 vector cores" in text
    assert "12345" in text
    assert "48 vector" not in text


def test_only_the_limits_of_the_case_are_told(registry: TaskRegistry) -> None:
    text = user(DEFAULT, registry["Sqrt"], registry["Sqrt"].case("0"), Track.STATIC)
    assert "both exceed their limit, which is 0.0001 and 0.001 in float16." in text
    assert "in bfloat16" not in text
    other = replace(registry["Sqrt"], tolerance=replace(registry["Sqrt"].tolerance, policy="ulp"))
    assert "the policy ulp with" in user(DEFAULT, other, other.case("0"), Track.STATIC)
    assert "their limit" not in user(DEFAULT, registry["Equal"], registry["Equal"].case("0"), Track.STATIC)


def test_tensor_lists_are_explained_only_where_they_occur(registry: TaskRegistry) -> None:
    for style in STYLES:
        lists = user(style, registry["ForeachAddScalar"], registry["ForeachAddScalar"].case("smoke"), Track.STATIC)
        assert "first 64-bit word" in lists
        assert "first 64-bit word" not in user(style, registry["Sqrt"], registry["Sqrt"].case("0"), Track.STATIC)


def test_the_static_track_needs_a_case(registry: TaskRegistry) -> None:
    with pytest.raises(ValueError, match="needs a case"):
        DEFAULT.render(registry["Sqrt"], None, Track.STATIC)


def test_the_example_answers_no_task_and_is_a_kernel(registry: TaskRegistry) -> None:
    example = (Path(DEFAULT.render.__code__.co_filename).parent / "templates" / "example.cpp").read_text()
    [entry] = re.findall(r'extern "C" __global__ __aicore__ void (\w+)\(', example)
    assert entry not in {task.kernel for task in registry.values()}
    assert '#include "kernel_operator.h"' in example


def test_skeletons_name_every_argument_in_order(registry: TaskRegistry) -> None:
    task = registry["RmsNorm"]
    parameters = "GM_ADDR x, GM_ADDR gamma, GM_ADDR y, GM_ADDR rstd, GM_ADDR workspace"
    head = f'extern "C" __global__ __aicore__ void rms_norm({parameters}'
    assert signature(task, Track.STATIC) == head + ")"
    assert signature(task, Track.DYNAMIC) == head + ", GM_ADDR tiling)"
    text = interface_skeleton(task, None, Track.DYNAMIC)
    assert "// gamma: input, float32 or float16 or bfloat16" in text
    assert "// y: output, element type of x" in text
    assert "// rstd: output, float32" in text


def test_absent_inputs_and_lists_read_well(registry: TaskRegistry) -> None:
    assert tensor_text(None) == "absent (null pointer)"
    assert tensor_text(TensorShape((), DType.FLOAT32)) == "float32 [] (1 element, 4 bytes)"
    pair = (TensorShape((2,), DType.INT8), TensorShape((3, 1), DType.INT8))
    assert tensor_text(pair, sizes=False) == "list of 2 int8: [2], [3, 1]"
    task = registry["Sqrt"]
    optional = replace(task, inputs=(*task.inputs, replace(task.inputs[0], name="bias", presence=Presence.OPTIONAL)))
    case = replace(task.case("smoke"), inputs={**task.case("smoke").inputs, "bias": None})
    for style in STYLES:
        assert "bias: input, absent (null pointer)" in user(style, optional, case, Track.STATIC)


def test_styles_satisfy_the_protocol_and_load_lazily() -> None:
    plugins = Plugins.load(autoload=False)
    loaded = {name: plugins.prompts[name].load() for name in plugins.prompts}
    assert loaded == {"category-shot": CATEGORY_SHOT, "default": DEFAULT, "terse": TERSE}
    assert isinstance(DEFAULT, PromptStyle)
    code = "import sys, npukernelbench.prompts; print(sorted({'jinja2', 'numpy', 'yaml'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_the_example_is_right_on_the_twin() -> None:
    """What every prompt shows as correct compiles, breaks no rule and computes what it says."""
    import numpy as np

    tensor = TensorShape((100003,), DType.FLOAT16)
    drawn = TensorCase(tensor, ValueSpec("normal", {"mean": 0.0, "std": 1.0}))
    case = Case("example", {"x": drawn, "y": drawn}, {"z": tensor}, {})
    task = replace(
        tiny_task("Maximum", cases=(case,)),
        inputs=(InputSpec("x", (DType.FLOAT16,)), InputSpec("y", (DType.FLOAT16,))),
        outputs=(OutputSpec("z", dtype_like="x", shape_like="x"),),
    )
    source = (Path(DEFAULT.render.__code__.co_filename).parent / "templates" / "example.cpp").read_text()
    inputs, outputs = run_example(task, Track.STATIC, candidate(source))
    z = outputs["z"]
    assert isinstance(z, np.ndarray)
    assert np.array_equal(z, np.maximum(inputs["x"], inputs["y"]))
