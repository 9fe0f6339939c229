"""Reading generated headers and pairing their parameters with a task; jobs and reports as files."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukb_npu.aclnn import Binding, Kind, Unbound, bind, parse_header
from npukb_npu.jobs import Buffer, Job, OperatorCall, Report
from npukernelbench.nouns import AttributeSpec, DType, InputSpec, OutputSpec, Task
from npukernelbench.testing.tasks import tiny_task

HEADER = """
/* aclnnStatus aclnnWrongGetWorkspaceSize(int no); */
// aclnnStatus aclnnWrongTooGetWorkspaceSize(int no);
__attribute__((visibility("default")))
aclnnStatus aclnnLayerNormGetWorkspaceSize(
    const aclTensor *xRef,
    const aclTensor *gammaOptional,
    const aclTensorList *otherInputs,
    const aclIntArray *normalizedShape,
    double epsilon,
    bool keepDims,
    char *modeOptional,
    const aclTensor *yOut,
    const aclTensor *meanOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnLayerNorm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);
"""


def task_of(**changes: object) -> Task:
    task = replace(
        tiny_task(),
        inputs=(
            InputSpec("x", (DType.FLOAT32,)),
            InputSpec("gamma", (DType.FLOAT32,)),
            InputSpec("other_inputs", (DType.FLOAT32,)),
        ),
        outputs=(OutputSpec("y"), OutputSpec("mean")),
        attributes=(
            AttributeSpec("normalized_shape", "list_int", (1,)),
            AttributeSpec("epsilon", "float", 1.0),
            AttributeSpec("keep_dims", "bool", True),
            AttributeSpec("mode", "str", "a"),
        ),
    )
    return replace(task, **changes)  # type: ignore[arg-type]


def test_a_generated_header_is_read() -> None:
    header = parse_header(HEADER)
    assert header is not None
    assert (header.prepare, header.run) == ("aclnnLayerNormGetWorkspaceSize", "aclnnLayerNorm")
    assert [parameter.kind for parameter in header.parameters] == [
        Kind.TENSOR, Kind.TENSOR, Kind.TENSOR_LIST, Kind.INT_ARRAY, Kind.DOUBLE, Kind.BOOL, Kind.TEXT, Kind.TENSOR,
        Kind.TENSOR,
    ]  # fmt: skip


def test_every_parameter_is_paired_by_name() -> None:
    header = parse_header(HEADER)
    assert header is not None
    bound = bind(header, task_of())
    assert isinstance(bound, Binding), bound
    assert bound.roles == (
        ("input", "x"), ("input", "gamma"), ("input", "other_inputs"), ("attribute", "normalized_shape"),
        ("attribute", "epsilon"), ("attribute", "keep_dims"), ("attribute", "mode"), ("output", "y"),
        ("output", "mean"),
    )  # fmt: skip


def test_a_single_output_may_be_called_out() -> None:
    header = parse_header(
        "aclnnStatus aclnnTGetWorkspaceSize(const aclTensor *x, const aclTensor *out, uint64_t *workspaceSize, "
        "aclOpExecutor **executor);"
    )
    assert header is not None
    bound = bind(header, tiny_task())
    assert isinstance(bound, Binding)
    assert bound.roles == (("input", "x"), ("output", "y"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"attributes": ()}, "parameter normalizedShape"),
        ({"inputs": (InputSpec("x", (DType.FLOAT32,)), InputSpec("gamma", (DType.FLOAT32,)))}, "parameter otherInputs"),
        ({"outputs": (OutputSpec("y"), OutputSpec("mean"), OutputSpec("rstd"))}, "no parameter for rstd"),
    ],
)
def test_an_interface_that_does_not_fit_is_told_to_the_author(changes: dict[str, object], words: str) -> None:
    header = parse_header(HEADER)
    assert header is not None
    bound = bind(header, task_of(**changes))
    assert isinstance(bound, Unbound)
    assert words in bound.message
    assert "aclnnLayerNormGetWorkspaceSize" in bound.message


def test_no_header_no_prototype() -> None:
    assert parse_header("") is None
    assert parse_header("aclnnStatus aclnnLayerNorm(void *workspace);") is None


NAMES = st.text(max_size=8)
BUFFERS = st.builds(
    Buffer, NAMES, st.integers(0, 2**40), st.lists(st.integers(0, 99), max_size=4).map(tuple), st.integers(0, 30),
    NAMES, st.none() | st.integers(0, 255), NAMES, st.booleans(),
)  # fmt: skip
ARGUMENTS = st.lists(BUFFERS | st.none() | st.integers(0, 9) | st.lists(BUFFERS, max_size=3).map(tuple), max_size=5)
CALLS = st.builds(
    OperatorCall, NAMES, NAMES, st.lists(st.tuples(NAMES, st.integers() | NAMES | st.booleans()), max_size=3).map(tuple)
)


@given(ARGUMENTS.map(tuple), st.integers(1, 48) | st.sampled_from(["vector", "cube"]), st.none() | CALLS)
def test_jobs_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory,
    arguments: tuple[object, ...],
    blocks: int | str,
    call: OperatorCall | None,
) -> None:
    job = Job(0, "l.so", ("a", "b"), arguments, blocks, 512, 7, 1000, "r", call, {"copies": 4})  # type: ignore[arg-type]
    path = tmp_path_factory.mktemp("job") / "job.json"
    path.write_text(job.dumps(), encoding="utf-8")
    assert Job.read(path) == job


def test_reports_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    report = Report("launch", True, 507015, "f", "words", "Ascend910B3", 48, [["x", "behind", 3]], ["x"], {"a": 1.0})
    report.write(path)
    assert Report.read(path) == report
    assert [one.name for one in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"phase": "launch", "unknown": 1}'])
def test_what_no_worker_wrote_is_no_success(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "report.json"
    if text is not None:
        path.write_text(text)
    assert asdict(Report.read(path)) == asdict(Report())
    assert not Report.read(path).done
