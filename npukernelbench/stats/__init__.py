"""Numbers about samples: pass@k, intervals that say how much a mean is worth, and whether a difference is one."""

from npukernelbench.stats.bootstrap import Cluster, cluster_ratio, mean_difference, paired_difference
from npukernelbench.stats.interval import Estimate, Interval, cluster_mean, nine_in_ten, wilson
from npukernelbench.stats.paired import SignFlip, detectable_difference, holm, sign_flip_test
from npukernelbench.stats.passk import pass_all_at_k, pass_at_k

__all__ = [
    "Cluster",
    "Estimate",
    "Interval",
    "SignFlip",
    "cluster_mean",
    "cluster_ratio",
    "detectable_difference",
    "holm",
    "mean_difference",
    "nine_in_ten",
    "paired_difference",
    "pass_all_at_k",
    "pass_at_k",
    "sign_flip_test",
    "wilson",
]
