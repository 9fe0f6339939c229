"""Programs that want to break whoever reads them: a clear error, within limits, and nothing of them is executed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import npukb_tile
from npukb_tile.child import Request, answer
from npukb_tile.making import lower
from npukb_tile.parse import parse_program
from npukernelbench.nouns import Case, Task, Track
from tests.suite import suite
from tests.tile.running import elementwise, refused

PLAIN = elementwise("ta + 1.0", {"a": "float32"}, "float32")


def value(text: str) -> str:
    return PLAIN.replace("ta + 1.0", text)


def host(text: str) -> str:
    return PLAIN.replace("    total = a.size\n", text)


HOSTILE = {
    "parentheses": (value("(" * 5000 + "ta" + ")" * 5000), "syntax"),
    "nested sums": (value("(" * 100 + "ta" + " + ta)" * 100), "limit"),
    "long sums": (value(" + ".join(["ta"] * 2000)), "limit"),
    "signs": (value("-" * 9000 + "ta"), "limit"),
    "squares of squares": (value("(" * 40 + "ta" + " ** 2)" * 40), "limit"),
    "ten megabytes": (PLAIN + "#" * 10_000_000, "limit"),
    "nested conditions": (
        host(
            "    total = a.size\n"
            + "".join("    " + "    " * i + "if total > 0:\n" for i in range(90))
            + "    " * 91
            + "total = 1\n"
        ),
        "limit",
    ),
    "a number of digits": (PLAIN.replace("tile=512", "tile=" + "9" * 4000), "number"),
    "a number of more digits": (PLAIN.replace("tile=512", "tile=" + "9" * 9000), "syntax"),
    "a hexadecimal number": (PLAIN.replace("tile=512", "tile=0x" + "f" * 9000), "number"),
    "zero byte": (PLAIN + "\0", "syntax"),
    "half a character": (PLAIN + "# \udc80", "syntax"),
    "letters beyond ASCII": (PLAIN.replace("ty", "tü"), "syntax"),
    "import": ("import os\n" + PLAIN, "syntax"),
    "call": (host("    total = __import__('os').getpid()\n"), "syntax"),
    "default": (
        PLAIN.replace("y: Output[float32]", "y: Output[float32], n: Attribute[int] = __import__('os').getpid()"),
        "syntax",
    ),
    "decorator": (PLAIN.replace("@host", "@host\n@exit()"), "syntax"),
    "lambda": (host("    total = (lambda: 1)()\n"), "syntax"),
    "walrus": (host("    total = (b := 3)\n"), "syntax"),
    "format": (host("    total = f'{a}'\n"), "syntax"),
    "arguments": (PLAIN.replace("*, total", "*rest, total"), "syntax"),
    "any arguments": (PLAIN.replace("share, tile)", "share, tile, **rest)"), "syntax"),
    "any numbers": (PLAIN.replace("launch(cores", "launch(**a, cores"), "launch"),
    "nothing": ("", "syntax"),
    "twice": (PLAIN + PLAIN, "syntax"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_reading(name: str) -> None:
    source, rule = HOSTILE[name]
    with refused(rule):
        parse_program(source)


@pytest.fixture(scope="module")
def elu() -> tuple[Task, Case, str]:
    task = suite()["CraftElu"]
    return task, task.usual_case, (task.path.parent / "golden" / "tile.py").read_text(encoding="utf-8")


RUNNING = {
    "doubling": ("    total = x.size\n    for i in range(1000000000):\n        total = total * total\n", "number"),
    "counting": ("    total = x.size\n    for i in range(1000000000000):\n        total = total + 1\n", "limit"),
    "doing nothing": ("    total = x.size\n    for i in range(1000000000000):\n        i = i\n", "limit"),
    "root": ("    total = x.size + int(sqrt(0.0 - 1.0))\n", "number"),
    "power": ("    total = x.size + int(power(10.0, 400.0))\n", "number"),
    "power of a negative number": ("    total = x.size + int(power(0.0 - 2.0, 0.5))\n", "number"),
    "infinity": ("    total = x.size + int(inf)\n", "number"),
    "remainder": ("    total = x.size % (x.size - x.size)\n", "division"),
}


@pytest.mark.parametrize("name", RUNNING)
def test_the_host_function(elu: tuple[Task, Case, str], name: str) -> None:
    task, case, program = elu
    text, rule = RUNNING[name]
    source = program.replace("    total = x.size\n", text)
    assert source != program
    made = answer(Request(source, task, (case,), Track.STATIC))
    assert made["fault"]["rule"] == rule
    assert made["fault"]["line"] > 0


def test_a_shape_without_end_is_not_made(elu: tuple[Task, Case, str]) -> None:
    task, case, program = elu
    source = program.replace("y.shape = x.shape", "y.shape = (1000000000, 1000000000)")
    made = answer(Request(source, task, (case,), Track.STATIC))
    assert made["fault"]["rule"] == "output_shape"


def test_a_kernel_without_end_is_left_to_the_twin(elu: tuple[Task, Case, str]) -> None:
    task, case, program = elu
    source = program.replace(
        "    begin = core()", "    for i in range(1000000000000):\n        again = i\n    begin = core()"
    )
    assert set(answer(Request(source, task, (case,), Track.STATIC))) == {"files"}


def test_a_process_of_its_own(elu: tuple[Task, Case, str]) -> None:
    task, case, program = elu
    good = lower(Request(program, task, (case,), Track.STATIC), 60.0)
    assert good.wrong is None
    assert list(good.files) == ["kernel.cpp"]
    bad = lower(Request(program.replace("length)", "tile)"), task, (case,), Track.STATIC), 60.0)
    assert bad.wrong is not None
    assert not bad.ours
    assert bad.wrong.line > 0


def test_a_process_that_takes_too_long_is_ended(elu: tuple[Task, Case, str]) -> None:
    task, case, program = elu
    late = lower(Request(program, task, (case,), Track.STATIC), 0.01)
    assert late.wrong is not None
    assert (late.wrong.rule, late.ours) == ("limit", False)


def test_nothing_executes_a_program() -> None:
    called = {
        node.func.id
        for path in Path(npukb_tile.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & {"eval", "exec", "compile", "__import__"}
