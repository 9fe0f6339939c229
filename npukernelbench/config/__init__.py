"""Configuration: defaults < file < environment < command line, each value knowing its origin."""

from __future__ import annotations

from npukernelbench.config.settings import FILE_NAME, Config, Setting, default_cache_dir, resolve, settings
from npukernelbench.config.values import redact

__all__ = ["FILE_NAME", "Config", "Setting", "default_cache_dir", "redact", "resolve", "settings"]
