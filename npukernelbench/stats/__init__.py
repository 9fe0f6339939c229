"""Numbers about samples: pass@k, and intervals that say how much a mean is worth."""

from npukernelbench.stats.bootstrap import Cluster, cluster_ratio, paired_difference
from npukernelbench.stats.interval import Estimate, Interval, cluster_mean, wilson
from npukernelbench.stats.passk import pass_all_at_k, pass_at_k

__all__ = [
    "Cluster",
    "Estimate",
    "Interval",
    "cluster_mean",
    "cluster_ratio",
    "paired_difference",
    "pass_all_at_k",
    "pass_at_k",
    "wilson",
]
