"""Hostile candidates leave nothing behind."""

from tests.judging import subject  # noqa: F401 - a fixture
