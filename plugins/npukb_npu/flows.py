"""Which project is built with this toolkit, and by which steps: chosen by what the toolkit offers, not by its version.

Toolkits with the CMake package ``ASC`` build our own projects. Those without it (CANN 8.0 to 8.2) offer functions for
direct launch in ``ascendc.cmake``, and ``msopgen``, which writes the project of an operator.
Not yet run with a toolkit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from npukb_npu import older, packages, projects
from npukb_npu.discovery import Site
from npukb_npu.machine import compute_unit
from npukernelbench.errors import ToolchainError

__all__ = ["Plan", "direct", "launching", "operator"]

_LIBRARY = "**/libnpukb_kernel.so"
_BUILD = ("cmake", "--build", "build", "-j{jobs}")


class Plan(NamedTuple):
    """A project, the steps that build it, and a pattern for what has to be there at the end."""

    project: dict[str, str]
    steps: tuple[tuple[str, ...], ...]
    product: str


def direct(site: Site, files: Mapping[str, str], source: str, kernel: str, arguments: Sequence[str]) -> Plan:
    """Builds a launcher library around the ``kernel`` that ``source`` defines."""
    configure = ("cmake", "-S", ".", "-B", "build", f"-DASCEND_CANN_PACKAGE_PATH={site.home}")
    if site.cmake_package is not None:
        project = projects.direct_launch(files, source, kernel, arguments, projects.RunMode.NPU)
        return Plan(project, ((*configure, *_package(site)), _BUILD), _LIBRARY)
    if site.kernel_functions is None:
        raise _lacking(site, "ascendc.cmake")
    compute_unit(site.chip)  # refuses a chip of another family
    more = (f"-DASCENDC_CMAKE_DIR={site.kernel_functions}", f"-DSOC_VERSION=Ascend{site.chip}")
    return Plan(older.direct_launch(files, source, kernel, arguments), ((*configure, *more), _BUILD), _LIBRARY)


def launching(site: Site, project: dict[str, str]) -> Plan:
    """Builds the library of a ``project`` whose host function launches its kernels itself."""
    if site.cmake_package is None:
        raise ToolchainError(
            f"the toolkit in {site.home} has no CMake package ASC, which the launch track needs",
            remedy="use CANN 8.3 or later, or --track static",
        )
    configure = ("cmake", "-S", ".", "-B", "build", f"-DASCEND_CANN_PACKAGE_PATH={site.home}")
    return Plan(project, ((*configure, *_package(site)), _BUILD), _LIBRARY)


def operator(site: Site, files: Mapping[str, str], name: str, vendor: str) -> Plan:
    """Builds and installs the package of a custom operator."""
    unit = compute_unit(site.chip)
    if site.cmake_package is not None:
        configure = ("cmake", "-S", ".", "-B", "build_out", "--preset=default")
        steps = (
            (*configure, f"-DASCEND_CANN_PACKAGE_PATH={site.home}", *_package(site)),
            ("cmake", "--build", "build_out", "--target", "binary", "-j{jobs}"),
            ("cmake", "--build", "build_out", "--target", "package", "-j{jobs}"),
            packages.step("build_out"),
        )
        return Plan(projects.custom_operator(files, name, vendor, unit), steps, packages.LIBRARY)
    if site.generator is None:
        raise _lacking(site, "msopgen")
    project = older.custom_operator(files, name, vendor, unit, str(site.home))
    return Plan(project, older.steps(str(site.generator), site.chip), packages.LIBRARY)


def _package(site: Site) -> tuple[str, ...]:
    """Where ``find_package(ASC)`` finds it: it is not in the same place in all toolkits."""
    return (f"-DASC_DIR={site.cmake_package}",)


def _lacking(site: Site, name: str) -> ToolchainError:
    return ToolchainError(
        f"the toolkit in {site.home} has neither the CMake package ASC nor {name}",
        remedy="install the toolkit with its development packages; npukb doctor --executor npu says what is there",
    )
