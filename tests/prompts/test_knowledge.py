"""What prompts tell of the API: chosen by the class of the task, enough for its goldens, true of the twin, short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from npukb_twin.executor import TwinExecutor
from npukb_twin.operator.host_messages import host_names
from npukb_twin.teaching import topics
from npukernelbench.errors import UsageError
from npukernelbench.judge.documented import ApiStatus
from npukernelbench.nouns import (
    PROMPTED_TRACKS,
    Candidate,
    Case,
    CompileRequest,
    Core,
    DType,
    Golden,
    InputSpec,
    Outcome,
    OutputSpec,
    Task,
    TensorCase,
    TensorShape,
    Track,
    ValueSpec,
)
from npukernelbench.nouns.knowledge import Audience, Knowledge, Topic
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import load_style, make_reference
from npukernelbench.prompts.knowledge import Reference, count_tokens
from npukernelbench.prompts.style import DEFAULT, TERSE
from npukernelbench.tasks.goldens import golden_of, read_golden
from npukernelbench.testing.tasks import candidate, tiny_task
from tests.prompts.examples import run_example
from tests.prompts.told import OPERATOR_TRACKS, TEN, kept, level, prompts, text
from tests.suite import suite

REFERENCE = Reference(Knowledge.API, topics())
API = DEFAULT.with_knowledge(REFERENCE)
#: What a golden kernel defines for itself: functions, types and their parameters, constants.
_DEFINED = re.compile(
    r"\b(?:struct|class|enum|typename) \w+|\b[\w>&*]+ \w+(?= = )|\b[\w>&*]+ \w+(?=\([^;()]*\)[^;(){}]*\{)|, \w+(?= = )"
)
#: What only host code and its kernels need.
DYNAMIC_ONLY = frozenset({"GET_TILING_DATA", "TILING_KEY_IS"})


def test_ten_tasks_are_told_what_they_were_told() -> None:
    """``python -m tests.prompts.told`` renews the files, after a look at the prompts."""
    told, before = prompts(), kept()
    assert told.keys() == before.keys()
    for name, said in told.items():
        assert said == before[name], name


def test_each_level_tells_more_than_the_one_before() -> None:
    task = suite()["BasicMatmul"]
    for track in PROMPTED_TRACKS:
        none, rules, api, full = (
            text(level(Knowledge(name)), task, track) for name in ("none", "rules", "api", "full")
        )
        assert "## Rules" not in none
        assert "## Rules" in rules
        assert rules == text(DEFAULT, task, track)
        assert "## API reference" not in rules
        assert "### Cube core by hand" in api
        assert "### Sorting" not in api
        assert "### Sorting" in full
        assert count_tokens(none) < count_tokens(rules) < count_tokens(api) < count_tokens(full)
    assert "## Rules" not in text(TERSE, task, Track.STATIC)
    assert "### Cube core by hand" in text(TERSE.with_knowledge(REFERENCE), task, Track.STATIC)


def test_a_cube_task_is_shown_a_cube_kernel_and_no_other_is() -> None:
    for track in OPERATOR_TRACKS:
        assert "class ReluProduct" in text(API, suite()["BasicMatmul"], track)
        assert "class ReluProduct" not in text(API, suite()["Sqrt"], track)
        assert "Maximum" in text(API, suite()["Sqrt"], track)


def test_what_is_told_follows_from_the_class_never_from_goldens() -> None:
    other = Golden(Track.STATIC, Path("elsewhere.cpp"))
    for name in TEN:
        task = suite()[name]
        for track in PROMPTED_TRACKS:
            expected = API.render(task, task.usual_case, track)
            for goldens in ((), (other,), suite()["Mla"].goldens):
                assert API.render(replace(task, goldens=goldens), task.usual_case, track) == expected


def test_names_of_goldens_are_in_their_prompts() -> None:
    """For 95 of 100 tasks and tracks at least; made goldens are lowered to calls that others have too."""
    executor = TwinExecutor(TwinExecutor.Args())
    try:
        offered = {name for name in executor.api_names() if executor.api_status(name) is ApiStatus.OFFERED}
    finally:
        executor.close()
    lacking, total = {}, 0
    for task in suite().values():
        golden = golden_of(task, Track.DYNAMIC)
        if golden is None or golden.maker:
            continue
        files = read_golden(golden)
        own = {found.split()[-1] for found in _DEFINED.findall("\n".join(files.values()))}
        device = _words(text for name, text in files.items() if name.startswith("op_kernel")) & offered
        host = _words(text for name, text in files.items() if name.startswith("op_host")) & host_names()
        for track, needed in ((Track.STATIC, device - DYNAMIC_ONLY), (Track.DYNAMIC, device | host)):
            total += 1
            missing = needed - own - set(re.findall(r"\w+", text(API, task, track)))
            if missing:
                lacking[task.name, track.value] = missing
    assert total > 250
    assert len(lacking) <= total * 0.05, lacking


def _words(texts: Iterator[str]) -> set[str]:
    """Identifiers of C++ outside of comments and strings."""
    bare = (re.sub(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"', "", text, flags=re.DOTALL) for text in texts)
    return {word for text in bare for word in re.findall(r"[A-Za-z_]\w*", text)}


def test_prompts_are_short() -> None:
    """By the counter of ours, which counts some 7 % more than the tokenizer Tekken (240911) of Mistral AI does."""
    for track in PROMPTED_TRACKS:
        counts = [count_tokens(text(API, task, track)) for task in suite().values()]
        assert median(counts) < 6000 * 1.075, track


def test_where_the_budget_is_short_idioms_go_before_pitfalls_and_calls_stay() -> None:
    topic = Topic("one", "One", ("Call(dst)",), ("mind the gap",), "Idiom(dst);")
    special = replace(topic, name="two", title="Two", audiences=(Audience(core=frozenset({"vector"})),))
    task, whole = suite()["Sqrt"], Reference(Knowledge.API, (topic, special))

    def shown(budget: int) -> tuple[int, int, int]:
        found = replace(whole, budget=budget).text(task, Track.STATIC)
        return tuple(found.count(word) for word in ("Idiom", "mind the gap", "Call(dst)"))  # type: ignore[return-value]

    most = count_tokens(whole.text(task, Track.STATIC))
    assert shown(most) == (2, 2, 2)
    assert shown(most - 1) == (1, 2, 2)
    assert shown(0) == (0, 0, 2)
    general_left = replace(whole, budget=most - 1).text(task, Track.STATIC)
    assert general_left.index("Idiom") > general_left.index("Two")


def test_an_audience_is_told_by_what_a_task_says_about_itself() -> None:
    task = suite()["BasicMatmul"]
    for fits in (Audience(), Audience(core=frozenset({"cube", "mix"})), Audience(dtype=frozenset({"float16"}))):
        assert fits.has(task, Track.STATIC)
    for fails in (Audience(category=frozenset({"Sort"})), Audience(track=frozenset({"dynamic"}))):
        assert not fails.has(task, Track.STATIC)
    assert not Audience(core=frozenset({"cube"}), dtype=frozenset({"int8"})).has(task, Track.STATIC)


def test_a_level_that_nobody_can_tell_is_refused() -> None:
    plugins = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""})
    assert make_reference(Knowledge.STYLE, plugins.executors, "twin") is None
    reference = make_reference(Knowledge.API, plugins.executors, "fake")
    assert reference is not None
    assert reference.topics == topics()
    with pytest.raises(UsageError, match="documents its API"):
        make_reference(Knowledge.API, {}, "twin")

    class Blunt:
        def render(self, task: Task, case: Case | None, track: Track) -> Any: ...

    registration = replace(plugins.prompts["default"], target=Blunt())
    with pytest.raises(UsageError, match="tells what it tells"):
        load_style(registration, None, reference)


def test_every_call_and_field_of_the_topics_exists() -> None:
    executor = TwinExecutor(TwinExecutor.Args())
    try:
        known = set(executor.api_names()) | host_names()
        braced = {name for topic in topics() for line in topic.lines for name in re.findall(r"\b([A-Z]\w+)\{", line)}
        entries = {name: executor.api_entry(name) for name in braced}
    finally:
        executor.close()
    for topic in topics():
        for line in topic.lines:
            for name in re.findall(r"\b([A-Z][a-z]\w+)(?=[(<{])", line):
                assert name in known | {"Op", "Int", "PlatformAscendC", "TypedContinuousVector"}, (
                    f"{topic.name}: {name}"
                )
            for name, fields in re.findall(r"\b([A-Z]\w+)\{([^{}]*)\}", line):
                entry = entries.get(name)
                if entry is None or not entry.declarations:
                    continue
                for field in re.findall(
                    r"\b([a-z]\w*)(?=,|\[|$)", re.sub(r"\b(?:const|bool|T|u?int\d+_t) ", "", fields)
                ):
                    assert re.search(rf"\b{field}\b", "".join(entry.declarations)), f"{topic.name}: {name}.{field}"


_IDIOMS = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void idioms(GM_ADDR x, GM_ADDR z, GM_ADDR workspace)
{{
    TPipe pipe;
    TBuf<TPosition::VECCALC> a, b, c, d, e, f, g;
    for (TBuf<TPosition::VECCALC>* buffer : {{&a, &b, &c, &d, &e, &f, &g}}) pipe.InitBuffer(*buffer, 1024);
    LocalTensor<float> wide = a.Get<float>(), other = b.Get<float>(), work = c.Get<float>(), result = c.Get<float>();
    LocalTensor<half> narrow = d.Get<half>();
    LocalTensor<int32_t> index = e.Get<int32_t>();
    LocalTensor<uint8_t> bits = f.Get<uint8_t>();
    LocalTensor<int8_t> bytes = g.Get<int8_t>();
    const uint32_t count = 64;
{}
}}
"""


def test_every_idiom_compiles() -> None:
    body = "\n".join(f"    {{\n{topic.idiom}    }}" for topic in topics() if topic.idiom)
    task = replace(tiny_task("Idioms"), kernel="idioms", core=Core.MIX)
    executor = TwinExecutor(TwinExecutor.Args())
    try:
        source = candidate(_IDIOMS.format(body))
        compiled = executor.compile(CompileRequest(task, task.cases[0], Track.STATIC, source, 120.0))
    finally:
        executor.close()
    assert (compiled.outcome, compiled.diagnostics) == (Outcome.OK, ())


@pytest.mark.parametrize("track", OPERATOR_TRACKS)
def test_the_cube_example_is_right_on_the_twin(track: Track) -> None:
    """The blocks of the prompt itself: they compile, break no rule and compute what the prompt says."""
    import numpy as np

    shown = text(API, suite()["BasicMatmul"], track)
    blocks = re.findall(r"```cpp ?(\S*)\n(.*?)```", shown.partition("## Example")[2], re.DOTALL)
    files = {name or "kernel.cpp": block for name, block in blocks if "opens with" not in block}
    a, b, c = (TensorShape(shape, DType.FLOAT16) for shape in ((300, 200), (200, 130), (300, 130)))
    drawn = ValueSpec("uniform", {"low": -1.0, "high": 1.0})
    out = TensorShape(c.shape, DType.FLOAT32)
    case = Case("example", {"a": TensorCase(a, drawn), "b": TensorCase(b, drawn)}, {"c": out}, {})
    task = replace(
        tiny_task("ReluProduct", cases=(case,)),
        kernel="relu_product",
        core=Core.CUBE,
        inputs=(InputSpec("a", (DType.FLOAT16,)), InputSpec("b", (DType.FLOAT16,))),
        outputs=(OutputSpec("c", dtype=DType.FLOAT32),),
    )
    inputs, outputs = run_example(task, track, Candidate(files, "example"))
    expected = np.maximum(inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64), 0.0)
    assert np.allclose(outputs["c"], expected, atol=1e-4)
