// Rows of bytes moved through the unified buffer, each of them from one distance to another.
#ifndef ROW_COPY_H
#define ROW_COPY_H
#include "kernel_operator.h"

using namespace AscendC;

class RowCopy {
  public:
    __aicore__ inline void Init(TPipe* pipe) {
        pipe->InitBuffer(tileQueue, 2, TILE_BYTES);
    }

    // `rows` of `run` bytes. Those that lie behind one another on both sides are one long row.
    __aicore__ inline void Copy(__gm__ uint8_t* to, uint64_t toPitch, __gm__ uint8_t* from, uint64_t fromPitch,
                                uint64_t run, uint64_t rows) {
        if (toPitch == run && fromPitch == run) {
            run *= rows;
            rows = 1;
        }
        if (run > TILE_BYTES) {
            for (uint64_t row = 0; row < rows; ++row) {
                CopyLong(to + row * toPitch, from + row * fromPitch, run);
            }
            return;
        }
        const uint64_t fitting = TILE_BYTES / ((run + BLOCK - 1) / BLOCK * BLOCK);
        const uint64_t most = fitting < MOST_ROWS ? fitting : MOST_ROWS;
        for (uint64_t row = 0; row < rows; row += most) {
            const uint64_t some = rows - row < most ? rows - row : most;
            CopyTile(to + row * toPitch, toPitch, from + row * fromPitch, fromPitch, run, some);
        }
    }

  private:
    __aicore__ inline void CopyLong(__gm__ uint8_t* to, __gm__ uint8_t* from, uint64_t run) {
        for (uint64_t offset = 0; offset < run; offset += TILE_BYTES) {
            const uint64_t length = run - offset < TILE_BYTES ? run - offset : TILE_BYTES;
            CopyTile(to + offset, length, from + offset, length, length, 1);
        }
    }

    __aicore__ inline void CopyTile(__gm__ uint8_t* to, uint64_t toPitch, __gm__ uint8_t* from, uint64_t fromPitch,
                                    uint32_t run, uint32_t rows) {
        GlobalTensor<uint8_t> source, target;
        source.SetGlobalBuffer(from, (rows - 1) * fromPitch + run);
        target.SetGlobalBuffer(to, (rows - 1) * toPitch + run);
        const uint32_t fromGap = rows == 1 ? 0 : fromPitch - run, toGap = rows == 1 ? 0 : toPitch - run;
        LocalTensor<uint8_t> tile = tileQueue.AllocTensor<uint8_t>();
        const DataCopyExtParams in(rows, run, fromGap, 0, 0), out(rows, run, 0, toGap, 0);
        DataCopyPad(tile, source, in, DataCopyPadExtParams<uint8_t>());
        tileQueue.EnQue(tile);
        tile = tileQueue.DeQue<uint8_t>();
        DataCopyPad(target, tile, out);
        tileQueue.FreeTensor(tile);
    }

    static constexpr uint64_t TILE_BYTES = 65536, BLOCK = 32;
    static constexpr uint64_t MOST_ROWS = 4095;  // of one transfer
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> tileQueue;
};

// This core's share of `count` items, one behind the other.
struct Share {
    __aicore__ inline explicit Share(uint64_t count) {
        const uint64_t share = (count + GetBlockNum() - 1) / GetBlockNum();
        begin = GetBlockIdx() * share < count ? GetBlockIdx() * share : count;
        end = count - begin < share ? count : begin + share;
    }
    uint64_t begin, end;
};

// Into how many pieces rows are cut, so that few long ones keep all cores busy; no piece is short.
__aicore__ inline uint64_t PiecesOf(uint64_t rows, uint64_t run) {
    constexpr uint64_t SHORT = 2048, EACH = 4;  // bytes; items for each core, so that shares are alike
    const uint64_t wanted = (EACH * GetBlockNum() + rows - 1) / rows, most = (run + SHORT - 1) / SHORT;
    return wanted < most ? wanted : most;
}

// Piece `number` of a row of `run` bytes; the last one is shorter, or empty.
struct Piece {
    __aicore__ inline Piece(uint64_t run, uint64_t pieces, uint64_t number) {
        constexpr uint64_t GRANULE = 512;
        const uint64_t bytes = ((run + pieces - 1) / pieces + GRANULE - 1) / GRANULE * GRANULE;
        begin = number * bytes < run ? number * bytes : run;
        length = run - begin < bytes ? run - begin : bytes;
    }
    uint64_t begin, length;
};
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
