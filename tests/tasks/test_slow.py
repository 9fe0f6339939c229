"""De-optimisations as changes of text: what they touch, and what they leave."""

from __future__ import annotations

import pytest

from npukernelbench.errors import TaskError, UsageError
from npukernelbench.tasks.slow import DEOPTIMISATIONS, slowed

HOST = """\
// Tiles of 4096 elements.
inline uint64_t Cores(gert::TilingContext* context) {
    return platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
}
constexpr uint64_t TILE = 4096, ODD = 1000, SMALL = 256, WIDE = 0x4000, LARGE = 1048576;
const float scale = 4096.0f;
"""
DEVICE = """\
constexpr uint32_t TILE = 2048u;
constexpr uint32_t Twice(uint32_t x) { return x * 1024; }
template <typename... A>
__aicore__ inline void Add(const A&... all);
pipe->InitBuffer(queue, 2, TILE);
pipe->InitBuffer(scratch, TILE);
DataCopy(x, y[Row(r, (c))], n);
if (wide) Cast(a, b, RoundMode::CAST_NONE, n);
else Muls<float>(a, b, 2.0f, n);
AscendC::Exp(a, a, n); Ln(a, a, n);
auto max = Max(a, b);
"""
FILES = {"op_host/a.cpp": HOST, "op_kernel/a.cpp": DEVICE}


def changed(name: str) -> tuple[list[str], list[str]]:
    """The lines of host and device code that are new."""
    files = slowed(FILES, [name], "A")
    return tuple([line for line in files[path].split("\n") if line not in FILES[path].split("\n")] for path in FILES)


def test_each_changes_what_it_names_and_nothing_else() -> None:
    assert changed("single-core") == (["    return 1;"], [])
    assert changed("single-buffer") == ([], ["pipe->InitBuffer(queue, 1, TILE);"])
    assert changed("tiny-tiles") == (
        [
            "// Tiles of 512 elements.",
            "constexpr uint64_t TILE = 512, ODD = 1000, SMALL = 256, WIDE = 0x4000, LARGE = 1048576;",
        ],
        ["constexpr uint32_t TILE = 256u;"],
    )
    assert changed("barriers") == (
        [],
        [
            "PipeBarrier<PIPE_ALL>();",
            "if (wide) { Cast(a, b, RoundMode::CAST_NONE, n); PipeBarrier<PIPE_ALL>(); }",
            "else { Muls<float>(a, b, 2.0f, n); PipeBarrier<PIPE_ALL>(); }",
            "AscendC::Exp(a, a, n);",
            "AscendC::PipeBarrier<PIPE_ALL>(); Ln(a, a, n);",
            " PipeBarrier<PIPE_ALL>();",
        ],
    )


def test_they_add_up_in_one_order() -> None:
    both = slowed(FILES, ["barriers", "single-core"], "A")
    assert both == DEOPTIMISATIONS["barriers"](DEOPTIMISATIONS["single-core"](FILES)) != FILES


def test_what_finds_nothing_or_is_not_known_says_so() -> None:
    with pytest.raises(TaskError, match="golden kernel of A has nothing that 'single-buffer' takes away"):
        slowed({"op_kernel/a.cpp": "DataCopy(x, y, n);"}, ["single-buffer"], "A")
    with pytest.raises(UsageError, match="no de-optimisation 'scalar'") as failed:
        slowed(FILES, ["scalar"], "A")
    assert "single-core" in failed.value.remedy
