// StridedSliceAssignV2: var[.., begin : end : stride, ..] = input_value, in place.
//
// Seen as bytes, the slice is rows: what lies together in var and, behind one another, in input_value. Rows along the
// last of the other axes are as far apart as its stride says, and are copied many at a time. All rows are shared out
// among the cores; few long ones are cut into pieces.
#include "row_copy.h"

class KernelStridedSliceAssign {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR inputValue, GM_ADDR begin, GM_ADDR strides, GM_ADDR axes,
                                GM_ADDR var, const StridedSliceAssignV2TilingData& sizes) {
        copy.Init(pipe);
        from = (__gm__ uint8_t*)inputValue;
        to = (__gm__ uint8_t*)var;
        axisCount = sizes.axes;
        run = sizes.cell;
        for (uint32_t axis = 0; axis < sizes.rank; ++axis) {
            counts[axis] = sizes.counts[axis];
            pitches[axis] = sizes.pitches[axis];
        }
        GlobalTensor<int64_t> begins, steps, names;
        begins.SetGlobalBuffer((__gm__ int64_t*)begin, sizes.sliced);
        steps.SetGlobalBuffer((__gm__ int64_t*)strides, sizes.sliced);
        names.SetGlobalBuffer((__gm__ int64_t*)axes, sizes.sliced);
        for (uint32_t i = 0; i < sizes.sliced; ++i) {
            const int64_t name = axes == nullptr ? i : names.GetValue(i);
            const uint32_t axis = name < 0 ? name + sizes.rank : name;
            to += begins.GetValue(i) * sizes.pitches[axis];
            pitches[axis] = steps.GetValue(i) * sizes.pitches[axis];
        }
        // Neighbours along the last axis that is not taken whole belong to one row.
        if (axisCount > 0 && pitches[axisCount - 1] == sizes.pitches[axisCount - 1]) {
            run *= counts[--axisCount];
        }
        rows = 1;
        for (uint32_t axis = 0; axis < axisCount; ++axis) {
            rows *= counts[axis];
        }
    }

    __aicore__ inline void Process() {
        if (rows == 0 || run == 0) {
            return;
        }
        const uint64_t pieces = PiecesOf(rows, run);
        const Share share(rows * pieces);
        if (pieces == 1) {
            CopyRows(share.begin, share.end);
            return;
        }
        for (uint64_t item = share.begin; item < share.end; ++item) {
            const uint64_t row = item / pieces;
            const Piece piece(run, pieces, item % pieces);
            if (piece.length > 0) {
                copy.Copy(to + PlaceOf(row) + piece.begin, piece.length, from + row * run + piece.begin, piece.length,
                          piece.length, 1);
            }
        }
    }

  private:
    // Line by line: rows that differ in the last axis only.
    __aicore__ inline void CopyRows(uint64_t row, uint64_t end) {
        const uint64_t line = axisCount == 0 ? 1 : counts[axisCount - 1];
        const uint64_t pitch = axisCount == 0 ? run : pitches[axisCount - 1];
        while (row < end) {
            const uint64_t rest = line - row % line;
            const uint64_t some = end - row < rest ? end - row : rest;
            copy.Copy(to + PlaceOf(row), pitch, from + row * run, run, run, some);
            row += some;
        }
    }

    // Bytes from the first row to row `row`, in var.
    __aicore__ inline uint64_t PlaceOf(uint64_t row) const {
        uint64_t place = 0;
        for (uint32_t axis = axisCount; axis-- > 0;) {
            place += row % counts[axis] * pitches[axis];
            row /= counts[axis];
        }
        return place;
    }

    static constexpr uint32_t MOST_AXES = 8;
    RowCopy copy;
    __gm__ uint8_t* from = nullptr;
    __gm__ uint8_t* to = nullptr;    // the first element of the slice
    uint64_t counts[MOST_AXES] = {};
    uint64_t pitches[MOST_AXES] = {};  // bytes from one index of the slice to the next
    uint32_t axisCount = 0;            // axes that rows are counted along
    uint64_t rows = 0;
    uint64_t run = 0;  // bytes of a row
};

extern "C" __global__ __aicore__ void strided_slice_assign_v2(GM_ADDR var, GM_ADDR input_value, GM_ADDR begin,
                                                              GM_ADDR end, GM_ADDR strides, GM_ADDR axes,
                                                              GM_ADDR var_out, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelStridedSliceAssign op;
    op.Init(&pipe, input_value, begin, strides, axes, var_out, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
