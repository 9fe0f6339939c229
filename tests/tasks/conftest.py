from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from npukernelbench.plugins import Plugins

TEMPLATE = """\
name: {name}
suite: trial
level: {level}
category: {category}
version: 1
tags: [elementwise]
kernel: {kernel}
summary: Twice the input.
formula: y_i = 2 * x_i
interface:
  inputs:
    - {{name: x, dtypes: [float16, float32], values: {{uniform: [1.0, 2.0]}}}}
  attributes:
    - {{name: scale, type: float, default: 2.0}}
  outputs:
    - {{name: y, dtype_like: x, shape_like: x}}
reference: activation.swish
tolerance:
  limits:
    float16: {{atol: 1.0e-3, rtol: 1.0e-3}}
    float32: {{atol: 1.0e-5, rtol: 1.0e-5}}
cases:
  - {{id: "0", inputs: {{x: {{shape: [4, 6], dtype: float16}}}}}}
  - {{id: smoke, inputs: {{x: {{shape: [3, 5], dtype: float32}}}}, profiles: [smoke]}}
"""


@pytest.fixture
def write_task(tmp_path: Path) -> Callable[..., Path]:
    """Writes a valid task file, with texts of it replaced, and returns its path."""

    def write(
        *replacements: tuple[str, str],
        name: str = "Twice",
        level: int = 1,
        category: str = "Math",
        folder: Path | None = None,
    ) -> Path:
        text = TEMPLATE.format(name=name, level=level, category=category, kernel=name.lower())
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new, 1)
        path = (folder or tmp_path / "suite") / name.lower() / "task.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


@pytest.fixture
def plugins() -> Plugins:
    return Plugins.load(autoload=False)
