"""What has been seen of this plugin on hardware: nothing. Not yet run on hardware.

The label stays until an acceptance report (``scripts/npu_acceptance``) lies in ``results/``; a test compares both.
"""

from __future__ import annotations

__all__ = ["NOTE", "STATUS"]

#: Goes into every description, finding and report of this plugin.
STATUS = "not yet run on hardware"

#: The sentence for people.
NOTE = "this executor was written from public documentation and has not yet run on hardware"
