// Reads the machine code around every call of the coverage callback and, where it can, puts an addition to a register
// in the call's place: counting then costs nearly nothing.
#include "time/scalar_counting.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "time/announcements.h"
#include "time/library_prices.h"
#include "time/machine_code.h"
#include "time/pieces.h"
#include "time/reference.h"
#include "time/scalar_operations.h"
#include "process/sandbox.h"
#include "process/symbols.h"

#if defined(__x86_64__)
extern "C" void __sanitizer_cov_trace_pc();
extern "C" void __ubsan_handle_divrem_overflow();
extern "C" void __ubsan_handle_implicit_conversion();
extern "C" uint64_t npukb_call_counting(void (*entry)(void**), void** arguments);

// What is left in r13 when the entry has ended.
__asm__(
    ".text\n"
    ".globl npukb_call_counting\n"
    ".hidden npukb_call_counting\n"
    ".type npukb_call_counting,@function\n"
    "npukb_call_counting:\n"
    "  push %rbp\n  mov %rsp, %rbp\n  push %r13\n  sub $8, %rsp\n"
    "  xor %r13d, %r13d\n"
    "  mov %rdi, %rax\n  mov %rsi, %rdi\n"
    "  call *%rax\n"
    "  mov %r13, %rax\n"
    "  add $8, %rsp\n  pop %r13\n  pop %rbp\n"
    "  ret\n"
    ".size npukb_call_counting,.-npukb_call_counting\n");

namespace twin {
namespace {

constexpr uint16_t kCounter = 1 << 13;                  // r13, the last one that the compiler would take
constexpr uint8_t kCount[] = {0x3e, 0x49, 0x83, 0xc5};  // addq $…, %r13; as long as a call with the constant's byte
constexpr uint8_t kNothing[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};  // as long as a call, too
constexpr uint32_t kMostAdded = 127;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kAway = 1u << 20;
constexpr int64_t kNear = int64_t{1} << 30;
constexpr uint32_t kMostEntries = 1024;
constexpr uint64_t kEntryBytes = 6;                    // of the linker's table of functions elsewhere: jmp *slot(%rip)
constexpr uint8_t kMark[] = {0xf3, 0x0f, 0x1e, 0xfa};  // what some linkers put in front
constexpr uint32_t kExitBytes = 32;

struct Extent {
    uint64_t begin;
    uint64_t end;
    bool Holds(uint64_t address, uint64_t bytes) const {
        return address >= begin && address <= end && bytes <= end - address;
    }
};

// Where an image's code lies, and all of it.
struct Segments {
    uint64_t base;
    Extent code;
    Extent all;
    const Elf64_Dyn* dynamic = nullptr;  // what the loader goes by
};

int FindSegments(dl_phdr_info* info, size_t, void* context) {
    auto& found = *static_cast<Segments*>(context);
    if (info->dlpi_addr != found.base) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_DYNAMIC)
            found.dynamic = reinterpret_cast<const Elf64_Dyn*>(found.base + segment.p_vaddr);
        if (segment.p_type != PT_LOAD) continue;
        uint64_t begin = found.base + segment.p_vaddr, end = begin + segment.p_memsz;
        if (end > found.all.end) found.all.end = end;
        if (segment.p_flags & PF_X) found.code = {begin, end};
    }
    return 1;
}

int32_t Distance(uint64_t from, uint64_t to) {
    return static_cast<int32_t>(static_cast<int64_t>(to) - static_cast<int64_t>(from));
}

void Put(uint8_t* at, int32_t number) { memcpy(at, &number, sizeof number); }

class Image {
  public:
    Image(uint64_t base, const List<uint64_t>& addresses)
        : where_{base, {0, 0}, {base, base}, nullptr}, addresses_(addresses) {
        dl_iterate_phdr(FindSegments, &where_);
    }

    void Count(const FunctionSpans& spans) {
        if (where_.code.end == 0 || !Weigh(spans)) return;
        if (!Understand(spans) || calls_ == 0) return;
        if (!MakeRoom() || !Protect(PROT_READ | PROT_WRITE)) return;
        Walk(spans, [this](uint8_t* code, const Instruction& one) {
            if (Announces(code, one)) WriteOver(code, OperationsBehind(reinterpret_cast<uint64_t>(code) + one.bytes));
            return true;
        });
        for (uint32_t i = 0; i < count_; ++i) Detour(i);
        bool closed = mprotect(exits_, ExitBytes(), PROT_READ | PROT_EXEC) == 0 && Protect(PROT_READ | PROT_EXEC);
        if (!closed) abort();
    }

  private:
    // An entry of the linker's table, and the place of the address that it jumps to.
    struct Entry {
        uint8_t* code;
        uint64_t slot;
    };
    // Calls visit(begin, end) for the code of every function until it says no.
    template <typename F>
    bool EachFunction(const FunctionSpans& spans, F visit) const {
        uint64_t done = 0;  // functions may have several names
        for (size_t i = 0; i < spans.count; ++i) {
            const FunctionSpan& span = spans.first[i];
            uint64_t end = span.begin + span.bytes;
            if (!where_.code.Holds(where_.base + span.begin, span.bytes)) return false;
            uint64_t begin = span.begin < done ? done : span.begin;
            if (begin < end &&
                !visit(reinterpret_cast<uint8_t*>(where_.base + begin), reinterpret_cast<uint8_t*>(where_.base + end)))
                return false;
            if (end > done) done = end;
        }
        return true;
    }
    // Calls visit(code, instruction) for all of the image's own code until it says no.
    template <typename F>
    bool Walk(const FunctionSpans& spans, F visit) const {
        return EachFunction(spans, [&](uint8_t* code, const uint8_t* end) {
            while (code < end) {
                Instruction one = ReadX86(code, static_cast<uint64_t>(end - code));
                if (!visit(code, one)) return false;
                code += one.bytes;
            }
            return true;
        });
    }
    // Notes how many operations every piece holds. Of code that is not understood the rest of the function is left out.
    bool Weigh(const FunctionSpans& spans) {
        Announcements* found = Announcements::Of(where_.code.begin, where_.code.end);
        if (found == nullptr) return false;
        return EachFunction(spans, [&](const uint8_t* code, const uint8_t* end) {
            auto begin = reinterpret_cast<uint64_t>(code);
            for (const Piece& piece :
                 WeighPieces(kHost, code, static_cast<uint64_t>(end - code), {this, CalleeAt, PriceAt, MakesAddress})
                     .found)
                found->Note(begin + piece.behind, piece.operations);
            return true;
        });
    }
    static Callee CalleeAt(const void* image, const uint8_t* code) {
        const void* called = static_cast<const Image*>(image)->FunctionElsewhere(code);
        if (called == nullptr) return Callee::Other;
        if (called == reinterpret_cast<const void*>(&__sanitizer_cov_trace_pc)) return Callee::Announcement;
        bool checks = called == reinterpret_cast<const void*>(&__ubsan_handle_divrem_overflow) ||
                      called == reinterpret_cast<const void*>(&__ubsan_handle_implicit_conversion);
        if (checks) return Callee::Check;
        return PriceAt(image, code) == 0 ? Callee::Other : Callee::Library;
    }
    static uint32_t PriceAt(const void* image, const uint8_t* code) {
        auto* self = static_cast<const Image*>(image);
        return PriceOfImport(self->NameOf(self->SlotOf(self->Unmarked(code))), self->FunctionElsewhere(code));
    }
    // The name that the loader looked up for the address in `slot`; null where it did not.
    const char* NameOf(uint64_t slot) const {
        auto* all = reinterpret_cast<const Elf64_Rela*>(Told(DT_JMPREL));
        auto* rows = reinterpret_cast<const Elf64_Sym*>(Told(DT_SYMTAB));
        auto* texts = reinterpret_cast<const char*>(Told(DT_STRTAB));
        uint64_t count = Told(DT_PLTRELSZ) / sizeof *all;
        for (uint64_t i = 0; i < count; ++i) {
            if (where_.base + all[i].r_offset == slot) return texts + rows[ELF64_R_SYM(all[i].r_info)].st_name;
        }
        return nullptr;
    }
    // A number or an address of the dynamic section; 0 where it has none.
    uint64_t Told(int64_t tag) const {
        for (const Elf64_Dyn* row = where_.dynamic; row != nullptr && row->d_tag != DT_NULL; ++row) {
            if (row->d_tag == tag) return row->d_un.d_val;  // glibc has added the base to addresses
        }
        return 0;
    }
    static bool MakesAddress(const void* image, const uint8_t* code) {
        auto* self = static_cast<const Image*>(image);
        uint64_t place = reinterpret_cast<uint64_t>(code) - self->where_.base;
        const List<uint64_t>& all = self->addresses_;
        return !all.empty() && bsearch(&place, all.begin(), all.size(), sizeof place, ByPlace) != nullptr;
    }
    static int ByPlace(const void* a, const void* b) {
        uint64_t one = *static_cast<const uint64_t*>(a), other = *static_cast<const uint64_t*>(b);
        return one < other ? -1 : one > other;
    }
    // The function of another image that an entry of the linker's table leads to; null where `code` is none.
    const void* FunctionElsewhere(const uint8_t* code) const {
        uint64_t slot = SlotOf(Unmarked(code));
        const void* function = nullptr;
        if (slot != 0) memcpy(&function, reinterpret_cast<const void*>(slot), sizeof function);
        return function;
    }
    // Behind what linkers put before an entry's jump.
    const uint8_t* Unmarked(const uint8_t* code) const {
        if (where_.code.Holds(reinterpret_cast<uint64_t>(code), sizeof kMark) && memcmp(code, kMark, sizeof kMark) == 0)
            code += sizeof kMark;
        if (where_.code.Holds(reinterpret_cast<uint64_t>(code), kEntryBytes + 1) && code[0] == 0xf2) ++code;
        return code;
    }
    // Where the address lies that an entry jumps to; 0 where it is none.
    uint64_t SlotOf(const uint8_t* code) const {
        auto place = reinterpret_cast<uint64_t>(code);
        if (!where_.code.Holds(place, kEntryBytes) || code[0] != 0xff || code[1] != 0x25) return 0;
        int32_t distance;
        memcpy(&distance, code + 2, sizeof distance);
        uint64_t slot = place + kEntryBytes + static_cast<uint64_t>(static_cast<int64_t>(distance));
        return where_.all.Holds(slot, sizeof slot) ? slot : 0;
    }
    // Whether all of the code is known to leave the register alone, and how it leaves the image.
    bool Understand(const FunctionSpans& spans) {
        return Walk(spans, [&](const uint8_t* code, const Instruction& one) {
            bool goes = one.flow == Flow::Call || one.flow == Flow::Jump || one.flow == Flow::Branch;
            if (one.flow == Flow::Unknown || one.flow == Flow::Computed || (one.registers & kCounter)) return false;
            if (!goes) return true;
            uint64_t target = reinterpret_cast<uint64_t>(code) + static_cast<uint64_t>(one.target);
            if (!Inside(spans, target - where_.base) && !AddEntry(target)) return false;
            if (Announces(code, one)) ++calls_;
            return true;
        });
    }
    static bool Inside(const FunctionSpans& spans, uint64_t place) {
        size_t low = 0, high = spans.count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (spans.first[middle].begin <= place)
                low = middle + 1;
            else
                high = middle;
        }
        return low > 0 && place < spans.first[low - 1].begin + spans.first[low - 1].bytes;
    }
    bool AddEntry(uint64_t target) {
        for (uint32_t i = 0; i < count_; ++i) {
            if (entries_[i].code == reinterpret_cast<uint8_t*>(target)) return true;
        }
        auto* code = reinterpret_cast<uint8_t*>(target);
        uint64_t slot = SlotOf(code);
        if (count_ == kMostEntries || slot == 0) return false;
        if (FunctionElsewhere(code) == reinterpret_cast<const void*>(&__sanitizer_cov_trace_pc)) counting_ = code;
        entries_[count_++] = {code, slot};
        return true;
    }
    bool Announces(const uint8_t* code, const Instruction& one) const {
        return one.flow == Flow::Call && one.bytes == sizeof kNothing && code + one.target == counting_;
    }
    // Where a piece holds more than the constant can be, the call stays.
    static void WriteOver(uint8_t* call, uint32_t operations) {
        if (operations > kMostAdded) return;
        memcpy(call, kNothing, sizeof kNothing);
        if (operations == 0) return;
        memcpy(call, kCount, sizeof kCount);
        call[sizeof kCount] = static_cast<uint8_t>(operations);
    }
    size_t ExitBytes() const { return (count_ * kExitBytes + kPage - 1) / kPage * kPage; }
    bool MakeRoom() {
        auto* wanted = reinterpret_cast<void*>(where_.all.end / kPage * kPage + kAway);
        void* mapped = mmap(wanted, ExitBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) return false;
        exits_ = static_cast<uint8_t*>(mapped);
        int64_t distance = reinterpret_cast<int64_t>(exits_) - static_cast<int64_t>(where_.base);
        return distance > -kNear && distance < kNear;
    }
    bool Protect(int how) const {
        uint64_t begin = where_.code.begin / kPage * kPage;
        return mprotect(reinterpret_cast<void*>(begin), where_.code.end - begin, how) == 0;
    }
    // addq %r13, %fs:t_operations; xor %r13d, %r13d; jmp *slot(%rip)
    void Detour(uint32_t i) {
        uint8_t* exit = exits_ + i * kExitBytes;
        uint64_t thread;
        __asm__("mov %%fs:0, %0" : "=r"(thread));
        memcpy(exit, "\x64\x4c\x01\x2c\x25", 5);
        Put(exit + 5, Distance(thread, reinterpret_cast<uint64_t>(&t_operations)));
        memcpy(exit + 9, "\x45\x31\xed\xff\x25", 5);
        Put(exit + 14, Distance(reinterpret_cast<uint64_t>(exit) + 18, entries_[i].slot));
        uint8_t* code = entries_[i].code;
        *code = 0xe9;
        Put(code + 1, Distance(reinterpret_cast<uint64_t>(code) + 5, reinterpret_cast<uint64_t>(exit)));
    }
    Segments where_;
    const List<uint64_t>& addresses_;
    Entry entries_[kMostEntries];
    uint32_t count_ = 0;
    uint32_t calls_ = 0;
    uint8_t* counting_ = nullptr;  // the entry of the function that counts
    uint8_t* exits_ = nullptr;
};

}  // namespace

void CountInRegister(const char* path, uint64_t base, const List<uint64_t>& addresses) {
    FunctionSpans spans = ReadFunctions(path);
    Image(base, addresses).Count(spans);
    free(spans.first);
}

void CallCounting(void (*entry)(void**), void** arguments) { t_operations += npukb_call_counting(entry, arguments); }

}  // namespace twin
#else
namespace twin {
namespace {

struct Code {
    uint64_t base, begin, end;
};

int FindCode(dl_phdr_info* info, size_t, void* context) {
    auto& found = *static_cast<Code*>(context);
    if (info->dlpi_addr != found.base) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
        found.begin = found.base + segment.p_vaddr;
        found.end = found.begin + segment.p_memsz;
    }
    return 1;
}

}  // namespace

void CountInRegister(const char* path, uint64_t base, const List<uint64_t>&) {
    Code code{base, 0, 0};
    dl_iterate_phdr(FindCode, &code);
    Announcements* found = Announcements::Of(code.begin, code.end);
    char reference[4096];
    snprintf(reference, sizeof reference, "%s%s", path, kReferenceSuffix);
    if (found == nullptr) return;
    for (const WeighedPiece& piece : WeighByReference(path, reference))
        found->Note(base + piece.behind, piece.operations);
}

void CallCounting(void (*entry)(void**), void** arguments) { entry(arguments); }

}  // namespace twin
#endif
