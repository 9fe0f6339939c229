"""What harms a run leaves nothing behind."""

from tests.judging import subject  # noqa: F401 - a fixture
