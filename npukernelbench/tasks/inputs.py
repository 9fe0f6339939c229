"""Drawing a case's inputs. Equal task, case and seed give equal bytes; every argument has a generator of its own, so
that adding one changes no other.

Values are drawn in at least single precision and then rounded to the element type, which may take them past the
stated bounds by half a unit in the last place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.nouns import AttributeValue, Case, DType, Task, TensorCase
from npukernelbench.seed import derive
from npukernelbench.tasks.special import sprinkle

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Argument, Array

__all__ = ["draw", "generate_inputs"]

_Args = Mapping[str, AttributeValue]


def generate_inputs(task: Task, case: Case, seed: int) -> dict[str, Argument]:
    """The inputs of one case by name, in interface order, C-contiguous and of the case's shapes and element types.

    A tensor list gives a list, an absent optional input None. TaskError when the element type cannot hold the stated
    values.
    """
    seed = derive(seed, "salt", case.salt) if case.salt else seed
    inputs: dict[str, Argument] = {}
    for spec in task.inputs:
        value = case.inputs.get(spec.name)
        if value is None:
            inputs[spec.name] = None
        elif isinstance(value, TensorCase):
            inputs[spec.name] = _argument(task, case, value, seed, spec.name, 0)
        else:
            inputs[spec.name] = [
                _argument(task, case, item, seed, spec.name, index) for index, item in enumerate(value)
            ]
    return inputs


def draw(tensor: TensorCase, seed: int) -> Array:
    """One tensor. ValueError when the element type cannot hold the values."""
    rng = np.random.Generator(np.random.SFC64(seed))
    kind, args = tensor.values.kind, tensor.values.args
    generator = _GENERATORS.get(kind)
    if generator is None:
        raise ValueError(f"there is no generator {kind!r}; there are {', '.join(_GENERATORS)}")
    return generator(rng, args, tensor.tensor.shape, tensor.tensor.dtype)


def _argument(task: Task, case: Case, tensor: TensorCase, seed: int, name: str, index: int) -> Array:
    try:
        return draw(tensor, derive(seed, "argument", task.name, case.id, name, index))
    except ValueError as error:
        raise TaskError(
            str(error), location=SourceLocation(task.path), field=f"cases.{case.id}.inputs.{name}.values"
        ) from error


def _uniform(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    low, high = _number(args, "low"), _number(args, "high")
    return _fractions(lambda real: rng.random(shape, dtype=real) * real(high - low) + real(low), dtype)


def _normal(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    mean, std = _number(args, "mean"), _number(args, "std")
    return _fractions(lambda real: rng.standard_normal(shape, dtype=real) * real(std) + real(mean), dtype)


def _integers(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    low, high = int(_number(args, "low")), int(_number(args, "high"))
    wide: Any = np.uint64 if dtype is DType.UINT64 else np.int64
    if dtype.is_exact:
        _refuse_loss(low, dtype)
        _refuse_loss(high - 1, dtype)
    return _cast(np.asarray(rng.integers(low, high, size=shape, dtype=wide)), dtype)


def _bernoulli(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    return _cast(np.asarray(rng.random(shape, dtype=np.float32) < np.float32(_number(args, "p"))), dtype)


def _constant(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    del rng
    return np.array(np.broadcast_to(_exact_list(args["value"], dtype).reshape(()), shape), order="C")


def _literal(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    del rng
    return _exact_list(args["values"], dtype).reshape(shape)


def _choice(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    values = _exact_list(args["values"], dtype)
    return np.asarray(values[rng.integers(0, len(values), size=shape)])


def _special(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    """Values of the generator ``of``, some of which give way to those of a class of unusual ones."""
    base = {name.removeprefix("of."): value for name, value in args.items() if name.startswith("of.")}
    drawn = _GENERATORS[str(args["of"])](rng, base, shape, dtype)
    limit = args.get("limit")
    return sprinkle(rng, drawn, dtype, str(args["class"]), float(limit) if isinstance(limit, (int, float)) else None)


_Generator = Callable[[np.random.Generator, _Args, tuple[int, ...], DType], "Array"]

_GENERATORS: dict[str, _Generator] = {
    "uniform": _uniform,
    "normal": _normal,
    "integers": _integers,
    "bernoulli": _bernoulli,
    "constant": _constant,
    "literal": _literal,
    "choice": _choice,
    "special": _special,
}


def _fractions(sample: Callable[[Any], Array], dtype: DType) -> Array:
    """Real or complex values from a sampler that takes the precision to draw in."""
    if dtype.is_exact:
        raise ValueError(f"{dtype.value} cannot hold fractions; use integers, choice or literal")
    if dtype.is_complex:
        real: Any = np.float32 if dtype is DType.COMPLEX64 else np.float64
        pair = np.stack([np.asarray(sample(real)), np.asarray(sample(real))], axis=-1)
        return np.asarray(pair.view(dtype.numpy())[..., 0])
    return _cast(np.asarray(sample(np.float64 if dtype is DType.FLOAT64 else np.float32)), dtype)


def _cast(values: Array, dtype: DType) -> Array:
    """Round to the element type; ValueError when a value leaves its range."""
    try:
        with np.errstate(over="raise"):
            return values.astype(dtype.numpy(), copy=False)
    except FloatingPointError as error:
        raise ValueError(f"values leave the range of {dtype.value}") from error


def _exact_list(values: AttributeValue, dtype: DType) -> Array:
    """Stated values in the element type; integers must fit exactly."""
    items: tuple[object, ...] = values if isinstance(values, tuple) else (values,)
    if dtype.is_exact:
        for item in items:
            _refuse_loss(item, dtype)
    wide = np.array(items, dtype=dtype.numpy() if dtype.is_exact else np.float64)
    return _cast(wide, dtype)


def _refuse_loss(value: object, dtype: DType) -> None:
    """ValueError unless an integer type (or bool) holds ``value`` exactly."""
    if dtype is DType.BOOL:
        fits = value in (0, 1)
    else:
        info = np.iinfo(dtype.numpy())
        fits = isinstance(value, (int, float)) and value == int(value) and int(info.min) <= value <= int(info.max)
    if not fits:
        raise ValueError(f"{dtype.value} cannot hold {value!r}")


def _number(args: _Args, name: str) -> float | int:
    value = args[name]
    if isinstance(value, (int, float)):
        return value
    raise ValueError(f"{name} must be a number, not {value!r}")
