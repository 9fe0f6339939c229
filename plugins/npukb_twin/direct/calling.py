"""How a host function is called: which function, and what each of its arguments is for a case of the task.

A file ``launch.yaml`` beside the candidate's sources says both; without it the function that launches something is
called, and its parameters are known by their names: inputs, outputs and attributes of the task, ``stream``, the number
of blocks, a workspace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from npukb_twin.direct.source import HostFunction, functions
from npukernelbench.judge.launchfile import TYPE_NUMBERS, WORKSPACE_BYTES, answer, read_launch_file, wrong
from npukernelbench.nouns import LAUNCH_FILE, Case, Diagnostic, Task, TensorCase, TensorShape
from npukernelbench.tasks.select import fold

__all__ = ["Call", "Place", "call_of", "first_free", "places_of", "values_of", "workspace_bytes"]

#: Where device memory begins, and what lies between two tensors.
# no system puts anything there by itself, and launches map their memory at these very addresses
FIRST_ADDRESS, _STEP = 1 << 44, 64 << 20
_BLOCKS = frozenset({"blocks", "blockdim", "blocknum", "numblocks", "corenum", "aivnum", "blockdims"})


@dataclass(frozen=True, slots=True)
class Call:
    """The function, and what each argument is: a name of the task's, ``stream``, ``blocks``, ``workspace``, a question
    such as ``x.size``, or a number.
    """

    function: HostFunction
    arguments: tuple[str | int | float | bool, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor of the case in device memory. ``name`` is the task's, ``name[i]`` in a list."""

    name: str
    tensor: TensorShape
    address: int


def call_of(files: Mapping[str, str], task: Task) -> Call | Diagnostic:
    """Which function is called with what, or why that cannot be told."""
    asked = read_launch_file(files.get(LAUNCH_FILE, ""), task)
    if isinstance(asked, Diagnostic):
        return asked
    function = _chosen([*functions(files)], asked.function, task)
    if isinstance(function, Diagnostic):
        return function
    if asked.arguments is not None:
        return Call(function, tuple(asked.arguments))
    by_name = {fold(name): name for name in (*_tensors(task), *(spec.name for spec in task.attributes))}
    # These words are about the launch, also where the task calls something so.
    by_name |= dict.fromkeys(_BLOCKS, "blocks") | {"stream": "stream", "aclstream": "stream", "workspace": "workspace"}
    tensors = [by_name.get(fold(parameter)) for parameter in function.parameters]
    if None in tensors:
        what = function.parameters[tensors.index(None)] or "without a name"
        return wrong(
            f"the parameter {what} of {function.name} is none of the task's",
            f"Say in {LAUNCH_FILE} what every argument is: arguments: [stream, {', '.join(_tensors(task))}].",
            function.file,
            function.line,
        )
    return Call(function, tuple(name for name in tensors if name is not None))


def _chosen(known: Sequence[HostFunction], wanted: str, task: Task) -> HostFunction | Diagnostic:
    launching = [host_function for host_function in known if host_function.launches]
    # A template is called by what gives it its arguments, where something does.
    launching = [one for one in launching if not one.template] or launching
    plain, _, arguments = wanted.partition("<")
    if wanted:
        fitting = [
            host_function
            for host_function in known
            if host_function.name == plain or host_function.name.endswith(f"::{plain}")
        ]
    else:
        # The first usual name that there is; without one, whatever launches.
        usual = (f"{task.kernel}_do", f"{task.kernel}_launch", f"launch_{task.kernel}", "launch", task.kernel)
        fitting = [
            host_function
            for name in usual
            for host_function in launching
            if host_function.name.rpartition("::")[2] == name
        ][:1] or launching
    if len(fitting) == 1 and fitting[0].template and not arguments:
        [only] = fitting
        remedy = f"Say its arguments in {LAUNCH_FILE}: function: {only.name}<float>."
        return wrong(f"{only.name} is a template", remedy, only.file, only.line)
    if len(fitting) == 1:
        return replace(fitting[0], name=f"{fitting[0].name}<{arguments}") if arguments else fitting[0]
    listed = ", ".join(host_function.name for host_function in (fitting or launching or known)[:8]) or "none"
    what = f"the function {wanted}" if wanted else "one function that launches a kernel"
    return wrong(f"the sources define not {what} but these: {listed}", f"Name it in {LAUNCH_FILE}: function: NAME.")


def _tensors(task: Task) -> tuple[str, ...]:
    return (*(spec.name for spec in task.inputs), *(spec.name for spec in task.outputs))


def places_of(task: Task, case: Case) -> tuple[Place, ...]:
    """Every tensor of the case at its address: inputs, then outputs that have memory of their own."""
    places: list[Place] = []

    def put(name: str, tensor: TensorShape) -> None:
        last = places[-1] if places else None
        # a step or more stays free, so that an address past the end of a tensor is not in the next
        room = 0 if last is None else (last.tensor.nbytes // _STEP + 2) * _STEP
        places.append(Place(name, tensor, FIRST_ADDRESS if last is None else last.address + room))

    for spec in task.inputs:
        value = case.inputs[spec.name]
        if isinstance(value, TensorCase):
            put(spec.name, value.tensor)
        for index, item in enumerate(value if isinstance(value, tuple) else ()):
            put(f"{spec.name}[{index}]", item.tensor)
    for output in task.outputs:
        declared = case.outputs[output.name]
        if output.alias_of is None and isinstance(declared, TensorShape):
            put(output.name, declared)
        elif output.alias_of is None and isinstance(declared, tuple):
            for index, tensor in enumerate(declared):
                put(f"{output.name}[{index}]", tensor)
    return tuple(places)


def first_free(places: Sequence[Place]) -> int:
    """The address from which on nothing lies."""
    if not places:
        return FIRST_ADDRESS
    return places[-1].address + (places[-1].tensor.nbytes // _STEP + 2) * _STEP


def values_of(call: Call, task: Task, case: Case, places: Sequence[Place], blocks: int) -> Iterator[str]:
    """A line per argument, as the runner reads it. The workspace lies where :func:`first_free` says."""
    aliases = {output.name: output.alias_of for output in task.outputs if output.alias_of is not None}
    for word in call.arguments:
        yield f"given {_value(word, aliases, case, places, blocks)}"


def _value(
    word: str | int | float | bool, aliases: Mapping[str, str], case: Case, places: Sequence[Place], blocks: int
) -> str:
    if not isinstance(word, str):
        return f"real {word!r}" if isinstance(word, float) else f"integer {int(word)}"
    if word in ("stream", "null"):
        return word
    if word == "blocks":
        return f"integer {blocks}"
    if word == "workspace":
        return f"tensor {first_free(places)} 0 1 {WORKSPACE_BYTES}"
    asked = answer(word, {place.name: place.tensor for place in places})
    if asked is not None:
        return f"integer {asked}"
    if word in case.attributes:
        return _attribute(case.attributes[word])
    name = aliases.get(word, word)
    named = [place for place in places if place.name == name]
    several = [place for place in places if place.name.startswith(f"{name}[")]
    if several:
        return f"tensors {len(several)} {' '.join(map(_tensor, several))}"
    return f"tensor {_tensor(named[0])}" if named else "null"


def _attribute(value: object) -> str:
    if isinstance(value, str):
        # in hexadecimal: a text may hold blanks and line breaks, which part words and arguments
        return f"text {value.encode().hex()}"
    if isinstance(value, tuple):
        kind = "reals" if any(isinstance(item, float) for item in value) else "integers"
        return " ".join((kind, *map(repr, value)))
    return f"real {value!r}" if isinstance(value, float) else f"integer {int(value)}"  # type: ignore[call-overload]


def _tensor(place: Place) -> str:
    shape = place.tensor.shape
    return " ".join(map(str, (place.address, TYPE_NUMBERS[place.tensor.dtype], len(shape), *shape)))


def workspace_bytes(task: Task) -> int:
    """Bytes of the workspace that a host function may ask for."""
    return max(task.workspace_bytes, WORKSPACE_BYTES)
