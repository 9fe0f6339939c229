// Every block of 32 bytes knows when each pipe last read and wrote it; what a pipe knows of the others says whether
// that is over.
#include "check/pipe_order.h"

#include <stdio.h>
#include <stdlib.h>

namespace twin {
namespace {

constexpr Pipe kPipeOf[] = {Pipe::S, Pipe::V, Pipe::M, Pipe::MTE1, Pipe::MTE2, Pipe::MTE3, Pipe::FIX};

int IndexOf(Pipe pipe) {
    for (int i = 0; i < 7; ++i) {
        if (kPipeOf[i] == pipe) return i;
    }
    return 0;
}

uint32_t Latest(const uint32_t* when, uint32_t first, uint32_t last) {
    uint32_t latest = 0;
    for (uint32_t i = first; i < last; ++i) latest = when[i] > latest ? when[i] : latest;
    return latest;
}

void Mark(uint32_t* when, uint32_t first, uint32_t last, uint32_t now) {
    for (uint32_t i = first; i < last; ++i) when[i] = now;
}

template <typename T>
T* Zeroed(size_t count) {
    auto* memory = static_cast<T*>(calloc(count, sizeof(T)));
    if (memory == nullptr) abort();
    return memory;
}

}  // namespace

Order::Order(Core& core) : core_(core), blocks_(core.launch->arena_bytes / 32) {
    for (int p = 0; p < kPipes; ++p) {
        written_[p] = Zeroed<uint32_t>(blocks_);
        read_[p] = Zeroed<uint32_t>(blocks_);
        places_[p] = Zeroed<const void*>(kPlaces);
    }
}

void Order::Release() {
    for (int p = 0; p < kPipes; ++p) {
        free(written_[p]);
        free(read_[p]);
        free(places_[p]);
        written_[p] = read_[p] = nullptr;
        places_[p] = nullptr;
    }
}

void Order::Check(Pipe pipe, const Access* accesses, int count) {
    if (count == 0) return;
    places_[IndexOf(pipe)][core_.time.Begun(pipe) % kPlaces] = accesses[0].pc;
    for (int i = 0; i < count; ++i) {
        if (!accesses[i].excused) accesses[i].global ? CheckGlobal(pipe, accesses[i]) : CheckLocal(pipe, accesses[i]);
    }
    for (int i = 0; i < count; ++i) Remember(pipe, accesses[i]);
}

// Whether instructions of `other` may still be under way, and it is not the compiler that sees to them.
bool Order::Relevant(Pipe pipe, int other) const {
    Pipe q = kPipeOf[other];
    uint32_t before = core_.time.Begun(q) - (q == pipe ? 1 : 0);
    if (core_.time.Known(pipe).done[static_cast<int>(q)] >= before) return false;
    if (q != pipe) return true;
    return pipe != Pipe::S && !(pipe == Pipe::V && core_.launch->auto_sync);
}

void Order::CheckLocal(Pipe pipe, const Access& access) {
    for (int other = 0; other < kPipes; ++other) {
        if (!Relevant(pipe, other)) continue;
        uint32_t known = core_.time.Known(pipe).done[static_cast<int>(kPipeOf[other])];
        bool same = kPipeOf[other] == pipe;
        uint32_t now = core_.time.Begun(pipe);
        const Range& r = access.range;
        for (uint32_t i = 0; i < r.count; ++i) {
            auto begin = static_cast<uint32_t>(r.begin + i * r.stride);
            uint32_t first = begin / 32, last = (begin + static_cast<uint32_t>(r.bytes) + 31) / 32;
            last = last < blocks_ ? last : blocks_;
            uint32_t wrote = Latest(written_[other], first, last);
            uint32_t read = access.write && !same ? Latest(read_[other], first, last) : 0;
            bool by_write = wrote > known && !(same && wrote == now);
            if (!by_write && read <= known) continue;
            Report(pipe, access, other, by_write ? wrote : read, by_write, begin, begin + r.bytes);
            break;
        }
    }
}

void Order::CheckGlobal(Pipe pipe, const Access& access) {
    for (int other = 0; other < kPipes; ++other) {
        if (!Relevant(pipe, other)) continue;
        uint32_t known = core_.time.Known(pipe).done[static_cast<int>(kPipeOf[other])];
        for (const Recent& recent : recent_[other]) {
            if (recent.when <= known || !(recent.write || access.write) || (recent.atomic && access.atomic)) continue;
            if (!recent.write && kPipeOf[other] == pipe) continue;
            uint64_t from, to;
            if (!Overlap(recent.range, access.range, &from, &to)) continue;
            Report(pipe, access, other, recent.when, recent.write, from, to);
            break;
        }
    }
}

void Order::Remember(Pipe pipe, const Access& access) {
    int self = IndexOf(pipe);
    uint32_t now = core_.time.Begun(pipe);
    if (access.global) {
        recent_[self][next_[self]++ % kRecent] = {access.range, now, access.write, access.atomic};
        return;
    }
    const Range& r = access.range;
    for (uint32_t i = 0; i < r.count; ++i) {
        auto begin = static_cast<uint32_t>(r.begin + i * r.stride);
        uint32_t first = begin / 32, last = (begin + static_cast<uint32_t>(r.bytes) + 31) / 32;
        Mark(access.write ? written_[self] : read_[self], first, last < blocks_ ? last : blocks_, now);
    }
}

void Order::Report(Pipe pipe, const Access& access, int other, uint32_t when, bool other_wrote, uint64_t from,
                   uint64_t to) {
    Pipe q = kPipeOf[other];
    if (pipe == Pipe::S && core_.launch->auto_sync) {
        core_.time.Learn(q, when);  // the compiler's flag
        return;
    }
    bool old = core_.time.Begun(q) - when >= kPlaces;
    const void* place = old ? nullptr : places_[other][when % kPlaces];
    uint64_t bytes = to - from;
    Memory memory = access.global ? Memory::None : core_.Holding(core_.ub + from);
    uint64_t offset = access.global            ? core_.launch->memory.OffsetOf(reinterpret_cast<const void*>(from))
                      : memory == Memory::None ? from
                                               : from - core_.launch->RangeOf(memory).offset;
    char where[96];
    snprintf(where, sizeof where, "%llu bytes at offset %llu of %s%s%s", static_cast<unsigned long long>(bytes),
             static_cast<unsigned long long>(offset), access.global ? "'" : "",
             access.global ? core_.launch->memory.NameOf(reinterpret_cast<const void*>(from)) : MemoryName(memory),
             access.global ? "'" : "");
    char what[256];
    snprintf(what, sizeof what, "%s: pipe %s %s %s (%s) while pipe %s may still be %s it; nothing makes it wait",
             access.instruction, PipeName(pipe), access.write ? "writes" : "reads", where, access.role, PipeName(q),
             other_wrote ? "writing" : "reading");
    core_.related = place;
    if (core_.launch->auto_sync) {
        core_.Warn("missing_sync", access.pc, "Put SetFlag and WaitFlag or a PipeBarrier between them, or use a queue.",
                   "%s", what);
    } else {
        core_.Violate("pipe_race", access.pc, "Put SetFlag and WaitFlag or a PipeBarrier between them, or use a queue.",
                      "%s", what);
    }
}

}  // namespace twin
