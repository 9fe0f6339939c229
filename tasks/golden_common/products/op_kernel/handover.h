// Sums that the cube core of a block leaves for its two vector cores, rectangle by rectangle.
#ifndef HANDOVER_H
#define HANDOVER_H
#include "rectangles.h"
#include "row_copies.h"

// One product: the extents of its matrices, and the elements at which they begin.
struct Matrices {
    uint64_t m, k, n;
    uint64_t a, b, c;
};

// The rectangles of a block: those of all products, one product after the other, go to the blocks in turn. Cube and
// vector cores take the same way. `Products` has Done, Next and Here, which gives matrices.
template <typename Products>
class Walk {
  public:
    __aicore__ inline Walk(const Products& all, const TCubeTiling& tiling)
        : products(all),
          height(tiling.singleCoreM),
          width(tiling.singleCoreN),
          next(AscendC::GetBlockIdx() / AscendC::GetSubBlockNum()) {
        Settle();
    }

    __aicore__ inline bool Done() const { return products.Done(); }

    __aicore__ inline void Next() {
        next += AscendC::GetBlockNum();
        Settle();
    }

    __aicore__ inline const Products& Product() const { return products; }
    __aicore__ inline Rectangle Here() const { return Parts().OnDiagonal(next); }

  private:
    // To the product that the next rectangle belongs to.
    __aicore__ inline void Settle() {
        while (!products.Done()) {
            const uint64_t count = Parts().Count();
            if (next < count) {
                return;
            }
            next -= count;
            products.Next();
        }
    }

    __aicore__ inline Grid Parts() const { return Grid(products.Here().m, products.Here().n, height, width); }

    Products products;
    uint32_t height, width;
    uint64_t next;  // rectangle of this block, counted from the product's first one
};

// The rows of a rectangle that this vector core has: the upper or the lower half.
struct Half {
    uint32_t first, height;
};

__aicore__ inline Half OwnRows(const Rectangle& part) {
    const uint32_t upper = (part.height + 1) / 2;
    return AscendC::GetSubBlockIdx() == 0 ? Half{0, upper} : Half{upper, part.height - upper};
}

// Two places of a block in the workspace, taken in turn: while the vector cores read one, the cube core fills the
// other.
template <typename Sum>
class Handover {
  public:
    __aicore__ inline Handover(GM_ADDR workspace, const TCubeTiling& tiling)
        : size(tiling.singleCoreM * tiling.singleCoreN) {
        const uint64_t block = AscendC::GetBlockIdx() / AscendC::GetSubBlockNum();
        places = (__gm__ Sum*)workspace + block * PLACES * size;
    }

    // Of the cube core: where the next sums go, as soon as what was there has been read.
    __aicore__ inline AscendC::GlobalTensor<Sum> Claim() {
        if (count >= PLACES) {
            AscendC::CrossCoreWaitFlag(READ);
        }
        return Place();
    }

    __aicore__ inline void Give() {
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(WRITTEN);
        ++count;
    }

    // No flag is left behind.
    __aicore__ inline void Close() {
        for (uint32_t i = 0; i < count && i < PLACES; ++i) {
            AscendC::CrossCoreWaitFlag(READ);
        }
    }

    // Of the vector cores, both of which take and return every place.
    __aicore__ inline AscendC::GlobalTensor<Sum> Take() {
        AscendC::CrossCoreWaitFlag(WRITTEN);
        return Place();
    }

    __aicore__ inline void Return() {
        AscendC::CrossCoreSetFlag<2, PIPE_MTE2>(READ);
        ++count;
    }

  private:
    static constexpr uint32_t PLACES = 2;
    static constexpr uint16_t WRITTEN = 0, READ = 1;

    __aicore__ inline AscendC::GlobalTensor<Sum> Place() const {
        AscendC::GlobalTensor<Sum> place;
        place.SetGlobalBuffer(places + count % PLACES * size, size);
        return place;
    }

    uint32_t size;  // of a place
    uint32_t count = 0;
    __gm__ Sum* places;
};

// What the cube core does. One transfer into L1 brings several steps along K, whose rows are short. In a place of the
// workspace rows follow one another as in the unified buffer.
template <bool TURNED, typename T, typename Sum, typename Products>
__aicore__ inline void MultiplyAll(AscendC::TPipe* pipe, const TCubeTiling& tiling, __gm__ T* a, __gm__ T* b,
                                   Walk<Products>& walk, Handover<Sum>& handover) {
    RectangleProduct<T, Sum, TURNED, CFG_MDL> product;
    product.Init(pipe, tiling);
    for (; !walk.Done(); walk.Next()) {
        const Matrices& matrices = walk.Product().Here();
        const Rectangle part = walk.Here();
        product.SetMatrices(matrices.m, matrices.k, matrices.n, RowPitch(part.width));
        product.MultiplyInto(handover.Claim(), a + matrices.a, b + matrices.b, part);
        handover.Give();
    }
    product.End();
    handover.Close();
}
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
