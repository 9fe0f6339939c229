"""A program of :mod:`benchmarks.tile.programs`, and the cases that it is for.

What many programs begin with is written short there: a line that is one of :data:`SHORTHANDS` stands for several.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from npukernelbench.nouns import AttributeValue

__all__ = ["FLOATS", "HALF", "PLAIN", "SHORTHANDS", "SINGLE", "Written", "program", "written"]

HALF, SINGLE = ("float16",), ("float32",)
FLOATS = ("float16", "float32", "bfloat16")
PLAIN = ("float16", "float32")


class Written(NamedTuple):
    """A program. It is for cases of certain element types, or all; with certain attributes and optional inputs only.

    ``attributes`` are the values that a case must have, ``given`` the optional inputs: a case has these and no others,
    or any where ``given`` is None. ``sizes`` are the most elements that inputs may have.
    """

    source: str
    types: tuple[str, ...] = ()
    attributes: Mapping[str, AttributeValue] = MappingProxyType({})
    given: tuple[str, ...] | None = None
    sizes: Mapping[str, int] = MappingProxyType({})


#: A line as a pattern, and the lines that it stands for. In a host function, ``share_…`` divides the work among the
#: cores and ``launch_…`` ends it; in a kernel, ``own_…`` loops over the part of a core.
SHORTHANDS: Mapping[str, str] = {
    r"share_elements\((\w+)\)": r"""
total = \1.size
share = round_up(ceil_div(total, vector_cores()), 512 // \1.itemsize)
""",
    r"launch_elements\(tile=(.+)\)": r"""
launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=min(share, \1))
""",
    r"power1, power2 = powers_of\(beta1, beta2, (.+)\)": r"""
power1 = 1.0
power2 = 1.0
base1 = beta1
base2 = beta2
left = \1
bits = min(left, 20)
for bit in range(bits):
    if left % 2 == 1:
        power1 = power1 * base1
        power2 = power2 * base2
    base1 = base1 * base1
    base2 = base2 * base2
    left = left // 2
""",
    r"for offset, length in own_elements\(\):": """
begin = core() * share
count = min(share, total - begin)
for offset in range(0, count, tile):
    length = min(tile, count - offset)
""",
    r"share_rows\((\w+), most=(.+)\)": r"""
d = gamma.size
n = \1.size // d
share = max(1, ceil_div(n, vector_cores()))
most = min(share, max(1, \2 // round_up(d, 16)))
""",
    r"share_rows_and_columns\((\w+), most=(.+)\)": r"""
d = gamma.size
n = \1.size // d
share = max(1, ceil_div(n, vector_cores()))
used = max(1, ceil_div(n, share))
most = min(share, max(1, \2 // round_up(d, 16)))
cut = max(64, round_up(ceil_div(d, vector_cores()), 8))
""",
    r"launch_rows\(\)": """
launch(cores=max(1, ceil_div(n, share)), n=n, d=d, share=share, most=ceil_div(share, ceil_div(share, most)),
       part=1.0 / float(d))
""",
    r"launch_rows_and_columns\(\)": """
launch(cores=vector_cores(), n=n, d=d, share=share, used=used, most=ceil_div(share, ceil_div(share, most)),
       cut=min(cut, d), part=1.0 / float(d))
""",
    r"for first, rows in own_rows\(\):": """
begin = core() * share
end = min(begin + share, n)
for first in range(begin, end, most):
    rows = min(most, end - first)
""",
    r"total, means, factor, result = tiles_of_rows\(\)": """
total = buffer(most, d, float32)
means = buffer(most, 1, float32)
factor = buffer(most, 1, float32)
result = buffer(most, d, T, depth=2)
""",
    r"normalise_total\(\)": """
means[:] = row_sum(total) * part
total[:] = total - means
factor[:] = 1.0 / sqrt(row_sum(total * total) * part + epsilon)
result[:] = T(total * factor * scale + shift_by)
""",
    r"store_statistics\(\)": """
store(mean[first], means, rows)
store(rstd[first], factor, rows)
""",
    r"begin, end = rows_of_core\(\)": """
begin = core() * share
end = min(begin + share, n)
""",
    r"for first, rows in tiles_between\(begin, end\):": """
for first in range(begin, end, most):
    rows = min(most, end - first)
""",
    r"t_grad, t_var, t_m, t_v = tiles_of_adam\(\)": """
t_grad = buffer(tile, T, depth=2)
t_var = buffer(tile, T, depth=2)
t_m = buffer(tile, T, depth=2)
t_v = buffer(tile, T, depth=2)
""",
    r"new_var, new_m, new_v = results_of_adam\(\)": """
new_var = buffer(tile, T, depth=2)
new_m = buffer(tile, T, depth=2)
new_v = buffer(tile, T, depth=2)
""",
    r"load_state_of_adam\(\)": """
load(t_var, var[begin + offset], length)
load(t_m, m[begin + offset], length)
load(t_v, v[begin + offset], length)
""",
    r"(\w)0, \w1, \w2 = tiles_of_vectors\(\)": r"""
\g<1>0 = buffer(most, width, T, depth=2)
\g<1>1 = buffer(most, width, T, depth=2)
\g<1>2 = buffer(most, width, T, depth=2)
""",
    r"share_halves\(\)": """
pieces = max(1, ceil_div(vector_cores(), n))
width = min(half, min(2048, max(512, round_up(ceil_div(half, pieces), 256))))
cuts = ceil_div(half, width)
share = max(1, ceil_div(n, vector_cores()))
most = min(share, max(1, 2048 // round_up(width, 16))) if cuts == 1 else 1
most = ceil_div(share, ceil_div(share, most)) if cuts == 1 else 1
units = ceil_div(n, most) * cuts
cores = max(1, min(units, vector_cores()))
""",
    r"launch_halves\(\)": """
launch(cores=cores, n=n, half=half, width=width, cuts=cuts, most=most, units=units, step=cores)
""",
    r"first, c, rows, cols = extents_of_unit\((\w+)\)": r"""
first = unit // cuts * most
c = unit % cuts * width
rows = min(most, n - first)
cols = min(width, \1 - c)
""",
}


def program(text: str, types: tuple[str, ...] = ()) -> str:
    """The whole text of a program, of which ``text`` has the host function and the kernel: ``T`` stands for ``types``,
    where there are any, and shorthands are written out.
    """
    head = f"T = {', '.join(types)}\n\n\n" if types else ""
    return f"{head}@host\n" + "".join(_written_out(line) for line in text.lstrip().splitlines(keepends=True))


def written(text: str, types: tuple[str, ...], *cases: Any, **more_cases: Any) -> Written:
    """A program for cases of all types that its ``T`` stands for; the rest is that of :class:`Written`."""
    return Written(program(text, types), types, *cases, **more_cases)


def _written_out(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    for pattern, lines in SHORTHANDS.items():
        if match := re.fullmatch(pattern, line.strip()):
            return "".join(f"{indent}{each}" for each in match.expand(lines).lstrip().splitlines(keepends=True))
    return line
