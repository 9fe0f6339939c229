"""Kernels that are drawn at random, each with parameters that make it slower or faster without changing what it does.

A kernel streams tensors through UB in tiles. How big a tile is, how many buffers a queue has, and whether its transfers
begin at multiples of 512 bytes, it is told when it runs; everything else is drawn: tensors, types, instructions,
what orders them, how tiles are dealt out to cores, and how they are copied.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

__all__ = ["SLACK", "TILES", "Kernel", "draw"]

#: Elements that input tensors have more than output tensors, so that reading may begin late.
SLACK = 512
#: The smallest tiles that every core has.
TILES = 32

#: Instructions on tile ``{d}`` from ``{a}`` and ``{b}``.
_UNARY = ("Adds({d}, {a}, ({t})1, n)", "Muls({d}, {a}, ({t})2, n)", "Abs({d}, {a}, n)", "Relu({d}, {a}, n)")
_SLOW = ("Exp({d}, {a}, n)", "Sqrt({d}, {a}, n)", "Ln({d}, {a}, n)", "Reciprocal({d}, {a}, n)")
_BINARY = ("Add({d}, {a}, {b}, n)", "Mul({d}, {a}, {b}, n)", "Max({d}, {a}, {b}, n)", "Div({d}, {a}, {b}, n)")
#: What some kernels do between instructions.
_BETWEEN = (
    "PipeBarrier<PIPE_V>()",
    "PipeBarrier<PIPE_ALL>()",
    "for (uint32_t k = 0; k < 4; ++k) {d}.SetValue(k, ({t})k)",
    "Muls({d}, {d}, {a}.GetValue(3), n)",
    "ReduceMax({s}, {d}, {s}[64], n, false); Adds({d}, {d}, {s}.GetValue(0), n)",
    "for (uint32_t k = 0; k < n; k += 64) Adds({d}[k], {d}[k], ({t})k, 64)",
)
_COPIES = (
    "DataCopy({to}, {of}, n)",
    "DataCopyPad({to}, {of}, DataCopyExtParams(1, n * sizeof({t}), 0, 0, 0){pad})",
    "DataCopy({to}, {of}, DataCopyParams(4, n * sizeof({t}) / 128, 0, 0))",
)
#: Tile ``i`` of this core.
_DEALT = ("GetBlockIdx() * share + i * n", "(i * cores + GetBlockIdx()) * n")


class Kernel(NamedTuple):
    """A kernel's body, the elements of each of its tensors, their type, and the smallest tile that is worth running."""

    body: str
    inputs: int
    outputs: int
    type: str
    total: int
    tile: int


def draw(seed: int) -> Kernel:
    """The kernel that belongs to ``seed``. Its parameters are tile, buffers, and elements that it reads late."""
    rng = Random(seed)
    t = rng.choice(("half", "float"))
    inputs, outputs = rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2))
    cores = rng.choice((4, 24, 48, 48))
    tile = rng.choice((128, 256, 512, 1024) if t == "float" else (256, 512, 1024))
    total = cores * tile * TILES
    names = [f"a{i}" for i in range(inputs)]
    results = [f"d{i}" for i in range(outputs)]
    steps = _steps(rng, t, names, results)
    copy, dealt = rng.choice((_COPIES[0], *_COPIES)), rng.choice((_DEALT[0], *_DEALT))
    queues = [*((name, "VECIN") for name in names), *((name, "VECOUT") for name in results)]
    lines = [
        "__gm__ int32_t* p = (__gm__ int32_t*)parameters;",
        "const uint32_t n = p[0], buffers = p[1], shift = p[2];",
        f"const uint32_t cores = {cores}, share = {total // cores};",
        "if (GetBlockIdx() >= cores) return;",
        "TPipe pipe;",
        *(f"TQue<TPosition::{position}, 1> q_{name};" for name, position in queues),
        f"TBuf<TPosition::VECCALC> scratch;\npipe.InitBuffer(scratch, n * sizeof({t}) + 1024);",
        f"LocalTensor<{t}> s = scratch.Get<{t}>();",
        *(f"pipe.InitBuffer(q_{name}, buffers, n * sizeof({t}));" for name, _ in queues),
        *(f"GlobalTensor<{t}> g_{name};\ng_{name}.SetGlobalBuffer((__gm__ {t}*){name});" for name, _ in queues),
        "for (uint32_t i = 0; i < share / n; ++i) {",
        f"const uint32_t at = {dealt};",
        *_loop(rng, t, names, results, steps, copy),
        "}",
    ]
    return Kernel("\n".join(lines), inputs, outputs, t, total, tile)


def _steps(rng: Random, t: str, names: list[str], results: list[str]) -> list[str]:
    """Instructions that fill every result."""
    known, steps = list(names), []
    between = rng.random() < 0.5
    for result in results:
        for d in [result] * rng.randint(1, 3):
            forms = _BINARY if len(known) > 1 and rng.random() < 0.4 else rng.choice((_UNARY, _SLOW))
            operands = {"d": d, "a": rng.choice(known), "b": rng.choice(known), "t": t, "s": "s"}
            steps.append(rng.choice(forms).format(**operands))
            known = [*names, result]
            if between and rng.random() < 0.4:
                steps.append(rng.choice(_BETWEEN).format(**operands))
    return steps


def _loop(rng: Random, t: str, names: list[str], results: list[str], steps: list[str], copy: str) -> list[str]:
    """One tile's way: in, through the instructions, out. Queues are used right away or stage by stage."""

    def pad(to: str, of: str, padded: bool) -> str:
        more = f", DataCopyPadExtParams<{t}>(false, 0, 0, 0)" if padded else ""
        return copy.format(to=to, of=of, t=t, pad=more) + ";"

    load = [
        [
            f"auto {name} = q_{name}.AllocTensor<{t}>();",
            pad(name, f"g_{name}[at + shift]", True),
            f"q_{name}.EnQue({name});",
        ]
        for name in names
    ]
    take = [[f"{name} = q_{name}.DeQue<{t}>();"] for name in names]
    if rng.random() < 0.5:
        arrive = [line for lines in load for line in lines] + [line for lines in take for line in lines]
    else:
        arrive = [line for pair in zip(load, take, strict=True) for lines in pair for line in lines]
    make = [f"auto {name} = q_{name}.AllocTensor<{t}>();" for name in results]
    free = [f"q_{name}.FreeTensor({name});" for name in names]
    send = [
        [
            f"q_{name}.EnQue({name});",
            f"{name} = q_{name}.DeQue<{t}>();",
            pad(f"g_{name}[at]", name, False),
            f"q_{name}.FreeTensor({name});",
        ]
        for name in results
    ]
    leave = [line for lines in send for line in lines]
    if rng.random() < 0.5:
        return [*arrive, *make, *(f"{step};" for step in steps), *free, *leave]
    return [*make, *arrive, *(f"{step};" for step in steps), *leave, *free]
