"""A run that is killed at random moments loses nothing and counts nothing twice. ``NPUKB_KILLS`` says how often."""

from __future__ import annotations

import os
from pathlib import Path

from tests.endurance.storm import storm

KILLS = int(os.environ.get("NPUKB_KILLS", "6"))


def test_kills_at_random_moments(tmp_path: Path) -> None:
    seen = storm(tmp_path, KILLS, 7)
    assert (seen.lost, seen.twice, seen.different) == (0, 0, 0)
    assert seen.kills == KILLS
    assert seen.runs >= 1
