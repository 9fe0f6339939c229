"""A release: wheel and sdist of the committed state, built twice to the same bytes, digests, a bill of materials.

    .venv/bin/python scripts/release.py OUT

OUT gets the two distributions, SHA256SUMS and sbom.cdx.json (CycloneDX: what the wheel installs beside itself, with
licences as the packages state them). Needs the dev environment and no network.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "npukernelbench"
#: What an index takes without being asked; sources, tasks and golden kernels of today are well below it.
MOST_WHEEL_BYTES = 60 << 20


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("out", type=Path)
    out: Path = options.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    first, second = built(out), built(None)
    if first != second:
        differ = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
        sys.stderr.write(f"error: two builds of one commit differ: {', '.join(differ)}\n")
        return 1
    wheel = next(path for path in out.glob("*.whl"))
    if wheel.stat().st_size > MOST_WHEEL_BYTES:
        sys.stderr.write(f"error: {wheel.name} has {wheel.stat().st_size} bytes, more than {MOST_WHEEL_BYTES}\n")
        return 1
    (out / "sbom.cdx.json").write_text(json.dumps(bill_of_materials(NAME), indent=2, sort_keys=True) + "\n", "utf-8")
    first["sbom.cdx.json"] = digest(out / "sbom.cdx.json")
    sums = "".join(f"{first[name]}  {name}\n" for name in sorted(first))
    (out / "SHA256SUMS").write_text(sums, "utf-8")
    sys.stdout.write(f"{sums}wheel: {wheel.stat().st_size / 2**20:.1f} MiB; two builds gave the same bytes\n")
    return 0


def built(out: Path | None) -> dict[str, str]:
    """Digests of both distributions, built from HEAD in a folder of its own; the time in them is the commit's."""
    when = git("log", "-1", "--format=%ct").decode().strip()
    with tempfile.TemporaryDirectory(prefix="release-") as name:
        source, dist = Path(name) / "source", out or Path(name) / "dist"
        with tarfile.open(fileobj=BytesIO(git("archive", "HEAD"))) as archive:
            archive.extractall(source, filter="data")
        # Without isolation, which would fetch the build's own packages from the network.
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(source)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": when}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        return {path.name: digest(path) for path in sorted(dist.iterdir()) if path.suffix in (".whl", ".gz")}


def git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True).stdout


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def bill_of_materials(name: str) -> dict[str, object]:
    """CycloneDX 1.5 of the packages that ``name`` needs without extras, in the versions installed here."""
    own = distribution(name)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(own)},
        "components": [component(found) for _, found in sorted(needed(own).items())],
    }


def component(found: Distribution) -> dict[str, object]:
    name = normal(found.metadata["Name"])
    purl = f"pkg:pypi/{name}@{found.version}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": found.version,
        "purl": purl,
        "licenses": [{"license": {"name": licence(found)}}],
    }


def licence(found: Distribution) -> str:
    """As the package states it: expression, classifier, or the first line of the free text; ``not stated`` else."""
    metadata = found.metadata
    classified = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or () if "License ::" in line]
    free = (metadata.get("License") or "").strip().splitlines()
    return str(metadata.get("License-Expression") or ", ".join(classified) or (free[0] if free else "not stated"))


def needed(own: Distribution) -> Mapping[str, Distribution]:
    """Every package that is required on this platform without extras, by normal name."""
    result: dict[str, Distribution] = {}
    waiting = [own]
    while waiting:
        for requirement in waiting.pop().requires or ():
            name, _, marker = requirement.partition(";")
            key = normal(re.split(r"[\s<>=!~\[(]", name.strip(), maxsplit=1)[0])
            if key in result or "extra" in marker:
                continue
            try:
                result[key] = distribution(key)
            except PackageNotFoundError:  # for another platform
                continue
            waiting.append(result[key])
    return result


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
