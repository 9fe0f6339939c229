"""The half of the suites that runs where torch is: a process that forks for every question.

It may run under another interpreter than ``npukb``, so nothing here imports ``npukernelbench`` or anything but torch,
NumPy and the standard library. ``npukb_suites.torch_client`` starts it and asks.
"""
