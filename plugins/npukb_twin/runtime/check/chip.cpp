// Refuses what the launch's chip lacks, with the words that the launch file brings.
#include "check/chip.h"

#include <stdio.h>
#include <string.h>

#include "semantics/instruction.h"
#include "cores/core.h"

namespace twin {
namespace {

// By the numbers of npukb::DType.
const char* const kTypes[] = {"F16", "BF16", "F32", "I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64", "I4"};

// Of a type by its name; -1 for any, -2 for a name that is none.
int TypeOf(const char* name) {
    if (strcmp(name, "*") == 0) return -1;
    for (int i = 0; i < static_cast<int>(sizeof kTypes / sizeof *kTypes); ++i) {
        if (strcmp(name, kTypes[i]) == 0) return i;
    }
    return -2;
}

int OpOf(const char* name) {
    for (int i = 0; i < kVectorInstructionCount; ++i) {
        if (strcmp(name, kVectorInstructions[i]) == 0) return i;
    }
    return -1;
}

// What of an instruction's mode byte is its mode: reductions keep more in there.
uint32_t ModeOf(const npukb::VectorInstruction& v) { return Row(v.op).unit == Unit::Reduce ? v.mode & 3u : v.mode; }

bool Is(int wanted, npukb::DType type) { return wanted < 0 || wanted == static_cast<int>(type); }

}  // namespace

bool Chip::Lack(const char* text) {
    if (count_ == kMost) return false;
    Absence& a = absences_[count_];
    char dst[8], src[8];
    int rest = 0;
    if (sscanf(text, "%47s %7s %7s %u %n", a.name, dst, src, &a.modes, &rest) != 4 || rest == 0) return false;
    a.op = OpOf(a.name);
    a.dst = TypeOf(dst);
    a.src = TypeOf(src);
    if (a.dst < kAny || a.src < kAny || strlen(text + rest) >= sizeof a.message) return false;
    snprintf(a.message, sizeof a.message, "%s", text + rest);
    ++count_;
    return true;
}

void Chip::Check(Core& core, const npukb::VectorInstruction& v, const void* pc) const {
    for (const Absence* a = absences_; a != absences_ + count_; ++a) {
        if (a->op != static_cast<int>(v.op) || !Is(a->dst, v.dst.dtype) || !Is(a->src, v.src0.dtype)) continue;
        if (a->modes == 0 || (a->modes >> ModeOf(v) & 1) != 0) Refuse(core, *a, pc);
    }
}

void Chip::Check(Core& core, const char* name, npukb::DType type, const void* pc) const {
    for (const Absence* a = absences_; a != absences_ + count_; ++a) {
        if (a->op == kAny && strcmp(a->name, name) == 0 && Is(a->dst, type)) Refuse(core, *a, pc);
    }
}

void Chip::Refuse(Core& core, const Absence& absence, const void* pc) {
    core.Violate("chip_lacks", pc, "Use what the chip has; docs/chips.md lists what it lacks.", "%s", absence.message);
}

}  // namespace twin
