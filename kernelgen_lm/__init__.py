"""KernelGen-LM: from nothing to a model that writes Ascend C kernels, with every sample executed by the judge.

``kernelgen-lm corpus`` makes verified training data, ``sft``, ``dpo`` and ``grpo`` train on it, ``mine`` takes pairs
out of runs, ``eval`` asks the harness, ``card`` writes down what was done. See docs/training.md.

This package uses public names of :mod:`npukernelbench` only; torch, transformers, TRL and datasets are imported when a
command needs them.
"""
