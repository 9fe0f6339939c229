"""Numbers about samples: pass@k, and intervals that say how much a mean is worth."""

from npukernelbench.stats.interval import Estimate, Interval, cluster_mean, wilson
from npukernelbench.stats.passk import pass_at_k

__all__ = ["Estimate", "Interval", "cluster_mean", "pass_at_k", "wilson"]
