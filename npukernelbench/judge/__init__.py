"""The judge: guard, compile, run, check, profile, score. :class:`npukernelbench.judge.pipeline.Judge` strings them."""
