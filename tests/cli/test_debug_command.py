"""``npukb debug``: a session on a kernel, its script, and what cannot be debugged."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from npukernelbench.cli.stepping import _text


def test_a_script_goes_through_a_wrong_kernel(npukb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = npukb("golden", "AddCustom").out.replace("Add(z, x, y", "Sub(z, x, y")
    (tmp_path / "add.cpp").write_text(source, encoding="utf-8")
    finished = npukb(
        "debug", "AddCustom", "add.cpp", "--block", "1", "--run", "break Sub; c", "--run", "show z; quit; c"
    )
    assert finished.code == 0, finished.err
    assert finished.out.startswith("ok: 16 instructions and events of a vector core\n")
    assert "Sub on pipe V" in finished.out
    assert "src1 UB byte" in finished.out
    assert "nothing is known of 'z'" in finished.out
    written = npukb("debug", "AddCustom", "add.cpp", "--block", "1", "--dump", "z")
    assert "of float16 to z.npy" in written.out
    assert np.load(tmp_path / "z.npy").dtype == np.float16
    both = npukb("debug", "AddCustom", "add.cpp", "--block", "1", "--run", "break Sub; c", "--dump", "z")
    assert "Sub on pipe V" in both.out
    assert "of float16 to z.npy" in both.out
    recording = npukb("debug", "AddCustom", "add.cpp", "--json").json
    assert [entry["name"] for entry in recording["entries"]].count("Sub") == 1
    beyond = npukb("debug", "AddCustom", "add.cpp", "--block", "48", "--run", "c")
    assert beyond.code == 4
    assert "the launch has" in beyond.err


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int32(123456789), "123456789"),
        (np.uint64(2**63), "9223372036854775808"),
        (np.bool_(True), "True"),
        (np.float32(1 / 3), "0.3333333"),
        (ml_dtypes.bfloat16(2.5), "2.5"),
        (np.complex64(1 + 2j), "(1+2j)"),
    ],
)
def test_whole_numbers_are_shown_in_full(value: Any, text: str) -> None:
    assert _text(value) == text


def test_what_cannot_be_debugged(npukb, fake, kernel):
    finished = npukb("debug", "sqrt", kernel("ok"), "--executor", "fake")
    assert finished.code == 4
    assert "does not tell what a core did" in finished.err
    assert "use the twin" in finished.err
    broken = npukb("debug", "sqrt", kernel("compile_error"), "--executor", "fake")
    assert broken.code == 4
    assert "compile_error" in broken.err
