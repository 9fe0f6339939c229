"""Drawing a case's inputs. Equal task, case and seed give equal bytes; every argument has a generator of its own, so
that adding one changes no other.

Values are drawn in at least single precision and then rounded to the element type, which may take them past the
stated bounds by half a unit in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.nouns import AttributeValue, Case, DType, Task, TensorCase
from npukernelbench.seed import derive
from npukernelbench.tasks.arrangements import ARRANGEMENTS
from npukernelbench.tasks.special import sprinkle
from npukernelbench.tasks.variation import PATCHWORK, patched

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Argument, Array

__all__ = ["draw", "generate_inputs"]

_Args = Mapping[str, AttributeValue]


def generate_inputs(task: Task, case: Case, seed: int) -> dict[str, Argument]:
    """The inputs of one case by name, in interface order, C-contiguous and of the case's shapes and element types.

    A tensor list gives a list, an absent optional input None. Inputs that are derived from others are computed last.
    TaskError when the element type cannot hold the stated values.
    """
    # Without a salt the seed stays as given: `varied` and hidden cases alone draw from another one.
    seed = derive(seed, "salt", case.salt) if case.salt else seed
    inputs: dict[str, Argument] = {spec.name: None for spec in task.inputs}
    derived: dict[str, TensorCase] = {}
    for spec in task.inputs:
        value = case.inputs.get(spec.name)
        if value is None:
            continue
        if isinstance(value, TensorCase) and value.values.kind == "derived":
            derived[spec.name] = value
        elif isinstance(value, TensorCase):
            inputs[spec.name] = _argument(task, case, value, seed, spec.name, 0)
        else:
            inputs[spec.name] = [
                _argument(task, case, item, seed, spec.name, index) for index, item in enumerate(value)
            ]
    # A copy: derived inputs see what was drawn and never each other, whatever their order.
    drawn = dict(inputs)
    for name, tensor in derived.items():
        inputs[name] = _derive(task, case, name, tensor, drawn)
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
    own = derive(seed, "argument", task.name, case.id, name, index)
    try:
        return _programmed(task, case, tensor, name, own) if tensor.values.kind == "program" else draw(tensor, own)
    except ValueError as error:
        raise TaskError(
            str(error), location=SourceLocation(task.path), field=f"cases.{case.id}.inputs.{name}.values"
        ) from error


def _programmed(task: Task, case: Case, tensor: TensorCase, name: str, seed: int) -> Array:
    """An input that a function of the task's own draws: ``function(name, shape, dtype, attributes, seed)``."""
    from npukernelbench.reference import resolve

    place, shape = str(tensor.values.args["function"]), tensor.tensor.shape
    function = resolve(place, task.path.parent)
    try:
        drawn = function(name, shape, tensor.tensor.dtype.value, dict(case.attributes), seed)
    except TaskError:
        raise
    # The user's own code: its failure is a fault of the task.
    except Exception as error:
        raise ValueError(f"{place} failed: {type(error).__name__}: {error}") from error
    values: Array = np.asarray(drawn)
    if values.shape != shape:
        raise ValueError(f"{place} gives the shape {list(values.shape)}, not {list(shape)}")
    # `ascontiguousarray` gives a scalar an axis.
    return np.ascontiguousarray(_cast(values, tensor.tensor.dtype)).reshape(shape)


def _derive(task: Task, case: Case, name: str, tensor: TensorCase, drawn: Mapping[str, Argument]) -> Array:
    """An input that follows from the drawn ones, by a function of :mod:`npukernelbench.reference.derived`."""
    from npukernelbench.reference import derived

    function = getattr(derived, str(tensor.values.args["function"]), None)
    field = f"cases.{case.id}.inputs.{name}.values"
    # A task file may call what the module offers, not what it happens to import.
    if not callable(function) or function.__name__ not in derived.__all__:
        known = ", ".join(derived.__all__)
        message = f"there is no function {tensor.values.args['function']!r} to derive inputs with; there are {known}"
        raise TaskError(message, location=SourceLocation(task.path), field=field)
    values: Array = np.asarray(function(drawn, case.attributes))
    if values.size != tensor.tensor.size:
        message = f"{function.__name__} gives {values.size} values for {tensor.tensor.size} elements"
        raise TaskError(message, location=SourceLocation(task.path), field=field)
    return np.ascontiguousarray(_cast(values, tensor.tensor.dtype)).reshape(tensor.tensor.shape)


def _uniform(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    low, high = _number(args, "low"), _number(args, "high")
    return _fractions(lambda real: rng.random(shape, dtype=real) * real(high - low) + real(low), dtype)


def _normal(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    mean, std = _number(args, "mean"), _number(args, "std")
    return _fractions(lambda real: rng.standard_normal(shape, dtype=real) * real(std) + real(mean), dtype)


def _integers(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    low, high = int(_number(args, "low")), int(_number(args, "high"))
    # The upper half of uint64 does not fit into int64.
    wide: Any = np.uint64 if dtype is DType.UINT64 else np.int64
    if dtype.is_exact:
        _refuse_loss(low, dtype)
        _refuse_loss(high - 1, dtype)
    return _cast(np.asarray(rng.integers(low, high, size=shape, dtype=wide)), dtype)


def _bernoulli(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    return _cast(np.asarray(rng.random(shape, dtype=np.float32) < np.float32(_number(args, "p"))), dtype)


def _constant(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    del rng
    # A copy: a broadcast view is read-only, and its elements share memory.
    return np.array(np.broadcast_to(_exact_list(args["value"], dtype).reshape(()), shape), order="C")


def _literal(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    del rng
    return _exact_list(args["values"], dtype).reshape(shape)


def _choice(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    values = _exact_list(args["values"], dtype)
    return np.asarray(values[rng.integers(0, len(values), size=shape)])


def _every_float(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    """Normal values, and as often zeros, least subnormal and largest numbers of both signs; a share of infinities and
    NaN."""
    kinds = rng.random(shape, dtype=np.float32)
    numbers = _normal(rng, {"mean": 0.0, "std": 1.0}, shape, dtype)
    edges = _edges(dtype)[rng.integers(0, 6, size=shape)]
    finite = np.where(rng.random(shape, dtype=np.float32) < np.float32(0.5), edges, numbers)
    wild = kinds < np.float32(_number(args, "non_finite"))
    return np.asarray(np.where(wild, _non_finite(rng, shape, dtype), finite).reshape(shape))


def _some_non_finite(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    """Normal values but for ``count`` elements that are infinite or NaN."""
    values = _normal(rng, {"mean": 0.0, "std": 1.0}, shape, dtype)
    count = min(int(_number(args, "count")), values.size)
    places = rng.choice(values.size, count, replace=False) if count else np.zeros(0, np.int64)
    values.reshape(-1)[places] = _non_finite(rng, (count,), dtype)
    return values


def _spans(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    """Rows ``(start, length)`` of at least one position that end within ``extent``."""
    if not shape or shape[-1] != 2:
        raise ValueError("spans are rows of two elements")
    extent = int(_number(args, "extent"))
    _refuse_loss(extent, dtype)
    length = rng.integers(1, extent + 1, size=shape[:-1])
    start = rng.integers(0, extent - length + 1)
    return _cast(np.stack([start, length], axis=-1), dtype)


def _arranged(name: str) -> _Generator:
    """A generator of ``arrangements``, its numbers in the element type; integers must fit exactly."""
    arrangement = ARRANGEMENTS[name]

    def generate(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
        values = arrangement(rng, args, shape)
        if values.size and dtype.is_exact:
            _refuse_loss(float(values.min()), dtype)
            _refuse_loss(float(values.max()), dtype)
        return _cast(values, dtype)

    return generate


def _varying_normal(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    mean = rng.uniform(_number(args, "mean_low"), _number(args, "mean_high"))
    std = rng.uniform(_number(args, "std_low"), _number(args, "std_high"))
    return _normal(rng, {"mean": mean, "std": std}, shape, dtype)


def _exp(powers: Array) -> Array:
    """In double precision, to be rounded: machines differ in the last bits of exp."""
    return np.asarray(np.exp(powers.astype(np.float64)))


def _probabilities(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    spread = rng.uniform(_number(args, "spread_low"), _number(args, "spread_high"))

    def sample(real: Any) -> Array:
        powers = _exp(rng.standard_normal(shape, dtype=real) * real(spread))
        return np.asarray((powers / powers.sum(axis=-1, keepdims=True)).astype(real))

    return _fractions(sample, dtype)


def _factors(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    spread = _number(args, "spread")

    def sample(real: Any) -> Array:
        magnitudes = _exp(rng.random(shape, dtype=real) * real(2.0 * spread) - real(spread)).astype(real)
        negative = rng.random(shape, dtype=np.float32) < np.float32(0.5)
        return np.asarray(np.where(negative, -magnitudes, magnitudes))

    return _fractions(sample, dtype)


def _log_uniform(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    """Every power of two between the bounds as likely as any other."""
    low, high = math.log(_number(args, "low")), math.log(_number(args, "high"))
    return _fractions(lambda real: _exp(rng.random(shape) * (high - low) + low).astype(real), dtype)


def _away_from_zero(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    """Magnitudes uniform between the bounds, either sign."""
    low, high = _number(args, "low"), _number(args, "high")

    def sample(real: Any) -> Array:
        position = rng.random(shape, dtype=real) * real(2.0) - real(1.0)
        return np.asarray(np.copysign(np.abs(position) * real(high - low) + real(low), position))

    return _fractions(sample, dtype)


def _multiples(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    counts = rng.integers(int(_number(args, "low")), int(_number(args, "high")), size=shape)
    return _fractions(lambda _: np.asarray(counts * _number(args, "step")), dtype)


def _with_infinities(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    return _interrupted(rng, args, shape, dtype, (math.inf, -math.inf))


def _with_nans(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    return _interrupted(rng, args, shape, dtype, (math.nan,))


def _interrupted(
    rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType, values: tuple[float, ...]
) -> Array:
    """Normal values, ``count`` of which, anywhere, give way to ``values`` in turn."""
    drawn = np.array(_normal(rng, args, shape, dtype))
    places = rng.permutation(drawn.size)[: int(_number(args, "count"))]
    # The function `np.resize` repeats values until the size is reached; the method would append zeros.
    drawn.reshape(-1)[places] = np.resize(np.array(values), places.size)
    return drawn


def _log_softmax(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    values = _log_probabilities(rng, args, shape)
    return _fractions(lambda real: values.astype(real), dtype)


def _log_probabilities(rng: np.random.Generator, args: _Args, shape: tuple[int, ...]) -> Array:
    """Normal logits through log-softmax along the last axis, in double precision so that machines agree."""
    # A scalar has no last axis.
    logits = np.atleast_1d(rng.standard_normal(shape) * _number(args, "std"))
    if logits.size:
        logits -= logits.max(axis=-1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return logits.reshape(shape)


def _partition(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    """Counts that sum to the total along the whole tensor: the gaps between sorted cuts, zero included."""
    total, size = int(_number(args, "total")), int(np.prod(shape))
    if dtype.is_exact:
        _refuse_loss(total, dtype)
    if not size:
        raise ValueError("partition needs at least one element")
    cuts = np.sort(rng.integers(0, total + 1, size=size - 1))
    return _cast(np.diff(cuts, prepend=0, append=total).astype(np.int64).reshape(shape), dtype)


def _inner(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    """Values of the generator ``of``, whose arguments bear its name in front."""
    base = {name.removeprefix("of."): value for name, value in args.items() if name.startswith("of.")}
    return _GENERATORS[str(args["of"])](rng, base, shape, dtype)


def _patchwork(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    return patched(_inner(rng, args, shape, dtype), int(_number(args, "period")))


def _special(rng: np.random.Generator, args: _Args, shape: tuple[int, ...], dtype: DType) -> Array:
    """Values of the generator ``of``, some of which give way to those of a class of unusual ones."""
    drawn = _inner(rng, args, shape, dtype)
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
    "every_float": _every_float,
    "some_non_finite": _some_non_finite,
    "spans": _spans,
    **{name: _arranged(name) for name in ARRANGEMENTS},
    "varying_normal": _varying_normal,
    "probabilities": _probabilities,
    "factors": _factors,
    "log_uniform": _log_uniform,
    "away_from_zero": _away_from_zero,
    "multiples": _multiples,
    "with_infinities": _with_infinities,
    "with_nans": _with_nans,
    "log_softmax": _log_softmax,
    "partition": _partition,
    # This one and the next are no kinds in `values`: task files cannot ask for them.
    "special": _special,
    PATCHWORK: _patchwork,
}


def _fractions(sample: Callable[[Any], Array], dtype: DType) -> Array:
    """Real or complex values from a sampler that takes the precision to draw in."""
    if dtype.is_exact:
        raise ValueError(f"{dtype.value} cannot hold fractions; use integers, choice or literal")
    if dtype.is_complex:
        # The precision of the real and imaginary part, so that the pair can be viewed as one number without a copy.
        real: Any = np.float32 if dtype is DType.COMPLEX64 else np.float64
        pair = np.stack([np.asarray(sample(real)), np.asarray(sample(real))], axis=-1)
        return np.asarray(pair.view(dtype.numpy())[..., 0])
    return _cast(np.asarray(sample(np.float64 if dtype is DType.FLOAT64 else np.float32)), dtype)


def _edges(dtype: DType) -> Array:
    """Zero, the least subnormal and the largest number of a floating-point type, in both signs."""
    _require_real(dtype)
    import ml_dtypes

    # NumPy's own `finfo` refuses bfloat16.
    limits: Any = ml_dtypes.finfo
    info = limits(dtype.numpy())
    return np.array([0.0, -0.0, info.smallest_subnormal, -info.smallest_subnormal, info.max, info.min], dtype.numpy())


def _non_finite(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Infinities of both signs and NaN."""
    _require_real(dtype)
    return np.asarray(np.array([np.inf, -np.inf, np.nan], dtype.numpy())[rng.integers(0, 3, size=shape)])


def _require_real(dtype: DType) -> None:
    if not dtype.is_float:
        raise ValueError(f"{dtype.value} is not a real floating-point type")


def _cast(values: Array, dtype: DType) -> Array:
    """Round to the element type; ValueError when a value leaves its range."""
    try:
        # NumPy's own way is a warning and an infinity.
        with np.errstate(over="raise"):
            return values.astype(dtype.numpy(), copy=False)
    except FloatingPointError as error:
        raise ValueError(f"values exceed the range of {dtype.value}") from error


def _exact_list(values: AttributeValue, dtype: DType) -> Array:
    """Stated values in the element type; integers must fit exactly."""
    items: tuple[object, ...] = values if isinstance(values, tuple) else (values,)
    if dtype.is_exact:
        for item in items:
            _refuse_loss(item, dtype)
    # Integers go straight to their type: float64 has too few bits for large ones of 64-bit types.
    wide = np.array(items, dtype=dtype.numpy() if dtype.is_exact else np.float64)
    return _cast(wide, dtype)


def _refuse_loss(value: object, dtype: DType) -> None:
    """ValueError unless an integer type (or bool) holds ``value`` exactly."""
    if dtype is DType.BOOL:
        fits = value in (0, 1)
    else:
        info = np.iinfo(dtype.numpy())
        fits = isinstance(value, (int, float)) and int(info.min) <= value <= int(info.max) and value == int(value)
    if not fits:
        raise ValueError(f"{dtype.value} cannot hold {value!r}")


def _number(args: _Args, name: str) -> float | int:
    value = args[name]
    if isinstance(value, (int, float)):
        return value
    raise ValueError(f"{name} must be a number, not {value!r}")
