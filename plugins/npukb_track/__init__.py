"""Runs as they go on in Weights & Biases, Trackio or MLflow: ``NPUKB_TRACKERS=wandb,trackio npukb run …``.

Nothing is loaded or sent unless the variable names a tracker. Each is used as its own library is configured (project,
server, offline mode), so that everything else is set where its users set it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    from npukb_track.tracking import Tracking
    from npukernelbench.nouns import Sample
    from npukernelbench.run.plan import RunContext, RunSummary

__all__ = ["PLUGIN", "VARIABLE"]

#: Names the trackers, with commas between them.
VARIABLE = "NPUKB_TRACKERS"


class _Plugin:
    """The hooks. One run is under way at a time."""

    NPUKB_PLUGIN_API = ">=1,<2"

    def __init__(self) -> None:
        self._tracking: Tracking | None = None

    @hookimpl
    def on_run_start(self, context: RunContext) -> None:
        """Begin, or continue, the run of each tracker that is named."""
        # A run that was interrupted never came to its end, and is not to be told of this one.
        self._tracking = None
        names = [name.strip().lower() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]
        if names:
            # Here and not above: without the variable not even this module is loaded.
            from npukb_track.tracking import Tracking

            self._tracking = Tracking(names, context)

    @hookimpl
    def on_sample_end(self, sample: Sample) -> None:
        """Tell how it stands."""
        if self._tracking is not None:
            self._tracking.judged(sample)

    @hookimpl
    def on_run_end(self, summary: RunSummary) -> None:
        """Tell the last numbers."""
        if self._tracking is not None:
            self._tracking.ended(summary)


#: What the entry point names.
PLUGIN = _Plugin()
