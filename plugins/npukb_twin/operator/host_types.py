"""What is said about an operator's host side: its definition, what a tiling function is asked and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from npukb_twin.launch.sandbox import Sandbox
from npukernelbench.nouns import Diagnostic, Outcome, Presence
from npukernelbench.nouns.machine import DEFAULT_MACHINE

__all__ = [
    "HBM_BYTES",
    "AttributeValue",
    "HostFailure",
    "HostLimits",
    "HostResult",
    "HostRuntime",
    "OpArgument",
    "OpAttribute",
    "OperatorDescription",
    "SocNumbers",
    "TensorArgument",
    "TilingField",
    "TilingRequest",
    "TilingResult",
    "TilingStruct",
]

#: A bool, int, float, string, or a list of one of the first four (lists of lists of int as nested tuples).
AttributeValue: TypeAlias = (
    "bool | int | float | str | tuple[bool, ...] | tuple[int, ...] | tuple[float, ...] | tuple[tuple[int, ...], ...]"
)

#: Memory of a device of this family.
HBM_BYTES = 64 << 30


@dataclass(frozen=True, slots=True)
class HostRuntime:
    """What every operator's host side shares: the runner, and the precompiled host headers (None for g++);
    ``sandbox`` is what compilers and host code run in.
    """

    key: str
    runner: Path
    header: Path | None
    sandbox: Sandbox = field(default_factory=Sandbox)


@dataclass(frozen=True, slots=True)
class HostResult:
    """What compiling the host side came to. ``image`` is None unless ``outcome`` is OK."""

    outcome: Outcome
    image: Path | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class HostFailure:
    """Why the image gave no answer: LAUNCH_ERROR (not registered, not loadable, tiling failed), CRASH, TIMEOUT.

    ``log`` is what the operator's code printed.
    """

    outcome: Outcome
    diagnostics: tuple[Diagnostic, ...]
    log: str = ""


@dataclass(frozen=True, slots=True)
class HostLimits:
    """Limits of one call of the runner."""

    wall_s: float = 10.0
    memory_bytes: int = 4 << 30


@dataclass(frozen=True, slots=True)
class OpArgument:
    """An input or output as the operator's definition declares it.

    ``dtypes`` and ``formats`` have one entry per supported combination (``DT_FLOAT``, ``FORMAT_ND``…): entry i of
    every argument together is combination i. ``initial`` are the values that an output is filled with before the
    launch: none, one for every combination, or one for each.
    """

    name: str
    presence: Presence
    dtypes: tuple[str, ...]
    formats: tuple[str, ...]
    scalar: bool = False
    scalar_list: bool = False
    value_depend: bool = False
    depends_on_compute: bool = False
    initial: tuple[float | int, ...] = ()


@dataclass(frozen=True, slots=True)
class OpAttribute:
    """An attribute. ``type`` is one of bool, int, float, string, list_bool, list_int, list_float, list_list_int."""

    name: str
    type: str
    required: bool
    default: AttributeValue | None


@dataclass(frozen=True, slots=True)
class TilingField:
    """A member of a tiling structure. ``count`` is the length of an array, 0 for a plain member; ``struct`` is the
    class name of a nested structure, "" otherwise.
    """

    name: str
    ctype: str
    count: int
    struct: str
    offset: int


@dataclass(frozen=True, slots=True)
class TilingStruct:
    """A tiling structure under its C++ class name; ``nested`` holds every structure its fields name, at any depth."""

    name: str
    bytes: int
    fields: tuple[TilingField, ...]
    nested: Mapping[str, TilingStruct] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OperatorDescription:
    """What the image registers. ``tiling`` is keyed by the name given to REGISTER_TILING_DATA_CLASS: the operator's
    type, or the type, an underscore, and a tiling key.
    """

    name: str
    inputs: tuple[OpArgument, ...]
    outputs: tuple[OpArgument, ...]
    attributes: tuple[OpAttribute, ...]
    socs: tuple[str, ...]
    tiling: Mapping[str, TilingStruct]


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """A tensor as the tiling function sees it. ``data`` is given only for inputs whose value it reads."""

    shape: tuple[int, ...]
    dtype: str
    format: str = "FORMAT_ND"
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class SocNumbers:
    """What ``PlatformAscendC`` answers, and what the search for tilings of matrix products goes by. Sizes in bytes,
    rates in bytes per cycle: global memory to L1, L1 to L0A, L1 to L0B.
    """

    vector_cores: int = DEFAULT_MACHINE.vector_cores
    cube_cores: int = DEFAULT_MACHINE.cube_cores
    ub_bytes: int = DEFAULT_MACHINE.ub_usable_bytes
    # 256 bytes less than there are, as the platform query answers
    l1_bytes: int = (512 << 10) - 256
    l0a_bytes: int = 64 << 10
    l0b_bytes: int = 64 << 10
    l0c_bytes: int = 128 << 10
    bt_bytes: int = 1 << 10
    load_rate: int = 81
    feed_a_rate: int = 256
    feed_b_rate: int = 128
    l2_bytes: int = DEFAULT_MACHINE.l2_bytes
    hbm_bytes: int = HBM_BYTES
    soc: str = "Ascend910B"
    workspace_reserve_bytes: int = 16 << 20


@dataclass(frozen=True, slots=True)
class TilingRequest:
    """One question to a tiling function. Arguments and attributes in the definition's order: a tensor, a tuple of
    tensors for a list, None for an absent optional one. Attributes left out take their defaults.
    """

    operator: str
    inputs: tuple[TensorArgument | tuple[TensorArgument, ...] | None, ...]
    outputs: tuple[TensorArgument | tuple[TensorArgument, ...] | None, ...]
    attributes: tuple[tuple[str, AttributeValue], ...] = ()
    soc: SocNumbers = SocNumbers()
    deterministic: bool = False


@dataclass(frozen=True, slots=True)
class TilingResult:
    """What the tiling function decided. ``data`` is the tiling buffer's content, ``log`` what the operator's code
    printed.
    """

    tiling_key: int
    block_dim: int
    workspace_bytes: tuple[int, ...]
    data: bytes
    schedule_mode: int
    log: str
