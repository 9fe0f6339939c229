// How large the rectangles of products are that cube cores leave for vector cores in the workspace.
#ifndef HANDOVER_TILES_H
#define HANDOVER_TILES_H
#include <algorithm>
#include <vector>
#include "products.h"

namespace optiling {
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

// Nanoseconds that a cube core spends on a tile, by round numbers of the chip: loading, multiplying and storing
// overlap, the beginning of the first and the end of the last do not.
inline double TileTime(const Tile& tile, int64_t depth, int64_t bytesPerElement) {
    constexpr double LOADED = 145.0, STORED = 75.0, MULTIPLIED = 4096.0 * 1.8 * 2.0, BEGINNING = 600.0;  // per ns
    const double load = double(tile.height + tile.width) * depth * bytesPerElement / LOADED;
    const double store = double(tile.height) * tile.width * 4 / STORED;
    const double multiply = double(tile.height) * tile.width * depth * bytesPerElement / MULTIPLIED;
    return BEGINNING + std::max({load, store, multiply});
}

// Nanoseconds until `blocks` have been started, each with three cores, and two vector cores have finished a last tile.
inline double FrameTime(const Tile& tile, uint64_t blocks) {
    constexpr double STARTED = 170.0, FINISHED = 25.0;
    return STARTED * blocks + double(tile.height) * tile.width / FINISHED;
}

struct Tiles {
    Tile tile;
    uint64_t blocks;
};

// The tiles, and blocks that share them, with which everything is done soonest.
inline Tiles ChooseTiles(const std::vector<Product>& products, uint64_t cores) {
    constexpr int64_t TALLEST = 256, WIDEST = 512, SIDE = 16;
    constexpr int64_t LARGEST = 65536;  // elements; two tiles of each block are kept in the workspace
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
            const double each = TileTime(tile, depth, bytes);
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

// Cuts the tiles of products, which differ in their extents alone, into base blocks. Blocks of cores, 0 if none fit.
inline uint64_t CutTiles(gert::TilingContext* context, const std::vector<Product>& products, TCubeTiling& tiling) {
    const Tiles tiles = ChooseTiles(products, CubeCores(context));
    Product one = products[0];
    for (const Product& product : products) {
        one.k = std::max(one.k, product.k);
    }
    one.m = tiles.tile.height;
    one.n = tiles.tile.width;
    if (!CutProduct(context, one, 1, tiling)) {
        return 0;
    }
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
