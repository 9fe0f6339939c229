"""What harms a run leaves nothing behind."""

from tests.judging import subject  # noqa: F401 - a fixture
from tests.leaks import nothing_leaks  # noqa: F401 - a fixture
