"""The harness's nouns: frozen data, no behaviour.

``Task`` → ``Case`` → ``Prompt`` → ``Completion`` → ``Candidate`` → ``Artifact`` → ``Observation`` → ``Verdict`` →
``Sample``

The names load lazily, module by module: a list of tasks needs neither samples nor traces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench.lazy import lazily, names_of

if TYPE_CHECKING:
    from npukernelbench.nouns.dtypes import DType as DType
    from npukernelbench.nouns.evidence import Analysis as Analysis
    from npukernelbench.nouns.evidence import CoreCost as CoreCost
    from npukernelbench.nouns.evidence import Diagnostic as Diagnostic
    from npukernelbench.nouns.evidence import LineCost as LineCost
    from npukernelbench.nouns.evidence import Profile as Profile
    from npukernelbench.nouns.evidence import Span as Span
    from npukernelbench.nouns.evidence import Suggestion as Suggestion
    from npukernelbench.nouns.execution import Allocation as Allocation
    from npukernelbench.nouns.execution import Artifact as Artifact
    from npukernelbench.nouns.execution import CompileRequest as CompileRequest
    from npukernelbench.nouns.execution import CompileResult as CompileResult
    from npukernelbench.nouns.execution import Observation as Observation
    from npukernelbench.nouns.execution import RunRequest as RunRequest
    from npukernelbench.nouns.execution import Touched as Touched
    from npukernelbench.nouns.execution import named_tensors as named_tensors
    from npukernelbench.nouns.hidden import Extent as Extent
    from npukernelbench.nouns.hidden import HiddenAxis as HiddenAxis
    from npukernelbench.nouns.hidden import HiddenForm as HiddenForm
    from npukernelbench.nouns.hidden import HiddenRange as HiddenRange
    from npukernelbench.nouns.hidden import ValueClass as ValueClass
    from npukernelbench.nouns.outcomes import PROMPTED_TRACKS as PROMPTED_TRACKS
    from npukernelbench.nouns.outcomes import Outcome as Outcome
    from npukernelbench.nouns.outcomes import Owner as Owner
    from npukernelbench.nouns.outcomes import Severity as Severity
    from npukernelbench.nouns.outcomes import Stage as Stage
    from npukernelbench.nouns.outcomes import Tier as Tier
    from npukernelbench.nouns.outcomes import Track as Track
    from npukernelbench.nouns.sample import INCLUDE_FOLDER as INCLUDE_FOLDER
    from npukernelbench.nouns.sample import LAUNCH_FILE as LAUNCH_FILE
    from npukernelbench.nouns.sample import CallStatus as CallStatus
    from npukernelbench.nouns.sample import Candidate as Candidate
    from npukernelbench.nouns.sample import CaseResult as CaseResult
    from npukernelbench.nouns.sample import Completion as Completion
    from npukernelbench.nouns.sample import FinishReason as FinishReason
    from npukernelbench.nouns.sample import Message as Message
    from npukernelbench.nouns.sample import Prompt as Prompt
    from npukernelbench.nouns.sample import Sample as Sample
    from npukernelbench.nouns.sample import SampleKey as SampleKey
    from npukernelbench.nouns.sample import TokenUsage as TokenUsage
    from npukernelbench.nouns.sample import Tool as Tool
    from npukernelbench.nouns.sample import ToolCall as ToolCall
    from npukernelbench.nouns.sample import ToolResult as ToolResult
    from npukernelbench.nouns.sample import Verdict as Verdict
    from npukernelbench.nouns.shard import Shard as Shard
    from npukernelbench.nouns.task import AttributeSpec as AttributeSpec
    from npukernelbench.nouns.task import AttributeValue as AttributeValue
    from npukernelbench.nouns.task import Case as Case
    from npukernelbench.nouns.task import CaseInput as CaseInput
    from npukernelbench.nouns.task import Core as Core
    from npukernelbench.nouns.task import Golden as Golden
    from npukernelbench.nouns.task import InputSpec as InputSpec
    from npukernelbench.nouns.task import OutputSpec as OutputSpec
    from npukernelbench.nouns.task import Presence as Presence
    from npukernelbench.nouns.task import Task as Task
    from npukernelbench.nouns.task import TensorCase as TensorCase
    from npukernelbench.nouns.task import TensorShape as TensorShape
    from npukernelbench.nouns.task import Tolerance as Tolerance
    from npukernelbench.nouns.task import ToleranceLimits as ToleranceLimits
    from npukernelbench.nouns.task import ValueSpec as ValueSpec
    from npukernelbench.nouns.trace import Operand as Operand
    from npukernelbench.nouns.trace import Recorded as Recorded
    from npukernelbench.nouns.trace import Recording as Recording
    from npukernelbench.nouns.trace import Step as Step
    from npukernelbench.nouns.trace import Watched as Watched

#: All public names of each module; the modules do not list them again.
_MODULES = {
    "dtypes": ("DType",),
    "evidence": ("Analysis", "CoreCost", "Diagnostic", "LineCost", "Profile", "Span", "Suggestion"),
    "execution": (
        "Allocation",
        "Artifact",
        "CompileRequest",
        "CompileResult",
        "Observation",
        "RunRequest",
        "Touched",
        "named_tensors",
    ),
    "hidden": ("Extent", "HiddenAxis", "HiddenForm", "HiddenRange", "ValueClass"),
    "outcomes": ("Outcome", "Owner", "PROMPTED_TRACKS", "Severity", "Stage", "Tier", "Track"),
    "sample": (
        "CallStatus",
        "Candidate",
        "CaseResult",
        "Completion",
        "FinishReason",
        "INCLUDE_FOLDER",
        "LAUNCH_FILE",
        "Message",
        "Prompt",
        "Sample",
        "SampleKey",
        "TokenUsage",
        "Tool",
        "ToolCall",
        "ToolResult",
        "Verdict",
    ),
    "shard": ("Shard",),
    "task": (
        "AttributeSpec",
        "AttributeValue",
        "Case",
        "CaseInput",
        "Core",
        "Golden",
        "InputSpec",
        "OutputSpec",
        "Presence",
        "Task",
        "TensorCase",
        "TensorShape",
        "Tolerance",
        "ToleranceLimits",
        "ValueSpec",
    ),
    "trace": ("Operand", "Recorded", "Recording", "Step", "Watched"),
}
__all__ = names_of(_MODULES)
__getattr__ = lazily(__name__, _MODULES)
