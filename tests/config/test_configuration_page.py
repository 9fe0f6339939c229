"""docs/configuration.md: its table is the table of settings, and its example is accepted."""

from __future__ import annotations

import re
from pathlib import Path

from npukernelbench.config import resolve, settings

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def table() -> str:
    """The table as it must stand on the page; paste it there when this test fails."""
    lines = ["| setting | default | option | variable | meaning |", "|---|---|---|---|---|"]
    for setting in settings():
        option = f"`{setting.option}`" if setting.option else "none"
        cells = (f"`{setting.name}`", setting.default_text, option, f"`{setting.environment}`", setting.help)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_table_is_the_code() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")


def test_the_example_is_valid(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "npukb.yaml"
    file.write_text(example, encoding="utf-8")
    config = resolve(file=file, environ={})
    assert config.origin("model") == f"{file}:1"
