"""What compute blocks can do with tiles: one table for the parser, the interpreter and the lowering.

``kind`` says how operands and result fit together:

=============  ========================================================================================================
``unary``      one tile; the result has its shape and type
``binary``     two operands that broadcast, tiles or scalars; same type
``compare``    two operands; the result is a mask
``logic``      two masks, or one
``where``      a mask and two operands
``cast``       one tile; the name of the operation is the new type
``across``     reduces every row: FULL to COLUMN
``down``       reduces every column: FULL to ROW
``gather``     ``gather(x, index, shift)``: elements of a tile by their places
``iota``       ``iota()``: 0, 1, 2, ... along the columns; ``iota_rows()``: along the rows
``sort``       ``argsort(x)``: places of the elements of one row, from the largest to the smallest
``shift``      ``shift(x, n, fill)``: element i is x[i - n]
=============  ========================================================================================================
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COMPARISONS", "OPERATIONS", "OPERATORS", "Operation"]


class Operation(NamedTuple):
    """One operation. ``instruction`` is its Ascend C name, ``library`` whether it needs scratch and operands apart."""

    kind: str
    instruction: str = ""
    scalar_instruction: str = ""
    library: bool = False
    floats_only: bool = False


#: Functions of the math library, each of one tile.
_ANGLES = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh")
_OTHERS = ("ceil", "erf", "erfc", "floor", "frac", "log10", "log2", "round", "sigmoid", "sign", "trunc")
#: What a row or a column is folded to, and the instruction that folds two rows into one.
_FOLDS = {"sum": "Add", "max": "Max", "min": "Min", "prod": "Mul"}

OPERATIONS: dict[str, Operation] = {
    **{
        name: Operation("unary", name.capitalize(), floats_only=True)
        for name in ("abs", "exp", "ln", "sqrt", "rsqrt", "reciprocal")
    },
    "relu": Operation("unary", "Relu"),
    # No instruction negates: it is a product with -1.
    "neg": Operation("unary", "Muls"),
    **{name: Operation("unary", name.capitalize(), library=True, floats_only=True) for name in (*_ANGLES, *_OTHERS)},
    **{name: Operation("binary", name.capitalize(), f"{name.capitalize()}s") for name in ("add", "mul", "max", "min")},
    "sub": Operation("binary", "Sub"),
    "div": Operation("binary", "Div", floats_only=True),
    **{name: Operation("compare", name.upper()) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    **{name: Operation("logic", name.capitalize()) for name in ("and", "or", "not")},
    "where": Operation("where", "Select"),
    **{f"row_{name}": Operation("across", name.capitalize(), floats_only=True) for name in _FOLDS},
    **{f"col_{name}": Operation("down", instruction, floats_only=True) for name, instruction in _FOLDS.items()},
    "gather": Operation("gather", "Gather"),
    "iota": Operation("iota", "CreateVecIndex"),
    # Vector instructions read at multiples of 32 bytes: a shift by single elements has to gather.
    "shift": Operation("shift", "Gather"),
    "iota_rows": Operation("iota", "CreateVecIndex"),
    "argsort": Operation("sort", "Sort", floats_only=True),
}

#: Operations by the symbol that Python's grammar has for them.
OPERATORS = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "BitAnd": "and", "BitOr": "or"}
COMPARISONS = {"Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "Eq": "eq", "NotEq": "ne"}
