"""What of toolkit, compiler, driver, devices and torch is on this machine, and how to get the rest.

Only looks: files, permissions, ``npu-smi`` queries. Places and commands are those of the vendor's documentation, listed
in ``docs/npu.md``. Not yet run on hardware.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from pathlib import Path

from npukb_npu import interpreter, machine
from npukb_npu.acl import RUNTIME_LIBRARIES
from npukb_npu.interpreter import Interpreter
from npukb_npu.machine import Device
from npukb_npu.status import NOTE
from npukb_npu.versions import mismatch
from npukernelbench.errors import ToolchainError
from npukernelbench.judge.executor import Finding, FindingStatus

__all__ = ["DEVICE_NODES", "Site", "findings", "first_obstacle", "host_mode_findings"]

#: Nodes without which no device can be opened, beside one ``/dev/davinciN`` per device.
DEVICE_NODES = ("davinci_manager", "devmm_svm", "hisi_hdc")
#: Nodes that some drivers have as well; what is there may be opened.
_MORE_NODES = ("svm0", "dvpp_cmdlist", "ts_aisle", "xsmem_dev", "event_sched", "log_drv", "user_config", "uburma")
_DEFAULT_HOMES = ("usr/local/Ascend/cann", "usr/local/Ascend/ascend-toolkit/latest", "usr/local/Ascend/latest")
_COMPILERS = (
    "bin/bisheng",
    "compiler/ccec_compiler/bin/bisheng",
    "tools/bisheng_compiler/bin/bisheng",
    "ccec_compiler/bin/bisheng",
)
_CMAKE_FOLDERS = (
    "compiler/tikcpp/ascendc_kernel_cmake",
    "tikcpp/ascendc_kernel_cmake",
    "lib64/cmake/ASC",
    "lib/cmake/ASC",
    "tools/tikcpp/ascendc_kernel_cmake",
)
_PACKAGE = ("ASCConfig.cmake", "asc-config.cmake")
_FUNCTIONS = "ascendc.cmake"
_GENERATOR = "python/site-packages/bin/msopgen"
_VERSION = re.compile(r"(?im)^\s*version\s*=\s*\[?([\w.]+)")
_RELEASE = re.compile(r"(?m)^(?:ID|VERSION_ID)=.*$")
# the presets of operator projects came with this version
_OLDEST_CMAKE = (3, 19)
_TOOL_S = 8.0
_SOURCE = "source the toolkit's set_env.sh, for instance: source /usr/local/Ascend/cann/set_env.sh"


class _Tools:
    """Asks the machine's tools. One that hung, as ``npu-smi`` does beside a sick driver, is not waited for again."""

    def __init__(self) -> None:
        self._hung: set[str] = set()

    def __call__(self, command: Sequence[str]) -> str:
        """Output of a tool; empty when it cannot be run."""
        if command[0] in self._hung:
            return ""
        try:
            done = subprocess.run(list(command), capture_output=True, text=True, timeout=_TOOL_S, errors="replace")
        except subprocess.TimeoutExpired:
            self._hung.add(command[0])
            return ""
        except (OSError, subprocess.SubprocessError):
            return ""
        return done.stdout if done.returncode == 0 else ""


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


@dataclass(frozen=True)
class Site:
    """The machine that is looked at. Everything but ``environ`` has its real value outside of tests."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    root: Path = Path("/")
    ask: Callable[[Sequence[str]], str] = field(default_factory=_Tools)
    installed: Callable[[str], str] = _installed
    machine: str = field(default_factory=platform.machine)

    @cached_property
    def system(self) -> tuple[str, str]:
        """Architecture and operating system with its version: what is built on one is not for another."""
        file = self.root / "etc/os-release"
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        return self.machine, " ".join(sorted(_RELEASE.findall(text)))

    @cached_property
    def home(self) -> Path | None:
        """The toolkit's folder, as ``set_env.sh`` names it."""
        # the second is how older set_env.sh call it
        named = self.environ.get("ASCEND_HOME_PATH") or self.environ.get("ASCEND_TOOLKIT_HOME")
        return Path(named) if named and Path(named).is_dir() else None

    @cached_property
    def default_home(self) -> Path | None:
        """A toolkit in a usual place that nobody has sourced."""
        return next((self.root / home for home in _DEFAULT_HOMES if (self.root / home / "set_env.sh").is_file()), None)

    @cached_property
    def version(self) -> str:
        """Version of the toolkit; empty when no file tells."""
        if self.home is None:
            return ""
        arch = f"{self.machine}-linux"
        # the newest layout first: a toolkit may keep files of an older one
        places = (
            *sorted(self.home.glob("share/info/*/version.info")),
            self.home / arch / "ascend_toolkit_install.info",
            self.home / "compiler" / "version.info",
            self.home / "version.cfg",
        )
        for place in places:
            if place.is_file() and (match := _VERSION.search(place.read_text(encoding="utf-8", errors="replace"))):
                return match.group(1)
        return ""

    @cached_property
    def compiler(self) -> Path | None:
        """The vendor's compiler: in the toolkit, else on the path."""
        if self.home is None:
            return None
        arch = self.home / f"{self.machine}-linux"
        for place in (base / compiler for compiler in _COMPILERS for base in (self.home, arch)):
            if os.access(place, os.X_OK):
                return place
        bisheng = shutil.which("bisheng", path=self.environ.get("PATH"))
        return Path(bisheng) if bisheng else None

    @cached_property
    def cmake_package(self) -> Path | None:
        """Folder of the toolkit's CMake package ``ASC``."""
        return self._cmake_folder(_PACKAGE)

    @cached_property
    def kernel_functions(self) -> Path | None:
        """Folder of ``ascendc.cmake``: what toolkits without the package have for direct launch."""
        return self._cmake_folder((_FUNCTIONS,))

    @cached_property
    def generator(self) -> Path | None:
        """``msopgen``, which writes operator projects: in the toolkit, else on the path."""
        if self.home is None:
            return None
        if os.access(self.home / _GENERATOR, os.X_OK):
            return self.home / _GENERATOR
        named = shutil.which("msopgen", path=self.environ.get("PATH"))
        return Path(named) if named else None

    def _cmake_folder(self, names: Sequence[str]) -> Path | None:
        if self.home is None:
            return None
        bases = (self.home, self.home / f"{self.machine}-linux")
        files = ((base / folder / name) for folder in _CMAKE_FOLDERS for base in bases for name in names)
        return next((file.parent for file in files if file.is_file()), None)

    @cached_property
    def library_folders(self) -> tuple[Path, ...]:
        """Where the runtime's libraries may lie."""
        if self.home is None:
            return ()
        return tuple(
            folder for folder in (self.home / "lib64", self.home / f"{self.machine}-linux" / "lib64") if folder.is_dir()
        )

    @cached_property
    def runtime(self) -> Path | None:
        """The runtime library."""
        files = (folder / name for name in RUNTIME_LIBRARIES for folder in self.library_folders)
        return next((file for file in files if file.exists()), None)

    @cached_property
    def cmake(self) -> tuple[int, ...]:
        """Version of CMake; empty without it."""
        match = re.search(r"version (\d+)\.(\d+)", self.ask(("cmake", "--version")))
        return tuple(map(int, match.groups())) if match else ()

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """Numbers of the device nodes, which are not those of the runtime."""
        nodes = (self.root / "dev").glob("davinci[0-9]*")
        # the pattern also lets through names that only begin with a digit
        return tuple(sorted(int(node.name.removeprefix("davinci")) for node in nodes if node.name[7:].isdigit()))

    @cached_property
    def device_files(self) -> tuple[Path, ...]:
        """Every node of the driver that is there."""
        folder = self.root / "dev"
        names = (*(f"davinci{number}" for number in self.nodes), *DEVICE_NODES, *_MORE_NODES)
        return tuple(folder / name for name in names if (folder / name).exists())

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """The devices that this process may use."""
        return machine.devices_of(self.nodes, self.environ.get("ASCEND_RT_VISIBLE_DEVICES"), self.mapping)

    @cached_property
    def mapping(self) -> str:
        """What ``npu-smi info -m`` prints: cards, chips and their logical numbers."""
        return self.ask(("npu-smi", "info", "-m"))

    @cached_property
    def smi(self) -> str:
        """What ``npu-smi info -l`` lists."""
        return self.ask(("npu-smi", "info", "-l"))

    def health(self, device: Device) -> str:
        """The health that ``npu-smi`` reports for a device; empty when it says nothing."""
        words = ("npu-smi", "info", "-t", "health", "-i", str(device.card), "-c", str(device.chip))
        match = re.search(r"(?m)^\s*Health(?: Status)?\s*:\s*(\w+)", self.ask(words))
        return match.group(1) if match else ""

    def chip_of(self, device: Device) -> str:
        """Name of a device's chip, as ``npu-smi`` reports it; empty when it says nothing."""
        words = ("npu-smi", "info", "-t", "board", "-i", str(device.card), "-c", str(device.chip))
        return machine.chip_name(self.ask(words))

    @cached_property
    def chip(self) -> str:
        """Name of the first device's chip; all devices of a machine have the same."""
        return self.chip_of(self.devices[0]) if self.devices else ""

    @cached_property
    def python(self) -> Interpreter:
        """The interpreter for the toolkit's own scripts."""
        return interpreter.choose(self.environ)

    @cached_property
    def profiler(self) -> tuple[str, ...]:
        """The words that start the profiler of single launches: ``msprof op``, in other versions ``msopprof``; empty
        without one."""
        path = self.environ.get("PATH")
        tools = (("msprof", "op"), ("msopprof",))
        return next(((program, *rest) for name, *rest in tools if (program := shutil.which(name, path=path))), ())

    @cached_property
    def driver(self) -> str:
        """Version of the driver; empty without one."""
        place = self.root / "usr/local/Ascend/driver/version.info"
        if not place.is_file():
            return ""
        match = _VERSION.search(place.read_text(encoding="utf-8", errors="replace"))
        return match.group(1) if match else "unknown"


def _finding(name: str, good: bool, detail: str, remedy: str) -> Finding:
    return Finding(name, FindingStatus.OK if good else FindingStatus.PROBLEM, detail, "" if good else remedy)


def findings(site: Site) -> tuple[Finding, ...]:
    """Everything the device executor needs, in the order in which it is installed."""
    tools = _build_tools(site, older=True)
    return (*_toolkit(site), *tools, *_driver(site), *_device_nodes(site), *_torch(site), _status())


def host_mode_findings(site: Site) -> tuple[Finding, ...]:
    """What the toolkit's own host modes need: no driver, no device."""
    return (*_toolkit(site), *_build_tools(site, older=False), _status())


def first_obstacle(findings: Sequence[Finding]) -> str:
    """The first thing that is missing or doubtful, in words; empty when all is well."""
    obstacle = next(
        (finding for finding in findings if finding.status is not FindingStatus.OK and finding.name != _STATUS_NAME),
        None,
    )
    return f"{obstacle.name}: {obstacle.detail}" if obstacle else ""


_STATUS_NAME = "status"


def _status() -> Finding:
    return Finding(
        _STATUS_NAME, FindingStatus.WARNING, NOTE, "if it works for you, send the report of scripts/npu_acceptance"
    )


def _toolkit(site: Site) -> Iterator[Finding]:
    if site.home is None:
        named = site.environ.get("ASCEND_HOME_PATH", "")
        detail = f"ASCEND_HOME_PATH is {named}, which is no folder" if named else "ASCEND_HOME_PATH is not set"
        remedy = (
            f"source {site.default_home}/set_env.sh" if site.default_home else f"install the CANN toolkit; {_SOURCE}"
        )
        yield _finding("CANN toolkit", False, detail, remedy)
        return
    yield _finding("CANN toolkit", True, f"{site.version or 'of unknown version'} in {site.home}", "")
    yield _finding(
        "runtime library",
        site.runtime is not None,
        str(site.runtime or f"none of {', '.join(RUNTIME_LIBRARIES)} in {site.home}"),
        "install the toolkit's runtime package",
    )


def _build_tools(site: Site, *, older: bool) -> Iterator[Finding]:
    if site.home is not None:
        yield _finding(
            "compiler",
            site.compiler is not None,
            str(site.compiler or "no bisheng in the toolkit or on the path"),
            _SOURCE,
        )
        # host modes need the package: without it only devices are built for
        yield _projects(site) if older else _cmake_package(site)
        yield _python(site)
    text = ".".join(map(str, site.cmake))
    good = site.cmake >= _OLDEST_CMAKE
    yield _finding("cmake", good, text or "not found", "install CMake 3.19 or newer, for instance: pip install cmake")


def _cmake_package(site: Site) -> Finding:
    return _finding(
        "CMake package ASC",
        site.cmake_package is not None,
        str(site.cmake_package or f"no {_PACKAGE[0]} below {site.home}"),
        "install a toolkit of CANN 8.3 or newer with its development packages",
    )


def _projects(site: Site) -> Finding:
    """What projects are built with: the package, else what toolkits before it have."""
    older = {_FUNCTIONS: site.kernel_functions, "msopgen": site.generator}
    missing = [name for name, place in older.items() if place is None]
    # with neither, the advice is a newer toolkit, and not to complete an old one
    if site.cmake_package is not None or len(missing) == len(older):
        return _cmake_package(site)
    detail = f"no package ASC; {' and '.join(f'{name} in {place}' for name, place in older.items() if place)}"
    if missing:
        return _finding(
            "CMake package ASC", False, f"{detail}, but no {missing[0]}", "install the toolkit's development packages"
        )
    return _finding("CMake package ASC", True, f"{detail}: projects of CANN 8.0 to 8.2, read and not run", "")


def _python(site: Site) -> Finding:
    chosen = site.python
    missing = ", ".join(interpreter.NEEDED[name] for name in chosen.missing)
    detail = f"{chosen.program} lacks {missing}, which the toolkit's scripts import" if missing else str(chosen.program)
    return _finding("toolkit's Python", not missing, detail, interpreter.REMEDY)


def _driver(site: Site) -> Iterator[Finding]:
    remedy = "install the driver (in a container: mount /usr/local/Ascend/driver of the host)"
    yield _finding("driver", bool(site.driver), site.driver or "no version file of a driver", remedy)
    detail = f"lists {site.smi.count('NPU ID')} devices" if site.smi else "does not answer"
    yield _finding(
        "npu-smi", bool(site.smi), detail, "in a container: mount /usr/local/bin/npu-smi and /usr/local/dcmi"
    )
    if site.smi and site.devices:
        first = site.devices[0]
        why = _other_family(site.chip)
        look = f"look at npu-smi info -t board -i {first.card} -c {first.chip}"
        yield _finding("chip", not why, why or site.chip, look)
    with ThreadPoolExecutor(8) as pool:  # a question takes npu-smi a second, a server has up to sixteen devices
        # a tool that did not answer at all would hold up every question until its time-out
        healths = list(pool.map(site.health, site.devices if site.smi else ()))
    for device, health in zip(site.devices, healths, strict=False):
        place = f"-i {device.card} -c {device.chip}"
        yield _finding(
            f"device {device.index}",
            health == "OK",
            f"health {health or 'unknown'} (card {device.card}, chip {device.chip}, /dev/davinci{device.node})",
            f"look at npu-smi info -t health {place}; reset the device or take another",
        )


def _other_family(chip: str) -> str:
    """Why nothing can be built for a chip; empty when something can."""
    if not chip:
        return "npu-smi names none"
    try:
        machine.compute_unit(chip)
    except ToolchainError as error:
        return error.message
    return ""


def _device_nodes(site: Site) -> Iterator[Finding]:
    wanted = [site.root / "dev" / name for name in DEVICE_NODES]
    wanted += [site.root / "dev" / f"davinci{number}" for number in site.nodes]
    missing = [path for path in wanted if not path.exists()]
    if not site.nodes:
        missing.append(site.root / "dev" / "davinci0")
    flags = " ".join(f"--device={'/' / path.relative_to(site.root)}" for path in missing)
    if missing:
        names = ", ".join(path.name for path in missing)
        yield _finding("device nodes", False, f"missing: {names}", f"install the driver; in a container add {flags}")
        return
    # only now: a node that is not there cannot be accessed either
    closed = [path for path in wanted if not os.access(path, os.R_OK | os.W_OK)]
    if closed:
        detail = f"cannot be opened: {', '.join(path.name for path in closed)}"
        remedy = "add this user to the group that owns them (usually HwHiAiUser): sudo usermod -aG HwHiAiUser $USER"
        yield _finding("device nodes", False, detail, remedy)
        return
    named = site.environ.get("ASCEND_RT_VISIBLE_DEVICES")
    shown = f"{len(site.devices)} of {len(site.nodes)} devices"
    detail = shown if named is None else f"{shown}, ASCEND_RT_VISIBLE_DEVICES={named}"
    remedy = "name logical numbers in ascending order, separated by commas and nothing else"
    yield _finding("device nodes", bool(site.devices), detail, remedy)


def _torch(site: Site) -> Iterator[Finding]:
    torch, torch_npu = site.installed("torch"), site.installed("torch-npu")
    if not torch or not torch_npu:
        missing = " and ".join(name for name, there in (("torch", torch), ("torch_npu", torch_npu)) if not there)
        detail = f"{missing} not installed: the eager baseline cannot be measured"
        yield Finding("torch_npu", FindingStatus.WARNING, detail, "pip install 'npukernelbench[npu]'")
        return
    wrong = mismatch(torch, torch_npu, site.version)
    status = FindingStatus.WARNING if wrong else FindingStatus.OK
    remedy = "see the version table in docs/npu.md" if wrong else ""
    yield Finding("torch_npu", status, wrong or f"torch {torch}, torch_npu {torch_npu}", remedy)
