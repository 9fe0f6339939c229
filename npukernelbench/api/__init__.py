"""The Python interface of the harness: what ``npukb run`` and ``npukb judge`` do, as functions.

The names are those of :mod:`npukernelbench` itself; docs/python.md says what is promised about them.
"""
