"""scripts/setup with a Python that notes what it is asked for: who installs, and from where."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Stands for Python and its pip; ``pip install uv`` leaves a uv that notes its settings, and fails where it is told to.
PYTHON = r"""#!/bin/sh
here="$(dirname "$0")"
case "$*" in
    *"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *"config list"*) cat "$SETTINGS" ;;
    *"install uv"*)
        [ -n "$UV" ] || exit 1
        cat >"$here/uv" <<END
#!/bin/sh
env | grep -E "^(UV_|SSL_CERT_FILE)" | sort >>calls
echo "uv \$*" >>calls
$UV
END
        chmod +x "$here/uv" ;;
    *install*) echo "pip $*" >>calls ;;
esac
"""
CONFIGURED = r"""
:env:.extra-index-url='https://a/simple https://b/simple'
global.cert='/ca.crt'
global.constraint='/constraints.txt'
global.find-links='\n/wheels\n/more'
global.index-url='https://mirror/simple'
global.timeout='180'
"""


def set_up(folder: Path, *words: str, uv: str = "exit 0", **environment: str) -> tuple[list[str], str]:
    """What was called, and what was said."""
    (folder / "scripts").mkdir(exist_ok=True)
    shutil.copy(ROOT / "scripts" / "setup", folder / "scripts")
    (folder / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    (folder / "settings").write_text(CONFIGURED.lstrip(), encoding="utf-8")
    python = folder / "python"
    python.write_text(PYTHON, encoding="utf-8")
    python.chmod(0o755)
    known = {"PATH": os.environ["PATH"], "PYTHON": str(python), "SETTINGS": str(folder / "settings"), "UV": uv}
    done = subprocess.run(
        ["bash", "scripts/setup", *words],
        cwd=folder,
        env={**known, **environment},
        text=True,
        capture_output=True,
        check=True,
    )
    calls = folder / "calls"
    return calls.read_text(encoding="utf-8").splitlines() if calls.exists() else [], done.stderr


@pytest.mark.parametrize(("words", "target"), [((), "."), (("dev",), ".[dev]")])
def test_uv_installs_from_where_pip_would(tmp_path: Path, words: tuple[str, ...], target: str) -> None:
    calls, said = set_up(tmp_path, *words)
    assert calls == [
        "SSL_CERT_FILE=/ca.crt",
        "UV_CONSTRAINT=/constraints.txt",
        "UV_DEFAULT_INDEX=https://mirror/simple",
        "UV_FIND_LINKS=/wheels,/more",
        "UV_INDEX=https://a/simple https://b/simple",
        "UV_INDEX_STRATEGY=unsafe-best-match",
        f"uv pip install --quiet --python .venv/bin/python -e {target}",
    ]
    assert not said


def test_what_is_set_for_uv_itself_counts_more(tmp_path: Path) -> None:
    calls, _ = set_up(tmp_path, UV_DEFAULT_INDEX="https://own/simple", UV_INDEX_STRATEGY="first-index")
    assert {"UV_DEFAULT_INDEX=https://own/simple", "UV_INDEX_STRATEGY=first-index"} <= set(calls)


@pytest.mark.parametrize("uv", ["", "exit 2"], ids=["not to be had", "fails"])
def test_where_uv_cannot_install_it_pip_does(tmp_path: Path, uv: str) -> None:
    calls, said = set_up(tmp_path, "dev", uv=uv)
    assert calls[-1] == "pip -m pip --quiet --disable-pip-version-check install --no-compile -e .[dev]"
    assert "pip tries" in said


def test_it_installs_once_until_the_project_changes(tmp_path: Path) -> None:
    first, _ = set_up(tmp_path, "dev")
    assert set_up(tmp_path, "dev") == (first, "")
    assert set_up(tmp_path) == (first, "")  # what tests need includes the rest
    (tmp_path / ".venv" / ".installed-dev").write_text("of another day\n", encoding="utf-8")
    assert len(set_up(tmp_path, "dev")[0]) == 2 * len(first)
