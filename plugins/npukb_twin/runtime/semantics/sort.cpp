// Sort32, MrgSort and the library on top of them. Descending, stable, NaN first: the order of the documentation.
#include <stdlib.h>
#include <string.h>

#include "../../include/twin/sort.h"
#include "library/call.h"
#include "semantics/numeric.h"
#include "check/raw_access.h"

namespace twin {
namespace {

using npukb::BufferView;
using npukb::DType;

constexpr uint32_t kRecord = 8;      // bytes of a value and its index
constexpr uint32_t kSortWidth = 32;  // records that one Sort32 repeat orders
constexpr uint32_t kRegions = 16;    // region proposals that one RpSort16 repeat orders
constexpr int32_t kLongestRow = 4096;

DType TypeOf(uint32_t bytes) { return bytes == 2 ? DType::F16 : DType::F32; }

template <typename T>
bool Before(T a, T b) {
    return a > b || (a != a && b == b);
}

void Cost(const Library& call, uint64_t repeats, double records) {
    Core& core = call.core();
    // The sorting network takes in as many records a cycle whoever asks for it.
    core.time.Vector(core.launch->machine, records * static_cast<double>(repeats) / moves::Sort32.per_cycle32, 0,
                     false);
}

// Repeats of an instruction, 0 to 255.
uint32_t Repeats(const Library& call, int32_t repeat) {
    if (repeat < 0 || repeat > 255) {
        call.core().Violate("limit_exceeded", call.pc(), "Split the work into calls of at most 255 repeats.",
                            "%s: repeatTime is %d, which is outside of 0 to 255", call.name(), repeat);
    }
    return static_cast<uint32_t>(repeat);
}

// Elements of `width` bytes whose key of type T lies at `key`, ordered by insertion: stable, and quick for so few.
template <typename T, uint32_t width>
void InsertionSort(uint8_t* data, uint32_t n, uint32_t key) {
    for (uint32_t i = 1; i < n; ++i) {
        uint8_t element[width];
        memcpy(element, data + i * width, width);
        T own;
        memcpy(&own, element + key, sizeof(T));
        uint32_t at = i;
        for (; at > 0; --at) {
            T other;
            memcpy(&other, data + (at - 1) * width + key, sizeof(T));
            if (!Before(own, other)) break;
            memcpy(data + at * width, data + (at - 1) * width, width);
        }
        memcpy(data + at * width, element, width);
    }
}

// Which of `n` elements comes first, second and so on, where keys of type T lie every `stride` bytes: by insertion,
// too.
template <typename T>
void Order(const uint8_t* keys, uint32_t stride, uint32_t n, uint8_t* order) {
    auto key = [&](uint32_t i) {
        T own;
        memcpy(&own, keys + i * stride, sizeof own);
        return own;
    };
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t at = i;
        for (; at > 0 && Before(key(i), key(order[at - 1])); --at) order[at] = order[at - 1];
        order[at] = static_cast<uint8_t>(i);
    }
}

void Ordered(uint32_t element_bytes, const uint8_t* keys, uint32_t stride, uint32_t n, uint8_t* order) {
    if (element_bytes == 2)
        Order<half>(keys, stride, n, order);
    else
        Order<float>(keys, stride, n, order);
}

template <typename T>
void MakeRecord(uint8_t* at, T value, uint32_t index) {
    memset(at, 0, 4);
    memcpy(at, &value, sizeof(T));
    memcpy(at + 4, &index, 4);
}

template <typename T>
void SortBlocks(uint8_t* dst, const T* value, const uint32_t* index, uint32_t repeats) {
    for (uint32_t r = 0; r < repeats; ++r) {
        uint8_t* block = dst + static_cast<uint64_t>(r) * kSortWidth * kRecord;
        for (uint32_t i = 0; i < kSortWidth; ++i) {
            MakeRecord(block + i * kRecord, value[r * kSortWidth + i], index[r * kSortWidth + i]);
        }
        InsertionSort<T, kRecord>(block, kSortWidth, 0);
    }
}

// Runs of `run` ordered records become one, with `spare` as room for as many records.
template <typename T>
void MergeRuns(uint8_t* data, uint8_t* spare, uint32_t n, uint32_t run) {
    uint8_t* from = data;
    uint8_t* to = spare;
    for (; run < n; run *= 2) {
        for (uint32_t start = 0; start < n; start += 2 * run) {
            uint32_t a = start, a_end = start + run < n ? start + run : n;
            uint32_t b = a_end, b_end = start + 2 * run < n ? start + 2 * run : n;
            for (uint32_t out = start; out < b_end; ++out) {
                bool second = a == a_end;
                if (!second && b < b_end) {
                    T x, y;
                    memcpy(&x, from + a * kRecord, sizeof(T));
                    memcpy(&y, from + b * kRecord, sizeof(T));
                    second = Before(y, x);
                }
                memcpy(to + out * kRecord, from + (second ? b++ : a++) * kRecord, kRecord);
            }
        }
        uint8_t* swap = from;
        from = to;
        to = swap;
    }
    if (from != data) memcpy(data, from, static_cast<uint64_t>(n) * kRecord);
}

// Up to four ordered queues of elements of `width` bytes.
struct Queues {
    const uint8_t* data[4];
    uint16_t length[4];
    uint32_t valid;  // how many of them, from the first
    uint32_t width;
    uint32_t key;
    bool suspend;
    uint16_t taken[4];
};

// A record goes from a queue to the result: its key decides, its fields are moved.
void FollowRecord(const Library& call, const MoveRow& row, const Queues& q, uint32_t queue, const uint8_t* record,
                  uint8_t* dst, uint32_t element_bytes) {
    constexpr Slot kSlots[] = {Slot::Src0, Slot::Src1, Slot::Src2, Slot::Src3};
    Decide(call.core(), row, kSlots[queue], record + q.key, element_bytes, call.pc());
    for (uint32_t at = 0; at < q.width; at += element_bytes) Follow(call.core(), dst + at, record + at, element_bytes);
}

// Without `dst` only counts. `row` is that of an instruction whose records are followed.
template <typename T>
void Merge(const Library& call, const MoveRow& row, Queues& q, uint8_t* dst) {
    memset(q.taken, 0, sizeof q.taken);
    for (;;) {
        int best = -1;
        T best_key{};
        for (uint32_t i = 0; i < q.valid; ++i) {
            if (q.taken[i] == q.length[i]) {
                if (q.suspend) return;
                continue;
            }
            T key;
            memcpy(&key, q.data[i] + static_cast<uint64_t>(q.taken[i]) * q.width + q.key, sizeof(T));
            if (best < 0 || Before(key, best_key)) {
                best = static_cast<int>(i);
                best_key = key;
            }
        }
        if (best < 0) return;
        if (dst != nullptr) {
            const uint8_t* record = q.data[best] + static_cast<uint64_t>(q.taken[best]) * q.width;
            if (call.core().tracker != nullptr)
                FollowRecord(call, row, q, static_cast<uint32_t>(best), record, dst, sizeof(T));
            memmove(dst, record, q.width);
            dst += q.width;
        }
        ++q.taken[best];
    }
}

uint32_t ValidQueues(const Library& call, uint16_t bits) {
    if (bits != 3 && bits != 7 && bits != 15) {
        call.core().Violate("limit_exceeded", call.pc(), "Use 3 for two queues, 7 for three, 15 for four.",
                            "%s: validBit is %u, which is not 3, 7 or 15", call.name(), bits);
    }
    return bits == 3 ? 2 : bits == 7 ? 3 : 4;
}

// Repeats count only for four queues of one length that follow each other and are merged to their ends.
uint32_t MergeRepeats(const Library& call, const Queues& q, uint32_t repeat) {
    if (repeat == 0 || repeat > 255) {
        call.core().Violate("limit_exceeded", call.pc(), "Use 1 to 255 repeats.",
                            "%s: repeatTimes is %u, which is outside of 1 to 255", call.name(), repeat);
    }
    if (repeat == 1) return 1;
    bool regular = q.valid == 4 && !q.suspend;
    for (uint32_t i = 1; regular && i < 4; ++i) {
        regular =
            q.length[i] == q.length[0] && q.data[i] == q.data[i - 1] + static_cast<uint64_t>(q.length[0]) * q.width;
    }
    if (regular) return repeat;
    call.core().Warn(
        "merge_repeat", call.pc(), "Merge once per call, or lay four queues of one length one after the other.",
        "%s: repeatTimes is %u, but it counts only for four adjacent queues of one length without suspension; "
        "one merge is done",
        call.name(), repeat);
    return 1;
}

void MergeQueues(const Library& call, const MoveRow& row, uint32_t element_bytes, Queues& q, uint8_t* dst,
                 uint32_t repeat) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < q.valid; ++i) total += q.length[i];
    for (uint32_t r = 0; r < repeat; ++r) {
        if (element_bytes == 2)
            Merge<half>(call, row, q, dst);
        else
            Merge<float>(call, row, q, dst);
        for (auto& source : q.data) source += total * q.width;
        dst += total * q.width;
    }
    memcpy(call.core().merged, q.taken, sizeof q.taken);
    Cost(call, repeat, static_cast<double>(total));
}

void CheckLengths(const Library& call, const uint16_t lengths[4], uint32_t valid) {
    for (uint32_t i = 0; i < valid; ++i) {
        if (lengths[i] > 4095) {
            call.core().Violate("limit_exceeded", call.pc(), "Merge shorter queues.",
                                "%s: queue %u has %u elements; at most 4095 are possible", call.name(), i + 1,
                                lengths[i]);
        }
    }
}

// What the documentation lists for older chips only runs, but is no kernel for this one.
void OlderChip(const Library& call) {
    call.core().Warn("other_chip", call.pc(), "Use Sort32, MrgSort, Sort and Extract, which this chip has.",
                     "%s is documented for older chips only; this one has no region proposals", call.name());
}

template <typename T>
void MoveField(T* dst, const T* src, uint32_t n, uint32_t field, bool extract) {
    for (uint32_t i = 0; i < n; ++i) {
        if (extract)
            dst[i] = src[i * 8 + field];
        else
            dst[i * 8 + field] = src[i];
    }
}

struct TopKCall {
    bool given_index, finish, small, smallest;
    int32_t k, outer, inner, n;
};

void CheckTopK(const Library& call, const TopKCall& t) {
    Core& core = call.core();
    if (t.outer < 1 || t.inner < 32 || t.inner % 32 != 0 || t.n < 1 || t.n > t.inner) {
        core.Violate("bad_shape", call.pc(), "Pad each row to a multiple of 32 elements and set inner to that length.",
                     "TopK: outter is %d, inner is %d and n is %d; inner must be a multiple of 32, and n 1 to inner",
                     t.outer, t.inner, t.n);
    }
    if (t.small ? t.inner != 32 : t.inner > kLongestRow) {
        core.Violate("bad_shape", call.pc(), "Use the normal mode for rows other than 32, and split rows over 4096.",
                     "TopK: inner is %d; the %s", t.inner,
                     t.small ? "small mode takes rows of 32" : "normal mode ends at 4096");
    }
    if (t.k < 1 || t.k > t.n) {
        core.Violate("bad_shape", call.pc(), "Choose k between 1 and the length of a row.",
                     "TopK: k is %d of %d elements", t.k, t.n);
    }
}

template <typename T>
void RunTopK(const TopKCall& t, T* value, int32_t* index, const T* src, const int32_t* src_index, const bool* finish) {
    // Not of the thread: a thread pays for all its variables as it starts, whether a kernel sorts or not.
    constexpr uint32_t kBytes = kLongestRow * kRecord;
    auto* records = static_cast<uint8_t*>(calloc(2, kBytes));
    if (records == nullptr) abort();
    uint8_t* spare = records + kBytes;
    constexpr int32_t kValuesPerBlock = 32 / sizeof(T);
    int32_t value_row = t.small ? t.k : (t.k + kValuesPerBlock - 1) / kValuesPerBlock * kValuesPerBlock;
    int32_t index_row = t.small ? t.k : (t.k + 7) / 8 * 8;
    for (int32_t row = 0; row < t.outer; ++row) {
        for (int32_t i = 0; i < t.inner; ++i) {
            T x = src[static_cast<int64_t>(row) * t.inner + i];
            int32_t own = t.given_index ? src_index[t.small ? static_cast<int64_t>(row) * t.inner + i : i] : i;
            MakeRecord(records + i * kRecord, t.smallest ? static_cast<T>(-x) : x, static_cast<uint32_t>(own));
        }
        for (int32_t i = 0; i < t.inner; i += kSortWidth)
            InsertionSort<T, kRecord>(records + i * kRecord, kSortWidth, 0);
        MergeRuns<T>(records, spare, static_cast<uint32_t>(t.inner), kSortWidth);
        for (int32_t i = 0; i < t.k; ++i) {
            T x;
            memcpy(&x, records + i * kRecord, sizeof(T));
            value[static_cast<int64_t>(row) * value_row + i] = t.smallest ? static_cast<T>(-x) : x;
            int32_t& own = index[static_cast<int64_t>(row) * index_row + i];
            memcpy(&own, records + i * kRecord + 4, 4);
            if (t.finish && finish[row]) own = t.n;
        }
    }
    free(records);
}

void Sort32Into(const Library& call, uint32_t bytes, uint8_t* out, const void* value, const uint32_t* index,
                uint32_t repeats) {
    if (bytes == 2)
        SortBlocks(out, static_cast<const half*>(value), index, repeats);
    else
        SortBlocks(out, static_cast<const float*>(value), index, repeats);
    Cost(call, repeats, kSortWidth);
}

// Values decide where records come to lie, and each brings its index.
void FollowSorted(const Library& call, uint32_t bytes, const uint8_t* out, const void* value, const uint32_t* index,
                  uint32_t repeats) {
    Core& core = call.core();
    if (core.tracker == nullptr) return;
    for (uint32_t r = 0; r < repeats; ++r) {
        const uint8_t* values = static_cast<const uint8_t*>(value) + r * kSortWidth * bytes;
        uint8_t order[kSortWidth];
        Decide(core, moves::Sort32, Slot::Src0, values, kSortWidth * bytes, call.pc());
        Ordered(bytes, values, bytes, kSortWidth, order);
        for (uint32_t i = 0; i < kSortWidth; ++i) {
            const uint8_t* record = out + (r * kSortWidth + i) * kRecord;
            MarkResult(core, record, 4, true);
            Follow(core, record + 4, index + r * kSortWidth + order[i], 4);
        }
    }
}

// Sixteen proposals are ordered by their scores, each of which brings the other fields. Before they are moved, because
// both may be the same.
void FollowRegions(const Library& call, uint32_t bytes, const uint8_t* out, const uint8_t* in) {
    Core& core = call.core();
    if (core.tracker == nullptr) return;
    constexpr uint32_t kFields = 8, kScore = 4;
    uint8_t order[kRegions];
    bool holds[kRegions][kFields];
    for (uint32_t i = 0; i < kRegions; ++i) {
        for (uint32_t f = 0; f < kFields; ++f) holds[i][f] = HoldsValue(core, in + (i * kFields + f) * bytes, bytes);
        Decide(core, moves::RpSort16, Slot::Src0, in + (i * kFields + kScore) * bytes, bytes, call.pc());
    }
    Ordered(bytes, in + kScore * bytes, kFields * bytes, kRegions, order);
    for (uint32_t i = 0; i < kRegions; ++i) {
        for (uint32_t f = 0; f < kFields; ++f)
            MarkResult(core, out + (i * kFields + f) * bytes, bytes, f == kScore || holds[order[i]][f]);
    }
}

const void* ReadValues(const Library& call, uint32_t bytes, const BufferView* view, int64_t n, const char* role) {
    if (bytes == 2) return call.Read<half>(view, n, role);
    return call.Read<float>(view, n, role);
}

// Proposals are eight elements, of which one field is read or written.
template <typename T>
void RunMoveField(const Library& call, const BufferView* dst, const BufferView* src, uint32_t n, uint32_t field,
                  bool extract) {
    T* to = call.Write<T>(dst, extract ? n : n * 8, Slot::Dst, sizeof(T));
    const T* from = call.Read<T>(src, extract ? n * 8 : n, Slot::Src0, sizeof(T));
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t in_region = i * 8 + field;
        Follow(call.core(), to + (extract ? i : in_region), from + (extract ? in_region : i), sizeof(T));
    }
    MoveField(to, from, n, field, extract);
}

}  // namespace
}  // namespace twin

using namespace twin;

extern "C" {

void npukb_sort32(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* value,
                  const npukb::BufferView* index, int32_t repeat) {
    Library call(moves::Sort32, NPUKB_PC);
    uint32_t repeats = Repeats(call, repeat);
    auto* out = call.Write<uint8_t>(dst, static_cast<int64_t>(repeats) * kSortWidth * kRecord, Slot::Dst, 4);
    const void* values =
        ReadValues(call, element_bytes, value, repeats * kSortWidth, moves::Sort32.At(Slot::Src0).role);
    auto* indices = call.Read<uint32_t>(index, repeats * kSortWidth, Slot::Src1, 4);
    if (moves::Sort32.Exclusive()) call.Exclusive();
    FollowSorted(call, element_bytes, out, values, indices, repeats);
    Sort32Into(call, element_bytes, out, values, indices, repeats);
}

void npukb_merge_sort(uint32_t element_bytes, uint32_t region, const npukb::BufferView* dst,
                      const npukb::BufferView* src1, const npukb::BufferView* src2, const npukb::BufferView* src3,
                      const npukb::BufferView* src4, const AscendC::MrgSort4Info* info) {
    const MoveRow& row = region ? moves::MrgSort4 : moves::MrgSort;
    Library call(row, NPUKB_PC);
    if (region) OlderChip(call);
    constexpr Slot slots[] = {Slot::Src0, Slot::Src1, Slot::Src2, Slot::Src3};
    const npukb::BufferView* views[] = {src1, src2, src3, src4};
    Queues q{};
    q.valid = ValidQueues(call, info->validBit);
    q.width = region ? 8 * element_bytes : kRecord;
    q.key = region ? 4 * element_bytes : 0;
    q.suspend = info->ifExhaustedSuspension;
    memcpy(q.length, info->elementLengths, sizeof q.length);
    CheckLengths(call, q.length, q.valid);
    const Pinned pinned[] = {views[0], views[1], views[2], views[3]};
    for (uint32_t i = 0; i < q.valid; ++i) q.data[i] = static_cast<const uint8_t*>(views[i]->address);
    uint32_t repeat = MergeRepeats(call, q, info->repeatTimes);
    uint64_t total = 0;
    for (uint32_t i = 0; i < q.valid; ++i) {
        total += q.length[i];
        call.Read<uint8_t>(views[i], static_cast<int64_t>(q.length[i]) * q.width, slots[i], element_bytes);
    }
    if (repeat > 1) {
        call.Read<uint8_t>(views[0], static_cast<int64_t>(total) * repeat * q.width, Slot::Src0, element_bytes);
    }
    if (q.suspend) {  // the length of the result depends on the values
        if (element_bytes == 2)
            Merge<half>(call, row, q, nullptr);
        else
            Merge<float>(call, row, q, nullptr);
        total = static_cast<uint64_t>(q.taken[0]) + q.taken[1] + q.taken[2] + q.taken[3];
    }
    auto* out = call.Write<uint8_t>(dst, static_cast<int64_t>(total * repeat * q.width), Slot::Dst, element_bytes);
    if (row.Exclusive()) call.Exclusive();
    MergeQueues(call, row, element_bytes, q, out, repeat);
}

void npukb_merge_result(uint16_t* counts) {
    Core& core = ThisCore();
    CheckResult(counts, sizeof core.merged, NPUKB_PC);
    memcpy(counts, core.merged, sizeof core.merged);
    core.time.Scalar(core.launch->machine.scalar_issue_cycles);
}

void npukb_region_sort(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* src,
                       int32_t repeat) {
    Library call(moves::RpSort16, NPUKB_PC);
    OlderChip(call);
    uint32_t repeats = Repeats(call, repeat);
    uint32_t width = 8 * element_bytes;
    const int64_t bytes = static_cast<int64_t>(repeats) * kRegions * width;
    auto* out = call.Write<uint8_t>(dst, bytes, Slot::Dst, element_bytes);
    auto* in = call.Read<uint8_t>(src, bytes, Slot::Src0, element_bytes);
    for (uint32_t r = 0; r < repeats; ++r)
        FollowRegions(call, element_bytes, out + r * kRegions * width, in + r * kRegions * width);
    memmove(out, in, static_cast<uint64_t>(repeats) * kRegions * width);
    for (uint32_t r = 0; r < repeats; ++r) {
        if (element_bytes == 2)
            InsertionSort<half, 16>(out + r * kRegions * width, kRegions, 4 * element_bytes);
        else
            InsertionSort<float, 32>(out + r * kRegions * width, kRegions, 4 * element_bytes);
    }
    Cost(call, repeats, kRegions);
}

void npukb_region_move(uint32_t element_bytes, uint32_t extract, const npukb::BufferView* dst,
                       const npukb::BufferView* src, int32_t repeat, int32_t field) {
    Library call(extract ? moves::ProposalExtract : moves::ProposalConcat, NPUKB_PC);
    OlderChip(call);
    if (field < 0 || field > 5) {
        call.core().Violate("limit_exceeded", call.pc(), "Use 0 for x1, 1 y1, 2 x2, 3 y2, 4 score, 5 label.",
                            "%s: modeNumber is %d, which is outside of 0 to 5", call.name(), field);
    }
    uint32_t n = Repeats(call, repeat) * kRegions;
    if (element_bytes == 2)
        RunMoveField<half>(call, dst, src, n, static_cast<uint32_t>(field), extract != 0);
    else
        RunMoveField<float>(call, dst, src, n, static_cast<uint32_t>(field), extract != 0);
    call.Charge(TypeOf(element_bytes), n, 1);
}

void npukb_sort_concat(uint32_t element_bytes, const npukb::BufferView* src, int32_t repeat) {
    Library call("Concat", NPUKB_PC);
    ReadValues(call, element_bytes, src, Repeats(call, repeat) * kRegions, "src");
}

void npukb_sort(uint32_t element_bytes, uint32_t full, const npukb::BufferView* dst, const npukb::BufferView* value,
                const npukb::BufferView* index, const npukb::BufferView* tmp, int32_t repeat) {
    Library call("Sort", NPUKB_PC);
    uint32_t repeats = Repeats(call, repeat);
    uint32_t n = repeats * kSortWidth;
    auto* out = call.Write<uint8_t>(dst, static_cast<int64_t>(n) * kRecord, "dst");
    const void* values = ReadValues(call, element_bytes, value, n, "concat");
    auto* indices = call.Read<uint32_t>(index, n, "index");
    bool merge = full && repeats > 1;
    if (merge) call.Scratch(tmp, static_cast<uint64_t>(n) * kRecord);
    Sort32Into(call, element_bytes, out, values, indices, repeats);
    if (!merge) return;
    auto* spare = static_cast<uint8_t*>(malloc(static_cast<size_t>(n) * kRecord));
    if (element_bytes == 2)
        MergeRuns<half>(out, spare, n, kSortWidth);
    else
        MergeRuns<float>(out, spare, n, kSortWidth);
    free(spare);
    double rounds = 0;
    for (uint32_t runs = repeats; runs > 1; runs = (runs + 3) / 4) ++rounds;
    Cost(call, 1, rounds * n);
}

void npukb_sort_extract(uint32_t element_bytes, const npukb::BufferView* value, const npukb::BufferView* index,
                        const npukb::BufferView* sorted, int32_t repeat) {
    Library call("Extract", NPUKB_PC);
    uint32_t n = Repeats(call, repeat) * kSortWidth;
    auto* indices = call.Write<uint32_t>(index, n, "dstIndex");
    auto* records = call.Read<uint8_t>(sorted, static_cast<int64_t>(n) * kRecord, "sorted");
    auto* values = call.Write<uint8_t>(value, static_cast<int64_t>(n) * element_bytes, "dstValue");
    for (uint32_t i = 0; i < n; ++i) {
        memcpy(values + i * element_bytes, records + i * kRecord, element_bytes);
        memcpy(indices + i, records + i * kRecord + 4, 4);
    }
    call.Charge(DType::F32, 2 * n, 2);
}

void npukb_topk(uint32_t element_bytes, uint32_t flags, const npukb::BufferView* value, const npukb::BufferView* index,
                const npukb::BufferView* src, const npukb::BufferView* src_index, const npukb::BufferView* finish,
                const npukb::BufferView* tmp, int32_t k, const AscendC::TopKInfo* info) {
    Library call("TopK", NPUKB_PC);
    TopKCall t{(flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, (flags & 8) != 0, k,
               info->outter,     info->inner,      info->n};
    CheckTopK(call, t);
    int32_t per_block = static_cast<int32_t>(32 / element_bytes);
    int64_t values = static_cast<int64_t>(t.outer) * (t.small ? k : (k + per_block - 1) / per_block * per_block);
    int64_t indices = static_cast<int64_t>(t.outer) * (t.small ? k : (k + 7) / 8 * 8);
    int64_t elements = static_cast<int64_t>(t.outer) * t.inner;
    auto* out_index = call.Write<int32_t>(index, indices, "dstIndexLocal");
    const void* in = ReadValues(call, element_bytes, src, elements, "srcLocal");
    const int32_t* in_index =
        t.given_index ? call.Read<int32_t>(src_index, t.small ? elements : t.inner, "srcIndexLocal") : nullptr;
    const bool* done = t.finish ? call.Read<bool>(finish, t.outer, "finishLocal") : nullptr;
    call.Scratch(tmp, static_cast<uint64_t>(t.inner) * kRecord);
    if (element_bytes == 2) {
        RunTopK(t, call.Write<half>(value, values, "dstValueLocal"), out_index, static_cast<const half*>(in), in_index,
                done);
    } else {
        RunTopK(t, call.Write<float>(value, values, "dstValueLocal"), out_index, static_cast<const float*>(in),
                in_index, done);
    }
    double rounds = 1;
    for (int32_t runs = t.inner / 32; runs > 1; runs = (runs + 3) / 4) ++rounds;
    Cost(call, static_cast<uint64_t>(t.outer), rounds * t.inner);
    call.Charge(DType::F32, elements * 2, 2);
}

void npukb_vbitsort(uint32_t element_bytes, void* dst, const void* value, const void* index, uint64_t repeat) {
    Library call("vbitsort", NPUKB_PC);
    uint32_t n = Repeats(call, static_cast<int32_t>(repeat)) * kSortWidth;
    npukb::BufferView to{dst, n * kRecord, 0, 0};
    npukb::BufferView from{const_cast<void*>(value), n * element_bytes, 0, 0};
    npukb::BufferView with{const_cast<void*>(index), n * 4, 0, 0};
    auto* out = call.Write<uint8_t>(&to, n * kRecord, "dst");
    const void* values = ReadValues(call, element_bytes, &from, n, "src0");
    auto* indices = call.Read<uint32_t>(&with, n, "src1");
    FollowSorted(call, element_bytes, out, values, indices, n / kSortWidth);
    Sort32Into(call, element_bytes, out, values, indices, n / kSortWidth);
}

void npukb_vmrgsort4(uint32_t element_bytes, void* dst, const void* const* sources, uint64_t lengths, uint64_t config) {
    Library call("vmrgsort4", NPUKB_PC);
    Queues q{};
    q.valid = ValidQueues(call, (config >> 8) & 15);
    q.width = kRecord;
    q.suspend = ((config >> 12) & 1) != 0;
    for (uint32_t i = 0; i < 4; ++i) q.length[i] = static_cast<uint16_t>(lengths >> (16 * i));
    CheckLengths(call, q.length, q.valid);
    uint32_t total = 0;
    for (uint32_t i = 0; i < q.valid; ++i) {
        q.data[i] = static_cast<const uint8_t*>(sources[i]);
        total += q.length[i];
    }
    uint32_t repeat = MergeRepeats(call, q, config & 0xff);
    for (uint32_t i = 0; i < q.valid; ++i) {
        npukb::BufferView from{const_cast<void*>(sources[i]), (i == 0 ? total * repeat : q.length[i]) * kRecord, 0, 0};
        call.Read<uint8_t>(&from, (i == 0 && repeat > 1 ? total * repeat : q.length[i]) * kRecord, "src", 8);
    }
    npukb::BufferView to{dst, total * repeat * kRecord, 0, 0};
    auto* out = call.Write<uint8_t>(&to, total * repeat * kRecord, "dst");
    MergeQueues(call, moves::MrgSort, element_bytes, q, out, repeat);
}

}  // extern "C"
