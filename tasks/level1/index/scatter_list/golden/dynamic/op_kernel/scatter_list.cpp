// ScatterList: in tensor k of a list the positions start_k to start_k + length_k - 1 of an axis become updates[k], in
// place.
//
// Seen as bytes, every position of the outer axes is one row to copy. Rows of all tensors are shared out among the
// cores; few long rows are cut into pieces. What a row needs is known on the device only: the stretches are data.
#include "row_copy.h"

template <typename Index>
class KernelScatterList {
  public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR indice, GM_ADDR updates, GM_ADDR mask, GM_ADDR var,
                                const ScatterListTilingData& sizes) {
        copy.Init(pipe);
        count = sizes.count;
        outer = sizes.outer;
        inner = sizes.inner;
        pitch = sizes.extent * sizes.inner;
        spans.SetGlobalBuffer((__gm__ Index*)indice, 2 * count);
        hasMask = mask != nullptr;
        if (hasMask) {
            chosen.SetGlobalBuffer((__gm__ uint8_t*)mask, count);
        }
        this->updates = (__gm__ uint8_t*)updates;
        list = var;
    }

    __aicore__ inline void Process() {
        if (outer == 0 || pitch == 0) {
            return;
        }
        const uint64_t pieces = PiecesOf(count * outer, pitch), items = outer * pieces;
        const Share share(count * items);
        for (uint64_t k = share.begin / items; k * items < share.end; ++k) {
            const uint64_t first = k * items < share.begin ? share.begin - k * items : 0;
            const uint64_t last = share.end - k * items < items ? share.end - k * items : items;
            if (!hasMask || chosen.GetValue(k) != 0) {
                Update(k, first, last, pieces);
            }
        }
    }

  private:
    // Items `first` to `last` - 1 of tensor k.
    __aicore__ inline void Update(uint64_t k, uint64_t first, uint64_t last, uint64_t pieces) {
        const uint64_t start = spans.GetValue(2 * k) * inner, run = spans.GetValue(2 * k + 1) * inner;
        __gm__ uint8_t* to = TensorOf(k) + start;
        __gm__ uint8_t* from = updates + k * outer * pitch;
        if (run == 0) {
            return;
        }
        if (pieces == 1) {
            copy.Copy(to + first * pitch, pitch, from + first * pitch, pitch, run, last - first);
            return;
        }
        for (uint64_t item = first; item < last; ++item) {
            const Piece piece(run, pieces, item % pieces);
            const uint64_t at = item / pieces * pitch + piece.begin;
            if (piece.length > 0) {
                copy.Copy(to + at, piece.length, from + at, piece.length, piece.length, 1);
            }
        }
    }

    // The list begins with the distance in bytes to its table of addresses.
    __aicore__ inline __gm__ uint8_t* TensorOf(uint64_t k) {
        __gm__ uint64_t* words = (__gm__ uint64_t*)list;
        return (__gm__ uint8_t*)words[words[0] / sizeof(uint64_t) + k];
    }

    RowCopy copy;
    GlobalTensor<Index> spans;
    GlobalTensor<uint8_t> chosen;
    __gm__ uint8_t* updates = nullptr;
    GM_ADDR list = nullptr;
    uint64_t count = 0, outer = 0;
    uint64_t inner = 0;  // bytes of one position
    uint64_t pitch = 0;  // bytes of a row of var and updates
    bool hasMask = false;
};

extern "C" __global__ __aicore__ void scatter_list(GM_ADDR var, GM_ADDR indice, GM_ADDR updates, GM_ADDR mask,
                                                   GM_ADDR varOut, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(sizes, tiling);
    TPipe pipe;
    KernelScatterList<DTYPE_INDICE> op;
    op.Init(&pipe, indice, updates, mask, varOut, sizes);
    op.Process();
}
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
