"""Tasks of recorded data: inputs and right outputs in files (``npukb new --data``)."""

from __future__ import annotations

from npukb_suites.recorded.reference import Recorded

__all__ = ["Recorded"]
