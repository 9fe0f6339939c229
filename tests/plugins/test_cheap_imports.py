"""What every command loads stays cheap: looking at plugins and configuration imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "scipy", "rich", "jinja2", "pydantic", "torch", "openai", "ml_dtypes", "sqlite3", "yaml", "asyncio")

PROGRAM = """
import sys
from npukernelbench.config import resolve
from npukernelbench.nouns import Task
from npukernelbench.plugins import Plugins
import npukernelbench.store
config = resolve(environ={})
plugins = Plugins.load(environ={})
assert plugins.quarantined == (), plugins.quarantined
plugins.configure(config)
print(*sys.modules)
"""


def test_plugins_and_configuration_import_nothing_heavy(tmp_path: object) -> None:
    command = [sys.executable, "-c", PROGRAM]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True, cwd=str(tmp_path)).stdout.split()
    assert "npukernelbench.plugins" in loaded
    assert [name for name in loaded if name in HEAVY] == []


def test_importing_the_package_loads_no_plugin() -> None:
    program = "import npukernelbench, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "npukernelbench" in loaded
    assert [name for name in loaded if name.startswith("npukb_") or name in (*HEAVY, "pluggy")] == []
