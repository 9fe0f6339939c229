"""Functions that lowered kernels bring with them: only those that a kernel needs, in the order of this table."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["DEVICE_FUNCTIONS", "device_functions"]

_SCALAR = {
    "Least": """\
template <typename T>
__aicore__ inline T Least(T a, T b) {
    return a < b ? a : b;
}""",
    "Greatest": """\
template <typename T>
__aicore__ inline T Greatest(T a, T b) {
    return a > b ? a : b;
}""",
    "Magnitude": """\
template <typename T>
__aicore__ inline T Magnitude(T a) {
    return a < 0 ? -a : a;
}""",
    "CeilDiv": """\
__aicore__ inline int64_t CeilDiv(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}""",
    "RoundUp": """\
__aicore__ inline int64_t RoundUp(int64_t a, int64_t b) {
    return (a + b - 1) / b * b;
}""",
    "ListCount": """\
// Tensors in a list.
__aicore__ inline int64_t ListCount(GM_ADDR list) {
    return ListTensorDesc(reinterpret_cast<__gm__ void*>(list)).GetSize();
}""",
    "ListSize": """\
// Elements of one tensor of a list.
__aicore__ inline int64_t ListSize(GM_ADDR list, int64_t index) {
    ListTensorDesc table(reinterpret_cast<__gm__ void*>(list));
    uint64_t shape[8] = {};
    TensorDesc<uint8_t> tensor;
    tensor.SetShapeAddr(shape);
    table.GetDesc(tensor, static_cast<uint32_t>(index));
    int64_t size = 1;
    for (uint32_t axis = 0; axis < tensor.GetDim(); ++axis) {
        size *= static_cast<int64_t>(tensor.GetShape(axis));
    }
    return size;
}""",
    "ListData": """\
// Where one tensor of a list begins.
template <typename T>
__aicore__ inline __gm__ T* ListData(GM_ADDR list, int64_t index) {
    ListTensorDesc table(reinterpret_cast<__gm__ void*>(list));
    return table.template GetDataPtr<__gm__ T>(static_cast<uint32_t>(index));
}""",
    "INFINITE": """\
constexpr float INFINITE = __builtin_inff();""",
    "Bytes": """\
// Bytes of so many elements, in whole repeats of the vector unit.
template <typename T>
__aicore__ inline uint32_t Bytes(int64_t elements) {
    return static_cast<uint32_t>((elements * sizeof(T) + 255) / 256 * 256);
}""",
    "Flag": """\
// One pipe waits for another.
template <HardEvent EVENT>
__aicore__ inline void Flag() {
    const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(EVENT));
    SetFlag<EVENT>(id);
    WaitFlag<EVENT>(id);
}""",
}

_CONVERSION = """\
template <typename T>
__aicore__ inline void {name}(const LocalTensor<{to}>& y, const LocalTensor<{source}>& x, uint32_t count) {{
    if constexpr (std::is_same<T, float>::value) {{
        Adds(y, x, 0.0f, count);
    }} else {{
        Cast(y, x, RoundMode::{rounding}, count);
    }}
}}"""

_WIDE = {
    "WidenNumber": """\
// y = x in float, for a type that may be an integer's.
template <typename T>
__aicore__ inline void WidenNumber(const LocalTensor<float>& y, const LocalTensor<T>& x, uint32_t count) {
    if constexpr (std::is_same<T, float>::value) {
        Adds(y, x, 0.0f, count);
    } else if constexpr (std::is_same<T, int32_t>::value) {
        Cast(y, x, RoundMode::CAST_RINT, count);
    } else {
        Cast(y, x, RoundMode::CAST_NONE, count);
    }
}""",
    "Widen": "// y = x in float.\n" + _CONVERSION.format(name="Widen", to="float", source="T", rounding="CAST_NONE"),
    "Widened": """\
// x as floats: x itself, or a wider copy of it in y.
template <typename T>
__aicore__ inline LocalTensor<float> Widened(const LocalTensor<float>& y, const LocalTensor<T>& x, uint32_t count) {
    if constexpr (std::is_same<T, float>::value) {
        return x;
    } else {
        Cast(y, x, RoundMode::CAST_NONE, count);
        return y;
    }
}""",
    "WideResult": """\
// Where to compute what will be y: in y itself, or in `wide`, from which Narrowed rounds it.
template <typename T>
__aicore__ inline LocalTensor<float> WideResult(const LocalTensor<float>& wide, const LocalTensor<T>& y) {
    if constexpr (std::is_same<T, float>::value) {
        return y;
    } else {
        return wide;
    }
}""",
    "Narrowed": """\
template <typename T>
__aicore__ inline void Narrowed(const LocalTensor<T>& y, const LocalTensor<float>& x, uint32_t count) {
    if constexpr (!std::is_same<T, float>::value) {
        Cast(y, x, RoundMode::CAST_RINT, count);
    }
}""",
    "Narrow": "// y = x, rounded to the element type of y.\n"
    + _CONVERSION.format(name="Narrow", to="T", source="float", rounding="CAST_RINT"),
}

_ROW_SUM = """\
// One sum per row. Rows of at most a repeat are reduced all at once; longer ones are folded to one before.
__aicore__ inline void RowSum(const LocalTensor<float>& y, const LocalTensor<float>& x, const LocalTensor<float>& work,
                              uint32_t rows, uint32_t cols, uint32_t pitch) {
    constexpr uint32_t REPEAT = 64, MOST = 248, GROUP = 16;
    if (cols > REPEAT && (rows == 1 || pitch > 255 * 8 || cols > 256 * rows)) {
        for (uint32_t row = 0; row < rows; ++row) {
            ReduceSum(y[row], x[row * pitch], work, cols);
        }
        return;
    }
    if (cols > REPEAT) {
        const uint8_t next = static_cast<uint8_t>(pitch / 8);
        for (uint32_t row = 0; row < rows; row += GROUP) {
            const uint32_t at = row * pitch, part = Least(rows - row, GROUP);
            Adds(work, x[at], 0.0f, REPEAT, part, UnaryRepeatParams(1, 1, 8, next));
            for (uint32_t col = REPEAT; col < cols; col += REPEAT) {
                const uint32_t lanes = Least(cols - col, REPEAT);
                Add(work, work, x[at + col], lanes, part, BinaryRepeatParams(1, 1, 1, 8, 8, next));
            }
            WholeReduceSum(y[row], work, REPEAT, part, 1, 1, 8);
        }
        return;
    }
    for (uint32_t row = 0; row < rows; row += MOST) {
        WholeReduceSum(y[row], x[row * pitch], cols, Least(rows - row, MOST), 1, 1, pitch / 8);
    }
}"""

_ROW_ORDER = """\
// The NAME of every row. Rows of at most a repeat are reduced all at once.
__aicore__ inline void RowOP(const LocalTensor<float>& y, const LocalTensor<float>& x, const LocalTensor<float>& work,
                              uint32_t rows, uint32_t cols, uint32_t pitch) {
    constexpr uint32_t REPEAT = 64, MOST = 248;
    if (cols > REPEAT) {
        for (uint32_t row = 0; row < rows; ++row) {
            ReduceOP(y[row], x[row * pitch], work, cols, false);
        }
        return;
    }
    for (uint32_t row = 0; row < rows; row += MOST) {
        WholeReduceOP(y[row], x[row * pitch], cols, Least(rows - row, MOST), 1, 1, pitch / 8,
                       ReduceOrder::ORDER_ONLY_VALUE);
    }
}"""

_ROW_PROD = """\
// One product per row: halves are folded onto each other down to one block, which is moved into a repeat of ones.
__aicore__ inline void RowProd(const LocalTensor<float>& y, const LocalTensor<float>& x, const LocalTensor<float>& work,
                               uint32_t rows, uint32_t cols, uint32_t pitch) {
    for (uint32_t row = 0; row < rows; ++row) {
        uint32_t length = RoundUp(cols, 8);
        Duplicate(work, 1.0f, length);
        Mul(work, work, x[row * pitch], cols);
        while (length > 8) {
            const uint32_t half = RoundUp(length / 2, 8);
            Mul(work, work, work[half], length - half);
            length = half;
        }
        Flag<HardEvent::V_S>();
        float product = 1.0f;
        for (uint32_t lane = 0; lane < 8; ++lane) {
            product *= work.GetValue(lane);
        }
        y.SetValue(row, product);
        Flag<HardEvent::S_V>();
    }
}"""

_COL = """\
// One NAME per column: the lower half of the rows is folded onto the upper one until one row is left.
__aicore__ inline void ColREDUCED(const LocalTensor<float>& y, const LocalTensor<float>& x,
                              const LocalTensor<float>& work, uint32_t rows, uint32_t cols, uint32_t pitch) {
    if (rows == 1) {
        Adds(y, x, 0.0f, cols);
        return;
    }
    uint32_t left = rows / 2;
    OP(work, x, x[left * pitch], left * pitch);
    if (rows % 2 == 1) {
        OP(work, work, x[(rows - 1) * pitch], pitch);
    }
    while (left > 1) {
        const uint32_t half = left / 2;
        OP(work, work, work[half * pitch], half * pitch);
        if (left % 2 == 1) {
            OP(work, work, work[(left - 1) * pitch], pitch);
        }
        left = half;
    }
    Adds(y, work, 0.0f, cols);
}"""

_COLUMN = """\
// y = DOC, where every row has one element of its own. `spread` holds 248 blocks.
__aicore__ inline void NAMEColumn(const LocalTensor<float>& y, const LocalTensor<float>& x,
                                 const LocalTensor<float>& column, const LocalTensor<float>& spread, uint32_t rows,
                                 uint32_t cols, uint32_t pitch) {
    constexpr uint32_t REPEAT = 64, MOST = 248;
    for (uint32_t first = 0; first < rows; first += MOST) {
        const uint32_t part = Least(rows - first, MOST);
        Brcb(spread, column[first], static_cast<uint8_t>((part + 7) / 8), {1, 8});
        if (part > 1 && pitch <= 255 * 8) {
            const uint8_t next = static_cast<uint8_t>(pitch / 8);
            for (uint32_t col = 0; col < cols; col += REPEAT) {
                const uint32_t at = first * pitch + col;
                OP(y[at], DOWN, Least(cols - col, REPEAT), part, BinaryRepeatParams(DOWN_PARAMS));
            }
            continue;
        }
        for (uint32_t row = 0; row < part; ++row) {
            for (uint32_t col = 0; col < cols; col += MOST * REPEAT) {
                const uint32_t at = (first + row) * pitch + col;
                const uint32_t lanes = Least(cols - col, MOST * REPEAT);
                const uint32_t whole = lanes / REPEAT * REPEAT;
                if (whole > 0) {
                    OP(y[at], ALONG, REPEAT, whole / REPEAT, BinaryRepeatParams(ALONG_PARAMS));
                }
                if (whole < lanes) {
                    OP(y[at + whole], REST, lanes - whole, 1, BinaryRepeatParams(ALONG_PARAMS));
                }
            }
        }
    }
}"""

_ROW = """\
// y = DOC, the same row for every row.
__aicore__ inline void NAMERow(const LocalTensor<float>& y, const LocalTensor<float>& x, const LocalTensor<float>& row,
                              uint32_t rows, uint32_t cols, uint32_t pitch) {
    constexpr uint32_t REPEAT = 64, MOST = 248;
    if (pitch > 255 * 8 || rows <= cols / REPEAT) {
        for (uint32_t at = 0; at < rows * pitch; at += pitch) {
            OP(y[at], ARGS, cols);
        }
        return;
    }
    const uint8_t next = static_cast<uint8_t>(pitch / 8);
    for (uint32_t first = 0; first < rows; first += MOST) {
        for (uint32_t col = 0; col < cols; col += REPEAT) {
            const uint32_t at = first * pitch + col;
            OP(y[at], DOWN, Least(cols - col, REPEAT), Least(rows - first, MOST), BinaryRepeatParams(DOWN_PARAMS));
        }
    }
}"""

_SHIFT = """\
// y[i] = x[i - distance], and `fill` where there is no such element.
__aicore__ inline void Shift(const LocalTensor<float>& y, const LocalTensor<float>& x,
                             const LocalTensor<int32_t>& places, int64_t distance, float fill, uint32_t cols) {
    const int64_t far = distance < 0 ? -distance : distance;
    if (far >= cols) {
        Duplicate(y, fill, cols);
        return;
    }
    const uint32_t rest = cols - static_cast<uint32_t>(far);
    if (distance >= 0 && far % 8 == 0) {
        Adds(y[far], x, 0.0f, rest);
    } else if (far % 8 == 0) {
        Adds(y, x[far], 0.0f, rest);
    } else {
        CreateVecIndex(places, static_cast<int32_t>(-distance), cols);
        Maxs(places, places, static_cast<int32_t>(0), cols);
        Mins(places, places, static_cast<int32_t>(cols - 1), cols);
        Muls(places, places, static_cast<int32_t>(sizeof(float)), cols);
        Gather(y, x, places.ReinterpretCast<uint32_t>(), 0, cols);
    }
    if (distance > 0) {
        Duplicate(y, fill, static_cast<uint32_t>(far));
    } else if (distance < 0) {
        const uint32_t block = rest / 8 * 8;
        const uint32_t lanes = Least(cols - block, 64u);
        const uint64_t bits = (lanes == 64 ? ~0ull : (1ull << lanes) - 1) & ~((1ull << (rest - block)) - 1);
        uint64_t mask[2] = {bits, 0};
        Duplicate(y[block], fill, mask, 1, 1, 8);
        if (block + 64 < cols) {
            Duplicate(y[block + 64], fill, cols - block - 64);
        }
    }
}"""

_ARG_SORT = """\
// Places of the elements of x from the largest to the smallest. Sorting takes groups of 32: what is missing is filled
// with the smallest number there is, behind all others.
__aicore__ inline void ArgSort(const LocalTensor<int32_t>& y, const LocalTensor<float>& x,
                               const LocalTensor<float>& keys, const LocalTensor<int32_t>& places,
                               const LocalTensor<int64_t>& records, const LocalTensor<int64_t>& spare, uint32_t cols) {
    const uint32_t padded = RoundUp(cols, 32);
    const int32_t groups = static_cast<int32_t>(padded / 32);
    LocalTensor<float> sorted = records.ReinterpretCast<float>(), merging = spare.ReinterpretCast<float>(), grouped;
    Duplicate(keys, -INFINITE, padded);
    Adds(keys, x, 0.0f, cols);
    CreateVecIndex(places, static_cast<int32_t>(0), padded);
    Concat(grouped, keys, merging, groups);
    Sort<float, true>(sorted, grouped, places.ReinterpretCast<uint32_t>(), merging, groups);
    Extract(keys, y.ReinterpretCast<uint32_t>(), sorted, groups);
}"""

_ALL: dict[str, str] = {
    **_SCALAR,
    **_WIDE,
    "ArgSort": _ARG_SORT,
    "RowSum": _ROW_SUM,
    "RowProd": _ROW_PROD,
    "Shift": _SHIFT,
}
for _op, _name in (("Max", "largest"), ("Min", "smallest")):
    _ALL[f"Row{_op}"] = _ROW_ORDER.replace("NAME", _name).replace("OP", _op)
for _reduced, _op, _name in (
    ("Sum", "Add", "sum"),
    ("Max", "Max", "largest"),
    ("Min", "Min", "smallest"),
    ("Prod", "Mul", "product"),
):
    _ALL[f"Col{_reduced}"] = _COL.replace("NAME", _name).replace("REDUCED", _reduced).replace("OP", _op)
# One text per operation, so that a lowered file shows plain calls instead of a macro.
for _op in ("Add", "Sub", "Mul", "Div", "Max", "Min"):
    for _turned in (False, True):
        _prefix = f"{_op}From" if _turned else _op
        _sign = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}.get(_op, _op.lower())

        def _pair(tile: str, vector: str, turned: bool = _turned) -> str:
            return f"{vector}, {tile}" if turned else f"{tile}, {vector}"

        _ALL[f"{_prefix}Column"] = (
            _COLUMN.replace("NAME", _prefix)
            .replace("DOC", f"column {_sign} x" if _turned else f"x {_sign} column")
            .replace("OP(", f"{_op}(")
            .replace("DOWN_PARAMS", "1, 0, 1, next, 1, next" if _turned else "1, 1, 0, next, next, 1")
            .replace("ALONG_PARAMS", "1, 0, 1, 8, 0, 8" if _turned else "1, 1, 0, 8, 8, 0")
            # Behind DOWN_PARAMS, which begins with the same letters.
            .replace("DOWN", _pair("x[at]", "spread"))
            .replace("ALONG", _pair("x[at]", "spread[row * 8]"))
            .replace("REST", _pair("x[at + whole]", "spread[row * 8]"))
        )
        _ALL[f"{_prefix}Row"] = (
            _ROW.replace("NAME", _prefix)
            .replace("DOC", f"row {_sign} x" if _turned else f"x {_sign} row")
            .replace("OP(", f"{_op}(")
            .replace("ARGS", _pair("x[at]", "row"))
            .replace("DOWN_PARAMS", "1, 1, 1, next, 0, next" if _turned else "1, 1, 1, next, next, 0")
            .replace("DOWN", _pair("x[at]", "row[col]"))
        )


#: Names of all of them.
DEVICE_FUNCTIONS = frozenset(_ALL)


def device_functions(used: Iterable[str]) -> list[str]:
    """The texts of the functions that are used, and of those that these use."""
    wanted: set[str] = set()
    pending = [name for name in used if name in _ALL]
    while pending:
        name = pending.pop()
        if name not in wanted:
            wanted.add(name)
            # As a whole word: the name of one function may begin that of another.
            pending += [other for other in _ALL if other != name and f"{other}" in _words(_ALL[name])]
    # In the order of the table, where functions stand before those that call them; a set has no order.
    return [_ALL[name] for name in _ALL if name in wanted]


def _words(text: str) -> set[str]:
    import re

    return set(re.findall(r"[A-Za-z_]\w*", text))
