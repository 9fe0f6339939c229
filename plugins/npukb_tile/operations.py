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
``iota``       ``iota()``: 0, 1, 2, ... along the columns
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

OPERATIONS: dict[str, Operation] = {
    "abs": Operation("unary", "Abs", floats_only=True),
    "exp": Operation("unary", "Exp", floats_only=True),
    "ln": Operation("unary", "Ln", floats_only=True),
    "sqrt": Operation("unary", "Sqrt", floats_only=True),
    "rsqrt": Operation("unary", "Rsqrt", floats_only=True),
    "reciprocal": Operation("unary", "Reciprocal", floats_only=True),
    "relu": Operation("unary", "Relu"),
    "neg": Operation("unary", "Muls"),
    **{name: Operation("unary", name.capitalize(), library=True, floats_only=True) for name in (*_ANGLES, *_OTHERS)},
    "add": Operation("binary", "Add", "Adds"),
    "sub": Operation("binary", "Sub"),
    "mul": Operation("binary", "Mul", "Muls"),
    "div": Operation("binary", "Div", floats_only=True),
    "max": Operation("binary", "Max", "Maxs"),
    "min": Operation("binary", "Min", "Mins"),
    "lt": Operation("compare", "LT"),
    "le": Operation("compare", "LE"),
    "gt": Operation("compare", "GT"),
    "ge": Operation("compare", "GE"),
    "eq": Operation("compare", "EQ"),
    "ne": Operation("compare", "NE"),
    "and": Operation("logic", "And"),
    "or": Operation("logic", "Or"),
    "not": Operation("logic", "Not"),
    "where": Operation("where", "Select"),
    "row_sum": Operation("across", "Sum", floats_only=True),
    "row_max": Operation("across", "Max", floats_only=True),
    "row_min": Operation("across", "Min", floats_only=True),
    "row_prod": Operation("across", "Prod", floats_only=True),
    "col_sum": Operation("down", "Add", floats_only=True),
    "col_max": Operation("down", "Max", floats_only=True),
    "col_min": Operation("down", "Min", floats_only=True),
    "col_prod": Operation("down", "Mul", floats_only=True),
    "gather": Operation("gather", "Gather"),
    "iota": Operation("iota", "CreateVecIndex"),
    "shift": Operation("shift", "Gather"),
}

#: Operations by the symbol that Python's grammar has for them.
OPERATORS = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "BitAnd": "and", "BitOr": "or"}
COMPARISONS = {"Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "Eq": "eq", "NotEq": "ne"}
