// The image as the loader will see it: segments, the dynamic table, relocations. Names of sections mean nothing here;
// the table of symbols only says where functions begin, and every one of them has to hold the proof.
#include "verify/image.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/symbols.h"
#include "time/a64.h"
#include "time/library_prices.h"
#include "time/pieces.h"
#include "verify/function.h"
#include "verify/list.h"

namespace twin {
namespace {

constexpr uint64_t kEntryBytes = 6;  // of the linker's table of imports: jmp *slot(%rip)
constexpr int kRounds = 8;
constexpr uint64_t kPage = 4096;
constexpr char kEntry[] = "npukb_launch";

struct Announcer {
    const char* name;
    Import import;
};
#define NPUKB_ANNOUNCER(bytes)                                                     \
    {"npukb_raw_load" #bytes "_noabort", {ImportKind::Announce, bytes, false}}, {  \
        "npukb_raw_store" #bytes "_noabort", { ImportKind::Announce, bytes, true } \
    }
constexpr Announcer kAnnouncers[] = {
    NPUKB_ANNOUNCER(1),
    NPUKB_ANNOUNCER(2),
    NPUKB_ANNOUNCER(4),
    NPUKB_ANNOUNCER(8),
    NPUKB_ANNOUNCER(16),
    {"npukb_raw_loadN_noabort", {ImportKind::Announce, 0, false}},
    {"npukb_raw_storeN_noabort", {ImportKind::Announce, 0, true}},
    {"npukb_raw_memset", {ImportKind::Fill, 0, true}},
    {"__safestack_pointer_address", {ImportKind::PointerPlace, 0, false}},
    {"__x86_indirect_thunk_r11", {ImportKind::Computed, 0, false}},
    {"__sanitizer_cov_trace_pc", {ImportKind::Count, 0, false}},
};

Import ImportOf(const char* name) {
    constexpr char kComputed[] = "__aarch64_indirect_thunk_";  // one for each register
    if (strncmp(name, kComputed, sizeof kComputed - 1) == 0) return {ImportKind::Computed, 0, false};
    for (const Announcer& one : kAnnouncers) {
        if (strcmp(one.name, name) == 0) return one.import;
    }
    return {ImportKind::Other, 0, false};
}

struct File {
    const uint8_t* data = nullptr;
    uint64_t bytes = 0;

    explicit File(const char* path) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        struct stat about{};
        if (file < 0) return;
        if (fstat(file, &about) == 0 && about.st_size > 0) {
            void* mapped = mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
            if (mapped != MAP_FAILED) {
                data = static_cast<const uint8_t*>(mapped);
                bytes = static_cast<uint64_t>(about.st_size);
            }
        }
        close(file);
    }
    ~File() {
        if (data != nullptr) munmap(const_cast<uint8_t*>(data), bytes);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
};

// A refusal that concerns the loader's tables.
Verdict Forged(const char* reason) { return {Refusal::Forged, reason, 0}; }

class ImageProof final : public Surroundings {
  public:
    ImageProof(const File& file, FunctionSpans spans) : file_(file), spans_(spans) {}

    Verdict Run(List<uint64_t>* addresses) {
        if (!ReadSegments()) return Forged("has segments that no kernel has");
        if (!ReadTable()) return Forged("has a table for the loader that no kernel has");
        if (!ReadRelocations()) return Forged("asks the loader for more than to fill in addresses");
        if (!ReadFunctions()) return Forged("has functions that lie in each other");
        for (const Function& function : functions_) {
            if (Verdict verdict = Counted(function); verdict.refusal != Refusal::None) return verdict;
        }
        for (int round = 0; round < kRounds; ++round) {
            bool changed = false;
            findings_.addresses.Clear();
            for (Function& function : functions_) {
                Verdict verdict = VerifyFunction(*this, function.begin, function.bytes, &findings_);
                if (verdict.refusal != Refusal::None) return verdict;
                uint32_t arguments = findings_.argument_bytes;
                if (arguments <= function.argument_bytes) continue;
                function.argument_bytes = arguments;
                most_ = arguments > most_ ? arguments : most_;
                changed = true;
            }
            if (changed) continue;
            if (findings_.addresses.empty()) return Starts();
            qsort(findings_.addresses.begin(), findings_.addresses.size(), sizeof(uint64_t), ByPlace);
            *addresses = findings_.addresses;
            return Starts();
        }
        return {Refusal::Unproven, "takes arguments that cannot be followed", 0};
    }

    Processor Code() const override { return processor_; }
    const uint8_t* CodeAt(uint64_t place) const override { return file_.data + code_.offset + (place - code_.begin); }
    bool Holds(uint64_t place, uint64_t bytes) const override { return place <= end_ && bytes <= end_ - place; }
    bool Writable(uint64_t place, uint64_t bytes) const override {
        for (const Segment& one : segments_) {
            if (one.writable && one.Holds(place, bytes)) return true;
        }
        return false;
    }
    bool Sealed(uint64_t place, uint64_t bytes) const override { return sealed_.Holds(place, bytes); }
    Import ImportAt(uint64_t place) const override {
        const Imported* found = ImportedAt(place);
        return found == nullptr ? Import{} : found->import;
    }
    bool Begins(uint64_t place, uint32_t* argument_bytes) const override {
        size_t low = 0, high = functions_.size();
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (functions_[middle].begin < place)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == functions_.size() || functions_[low].begin != place) return false;
        *argument_bytes = functions_[low].argument_bytes;
        return true;
    }
    uint32_t MostArgumentBytes() const override { return most_; }

    // Weighs what functions announce; `visit` gets each function, as many times as it has names.
    void Weigh(const List<uint64_t>* addresses, const Weighed& weighed) {
        if (!ReadSegments() || !ReadTable() || !ReadRelocations() || !ReadFunctions()) return;
        weighs_ = true;
        addresses_ = addresses;
        Callees callees{this, CalleeAt, PriceAt, addresses == nullptr ? MakesAddress : AddressAt};
        for (const Function& function : functions_) {
            PiecesOfCode pieces = WeighPieces(processor_, CodeAt(function.begin), function.bytes, callees);
            for (size_t i = 0; i < spans_.count; ++i) {
                const FunctionSpan& span = spans_.first[i];
                if (span.begin != function.begin) continue;
                weighed.visit(weighed.context, reinterpret_cast<const char*>(file_.data) + span.name, span.begin,
                              pieces);
            }
        }
    }

  private:
    static int ByPlace(const void* a, const void* b) {
        uint64_t one = *static_cast<const uint64_t*>(a), other = *static_cast<const uint64_t*>(b);
        return one < other ? -1 : one > other;
    }
    struct Segment {
        uint64_t begin, end, offset, file_bytes;
        bool writable;
        bool Holds(uint64_t place, uint64_t bytes) const {
            return place >= begin && place <= end && bytes <= end - place;
        }
    };
    struct Imported {
        uint64_t slot;  // where its address is put
        const char* name;
        Import import;
    };
    struct Filled {
        uint64_t place, value;
    };
    struct Function {
        uint64_t begin, bytes;
        uint32_t argument_bytes;
    };

    // What the linker's table of imports holds at this place of the code; null where that is no entry.
    const Imported* ImportedAt(uint64_t place) const {
        uint64_t slot = processor_ == Processor::A64 ? SlotOfA64(place) : SlotOfX86(place);
        for (const Imported& one : imports_) {
            if (slot != 0 && one.slot == slot) return &one;
        }
        return nullptr;
    }
    uint64_t SlotOfX86(uint64_t place) const {
        if (!code_.Holds(place, 2 * kEntryBytes)) return 0;
        const uint8_t* code = CodeAt(place);
        constexpr uint8_t kMark[] = {0xf3, 0x0f, 0x1e, 0xfa};  // what some linkers put in front
        if (memcmp(code, kMark, sizeof kMark) == 0) {
            code += sizeof kMark;
            place += sizeof kMark;
        }
        if (code[0] != 0xff || code[1] != 0x25) return 0;
        int32_t distance;
        memcpy(&distance, code + 2, sizeof distance);
        return place + kEntryBytes + static_cast<uint64_t>(int64_t{distance});
    }
    // adrp x16, page; ldr x17, [x16, #rest]; add x16, x16, #rest; br x17
    uint64_t SlotOfA64(uint64_t place) const {
        uint32_t words[4];
        if (place % sizeof *words != 0 || !code_.Holds(place, sizeof words)) return 0;
        memcpy(words, CodeAt(place), sizeof words);
        bool entry = Is(words[0], 0x9f00001f, 0x90000010) && Is(words[1], 0xffc003ff, 0xf9400211) &&
                     Is(words[2], 0xffc003ff, 0x91000210) && words[3] == 0xd61f0220;
        if (!entry) return 0;
        int64_t pages = Signed(Field(words[0], 5, 19) << 2 | Field(words[0], 29, 2), 21);
        return place / kPage * kPage + static_cast<uint64_t>(pages * int64_t{kPage}) + 8 * Field(words[1], 10, 12);
    }

    bool InFile(uint64_t offset, uint64_t bytes) const {
        return offset <= file_.bytes && bytes <= file_.bytes - offset;
    }
    // What the file has for `bytes` at this place of the image; null where it has less.
    const uint8_t* At(uint64_t place, uint64_t bytes) const {
        for (const Segment& one : segments_) {
            if (one.Holds(place, bytes) && place - one.begin + bytes <= one.file_bytes)
                return file_.data + one.offset + (place - one.begin);
        }
        return nullptr;
    }

    bool ReadSegments() {
        auto* head = reinterpret_cast<const Elf64_Ehdr*>(file_.data);
        if (file_.data == nullptr || file_.bytes < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
            return false;
        if (head->e_machine != EM_X86_64 && head->e_machine != EM_AARCH64) return false;
        processor_ = head->e_machine == EM_X86_64 ? Processor::X86_64 : Processor::A64;
        if (head->e_type != ET_DYN || head->e_phentsize != sizeof(Elf64_Phdr)) return false;
        if (!InFile(head->e_phoff, head->e_phnum * sizeof(Elf64_Phdr))) return false;
        auto* rows = reinterpret_cast<const Elf64_Phdr*>(file_.data + head->e_phoff);
        for (int i = 0; i < head->e_phnum; ++i) {
            const Elf64_Phdr& row = rows[i];
            if (row.p_type == PT_DYNAMIC) dynamic_ = {row.p_vaddr, row.p_vaddr + row.p_memsz, 0, 0, false};
            if (row.p_type == PT_GNU_RELRO) sealed_ = {row.p_vaddr, row.p_vaddr + row.p_memsz, 0, 0, false};
            if (row.p_type == PT_INTERP || (row.p_type == PT_GNU_STACK && (row.p_flags & PF_X))) return false;
            if (row.p_type == PT_LOAD && !AddSegment(row)) return false;
        }
        return code_.end != 0 && dynamic_.end != 0 && sealed_.end % SealedBytes() == 0;
    }
    // Whole pages are sealed. Those of the machine that the image is for may be larger than those of x86-64.
    uint64_t SealedBytes() const { return processor_ == kHost ? static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : kPage; }
    bool AddSegment(const Elf64_Phdr& row) {
        bool runs = row.p_flags & PF_X, writable = row.p_flags & PF_W;
        if (row.p_filesz > row.p_memsz || !InFile(row.p_offset, row.p_filesz) || row.p_vaddr > UINT32_MAX) return false;
        if (row.p_memsz > UINT32_MAX || row.p_vaddr < end_) return false;
        Segment one{row.p_vaddr, row.p_vaddr + row.p_memsz, row.p_offset, row.p_filesz, writable};
        segments_.Add(one);
        end_ = one.end;
        if (!runs) return true;
        if (writable || code_.end != 0 || row.p_filesz != row.p_memsz) return false;
        code_ = one;
        return true;
    }

    bool ReadTable() {
        uint64_t flags = 0, flags_1 = 0;
        for (uint64_t at = dynamic_.begin; at + sizeof(Elf64_Dyn) <= dynamic_.end; at += sizeof(Elf64_Dyn)) {
            auto* row = reinterpret_cast<const Elf64_Dyn*>(At(at, sizeof(Elf64_Dyn)));
            if (row == nullptr) return false;
            uint64_t value = row->d_un.d_val;
            switch (row->d_tag) {
                case DT_NULL: return (flags & DF_BIND_NOW) != 0 || (flags_1 & DF_1_NOW) != 0;
                case DT_FLAGS: flags = value; break;
                case DT_FLAGS_1: flags_1 = value; break;
                case DT_RELA: relocations_ = value; break;
                case DT_RELASZ: relocation_bytes_ = value; break;
                case DT_JMPREL: jumps_ = value; break;
                case DT_PLTRELSZ: jump_bytes_ = value; break;
                case DT_SYMTAB: symbols_ = value; break;
                case DT_STRTAB: strings_ = value; break;
                case DT_STRSZ: string_bytes_ = value; break;
                case DT_INIT_ARRAY: starts_ = value; break;
                case DT_INIT_ARRAYSZ: start_bytes_ = value; break;
                case DT_PLTREL:
                    if (value != DT_RELA) return false;
                    break;
                case DT_SONAME:
                case DT_PLTGOT:
                case DT_SYMENT:
                case DT_RELAENT:
                case DT_RELACOUNT:
                case DT_HASH: hash_ = value; break;
                case DT_GNU_HASH:
                case DT_FINI_ARRAY:  // the process ends without them
                case DT_FINI_ARRAYSZ: break;
                default: return false;
            }
        }
        return false;
    }

    bool ReadRelocations() {
        return EachRelocation(relocations_, relocation_bytes_) && EachRelocation(jumps_, jump_bytes_);
    }
    bool EachRelocation(uint64_t begin, uint64_t bytes) {
        for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= bytes; at += sizeof(Elf64_Rela)) {
            auto* row = reinterpret_cast<const Elf64_Rela*>(At(begin + at, sizeof(Elf64_Rela)));
            if (row == nullptr || !Writable(row->r_offset, 8) || dynamic_.Holds(row->r_offset, 1)) return false;
            switch (Filling(ELF64_R_TYPE(row->r_info))) {
                case Fill::Place: filled_.Add({row->r_offset, static_cast<uint64_t>(row->r_addend)}); break;
                case Fill::Import: {
                    const char* name = NameOf(ELF64_R_SYM(row->r_info));
                    if (name == nullptr || !sealed_.Holds(row->r_offset, 8)) return false;
                    imports_.Add({row->r_offset, name, ImportOf(name)});
                    break;
                }
                case Fill::Address: break;
                case Fill::Other: return false;
            }
        }
        return true;
    }
    // What the loader puts somewhere: a place of the image, what its table of imports jumps to, or another address.
    enum class Fill { Place, Import, Address, Other };
    Fill Filling(uint64_t type) const {
        if (processor_ == Processor::A64) {
            switch (type) {
                case R_AARCH64_RELATIVE: return Fill::Place;
                case R_AARCH64_JUMP_SLOT: return Fill::Import;
                case R_AARCH64_ABS64:
                case R_AARCH64_GLOB_DAT: return Fill::Address;
                default: return Fill::Other;
            }
        }
        switch (type) {
            case R_X86_64_RELATIVE: return Fill::Place;
            case R_X86_64_JUMP_SLOT: return Fill::Import;
            case R_X86_64_64:
            case R_X86_64_GLOB_DAT:
            case R_X86_64_DTPMOD64:
            case R_X86_64_DTPOFF64: return Fill::Address;
            default: return Fill::Other;
        }
    }
    // Of a symbol that another image defines.
    const char* NameOf(uint64_t number) const {
        auto* row = reinterpret_cast<const Elf64_Sym*>(At(symbols_ + number * sizeof(Elf64_Sym), sizeof(Elf64_Sym)));
        return row == nullptr || row->st_shndx != SHN_UNDEF ? nullptr : Text(row->st_name);
    }
    const char* Text(uint32_t name) const {
        if (name >= string_bytes_) return nullptr;
        uint64_t room = string_bytes_ - name;
        const uint8_t* text = At(strings_ + name, room);
        return text != nullptr && memchr(text, 0, room) != nullptr ? reinterpret_cast<const char*>(text) : nullptr;
    }

    bool ReadFunctions() {
        uint64_t end = 0;
        for (size_t i = 0; i < spans_.count; ++i) {
            const FunctionSpan& span = spans_.first[i];
            bool again = !functions_.empty() && functions_[functions_.size() - 1].begin == span.begin;
            if (again && span.begin + span.bytes == end) continue;  // another name
            if (span.bytes == 0 || span.begin < end || !code_.Holds(span.begin, span.bytes)) return false;
            functions_.Add({span.begin, span.bytes, 0});
            end = span.begin + span.bytes;
        }
        return true;
    }

    // Whether all that a function computes is announced, and so paid for. Compilers leave the announcements out of
    // functions that they take for their own, by their names.
    Verdict Counted(const Function& function) const {
        const uint8_t* code = CodeAt(function.begin);
        PiecesOfCode pieces = WeighPieces(processor_, code, function.bytes, {this, CalleeAt, NoPrice, MakesAddress});
        uint64_t place = function.begin + pieces.place;
        switch (pieces.untold) {
            case Untold::None: return {};
            case Untold::Unreadable:
                return {processor_ == Processor::X86_64 ? Refusal::Foreign : Refusal::Unproven,
                        "holds an instruction that a scalar unit does not have", place};
            case Untold::Begins: return {Refusal::Forged, "computes what is not counted", place};
            case Untold::Loops:
                return {Refusal::Foreign, "goes round in an operation that a scalar unit does not have", place};
        }
        return {};
    }
    static Callee CalleeAt(const void* image, const uint8_t* code) {
        auto* self = static_cast<const ImageProof*>(image);
        const Imported* found = self->ImportedAt(self->PlaceOf(code));
        if (found == nullptr) return Callee::Other;
        if (found->import.kind == ImportKind::Count) return Callee::Announcement;
        if (strcmp(found->name, "__ubsan_handle_divrem_overflow") == 0 ||
            strcmp(found->name, "__ubsan_handle_implicit_conversion") == 0)
            return self->weighs_ ? Callee::Check : Callee::Other;
        return PriceAt(image, code) == 0 ? Callee::Other : Callee::Library;
    }
    uint64_t PlaceOf(const uint8_t* code) const {
        return code_.begin + static_cast<uint64_t>(code - (file_.data + code_.offset));
    }
    static uint32_t PriceAt(const void* image, const uint8_t* code) {
        auto* self = static_cast<const ImageProof*>(image);
        const Imported* found = self->ImportedAt(self->PlaceOf(code));
        // Functions of the runtime have no price, those that it has for another processor alone neither.
        bool other = found != nullptr && found->import.kind == ImportKind::Other;
        return other && self->weighs_ ? PriceOfImport(found->name) : 0;
    }
    static bool AddressAt(const void* image, const uint8_t* code) {
        auto* self = static_cast<const ImageProof*>(image);
        uint64_t place = self->PlaceOf(code);
        const List<uint64_t>& all = *self->addresses_;
        return !all.empty() && bsearch(&place, all.begin(), all.size(), sizeof place, ByPlace) != nullptr;
    }
    static uint32_t NoPrice(const void*, const uint8_t*) { return 0; }  // asked is what is announced, not what it costs
    static bool MakesAddress(const void*, const uint8_t*) { return true; }  // nothing is known as yet

    // What the runtime calls: the exported function of that name.
    bool IsEntered() const {
        auto* counts = reinterpret_cast<const uint32_t*>(At(hash_, 2 * sizeof(uint32_t)));
        if (hash_ == 0 || counts == nullptr) return false;
        auto* rows = reinterpret_cast<const Elf64_Sym*>(At(symbols_, counts[1] * sizeof(Elf64_Sym)));
        int found = 0;
        for (uint32_t i = 0; rows != nullptr && i < counts[1]; ++i) {
            const char* name = Text(rows[i].st_name);
            uint32_t arguments = 0;
            if (name == nullptr || strcmp(name, kEntry) != 0) continue;
            if (!Begins(rows[i].st_value, &arguments) || arguments != 0) return false;
            ++found;
        }
        return found == 1;
    }
    // Whoever is called by the loader or the runtime takes nothing from the stack.
    Verdict Starts() const {
        if (!IsEntered()) return Forged("has no entry");
        for (uint64_t at = 0; at + 8 <= start_bytes_; at += 8) {
            if (!IsFilledWithFunction(starts_ + at)) return Forged("starts with what is no function");
        }
        return {};
    }

    bool IsFilledWithFunction(uint64_t place) const {
        uint32_t arguments = 0;
        for (const Filled& one : filled_) {
            if (one.place == place) return Begins(one.value, &arguments) && arguments == 0;
        }
        return false;
    }

    const File& file_;
    Processor processor_ = kHost;
    bool weighs_ = false;  // rather than that it is proven
    const List<uint64_t>* addresses_ = nullptr;
    FunctionSpans spans_;
    List<Segment> segments_;
    Segment code_{}, dynamic_{}, sealed_{};
    uint64_t end_ = 0;
    uint64_t relocations_ = 0, relocation_bytes_ = 0, jumps_ = 0, jump_bytes_ = 0;
    uint64_t symbols_ = 0, hash_ = 0, strings_ = 0, string_bytes_ = 0, starts_ = 0, start_bytes_ = 0;
    List<Filled> filled_;  // places that the loader fills with addresses in the image
    List<Imported> imports_;
    List<Function> functions_;  // in order
    uint32_t most_ = 0;
    Findings findings_{};
};

}  // namespace

Verdict VerifyImage(const char* path, List<uint64_t>* addresses) {
    File file(path);
    FunctionSpans spans = ReadFunctions(path);
    Verdict verdict = ImageProof(file, spans).Run(addresses);
    free(spans.first);
    return verdict;
}

void WeighImage(const char* path, const List<uint64_t>* addresses, const Weighed& weighed) {
    File file(path);
    FunctionSpans spans = ReadFunctions(path);
    ImageProof(file, spans).Weigh(addresses, weighed);
    free(spans.first);
}

}  // namespace twin
