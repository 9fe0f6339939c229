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
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _check_values(raw: dict[str, object]) -> dict[str, object]:
    parse_values(raw)
    return raw


_Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.+-]+$")]
_Text = Annotated[str, Field(min_length=1)]
#: A file or folder, several folders, or what makes the kernel of what.
_Golden = _Text | Annotated[list[_Text], Field(min_length=1)] | Annotated[dict[_Text, _Text], Field(min_length=1)]
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
    dtypes: Annotated[list[_DType], Field(min_length=1)]
    presence: Annotated[Presence, Field(strict=False)] = Presence.REQUIRED
    description: str = ""
    values: _Values | None = None
    values_for: dict[_DType, _Values] = {}


class OutputModel(_Model):
    """One output: ``dtype`` or ``dtype_like``, and ``shape_like`` unless every case states the shape.

    ``zeroed`` says that the operator's callers fill it with zeros first, as the source suite does.
    """

    name: _Identifier
    dtype: _DType | None = None
    dtype_like: str | None = None
    shape_like: str | None = None
    presence: Annotated[Presence, Field(strict=False)] = Presence.REQUIRED
    alias_of: str | None = None
    description: str = ""
    zeroed: bool = False


class AttributeModel(_Model):
    """One attribute. A default makes it optional in cases."""

    name: _Identifier
    type: Literal["int", "float", "bool", "str", "list_int", "list_float"]
    default: object = None
    description: str = ""


class InterfaceModel(_Model):
    """Inputs, attributes and outputs, in the order of the operator's definition."""

    inputs: list[InputModel]
    attributes: list[AttributeModel] = []
    outputs: Annotated[list[OutputModel], Field(min_length=1)]


class LimitsModel(_Model):
    """Absolute and relative limit."""

    atol: Annotated[float, Field(ge=0)]
    rtol: Annotated[float, Field(ge=0)]


class ToleranceModel(_Model):
    """The policy that judges float outputs, and its limits per output element type."""

    policy: _Label = "pcl"
    limits: dict[_DType, LimitsModel] = {}


class TensorModel(_Model):
    """One input tensor of a case."""

    shape: list[_Extent]
    dtype: _DType
    values: _Values | None = None


class OutputTensorModel(_Model):
    """Shape of one output tensor of a case; its type follows the interface unless given."""

    shape: list[_Extent]
    dtype: _DType | None = None


def _kind(value: object) -> str:
    return "list" if isinstance(value, list) else "absent" if value is None else "tensor"


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
    inputs: dict[str, _CaseInput] = {}
    attributes: dict[str, object] = {}
    outputs: dict[str, _CaseOutput] = {}
    profiles: Annotated[list[_Label], Field(min_length=1)] = ["full"]
    waivers: dict[str, _Text] = {}


class TaskModel(_Model):
    """A task file after its includes. ``waivers`` maps findings of ``npukb validate`` to the reason they are
    accepted."""

    name: _Identifier
    suite: _Label
    level: Annotated[int, Field(ge=1)]
    category: _Identifier
    version: Annotated[int, Field(ge=1)]
    tags: list[_Label] = []
    kernel: _Identifier
    core: Annotated[Core, Field(strict=False)] = Core.VECTOR
    summary: _Text
    description: str = ""
    formula: str = ""
    interface: InterfaceModel
    reference: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*(:[A-Za-z_]\w*)?$")]
    tolerance: ToleranceModel = ToleranceModel()
    workspace_bytes: Annotated[int, Field(ge=0)] = 0
    goldens: dict[Annotated[Track, Field(strict=False)], _Golden] | None = None
    cases: Annotated[list[CaseModel], Field(min_length=1)]
    hidden: HiddenModel | None = None
    waivers: dict[str, _Text] = {}


def json_schema() -> dict[str, object]:
    """JSON Schema of a task file, for editors. A file that includes others may leave to them what would be required."""
    schema: dict[str, Any] = TaskModel.model_json_schema()
    schema["properties"]["include"] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    schema["if"] = {"not": {"required": ["include"]}}
    schema["then"] = {"required": schema.pop("required")}
    return schema


def parse_model(document: Document) -> TaskModel:
    """The document as a model. TaskError names a wrong field with file:line:column, and lists the others."""
    try:
        return TaskModel.model_validate(document.value)
    except ValidationError as error:
        problems = [_Problem.of(document, item["loc"], item["type"], item["msg"]) for item in error.errors()]
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
