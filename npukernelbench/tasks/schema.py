"""The shape of ``task.yaml``: what may stand where, as pydantic models, and its JSON Schema.

Meaning that spans several fields (a case's inputs against the interface, resolved output shapes) is checked in
``load``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.nouns import Core, DType, Presence, Track
from npukernelbench.tasks.hidden_schema import HiddenModel
from npukernelbench.tasks.values import KINDS, parse_values
from npukernelbench.tasks.yaml import Document, Keys

__all__ = ["CaseModel", "InputModel", "OutputModel", "TaskModel", "TensorModel", "json_schema", "parse_model"]


class _Model(BaseModel):
    # What stands below a field is its description, for editors and for the page of reference.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


def _check_values(raw: dict[str, object]) -> dict[str, object]:
    parse_values(raw)
    return raw


_Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.+-]+$")]
_Text = Annotated[str, Field(min_length=1)]
#: A file or folder, several folders, or what makes the kernel of what.
_Golden = _Text | Annotated[list[_Text], Field(min_length=1)] | Annotated[dict[_Text, _Text], Field(min_length=1)]
# In strict mode pydantic takes no text for a member of an enumeration.
_DType = Annotated[DType, Field(strict=False)]
_Extent = Annotated[int, Field(ge=0)]
_Values = Annotated[
    dict[str, object],
    AfterValidator(_check_values),
    Field(
        description="A generator and its parameters",
        json_schema_extra={"minProperties": 1, "maxProperties": 1, "propertyNames": {"enum": list(KINDS)}},
    ),
]


class InputModel(_Model):
    """One input. ``values`` is how it is drawn; ``values_for`` replaces that for single element types."""

    name: _Identifier
    """Name of the kernel's parameter."""
    dtypes: Annotated[list[_DType], Field(min_length=1)]
    """Element types that a case may give it."""
    presence: Annotated[Presence, Field(strict=False)] = Presence.REQUIRED
    """``required``, ``optional`` (null where a case leaves it out) or ``dynamic`` (a list of tensors)."""
    description: str = ""
    """What it is, for a model."""
    values: _Values | None = None
    """How it is drawn."""
    values_for: dict[_DType, _Values] = {}
    """How it is drawn in single element types."""


class OutputModel(_Model):
    """One output: ``dtype`` or ``dtype_like``, and ``shape_like`` unless every case states the shape.

    ``zeroed`` says that the operator's callers fill it with zeros first, as the source suite does.
    """

    name: _Identifier
    """Name of the kernel's parameter."""
    dtype: _DType | None = None
    """Its element type."""
    dtype_like: str | None = None
    """The input whose element type it has."""
    shape_like: str | None = None
    """The input whose shape it has."""
    presence: Annotated[Presence, Field(strict=False)] = Presence.REQUIRED
    """``required``, or ``dynamic`` for a list of tensors."""
    alias_of: str | None = None
    """The input in whose memory it is: the operator works in place."""
    description: str = ""
    """What it is, for a model."""
    zeroed: bool = False
    """It is filled with zeros before the launch."""


class AttributeModel(_Model):
    """One attribute. A default makes it optional in cases."""

    name: _Identifier
    """Name in the operator's definition."""
    type: Literal["int", "float", "bool", "str", "list_int", "list_float"]
    """Its type."""
    default: object = None
    """Its value in cases that do not say one."""
    description: str = ""
    """What it is, for a model."""


class InterfaceModel(_Model):
    """Inputs, attributes and outputs, in the order of the operator's definition."""

    inputs: list[InputModel]
    """In the order of the operator's definition."""
    attributes: list[AttributeModel] = []
    """Numbers, texts and lists beside the tensors."""
    outputs: Annotated[list[OutputModel], Field(min_length=1)]
    """In the order of the operator's definition."""


class LimitsModel(_Model):
    """Absolute and relative limit."""

    atol: Annotated[float, Field(ge=0)]
    """Absolute limit."""
    rtol: Annotated[float, Field(ge=0)]
    """Relative limit."""


class ToleranceModel(_Model):
    """The policy that judges float outputs, and its limits per output element type."""

    policy: _Label = "pcl"
    """The numeric policy that judges, by name."""
    limits: dict[_DType, LimitsModel] = {}
    """Limits by element type of the output."""


class TensorModel(_Model):
    """One input tensor of a case."""

    shape: list[_Extent]
    """Its extents; empty for a single number without axes."""
    dtype: _DType
    """Its element type, one of the interface's."""
    values: _Values | None = None
    """How it is drawn in this case."""


class OutputTensorModel(_Model):
    """Shape of one output tensor of a case; its type follows the interface unless given."""

    shape: list[_Extent]
    """Its extents."""
    dtype: _DType | None = None
    """Its element type, where the interface does not decide it."""


def _kind(value: object) -> str:
    return "list" if isinstance(value, list) else "absent" if value is None else "tensor"


# With tags a mistake is reported for the form that was meant; else pydantic lists it for every member of the union.
_CaseInput = Annotated[
    Annotated[TensorModel, Tag("tensor")] | Annotated[list[TensorModel], Tag("list")] | Annotated[None, Tag("absent")],
    Discriminator(_kind),
]
_CaseOutput = Annotated[
    Annotated[OutputTensorModel, Tag("tensor")] | Annotated[list[OutputTensorModel], Tag("list")],
    Discriminator(_kind),
]


class CaseModel(_Model):
    """One case: a tensor, a list of tensors or null per input; attributes that differ from their defaults."""

    id: _Label
    """Unique in the task."""
    inputs: dict[str, _CaseInput] = {}
    """A tensor, a list of tensors or null, by input."""
    attributes: dict[str, object] = {}
    """Values by attribute."""
    outputs: dict[str, _CaseOutput] = {}
    """Shapes of outputs that are not ``shape_like``."""
    profiles: Annotated[list[_Label], Field(min_length=1)] = ["full"]
    """Groups that ``--tasks NAME:PROFILE`` takes: ``full``, ``cpu``, ``smoke`` or others."""
    waivers: dict[str, _Text] = {}
    """Reasons for findings of ``npukb validate`` that are right for this case."""


class TaskModel(_Model):
    """A task file after its includes. ``waivers`` maps findings of ``npukb validate`` to the reason they are
    accepted."""

    name: _Identifier
    """Unique; ``_``, ``-`` and case make no difference."""
    suite: _Label
    """Group that ``--tasks`` accepts."""
    level: Annotated[int, Field(ge=1)]
    """Group that ``--tasks`` accepts, as ``SUITE/levelN``."""
    category: _Identifier
    """Group that ``--tasks`` accepts."""
    version: Annotated[int, Field(ge=1)]
    """To be raised when a change to the task changes scores."""
    created: Annotated[str, Field(pattern=r"^(\d{4}-\d{2}-\d{2})?$")] = ""
    """Day on which the task was first published, as ``2026-11-21``."""
    tags: list[_Label] = []
    """Groups that ``--tasks`` accepts; ``elementwise`` has hidden cases without a section."""
    kernel: _Identifier
    """Name of the entry function."""
    core: Annotated[Core, Field(strict=False)] = Core.VECTOR
    """Cores that the kernel is launched on."""
    summary: _Text
    """The operator in a sentence, for a model."""
    description: str = ""
    """What else a model is told."""
    formula: str = ""
    """What is computed, in plain text."""
    interface: InterfaceModel
    """The kernel's parameters and attributes."""
    reference: Annotated[str, Field(pattern=r"^([A-Za-z_][\w.]*(:[A-Za-z_]\w*)?|[^:]+\.py:[A-Za-z_]\w*)$")]
    """The right answer: ``module.function`` of our own, ``package.module:function`` (installed or on
    ``PYTHONPATH``) or ``file.py:function`` relative to the task.
    """
    tolerance: ToleranceModel = ToleranceModel()
    """How far outputs may be off."""
    workspace_bytes: Annotated[int, Field(ge=0)] = 0
    """Scratch memory that the kernel may use on the static track."""
    goldens: dict[Annotated[Track, Field(strict=False)], _Golden] | None = None
    """Kernels that are right, by track."""
    cases: Annotated[list[CaseModel], Field(min_length=1)]
    """What kernels are judged on."""
    hidden: HiddenModel | None = None
    """How the shapes of hidden cases may vary."""
    waivers: dict[str, _Text] = {}
    """Reasons for findings of ``npukb validate`` that are right for the task."""


def json_schema() -> dict[str, object]:
    """JSON Schema of a task file, for editors. A file that includes others may leave to them what would be required."""
    schema: dict[str, Any] = TaskModel.model_json_schema()
    schema["properties"]["include"] = {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "Files, relative to this one, that are merged below it.",
    }
    schema["if"] = {"not": {"required": ["include"]}}
    schema["then"] = {"required": schema.pop("required")}
    return schema


def parse_model(document: Document) -> TaskModel:
    """The document as a model. TaskError names a wrong field with file:line:column, and lists the others."""
    try:
        return TaskModel.model_validate(document.value)
    except ValidationError as error:
        problems = [_Problem.of(document, item["loc"], item["type"], item["msg"]) for item in error.errors()]
    # A missing key often follows from a misspelt one, which is the better complaint.
    first, *others = sorted(problems, key=lambda item: (item.missing, str(item.location.path), item.location.line))
    more = "".join(f"\n  also {other}" for other in others)
    raise TaskError(first.message + more, location=first.location, field=first.field)


class _Problem:
    """One complaint of the model, put back to where the author wrote it."""

    def __init__(self, location: SourceLocation, field: str, message: str, missing: bool) -> None:
        self.location = location
        self.field = field
        self.message = message
        self.missing = missing

    @classmethod
    def of(cls, document: Document, loc: tuple[str | int, ...], kind: str, message: str) -> _Problem:
        keys: Keys = ()
        # pydantic's places have tags of unions among the keys, which are not in the file.
        for part in loc:
            if (*keys, part) in document.marks:
                keys = (*keys, part)
        named = (*keys, loc[-1]) if kind == "missing" else keys
        if kind == "extra_forbidden":
            message = "there is no such key"
        elif kind == "missing":
            message = "the key is missing"
        field = ".".join(str(part) for part in named)
        return cls(document.locate(keys), field, message[:1].lower() + message[1:], kind == "missing")

    def __str__(self) -> str:
        return f"{self.location}: {self.field}: {self.message}"
