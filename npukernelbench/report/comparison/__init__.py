"""Runs and profiles side by side: paired success rates, what changed sides, times of the same kernels."""
