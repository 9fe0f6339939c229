"""The harness's nouns: frozen data, no behaviour.

``Task`` → ``Case`` → ``Prompt`` → ``Completion`` → ``Candidate`` → ``Artifact`` → ``Observation`` → ``Verdict`` →
``Sample``
"""

from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.execution import (
    Artifact,
    CompileRequest,
    CompileResult,
    Diagnostic,
    Observation,
    Profile,
    RunRequest,
    Severity,
)
from npukernelbench.nouns.outcomes import Outcome, Owner, Stage, Tier, Track
from npukernelbench.nouns.sample import (
    Candidate,
    CaseResult,
    Completion,
    FinishReason,
    Message,
    Prompt,
    Sample,
    SampleKey,
    TokenUsage,
    Verdict,
)
from npukernelbench.nouns.task import (
    AttributeSpec,
    AttributeValue,
    Case,
    CaseInput,
    Core,
    Golden,
    InputSpec,
    OutputSpec,
    Presence,
    Task,
    TensorCase,
    TensorShape,
    Tolerance,
    ToleranceLimits,
    ValueSpec,
)

__all__ = [
    "Artifact",
    "AttributeSpec",
    "AttributeValue",
    "Candidate",
    "Case",
    "CaseInput",
    "CaseResult",
    "CompileRequest",
    "CompileResult",
    "Completion",
    "Core",
    "DType",
    "Diagnostic",
    "FinishReason",
    "Golden",
    "InputSpec",
    "Message",
    "Observation",
    "Outcome",
    "OutputSpec",
    "Owner",
    "Presence",
    "Profile",
    "Prompt",
    "RunRequest",
    "Sample",
    "SampleKey",
    "Severity",
    "Stage",
    "Task",
    "TensorCase",
    "TensorShape",
    "Tier",
    "TokenUsage",
    "Tolerance",
    "ToleranceLimits",
    "Track",
    "ValueSpec",
    "Verdict",
]
