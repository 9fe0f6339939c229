"""Where the files of an operator lie: ``op_host/`` holds its definition and tiling, ``op_kernel/`` its device code.

Answers and repositories name files in many ways; judges know two folders.
"""

from __future__ import annotations

from collections.abc import Mapping

from npukernelbench.generate.fences import HEADER_SUFFIXES

__all__ = ["DEVICE_FOLDER", "HOST_FOLDER", "arranged", "place_of_file"]

HOST_FOLDER, DEVICE_FOLDER = "op_host", "op_kernel"


def arranged(files: Mapping[str, str]) -> dict[str, str]:
    """The same files under names that begin with one of the two folders; a name that would be taken twice stays."""
    result: dict[str, str] = {}
    for name, text in files.items():
        place = place_of_file(name, text)
        result[name if place in result else place] = text
    return result


def place_of_file(name: str, text: str) -> str:
    """``name`` from its last ``op_host`` or ``op_kernel`` on; without one, the folder that ``text`` speaks for."""
    parts = name.split("/")
    # The last one: repositories nest operators in folders of any name.
    for at in reversed(range(len(parts) - 1)):
        if parts[at] in (HOST_FOLDER, DEVICE_FOLDER):
            return "/".join(parts[at:])
    is_header = name.endswith(HEADER_SUFFIXES)
    is_device = "__global__" in text or (is_header and "__aicore__" in text)
    return f"{DEVICE_FOLDER if is_device else HOST_FOLDER}/{parts[-1]}"
