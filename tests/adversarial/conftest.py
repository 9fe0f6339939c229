"""Hostile candidates leave nothing behind."""

from tests.leaks import nothing_leaks  # noqa: F401 - a fixture
