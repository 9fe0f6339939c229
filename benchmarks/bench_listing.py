"""How long a user waits for a listing: ``npukb ls tasks`` against ``pytest --version``, whole processes."""

from __future__ import annotations

from timing import median_of_command, report, script


def main() -> None:
    floor = median_of_command([script("pytest"), "--version"], runs=11)
    listing = median_of_command([script("npukb"), "ls", "tasks"], runs=11)
    report("npukb ls tasks", listing, "pytest --version", floor, target=2.0)


if __name__ == "__main__":
    main()
