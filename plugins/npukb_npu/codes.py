"""Codes of the runtime and of aclnn, and what each says about a candidate. Not yet run on hardware.

The codes are those of the documented tables (``PAGES``). A fault in a core or a core that does not end is the kernel's;
everything about devices, drivers and memory of ours is a fault of the machine and never counts against a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from npukernelbench.nouns import Outcome

__all__ = ["ACLNN_CODES", "CODES", "PAGES", "AclError", "Blame", "Code", "Phase", "is_memory", "judge"]

PAGES = {
    "runtime": "cann/runtime docs/zh/api_ref/25-01_aclError.md",
    "aclnn": "hiascend.com CANNCommunityEdition/900/API/aolapi/atlasascendc_api_07_1205",
}


class Blame(str, Enum):
    """What a code tells about the kernel and the device."""

    KERNEL_FAULT = "kernel_fault"  # a core stopped at an instruction
    KERNEL_HANG = "kernel_hang"  # a core did not end in time
    DEFINITION = "definition"  # the operator's own definition or tiling function refused
    MEMORY = "memory"  # no memory left
    DEVICE = "device"  # the device itself is broken or gone
    HARNESS = "harness"  # we called something wrongly, or nobody knows


class Phase(str, Enum):
    """What was being done when a code came back."""

    OPEN = "open"  # before anything of the candidate
    PREPARE = "prepare"  # memory and inputs
    TILING = "tiling"  # the operator's first phase: definition, shapes, tiling
    WORKSPACE = "workspace"  # memory that the candidate asked for
    LAUNCH = "launch"  # the kernel
    COLLECT = "collect"  # outputs


class Code(NamedTuple):
    """A documented code."""

    name: str
    meaning: str
    blame: Blame


def _core(name: str, meaning: str) -> Code:
    return Code(name, meaning, Blame.KERNEL_FAULT)


def _hang(name: str, meaning: str) -> Code:
    return Code(name, meaning, Blame.KERNEL_HANG)


def _device(name: str, meaning: str) -> Code:
    return Code(name, meaning, Blame.DEVICE)


CODES: Mapping[int, Code] = {
    100000: Code("ACL_ERROR_INVALID_PARAM", "an argument was refused", Blame.HARNESS),
    100001: Code("ACL_ERROR_UNINITIALIZE", "not initialised", Blame.HARNESS),
    107000: Code("ACL_ERROR_RT_PARAM_INVALID", "an argument was refused", Blame.HARNESS),
    107001: Code("ACL_ERROR_RT_INVALID_DEVICEID", "no such device", Blame.HARNESS),
    107002: Code("ACL_ERROR_RT_CONTEXT_NULL", "no device is set", Blame.HARNESS),
    107003: Code("ACL_ERROR_RT_STREAM_CONTEXT", "the stream is not of this device", Blame.HARNESS),
    107019: _hang("ACL_ERROR_RT_WAIT_TIMEOUT", "waiting took too long"),
    107020: _hang("ACL_ERROR_RT_TASK_TIMEOUT", "a task took too long"),
    200000: Code("ACL_ERROR_BAD_ALLOC", "memory could not be allocated", Blame.MEMORY),
    207001: Code("ACL_ERROR_RT_MEMORY_ALLOCATION", "memory could not be allocated", Blame.MEMORY),
    207004: _device("ACL_ERROR_RT_NO_DEVICE", "the device cannot be used"),
    207006: Code("ACL_ERROR_RT_NO_PERMISSION", "this user may not use the device", Blame.HARNESS),
    207018: Code("ACL_ERROR_RT_DEVIDE_OOM", "the device's memory is used up", Blame.MEMORY),
    500000: Code("ACL_ERROR_INTERNAL_ERROR", "unknown internal error", Blame.HARNESS),
    507000: Code("ACL_ERROR_RT_INTERNAL_ERROR", "internal error of the runtime", Blame.HARNESS),
    507001: _device("ACL_ERROR_RT_TS_ERROR", "the device's task scheduler failed"),
    507010: _device("ACL_ERROR_RT_LOST_HEARTBEAT", "the device's task scheduler does not answer"),
    507012: _device("ACL_ERROR_RT_REPORT_TIMEOUT", "no message from the device's task scheduler"),
    507013: _device("ACL_ERROR_RT_SYS_DMA", "the system DMA failed"),
    507014: _hang("ACL_ERROR_RT_AICORE_TIMEOUT", "an AI Core did not end in time"),
    507015: _core("ACL_ERROR_RT_AICORE_EXCEPTION", "an AI Core raised an exception"),
    507016: _core("ACL_ERROR_RT_AICORE_TRAP_EXCEPTION", "an AI Core ran into a trap"),
    507033: _device("ACL_ERROR_RT_DEV_SETUP_ERROR", "the device did not start"),
    507034: _hang("ACL_ERROR_RT_VECTOR_CORE_TIMEOUT", "a vector core did not end in time"),
    507035: _core("ACL_ERROR_RT_VECTOR_CORE_EXCEPTION", "a vector core raised an exception"),
    507036: _core("ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION", "a vector core ran into a trap"),
    507042: _core("ACL_ERROR_RT_AICORE_TRAP_READ_OVERFLOW", "an AI Core read out of bounds"),
    507043: _core("ACL_ERROR_RT_AICORE_TRAP_WRITE_OVERFLOW", "an AI Core wrote out of bounds"),
    507044: _core("ACL_ERROR_RT_VECTOR_CORE_TRAP_READ_OVERFLOW", "a vector core read out of bounds"),
    507045: _core("ACL_ERROR_RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW", "a vector core wrote out of bounds"),
    507046: _hang("ACL_ERROR_RT_STREAM_SYNC_TIMEOUT", "the stream did not come to its end in time"),
    507047: _hang("ACL_ERROR_RT_EVENT_SYNC_TIMEOUT", "an event was not reached in time"),
    507048: _hang("ACL_ERROR_RT_FFTS_PLUS_TIMEOUT", "a mixed kernel did not end in time"),
    507049: _core("ACL_ERROR_RT_FFTS_PLUS_EXCEPTION", "a mixed kernel raised an exception"),
    507050: _core("ACL_ERROR_RT_FFTS_PLUS_TRAP_EXCEPTION", "a mixed kernel ran into a trap"),
    507053: _device("ACL_ERROR_RT_DEVICE_MEM_ERROR", "the device's memory has an uncorrectable error"),
    507054: _device("ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR", "the device's memory has an ECC error"),
    507899: _device("ACL_ERROR_RT_DRV_INTERNAL_ERROR", "internal error of the driver"),
    507901: _device("ACL_ERROR_RT_SOCKET_CLOSE", "the connection between host and device is closed"),
}

ACLNN_CODES: Mapping[int, Code] = {
    161001: Code("ACLNN_ERR_PARAM_NULLPTR", "a required argument is missing", Blame.DEFINITION),
    161002: Code("ACLNN_ERR_PARAM_INVALID", "the definition does not take these arguments", Blame.DEFINITION),
    361001: Code("ACLNN_ERR_RUNTIME_ERROR", "a call of the runtime failed", Blame.HARNESS),
    561000: Code("ACLNN_ERR_INNER", "inner error of the operator's interface", Blame.HARNESS),
    561001: Code(
        "ACLNN_ERR_INNER_INFERSHAPE_ERROR", "the operator could not infer its output's shape", Blame.DEFINITION
    ),
    561002: Code("ACLNN_ERR_INNER_TILING_ERROR", "the tiling function failed", Blame.DEFINITION),
    561003: Code(
        "ACLNN_ERR_INNER_FIND_KERNEL_ERROR", "there is no kernel for these element types and formats", Blame.DEFINITION
    ),
}


class AclError(Exception):
    """A function returned ``code``; ``words`` is what the runtime says about it."""

    def __init__(self, function: str, code: int, words: str = "") -> None:
        super().__init__(f"{function} returned {code}")
        self.function, self.code, self.words = function, code, words


def is_memory(code: int) -> bool:
    """Whether the device's memory is used up."""
    return code in CODES and CODES[code].blame is Blame.MEMORY


class Judged(NamedTuple):
    """What becomes of the sample, the sentence for the user, and whether the device has to be looked at."""

    outcome: Outcome
    rule: str
    message: str
    probe: bool


def judge(code: int, phase: Phase) -> Judged:
    """What ``code`` in ``phase`` says. Codes that are not documented are never the model's fault."""
    known = CODES.get(code) or ACLNN_CODES.get(code)
    name, meaning = (known.name, known.meaning) if known else ("undocumented", "an unknown code")
    blame = known.blame if known else Blame.HARNESS
    message = f"{meaning} ({name} {code})"
    # the blame alone is not enough: only in this phase a kernel of the candidate runs
    if phase is Phase.LAUNCH and blame is Blame.KERNEL_FAULT:
        return Judged(Outcome.RULE_VIOLATION, "device_exception", message, True)
    if phase is Phase.LAUNCH and blame is Blame.KERNEL_HANG:
        return Judged(Outcome.TIMEOUT, "device_timeout", message, True)
    if phase is Phase.TILING and blame is Blame.DEFINITION:
        return Judged(Outcome.LAUNCH_ERROR, "operator_definition", message, False)
    if phase is Phase.WORKSPACE and blame is Blame.MEMORY:
        return Judged(
            Outcome.OUT_OF_MEMORY, "workspace", f"for the workspace that the operator asks for: {message}", False
        )
    return Judged(Outcome.INFRA_ERROR, "infra_error", message, blame is not Blame.HARNESS or phase is Phase.LAUNCH)
