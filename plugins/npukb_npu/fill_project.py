"""Puts an answer's sources and our settings into a project that ``msopgen`` wrote: a step of a build.

``fill_project.py PROJECT ANSWER SETTINGS``. The toolkit's Python runs it, so it takes the standard library only.
Not yet run with a toolkit.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

FOLDERS = ("op_host", "op_kernel")
STUBS = (".cpp", ".cc", ".cxx", ".h", ".hpp")


def main(project: Path, answer: Path, settings: Path) -> None:
    """The project with the answer in the place of the generator's stubs."""
    for folder in FOLDERS:
        for stub in sorted(project.joinpath(folder).rglob("*")):
            # the generator's CMake files stay: they build the project
            if stub.suffix in STUBS:
                stub.unlink()
    for file in sorted(answer.rglob("*")):
        if not file.is_file():
            continue
        # A link: compilers name the file by its place in the project, and we find the answer's file behind it.
        place = project / file.relative_to(answer)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(str(file), str(place.parent)))
    presets = project / "CMakePresets.json"
    document = json.loads(presets.read_text(encoding="utf-8"))
    for preset in document["configurePresets"]:
        for name, value in json.loads(settings.read_text(encoding="utf-8")).items():
            preset.setdefault("cacheVariables", {})[name] = {"type": "STRING", "value": value}
    presets.write_text(json.dumps(document, indent=4) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
