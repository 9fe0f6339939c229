"""The scripts that read the sources, and the Chinese words."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from npukernelbench.language import Words, load_words

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def script() -> ModuleType:
    """``scripts/catalogue.py``, which finds its neighbours as when it is run."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return import_module("catalogue")
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture(scope="session")
def chinese() -> Words:
    return load_words("zh")
