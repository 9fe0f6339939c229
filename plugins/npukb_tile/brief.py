"""The short question: what the language has for the operator's class, and the operator. Under 1,200 tokens, for models
that know the language and for short contexts; ``--strategy tile --prompt_style terse``.
"""

from __future__ import annotations

from npukb_tile.prompting import interface_text, operator_text, prompt_of
from npukernelbench.nouns import Case, Message, Presence, Prompt, Task

__all__ = ["brief_opening", "operator_class"]

_ROLE = """\
You write kernels for Ascend AI processors in a small tile language with the grammar of Python. A program is one @host
function, which runs once on numbers, and one @kernel function, which runs on every core.

Host: `x.size x.rank x.shape[i] prod(x.shape[a:b])`, `y.shape = x.shape` for every output, `vector_cores()`; it ends
with `launch(cores=…, name=number, …)`, and the kernel gets these numbers after `*`.
Arguments of the kernel: `x: Input[T]`, `y: Output[T]`, `sums: Workspace[float32]`, `a: Attribute[float] = 1.0`.
`T = float16, float32` above the functions lists the element types that one program takes.
Scalars: `+ - * / // % min max ceil_div round_up`, `core()`, `for i in range(…)`, `if`.
Buffers: `buffer(cols, type, depth=2)`, `buffer(rows, cols, type)`; `with copy_in: load(buffer, x[start], cols)`, `with
compute(cols): result[:] = …`, `with copy_out: store(y[start], buffer, cols)`; rows: `load(b, x[start], rows, cols)`.
Tiles: `+ - * /`, `max min abs exp ln sqrt rsqrt relu -x x**2`, `tanh erf sigmoid sin cos log2 floor ceil round sign`,
comparisons, `& | ~`, `where(mask, a, b)`, casts `float32(x)`, `T(x)`. Compute in float32, cast at the end.
"""
_CLASSES = {
    "elementwise": """\
Every core takes one share of the elements:

    share = max(256, round_up(ceil_div(total, vector_cores()), 256))
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=2048)
    ...
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
""",
    "rows": """\
Rows: in `compute(rows, cols)` a `buffer(rows, cols)` is a tile, `buffer(cols)` one row for all, `buffer(rows, 1)` a
column; shapes broadcast. `row_sum row_max row_min row_prod` give a column, `col_sum col_max col_min` a row. A column is
stored as a run: `store(y[first], column, rows)`. Many rows at a time:

    most = max(1, min(128, 8192 // round_up(d, 16)))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    ...
    for first in range(begin, min(begin + share, n), most):
        rows = min(most, min(begin + share, n) - first)
""",
    "whole": """\
One number of all elements: every core stores its own part in a workspace, `parts.shape = (cores,)` in the host,
`buffer(1, float32)` and `row_sum row_max row_min` in the kernel; then `sync_all()` (it needs `cores=vector_cores()`),
and core 0 loads all parts, reduces them in `compute(lanes)` and stores the result.
""",
    "lists": """\
Lists: `x: Inputs[T]`, `y: Outputs[T]`, `y.shape = x.shape`; the kernel divides every tensor by itself:

    launch(cores=vector_cores(), lanes=vector_cores(), tile=2048)
    ...
    for k in range(len(x)):
        total = x[k].size
        share = max(256, round_up(ceil_div(total, lanes), 256))
        begin = core() * share
        count = min(share, total - begin)
        for offset in range(0, count, tile): … load(x_in, x[k][begin + offset], length) …
""",
}
_ANSWER = """\
Answer with one program in one block that opens with ```python. The kernel function is `{kernel}`; its inputs are
{inputs}, its outputs {outputs}, in this order{attributes}.
"""
_ROWS = {"Norm", "Normalization", "Reduce", "Rows"}
_WHOLE = {"Loss", "Whole"}


def operator_class(task: Task) -> str:
    """Which part of the language an operator needs: ``elementwise``, ``rows``, ``whole`` or ``lists``."""
    if any(spec.presence is Presence.DYNAMIC for spec in task.inputs):
        return "lists"
    # Softmax is counted among the activations, but works on rows.
    if task.category in _ROWS or "softmax" in task.name.lower():
        return "rows"
    return "whole" if task.category in _WHOLE else "elementwise"


def brief_opening(task: Task, case: Case | None) -> Prompt:
    """The two messages of the short question."""
    system = _ROLE + "\n" + _CLASSES[operator_class(task)]
    asked = operator_text(task, case, sizes=False) + "\n" + _ANSWER.format(**interface_text(task, case))
    return prompt_of("tile-terse", (Message("system", system), Message("user", asked)))
