"""For plugin authors and for our own tests: a model and an executor that do as they are told, a tiny task, whole runs.

pytest fixtures are in :mod:`npukernelbench.testing.fixtures`.
"""

from npukernelbench.testing.backend import FakeBackend, FakeBackendArgs
from npukernelbench.testing.executor import FakeExecutor, FakeExecutorArgs
from npukernelbench.testing.run import FakePlugin, RecordingObserver, fake_plugins, make_plan
from npukernelbench.testing.tasks import candidate, tiny_case, tiny_task

__all__ = [
    "FakeBackend",
    "FakeBackendArgs",
    "FakeExecutor",
    "FakeExecutorArgs",
    "FakePlugin",
    "RecordingObserver",
    "candidate",
    "fake_plugins",
    "make_plan",
    "tiny_case",
    "tiny_task",
]
