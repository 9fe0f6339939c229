// Loads and stores of the scalar unit find their lines by address; transfers look for lines that hold newer bytes.
#include "check/data_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <new>

#include "check/core_traffic.h"
#include "check/late_stores.h"

namespace twin {
namespace {

constexpr uint64_t kLine = 64, kNever = ~0ull;
constexpr const char* kClean = "Call DataCacheCleanAndInvalid after the store, before others read it.";
constexpr const char* kInvalidate = "Call DataCacheCleanAndInvalid before reading what others have written.";
constexpr const char* kBetween = "Call DataCacheCleanAndInvalid between the two.";
constexpr const char* kApart = "Let every block write cache lines of its own, or use DataCopyPad.";

// The caches of all cores that have one.
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
DataCache** g_caches = nullptr;
uint32_t g_count = 0, g_room = 0;

// Where blocks have stored since the last meeting, as lines.
struct Stores {
    uint64_t met, low, high;
    void Add(uint64_t line, uint64_t at) {
        if (at > met || high == 0) *this = {at, line, line};
        if (at < met) return;
        low = line < low ? line : low;
        high = line > high ? line : high;
    }
} g_stores{};

// The bytes [begin, end) of a line, one bit each.
uint64_t BytesOf(uint64_t begin, uint64_t end) {
    return (end == kLine ? ~0ull : (1ull << end) - 1) & ~((1ull << begin) - 1);
}

// The bytes of line `line` that lie in a range.
uint64_t Shared(const Range& r, uint64_t line) {
    uint64_t first = line * kLine, end = first + kLine, bytes = 0;
    if (r.Empty() || r.begin >= end || r.End() <= first) return 0;
    bool single = r.begin >= first || r.count == 1 || r.stride == 0;
    for (uint64_t i = single ? 0 : (first - r.begin) / r.stride; i < r.count; ++i) {
        uint64_t begin = r.begin + i * r.stride, stop = begin + r.bytes;
        if (begin >= end) break;
        if (stop > first) bytes |= BytesOf(begin > first ? begin - first : 0, stop < end ? stop - first : kLine);
    }
    return bytes;
}

// The bytes that differ between a line's memory and what it was.
uint64_t Changed(uint64_t line, const uint8_t* before) {
    const auto* now = reinterpret_cast<const uint8_t*>(line * kLine);
    if (memcmp(now, before, kLine) == 0) return 0;
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < kLine; ++i) bytes |= static_cast<uint64_t>(now[i] != before[i]) << i;
    return bytes;
}

// "bytes 64 to 68 of 'y'": the first run among bytes of a line.
struct Named {
    char text[120];
    Named(const Core& core, uint64_t line, uint64_t bytes) {
        auto first = static_cast<uint64_t>(__builtin_ctzll(bytes));
        uint64_t rest = ~(bytes >> first), length = rest == 0 ? kLine : static_cast<uint64_t>(__builtin_ctzll(rest));
        auto* at = reinterpret_cast<const void*>(line * kLine + first);
        unsigned long long begin = core.launch->memory.OffsetOf(at);
        snprintf(text, sizeof text, "bytes %llu to %llu of '%s'", begin, begin + length,
                 core.launch->memory.NameOf(at));
    }
};

// What other blocks have stored before the last meeting, and nobody has written back, is not in memory. Who moves in
// what others store beside it may wait for them that way.
void RefuseOthers(Core& core, const Range& range, bool moves, const char* instruction, const void* pc) {
    DataCache::Unwritten found{};
    bool any = false;
    pthread_mutex_lock(&g_lock);
    for (uint32_t i = 0; i < g_count && !any; ++i)
        any = g_caches[i] != core.cache && g_caches[i]->FindUnwritten(core, range, &found);
    bool polls =
        core.cross.met <= g_stores.met && range.begin / kLine <= g_stores.high && range.End() / kLine >= g_stores.low;
    pthread_mutex_unlock(&g_lock);
    core.cross.paired = core.cross.paired || (moves && polls);
    if (!any) return;
    core.related = found.pc;
    core.Violate("stale_cache", pc, kClean,
                 "%s reads %s, which another block has stored and which are still in its data cache: memory holds what "
                 "was there before",
                 instruction, Named(core, found.line, found.bytes).text);
}

DataCache& CacheOf(Core& core) {
    if (core.cache == nullptr) {
        void* memory = malloc(sizeof(DataCache));
        if (memory == nullptr) abort();
        core.cache = new (memory) DataCache(core);
    }
    return *core.cache;
}

}  // namespace

// What the kernel cannot write is the same for everybody.
void ThroughCache(Core& core, const GlobalBuffer& buffer, const void* address, uint64_t bytes, bool write,
                  const char* instruction, const void* pc) {
    if (!buffer.writable || core.launch->checker == Checker::Off) return;
    if (core.late != nullptr) core.late->SettleAll();  // the compiler's flags
    CacheOf(core).Touch(reinterpret_cast<uint64_t>(address), bytes, write, instruction, pc);
}

Edges::~Edges() { free(edges_); }

void Edges::Note(uint64_t line, uint64_t bytes, uint64_t met, const void* pc) {
    if (count_ > 0) {
        DataCache::Stored& last = edges_[count_ - 1];
        if (last.line == line && last.from == met) {
            last.bytes |= bytes;
            return;
        }
    }
    if (count_ == kMost) return;
    if (count_ == room_) {
        room_ = room_ == 0 ? 16 : 2 * room_;
        edges_ = static_cast<DataCache::Stored*>(realloc(edges_, room_ * sizeof(DataCache::Stored)));
        if (edges_ == nullptr) abort();
    }
    edges_[count_++] = {line, bytes, met, met, pc};
}

void Edges::Add(const Range& range, uint64_t met, const void* pc) {
    uint64_t first = range.begin / kLine, last = (range.End() - 1) / kLine;
    if (range.begin % kLine != 0 || first == last) Note(first, Shared(range, first), met, pc);
    if (first != last && range.End() % kLine != 0) Note(last, Shared(range, last), met, pc);
}

void PastCaches(Core& core, const Access& access) {
    NoteSums(core, access);
    if (access.write && !access.range.Empty() && core.launch->CoreCount() > 1 &&
        (access.range.begin % kLine != 0 || access.range.End() % kLine != 0)) {
        if (core.edges == nullptr) {
            void* memory = malloc(sizeof(Edges));
            if (memory == nullptr) abort();
            core.edges = new (memory) Edges;
        }
        core.edges->Add(access.range, core.cross.met, access.pc);
    }
    if (!access.write && __atomic_load_n(&g_count, __ATOMIC_ACQUIRE) != 0)
        RefuseOthers(core, access.range, true, access.instruction, access.pc);
    if (core.cache != nullptr) core.cache->Pass(access);
}

bool TakesTurns(const Core& core) { return core.cross.paired || (core.cache != nullptr && core.cache->listens()); }

void StopDataCache(Core& core) {
    if (core.edges != nullptr) {
        core.edges->~Edges();
        free(core.edges);
        core.edges = nullptr;
    }
    if (core.cache == nullptr) return;
    core.cache->~DataCache();
    free(core.cache);
    core.cache = nullptr;
}

DataCache::DataCache(Core& core) : core_(core) {
    lines_ = static_cast<Line*>(calloc(size_, sizeof(Line)));
    pthread_mutex_lock(&g_lock);
    if (g_count == g_room) {
        g_room = g_room == 0 ? 64 : 2 * g_room;
        g_caches = static_cast<DataCache**>(realloc(static_cast<void*>(g_caches), g_room * sizeof(DataCache*)));
    }
    if (lines_ == nullptr || g_caches == nullptr) abort();
    g_caches[g_count] = this;
    __atomic_store_n(&g_count, g_count + 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&g_lock);
}

DataCache::~DataCache() {
    free(lines_);
    free(stored_);
}

DataCache::Line* DataCache::Find(uint64_t line) {
    for (uint32_t way = 0; way < kWays; ++way) {
        Line& l = lines_[line % kSets * kWays + way];
        if (l.line == line) return &l;
    }
    return nullptr;
}

bool DataCache::FindUnwritten(const Core& reader, const Range& range, Unwritten* found) {
    if (__atomic_load_n(&dirty_, __ATOMIC_RELAXED) == 0) return false;
    bool any = false, akin = reader.kind == core_.kind;
    pthread_mutex_lock(&lock_);
    bool near = range.begin / kLine <= high_ && range.End() / kLine >= low_;
    for (uint32_t i = 0; near && !any && i < size_; ++i) {
        const Line& l = lines_[i];
        if (l.stored == 0 || (akin ? l.met >= reader.cross.met : l.met_whole >= reader.cross.everyone)) continue;
        uint64_t shared = Shared(range, l.line) & l.stored;
        *found = {l.line, shared == 0 ? 0 : shared & Changed(l.line, l.before), l.pc};
        any = found->bytes != 0;
    }
    pthread_mutex_unlock(&lock_);
    return any;
}

DataCache::Line& DataCache::Fill(uint64_t line, const void* pc) {
    uint64_t set = line % kSets;
    Line& l = lines_[set * kWays + next_[set]++ % kWays];
    WriteBack(l, core_.cross.met);
    l.line = line;
    l.moved = 0;
    l.pc = pc;
    l.filled = core_.cross.met;
    memcpy(l.before, reinterpret_cast<const void*>(line * kLine), kLine);
    low_ = line < low_ ? line : low_;
    high_ = line > high_ ? line : high_;
    return l;
}

void DataCache::Touch(uint64_t begin, uint64_t bytes, bool write, const char* instruction, const void* pc) {
    for (uint64_t line = begin / kLine, end = begin + bytes; line * kLine < end; ++line) {
        uint64_t from = begin > line * kLine ? begin % kLine : 0;
        uint64_t touched = BytesOf(from, std::min(end - line * kLine, kLine));
        Line* l = Find(line);
        if (l == nullptr && !write) {
            RefuseOthers(core_, Whole(begin, bytes), false, instruction, pc);
            listens_ = listens_ || invalidated_;
        }
        if (l == nullptr) {
            l = &Fill(line, pc);
        } else if (!write) {
            Load(*l, touched, instruction, pc);
        }
        if (write && (l->stored & touched) != touched) Store(*l, touched, pc);
    }
}

void DataCache::Store(Line& line, uint64_t bytes, const void* pc) {
    bool first = line.stored == 0;
    pthread_mutex_lock(&lock_);
    if (first) {
        line.pc = pc;
        line.met = core_.cross.met;
        line.met_whole = core_.cross.everyone;
        __atomic_store_n(&dirty_, dirty_ + 1, __ATOMIC_RELAXED);
    }
    line.stored |= bytes;
    pthread_mutex_unlock(&lock_);
    if (!first) return;
    pthread_mutex_lock(&g_lock);
    g_stores.Add(line.line, core_.cross.met);
    pthread_mutex_unlock(&g_lock);
}

void DataCache::Load(const Line& line, uint64_t bytes, const char* instruction, const void* pc) {
    uint64_t stale = Changed(line.line, line.before) & bytes & ~line.stored;
    if (stale == 0) return;
    core_.related = line.pc;
    core_.Violate("stale_cache", pc, kInvalidate,
                  "%s reads %s, which have changed since their line came into the core's data cache: it sees what they "
                  "were",
                  instruction, Named(core_, line.line, stale).text);
}

void DataCache::WriteBack(Line& line, uint64_t until) {
    if (line.line == 0) return;
    Line l = line;
    pthread_mutex_lock(&lock_);
    line.line = line.stored = 0;
    if (l.stored != 0) __atomic_store_n(&dirty_, dirty_ - 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock_);
    if (l.stored == 0) return;
    if (l.stored != ~0ull) Remember(l, until);
    uint64_t lost = l.moved == 0 ? 0 : l.moved & ~l.stored & Changed(l.line, l.before);
    if (lost == 0) return;
    core_.related = l.mover;
    Named bytes(core_, l.line, lost);
    constexpr const char* text =
        "a scalar store to a cache line of 64 bytes, into which a transfer of the core has put %s while it was in the "
        "data cache: the line is written back as a whole, with what was there before";
    if (!ended_) core_.Violate("stale_cache", l.pc, kBetween, text, bytes.text);
    core_.Fault("stale_cache", l.pc, kBetween, text, bytes.text);
}

void DataCache::Remember(const Line& line, uint64_t until) {
    if (stored_count_ == kMostStored) return;
    if (stored_count_ == stored_room_) {
        stored_room_ = stored_room_ == 0 ? 64 : 2 * stored_room_;
        stored_ = static_cast<Stored*>(realloc(stored_, stored_room_ * sizeof(Stored)));
        if (stored_ == nullptr) abort();
    }
    stored_[stored_count_++] = {line.line, line.stored, line.filled, until, line.pc};
}

void DataCache::Clean(const void* address) {
    if (address == nullptr) {
        for (uint32_t i = 0; i < size_; ++i) WriteBack(lines_[i], core_.cross.met);
        return;
    }
    auto at = reinterpret_cast<uint64_t>(address);
    Line* l = Find(at / kLine);
    invalidated_ = invalidated_ || l == nullptr || l->stored == 0;
    if (l == nullptr) return;
    uint64_t first = at % kLine, before = BytesOf(0, first) & l->stored;
    if (first == 0 || before == 0) return WriteBack(*l, core_.cross.met);
    // Only what lies behind the address is written back and forgotten.
    Line back = *l;
    back.stored &= ~before;
    if (back.stored != 0) Remember(back, core_.cross.met);
    pthread_mutex_lock(&lock_);
    l->stored = before;
    memcpy(l->before + first, reinterpret_cast<const void*>(at), kLine - first);
    pthread_mutex_unlock(&lock_);
}

void DataCache::Pass(const Access& access) {
    uint64_t first = access.range.begin / kLine, last = (access.range.End() - 1) / kLine;
    first = first < low_ ? low_ : first;
    last = last > high_ ? high_ : last;
    if (access.range.Empty() || first > last) return;
    if (last - first < size_) {
        for (uint64_t line = first; line <= last; ++line) {
            if (Line* l = Find(line)) PassLine(*l, access);
        }
        return;
    }
    for (uint32_t i = 0; i < size_; ++i) {
        if (lines_[i].line != 0) PassLine(lines_[i], access);
    }
}

void DataCache::PassLine(Line& line, const Access& access) {
    uint64_t shared = Shared(access.range, line.line), ours = shared & line.stored;
    if (access.write) {
        line.moved |= shared;
        line.mover = access.pc;
    } else if (ours != 0) {
        ours &= Changed(line.line, line.before);
    }
    if (ours == 0) return;
    core_.related = line.pc;
    Named bytes(core_, line.line, ours);
    if (access.write) {
        core_.Violate("stale_cache", access.pc, kClean,
                      "%s writes %s, and the scalar unit's store of them is still in the core's data cache: written "
                      "back later, it replaces what is written here",
                      access.instruction, bytes.text);
    }
    core_.Violate("stale_cache", access.pc, kClean,
                  "%s reads %s, which the scalar unit has stored and which are still in the core's data cache: memory "
                  "holds what was there before",
                  access.instruction, bytes.text);
}

void DataCache::Retire() {
    pthread_mutex_lock(&lock_);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < size_; ++i) {
        if (lines_[i].stored != 0) lines_[kept++] = lines_[i];
    }
    size_ = kept;
    lines_ = static_cast<Line*>(realloc(static_cast<void*>(lines_), (kept + 1) * sizeof(Line)));
    if (lines_ == nullptr) abort();
    pthread_mutex_unlock(&lock_);
}

void DataCache::Finish() {
    ended_ = true;
    for (uint32_t i = 0; i < size_; ++i) WriteBack(lines_[i], kNever);
}

namespace {

struct Part {
    const DataCache::Stored* stored;
    Core* core;
    bool moved;
};

// Whether nothing but a meeting of all cores could have kept the two apart, and none did.
bool Together(const Part& a, const Part& b) {
    if (a.core->kind != b.core->kind) return false;
    if (TakesTurns(*a.core) || TakesTurns(*b.core)) return false;
    return a.stored->from <= b.stored->to && b.stored->from <= a.stored->to;
}

// One of them is a transfer: the line is written back over what it has put there.
void CompareMoved(const Part& stored, const Part& moved) {
    uint64_t lost = moved.stored->bytes & ~stored.stored->bytes;
    if (lost == 0 || !Together(stored, moved)) return;
    if (stored.core->diagnostics.Again("cache_line_shared", stored.core->PcOf(stored.stored->pc))) return;
    stored.core->related = moved.stored->pc;
    stored.core->Fault("cache_line_shared", stored.stored->pc, kApart,
                       "block %lld stores to %s, and block %lld moves %s into the same cache line of 64 bytes: it is "
                       "written back whole, with what was there before",
                       static_cast<long long>(stored.core->index),
                       Named(*stored.core, stored.stored->line, stored.stored->bytes).text,
                       static_cast<long long>(moved.core->index), Named(*stored.core, moved.stored->line, lost).text);
}

void CompareParts(const Part& a, const Part& b) {
    if (a.core == b.core || (a.moved && b.moved)) return;
    if (a.moved || b.moved) return a.moved ? CompareMoved(b, a) : CompareMoved(a, b);
    if (a.core == b.core || a.stored->bytes == b.stored->bytes || !Together(a, b)) return;
    if (a.core->diagnostics.Again("cache_line_shared", a.core->PcOf(a.stored->pc))) return;
    a.core->related = b.stored->pc;
    a.core->Fault("cache_line_shared", a.stored->pc, kApart,
                  "blocks %lld and %lld store to one cache line of 64 bytes, %s and %s: each writes the whole line "
                  "back, without the other's bytes",
                  static_cast<long long>(a.core->index), static_cast<long long>(b.core->index),
                  Named(*a.core, a.stored->line, a.stored->bytes).text,
                  Named(*a.core, a.stored->line, b.stored->bytes).text);
}

}  // namespace

void CheckLines(Core* const* cores, int64_t count) {
    size_t total = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (cores[i]->cache == nullptr || cores[i]->diagnostics.HasError()) continue;
        cores[i]->cache->Finish();
        total += cores[i]->cache->stored_count();
    }
    if (total == 0 || cores[0]->launch->shares_variables) return;
    for (int64_t i = 0; i < count; ++i) total += cores[i]->edges == nullptr ? 0 : cores[i]->edges->count();
    auto* parts = static_cast<Part*>(malloc(total * sizeof(Part)));
    if (parts == nullptr) abort();
    size_t n = 0;
    for (int64_t i = 0; i < count; ++i) {
        Core* core = cores[i];
        for (uint32_t k = 0; core->edges != nullptr && k < core->edges->count(); ++k)
            parts[n++] = {&(*core->edges)[k], core, true};
        if (core->cache == nullptr || !core->cache->ended()) continue;
        for (uint32_t k = 0; k < core->cache->stored_count(); ++k) parts[n++] = {&core->cache->stored(k), core, false};
    }
    std::sort(parts, parts + n, [](const Part& a, const Part& b) {
        if (a.stored->line != b.stored->line) return a.stored->line < b.stored->line;
        if (a.core->number != b.core->number) return a.core->number < b.core->number;
        return a.stored < b.stored;
    });
    constexpr size_t kNear = 64;  // parts of a line that each is compared with
    for (size_t i = 0; i + 1 < n; ++i) {
        for (size_t k = i + 1; k < n && k <= i + kNear && parts[k].stored->line == parts[i].stored->line; ++k)
            CompareParts(parts[i], parts[k]);
    }
    free(parts);
}

}  // namespace twin
