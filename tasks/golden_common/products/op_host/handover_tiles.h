// How large the rectangles of products are that cube cores leave for vector cores in the workspace.
#ifndef HANDOVER_TILES_H
#define HANDOVER_TILES_H
#include <algorithm>
#include <vector>
#include "products.h"

namespace optiling {
constexpr int64_t SUMS = 32768;  // of 4 bytes, that L0C has room for

struct Tile {
    int64_t height, width;  // in whole fractals
};

inline uint64_t CountTiles(const std::vector<Product>& products, const Tile& tile) {
    uint64_t count = 0;
    for (const Product& product : products) {
        count += CeilDiv(product.m, tile.height) * CeilDiv(product.n, tile.width);
    }
    return count;
}

// How many base blocks, one below the other, a tile is cut into: the sums of one fit into L0C.
inline int64_t BaseBlocks(const Tile& tile) { return CeilDiv(tile.height * tile.width, SUMS); }

// Nanoseconds that a cube core spends on a tile, by round numbers of the chip. Loads go on beside everything else, but
// the sums of a base block are stored before those of the next begin if L0C has room for one only. L2 delivers whole
// granules: a row of b of fewer bytes takes as long as one granule, and so does one of a if it lies column by column.
inline double TileTime(const Tile& tile, int64_t depth, int64_t bytesPerElement, bool leftTurned) {
    constexpr double LOADED = 160.0, STORED = 75.0, MULTIPLIED = 4096.0 * 1.8 * 2.0, BEGINNING = 600.0;  // per ns
    constexpr int64_t GRANULE = 512;
    const int64_t row = std::max(tile.width * bytesPerElement, GRANULE), blocks = BaseBlocks(tile);
    const int64_t left = tile.height * bytesPerElement;
    const double load = double((leftTurned ? std::max(left, GRANULE) : left) + blocks * row) * depth / LOADED;
    const double store = double(tile.height) * tile.width * 4 / STORED;
    const double multiply = double(tile.height) * tile.width * depth * bytesPerElement / MULTIPLIED;
    const bool twice = tile.height * tile.width * 2 <= SUMS;
    return BEGINNING + std::max(load, twice ? std::max(store, multiply) : store + multiply);
}

// Nanoseconds until `blocks` have been started, each with three cores, and two vector cores have finished a last tile.
inline double FrameTime(const Tile& tile, uint64_t blocks) {
    constexpr double STARTED = 20.0, FINISHED = 25.0;
    return STARTED * blocks + double(tile.height) * tile.width / FINISHED;
}

struct Tiles {
    Tile tile;
    uint64_t blocks;
};

// The tiles, and blocks that share them, with which everything is done soonest.
inline Tiles ChooseTiles(const std::vector<Product>& products, uint64_t cores) {
    constexpr int64_t TALLEST = 256, WIDEST = 512, SIDE = 16;
    constexpr int64_t LARGEST = 2 * SUMS;  // two tiles of each block are kept in the workspace
    int64_t tallest = 1, widest = 1, depth = 1;
    for (const Product& product : products) {
        tallest = std::max(tallest, product.m);
        widest = std::max(widest, product.n);
        depth = std::max(depth, product.k);
    }
    const int64_t bytes = ge::GetSizeByDataType(static_cast<ge::DataType>(products[0].type));
    Tiles best{{SIDE, SIDE}, 1};
    double least = 0;
    for (int64_t height = SIDE; height <= TALLEST && height < tallest + SIDE; height += SIDE) {
        for (int64_t width = SIDE; width <= WIDEST && width < widest + SIDE; width += SIDE) {
            if (height * width > LARGEST) {
                break;
            }
            const Tile tile{height, width};
            const uint64_t count = CountTiles(products, tile);
            const double each = TileTime(tile, depth, bytes, products[0].leftTurned);
            for (uint64_t blocks = 1; blocks <= std::min(cores, count); ++blocks) {
                const double time = CeilDiv(count, blocks) * each + FrameTime(tile, blocks);
                if (least == 0 || time < least) {
                    best = {tile, blocks};
                    least = time;
                }
            }
        }
    }
    return best;
}

// How many steps along K come with one transfer: rows of a are whole granules, and those of b come in as many parts as
// L1 needs to have room for two transfers of each matrix.
inline void LoadWholeGranules(TCubeTiling& tiling, int64_t bytesPerElement) {
    constexpr int64_t GRANULE = 512, L1 = 512 * 1024;
    const int64_t step = tiling.get_baseK() * bytesPerElement;
    const auto room = [&](int64_t a, int64_t b) {
        return 2 * step * (a * tiling.get_baseM() + b * tiling.get_baseN()) <= L1;
    };
    int64_t a = CeilDiv(GRANULE, step), b = a;
    while (b > 1 && !room(a, b)) {
        b /= 2;
    }
    if (room(a, b)) {
        tiling.set_stepKa(a);
        tiling.set_stepKb(b);
        tiling.set_depthA1(2 * a);
        tiling.set_depthB1(2 * b);
    }
}

// Cuts the tiles of products, which differ in their extents alone, into steps. Blocks of cores, 0 if none fit.
inline uint64_t CutTiles(gert::TilingContext* context, const std::vector<Product>& products, TCubeTiling& tiling) {
    const Tiles tiles = ChooseTiles(products, CubeCores(context));
    Product one = products[0];
    for (const Product& product : products) {
        one.k = std::max(one.k, product.k);
    }
    one.m = tiles.tile.height;
    one.n = tiles.tile.width;
    one.blocks = BaseBlocks(tiles.tile);
    if (!CutProduct(context, one, 1, tiling)) {
        return 0;
    }
    LoadWholeGranules(tiling, ge::GetSizeByDataType(static_cast<ge::DataType>(one.type)));
    tiling.set_M(products[0].m);
    tiling.set_N(products[0].n);
    return tiles.blocks;
}

inline uint64_t HandoverBytes(TCubeTiling& tiling, uint64_t blocks) {
    return blocks * 2 * tiling.get_singleCoreM() * tiling.get_singleCoreN() * sizeof(float);
}
}  // namespace optiling
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
