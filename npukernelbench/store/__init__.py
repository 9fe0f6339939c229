"""One folder per run: manifest, append-only event log, rebuildable index, results."""

from npukernelbench.store.manifest import Manifest
from npukernelbench.store.results import read_results, results_json
from npukernelbench.store.run import RunStore, StoredCompletion, StoredRun, read_run

__all__ = ["Manifest", "RunStore", "StoredCompletion", "StoredRun", "read_results", "read_run", "results_json"]
