// Sums and products of known values keep their offsets apart, so that neighbours are known as such.
#include "verify/values.h"

namespace twin {
namespace {

constexpr size_t kFirstSlots = 1024;  // a power of two, as every larger number of them

uint64_t Raw(int64_t number) { return static_cast<uint64_t>(number); }

uint64_t HashOf(Origin origin, const uint64_t* words) {
    uint64_t hash = static_cast<uint64_t>(origin);
    for (int i = 0; i < 5; ++i) {
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    }
    return hash;
}

}  // namespace

Symbols::Symbols() {
    keys_.Resize(kFirstOther);
    found_.Resize(kFirstSlots);
}

void Symbols::Grow() {
    List<uint32_t> larger;
    larger.Resize(2 * found_.size());
    for (uint32_t symbol : found_) {
        if (symbol == 0) continue;
        size_t at = HashOf(keys_[symbol].origin, keys_[symbol].words) & (larger.size() - 1);
        while (larger[at] != 0) at = (at + 1) & (larger.size() - 1);
        larger[at] = symbol;
    }
    found_ = larger;
}

Value Symbols::Of(Origin origin, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e) {
    Key key{origin, {a, b, c, d, e}};
    size_t last = found_.size() - 1, at = HashOf(origin, key.words) & last;
    for (; found_[at] != 0; at = (at + 1) & last) {
        const Key& other = keys_[found_[at]];
        if (other.origin == origin && memcmp(other.words, key.words, sizeof key.words) == 0) return {found_[at], 0};
    }
    auto symbol = static_cast<uint32_t>(keys_.size());
    keys_.Add(key);
    found_[at] = symbol;
    if (keys_.size() * 2 > found_.size()) Grow();
    return {symbol, 0};
}

Value Symbols::Add(Value a, Value b) {
    if (a.symbol == kConstant) return b + a.offset;
    if (b.symbol == kConstant) return a + b.offset;
    if (b.symbol < a.symbol) {
        Value other = a;
        a = b;
        b = other;
    }
    return Of(Origin::Sum, a.symbol, b.symbol) + a.offset + b.offset;
}

Value Symbols::Times(Value a, int64_t factor) {
    auto offset = static_cast<int64_t>(Raw(a.offset) * Raw(factor));
    if (factor == 1) return a;
    if (a.symbol == kConstant) return {kConstant, offset};
    return Of(Origin::Product, a.symbol, Raw(factor)) + offset;
}

Value Symbols::Extend(Value a, uint8_t bytes, bool is_signed, uint8_t width) {
    if (bytes >= 8) return a;
    if (a.symbol != kConstant) return Of(Origin::Extended, a.symbol, Raw(a.offset), bytes, is_signed, width);
    int unused = 64 - 8 * bytes;
    uint64_t shifted = Raw(a.offset) << unused;
    uint64_t number = is_signed ? Raw(static_cast<int64_t>(shifted) >> unused) : shifted >> unused;
    if (width < 8) number &= (1ull << 8 * width) - 1;
    return {kConstant, static_cast<int64_t>(number)};
}

}  // namespace twin
