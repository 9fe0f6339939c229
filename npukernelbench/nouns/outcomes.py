"""How far a sample came, how it ended, who is at fault, what proved it, how much a message matters: closed sets."""

from __future__ import annotations

from enum import Enum


class Stage(str, Enum):
    """The stages of one sample, in order; every stage has its own time-out and its own set of outcomes."""

    GENERATE = "generate"  # the model is asked
    EXTRACT = "extract"  # code is taken out of its answer
    GUARD = "guard"  # static checks before anything is compiled
    COMPILE = "compile"  # source to artifact
    RUN = "run"  # the artifact runs on one case
    CHECK = "check"  # raw outputs are compared with the reference
    PROFILE = "profile"  # time is predicted or measured
    DONE = "done"  # everything above succeeded

    @property
    def order(self) -> int:
        """Position on the way, 0 for the first stage."""
        return list(Stage).index(self)


class Severity(str, Enum):
    """How much a diagnostic matters: errors decide the verdict, warnings go into the report."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Owner(str, Enum):
    """Who is at fault for an outcome. Only ``MODEL`` outcomes count against a model."""

    MODEL = "model"
    TASK = "task"
    INFRA = "infra"
    USER = "user"
    NONE = "none"


class Outcome(str, Enum):
    """How a sample ended. See :attr:`owner` for who is at fault and :attr:`meaning` for a sentence on each."""

    OK = "ok"
    TRUNCATED = "truncated"
    NO_CODE = "no_code"
    GUARD_REJECTED = "guard_rejected"
    COMPILE_ERROR = "compile_error"
    LAUNCH_ERROR = "launch_error"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    RULE_VIOLATION = "rule_violation"
    WRONG_SHAPE = "wrong_shape"
    WRONG_DTYPE = "wrong_dtype"
    NON_FINITE = "non_finite"
    WRONG_VALUE = "wrong_value"
    NONDETERMINISTIC = "nondeterministic"
    CHEAT = "cheat"
    INFRA_ERROR = "infra_error"
    FILTERED = "filtered"
    SKIPPED = "skipped"

    @property
    def owner(self) -> Owner:
        """Who is at fault for this outcome."""
        if self is Outcome.OK:
            return Owner.NONE
        if self in (Outcome.INFRA_ERROR, Outcome.FILTERED):
            return Owner.INFRA
        if self is Outcome.SKIPPED:
            return Owner.USER
        # All others, so that a new outcome counts against a model until it is said otherwise.
        return Owner.MODEL

    @property
    def meaning(self) -> str:
        """One sentence for reports and documentation."""
        return _MEANINGS[self]


_MEANINGS: dict[Outcome, str] = {
    Outcome.OK: "The kernel compiled, obeyed the hardware's rules and computed the right values.",
    Outcome.TRUNCATED: "The answer was cut off at the token limit before the kernel was complete.",
    Outcome.NO_CODE: "The answer holds no kernel source.",
    Outcome.GUARD_REJECTED: "A static guard refused the source before compiling it.",
    Outcome.COMPILE_ERROR: "The source does not compile.",
    Outcome.LAUNCH_ERROR: "The kernel compiled but cannot be launched: wrong entry or bad launch numbers.",
    Outcome.CRASH: "The kernel ended by a signal.",
    Outcome.TIMEOUT: "The kernel or its compilation did not end in time.",
    Outcome.OUT_OF_MEMORY: "The kernel or its compilation needed more memory than allowed.",
    Outcome.RULE_VIOLATION: "The kernel broke a hardware rule: on a device it would fault, hang or corrupt data.",
    Outcome.WRONG_SHAPE: "An output has the wrong shape.",
    Outcome.WRONG_DTYPE: "An output has the wrong data type.",
    Outcome.NON_FINITE: "An output has NaN or infinity where the reference does not, or the other way round.",
    Outcome.WRONG_VALUE: "An output differs from the reference by more than the task's tolerance.",
    Outcome.NONDETERMINISTIC: "Two runs on the same input gave different outputs.",
    Outcome.CHEAT: "The outputs were not computed by the kernel from its inputs.",
    Outcome.INFRA_ERROR: "The harness or its surroundings failed; this says nothing about the kernel.",
    Outcome.FILTERED: "A content filter of the server withheld the answer; this says nothing about the model.",
    Outcome.SKIPPED: "The sample was left out on request.",
}


class Tier(str, Enum):
    """What proved a result. A number of one tier never stands in a column of another."""

    TWIN = "twin"  # the CPU twin: verdicts predicted from a machine model
    NPU = "npu"  # a real device
    CANN_CPU = "cann-cpu"  # the vendor's own run of kernels on the host: values only, no time
    CANN_SIM = "cann-sim"  # the vendor's simulator of a device: its times are predictions


class Track(str, Enum):
    """What the model must write and what it may know."""

    STATIC = "static"  # device code for one case; sizes may be hard-coded
    DYNAMIC = "dynamic"  # host and device code for all cases, public and hidden
    LAUNCH = "launch"  # device code with a host function that launches it itself, for all cases

    @property
    def per_case(self) -> bool:
        """Whether an answer is for one case; otherwise it is for all of them."""
        return self is Track.STATIC


#: The tracks that prompts ask for answers of.
PROMPTED_TRACKS = (Track.STATIC, Track.DYNAMIC, Track.LAUNCH)
