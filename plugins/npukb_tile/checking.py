"""A program against a task: its interface, its budgets on every case, and what it computes on some of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from npukb_tile.fault import ProgramError
from npukb_tile.interpret import interpret
from npukb_tile.invariants import check_unified_buffer
from npukb_tile.ir import Kind, Program, TensorRole
from npukb_tile.launching import Facts, Setting, numbers_of, plan
from npukb_tile.limits import MOST_ITEMS, MOST_VALUES
from npukb_tile.lowering import lower_dynamic, lower_parts
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Case, Core, Presence, Task, TensorCase, TensorShape, ToleranceLimits

__all__ = [
    "MOST_ELEMENTS",
    "CaseCheck",
    "case_attributes",
    "case_facts",
    "check_budgets",
    "check_interface",
    "check_values",
    "input_elements",
    "is_small",
    "run_case",
]

#: Elements up to which the interpreter is asked: it takes some milliseconds per tile.
MOST_ELEMENTS = 300_000


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """One case: elements that are wrong, and why the first of them is; "" if none."""

    case: str
    wrong: str


def case_facts(program: Program, case: Case) -> dict[str, Facts]:
    """Shapes and element types of a case's inputs."""
    facts = {}
    for tensor in program.of_role(TensorRole.INPUT):
        given = case.inputs.get(tensor.name)
        # An absent input has no facts; the program asks whether it is there.
        if given is None and tensor.optional:
            continue
        if isinstance(given, tuple) and given and tensor.listed:
            facts[tensor.name] = Facts((), given[0].tensor.dtype.value)
            continue
        if not isinstance(given, TensorCase) or tensor.listed:
            raise ProgramError(
                "interface",
                f"{tensor.name} is {'no list' if tensor.listed else 'no single tensor'} in case {case.id}",
                line=tensor.line,
                remedy="x: Inputs[float32] is a list of tensors, x: Input[float32] one; x: Input[float32] | None may "
                "be absent",
            )
        facts[tensor.name] = Facts(given.tensor.shape, given.tensor.dtype.value, _literal(given))
    return facts


def _literal(given: TensorCase) -> tuple[int, ...] | None:
    """The values of an input that a case states."""
    values = given.values.args.get("values") if given.values.kind == "literal" else None
    if not isinstance(values, list | tuple) or len(values) > MOST_VALUES:
        return None
    stated = tuple(value for value in values if isinstance(value, int))
    # Floats among the values: the host function knows whole numbers only.
    return stated if len(stated) == len(values) else None


def case_attributes(program: Program, case: Case) -> dict[str, Setting]:
    """Values of the program's attributes in a case."""
    values: dict[str, Setting] = {
        held.name: held.default for held in program.attributes.values() if held.default is not None
    }
    for name, held in program.attributes.items():
        value = case.attributes.get(name, values.get(name))
        if isinstance(value, list | tuple):
            value = tuple(int(item) for item in value if isinstance(item, int))
        fits = {Kind.TEXT: str, Kind.INTS: tuple}.get(held.kind, bool | int | float)
        if isinstance(value, tuple) and len(value) > MOST_ITEMS:
            raise ProgramError("limit", f"{name} has {len(value)} integers, at most {MOST_ITEMS}", line=held.line)
        if value is None or not isinstance(value, fits):
            what = {Kind.TEXT: "text", Kind.INTS: "list of integers"}.get(held.kind, "number")
            raise ProgramError("interface", f"case {case.id} has no {what} for the attribute {name}", line=held.line)
        values[name] = value
    return values


def check_interface(program: Program, task: Task, cases: tuple[Case, ...] | None = None) -> None:
    """Names, element types and order are the task's. With ``cases`` the program need not take other types than
    theirs.
    """
    # The line of the signature: the first tensor stands there.
    line = next(iter(program.tensors.values())).line
    if program.name != task.kernel:
        raise ProgramError("interface", f"the kernel is called {program.name}, the task wants {task.kernel}", line=line)
    for role, specs in ((TensorRole.INPUT, task.inputs), (TensorRole.OUTPUT, task.outputs)):
        # In order: a kernel's arguments are told apart by their place.
        mine, theirs = [t.name for t in program.of_role(role)], [spec.name for spec in specs]
        if mine != theirs:
            raise ProgramError(
                "interface", f"{role.value}s are {', '.join(mine)}, the task has {', '.join(theirs)}", line=line
            )
    _check_memory(program, task)
    if cases is not None:
        _check_cores(program, task)
    for name in program.attributes:
        if name not in {spec.name for spec in task.attributes}:
            raise ProgramError("interface", f"the task has no attribute {name}", line=program.attributes[name].line)
    absent = [spec.name for spec in task.attributes if spec.name not in program.attributes]
    # A definition without them could not be called; a kernel for one case needs no definition.
    if absent and cases is None:
        raise ProgramError(
            "interface",
            f"the task also has the attributes {', '.join(absent)}",
            line=line,
            remedy="declare every attribute, also those that the kernel does not use",
        )
    for spec in task.inputs if cases is None else ():
        tensor = program.tensors[spec.name]
        # A dynamic kernel is judged on types that no known case shows.
        missing = {dtype.value for dtype in spec.dtypes} - set(program.members(tensor.dtype))
        if missing:
            raise ProgramError(
                "interface",
                f"{spec.name} may also be {', '.join(sorted(missing))}",
                line=tensor.line,
                remedy="name every element type in a type variable: T = float16, float32",
            )


def _check_cores(program: Program, task: Task) -> None:
    """A static kernel is started on the cores of its task; a dynamic one says itself what it wants."""
    if task.core is Core.CUBE and not program.launch.cube:
        detail, remedy = "the task is for cube cores alone", "launch(cube_cores=…)"
    elif task.core is Core.VECTOR and program.multipliers:
        detail, remedy = "the task is for vector cores alone, and this multiplies matrices", "tiles and row_sum"
    else:
        return
    raise ProgramError("interface", detail, line=program.launch.line, remedy=remedy)


def _check_memory(program: Program, task: Task) -> None:
    """Inputs that may be absent, and outputs that begin as something, are those of the task."""
    for spec in task.inputs:
        tensor = program.tensors[spec.name]
        if tensor.optional is not (spec.presence is Presence.OPTIONAL):
            raise ProgramError(
                "interface",
                f"{spec.name} {'is always given' if tensor.optional else 'may be absent'}",
                line=tensor.line,
                remedy=f"{spec.name}: Input[…]" + ("" if tensor.optional else " | None"),
            )
    for output in task.outputs:
        tensor = program.tensors[output.name]
        truth = output.alias_of or ("0" if output.zeroed else "")
        # A program may make no use of what an output holds, but it may not count on what is not there.
        if tensor.begins not in ("", truth):
            raise ProgramError(
                "interface",
                f"{output.name} {'holds nothing known' if not truth else f'begins as {truth}'} before the launch",
                line=tensor.line,
                remedy=f"{output.name}: Output[{tensor.dtype}{', ' + truth if truth else ''}]",
            )


def check_budgets(program: Program, cases: Iterable[Case], *, dynamic: bool = True) -> int:
    """The most bytes of the unified buffer that a case takes. ProgramError if a case does not fit or cannot be cut,
    and where the program is to be ``dynamic``, if it cannot be lowered for all cases at once.
    """
    most = 0
    for case in cases:
        attributes = case_attributes(program, case)
        planned = plan(program, case_facts(program, case), attributes)
        names = numbers_of(attributes, planned)
        for name, shape in planned.shapes.items():
            declared = case.outputs.get(name)
            if isinstance(declared, TensorShape) and declared.shape != shape:
                raise ProgramError(
                    "output_shape",
                    f"{name} is {list(shape)}, case {case.id} has {list(declared.shape)}",
                    line=program.launch.line,
                )
        # Without numbers: they decide which copies are plain, not how much memory there is.
        most = max(most, check_unified_buffer(lower_parts(program, planned.types, {}), planned, names))
    if dynamic:
        lower_dynamic(program)
    return most


def is_small(case: Case, most: int = MOST_ELEMENTS) -> bool:
    """Whether the interpreter can be asked."""
    return input_elements(case) <= most


def input_elements(case: Case) -> int:
    """Elements of all inputs, those in lists too."""
    given = [
        tensor_case for item in case.inputs.values() for tensor_case in (item if isinstance(item, tuple) else (item,))
    ]
    return sum(item.tensor.size for item in given if item)


def run_case(program: Program, task: Task, case: Case, seed: int = 0, steps: int = 10**12) -> dict[str, Any]:
    """The outputs that the interpreter finds for a case."""
    from npukernelbench.tasks import generate_inputs

    inputs = generate_inputs(task, case, seed)
    arrays: dict[str, Any] = {name: value for name, value in inputs.items() if value is not None}
    return interpret(program, arrays, case_attributes(program, case), steps)


def check_values(program: Program, task: Task, case: Case, seed: int = 0) -> CaseCheck:
    """Run the interpreter on a case and compare with the reference as the judge would."""
    from npukernelbench.judge import check
    from npukernelbench.reference.evaluate import expected_outputs
    from npukernelbench.tasks import generate_inputs

    inputs = generate_inputs(task, case, seed)
    arrays: dict[str, Any] = {name: value for name, value in inputs.items() if value is not None}
    expected = expected_outputs(task, case, inputs)
    outputs = interpret(program, arrays, case_attributes(program, case))
    policies = {"pcl": check.pcl, "cann": check.cann, "ulp": check.ulp}
    policies |= {"rounded": check.rounded, "allclose": check.allclose}
    policy = policies.get(task.tolerance.policy)
    if policy is None:
        raise UsageError(f"the interpreter knows no policy {task.tolerance.policy}")
    for name, actual in outputs.items():
        for part, made, wanted, declared in _parts(name, actual, expected[name], case.outputs[name]):
            limits: ToleranceLimits | None = task.tolerance.limits.get(declared.dtype)
            result = (policy if declared.dtype.is_float else check.exact)(made, wanted, declared.dtype, limits)
            if not result.passed:
                return CaseCheck(case.id, f"{part}: {result.reason}")
    return CaseCheck(case.id, "")


def _parts(name: str, actual: Any, wanted: Any, declared: Any) -> Iterator[tuple[str, Any, Any, TensorShape]]:
    """An output, or every tensor of a list of them: name, what was made, what is wanted, what it must be."""
    if isinstance(declared, TensorShape):
        yield name, actual, wanted, declared
        return
    for item, parts in enumerate(zip(actual, wanted, declared, strict=True)):
        yield f"{name}[{item}]", *parts
