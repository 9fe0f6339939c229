// All that one core has done, for people who step through it: written to memory that the parent reads afterwards, in
// the order in which it was issued. What the ring has lost, or what does not fit, is missing and said to be.
#include <string.h>

#include "check/journal_entry.h"

namespace twin {
namespace {

// As launch/recording.py reads them.
struct RecordHead {
    char magic[8];
    uint64_t bytes;  // of everything, this included
    uint64_t entries;
    uint64_t lost;  // entries before the first one that the ring does not hold any more
    uint64_t cut;   // 1 if later ones did not fit
    char kind[8];   // of the core
};

struct RecordEntry {
    uint64_t sequence, place, scalar;
    int8_t scalar_type;  // of DType, -1 where the instruction takes none
    uint8_t operands;
    uint8_t unused[6];
    char pipe[8];
    char name[40];
    char note[48];
};

struct RecordOperand {
    char role[16];
    char memory[64];
    uint64_t offset, bytes, stride;
    uint32_t count;
    int8_t type;  // of DType, -1 where the instruction does not tell
    uint8_t write;
    uint8_t kept;  // what it left follows
    uint8_t unused;
};

template <size_t n>
void Copy(char (&to)[n], const char* text) {
    strncpy(to, text, n - 1);
}

class Page {
  public:
    Page(uint8_t* memory, uint64_t bytes) : memory_(memory), room_(bytes) {}
    uint8_t* Take(uint64_t bytes) {
        if (bytes > room_ - used_) return nullptr;
        used_ += bytes;
        return memory_ + used_ - bytes;
    }
    uint64_t used() const { return used_; }
    void Back(uint64_t used) { used_ = used; }

  private:
    uint8_t* memory_;
    uint64_t room_;
    uint64_t used_ = 0;
};

template <typename T>
bool Put(Page* page, const T& value) {
    uint8_t* at = page->Take(sizeof value);
    if (at != nullptr) memcpy(at, &value, sizeof value);
    return at != nullptr;
}

int8_t TypeOf(const JournalEntry& e, const JournalOperand& o) {
    if (!e.vector) return -1;
    const Operand& from = o.write ? e.v.dst : strcmp(o.role, "src1") == 0 ? e.v.src1 : e.v.src0;
    return static_cast<int8_t>(from.dtype);
}

}  // namespace

bool Journal::WriteOperand(const JournalEntry& e, const JournalOperand& o, uint8_t* room, uint64_t left,
                           uint64_t* used) const {
    RecordOperand r{};
    Copy(r.role, o.role);
    Copy(r.memory, Locate(o.global, o.range.begin, &r.offset));
    r.bytes = o.range.bytes;
    r.stride = o.range.stride;
    r.count = o.range.count;
    r.type = TypeOf(e, o);
    r.write = o.write;
    r.kept = o.write && o.content != 0 && kept_ - (o.content - 1) <= kContents;
    uint64_t bytes = sizeof r + (r.kept ? o.Total() : 0);
    if (bytes > left) return false;
    memcpy(room, &r, sizeof r);
    if (r.kept) memcpy(room + sizeof r, contents_ + (o.content - 1) % kContents, o.Total());
    *used = bytes;
    return true;
}

void Journal::WriteRecord() const {
    if (recorded_.memory == nullptr || recorded_.bytes < sizeof(RecordHead)) return;
    Page page(recorded_.memory, recorded_.bytes);
    page.Take(sizeof(RecordHead));
    RecordHead head{{}, 0, 0, First() - 1, 0, {}};
    memcpy(head.magic, "npukbrec", 8);
    Copy(head.kind, CoreKindName(launch_->KindOf(recorded_.core)));
    for (uint64_t s = First(); s <= sequence_ && head.cut == 0; ++s) {
        const JournalEntry& e = At(s);
        if (e.core != recorded_.core) continue;
        const uint64_t before = page.used();
        RecordEntry r{s, e.place, e.v.scalar, -1, static_cast<uint8_t>(e.count), {}, {}, {}, {}};
        if (e.vector && e.v.src1.address == nullptr && e.v.scalar != 0)
            r.scalar_type = static_cast<int8_t>(e.v.src0.address == nullptr ? e.v.dst.dtype : e.v.src0.dtype);
        Copy(r.pipe, PipeName(e.pipe));
        Copy(r.name, e.instruction);
        Copy(r.note, e.note);
        bool fits = Put(&page, r);
        for (int i = 0; fits && i < e.count; ++i) {
            uint64_t used = 0;
            fits =
                WriteOperand(e, e.operands[i], recorded_.memory + page.used(), recorded_.bytes - page.used(), &used) &&
                page.Take(used) != nullptr;
        }
        if (!fits) {
            page.Back(before);
            head.cut = 1;
            continue;
        }
        ++head.entries;
    }
    head.bytes = page.used();
    memcpy(recorded_.memory, &head, sizeof head);
}

}  // namespace twin
