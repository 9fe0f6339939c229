"""A checkout in the layout of NPUKernelBench, written by the test: operators whose kernels are a word for the fake
executor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture
def write_operator(tmp_path: Path) -> Write:
    """``write_operator("Sqrt", word="ok")`` writes ``tasks/level1/Math/Sqrt/answer/0`` and returns the checkout."""

    def write(
        name: str,
        *,
        word: str = "ok",
        level: int = 1,
        category: str = "Math",
        variant: str = "answer/0",
        files: dict[str, str] | None = None,
    ) -> Path:
        root = tmp_path / "checkout"
        folder = root / f"tasks/level{level}/{category}/{name}/{variant}"
        stem = name.lower()
        default = {f"op_kernel/{stem}.cpp": f"// fake: {word}\n", f"op_host/{stem}.cpp": "// tiling\n"}
        for path, text in (files or default).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        return root

    return write
