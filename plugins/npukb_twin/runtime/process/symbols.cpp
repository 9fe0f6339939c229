// A reader of ELF tables that trusts nothing: offsets are checked against the file's size.
#include "process/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace twin {
namespace {

int Ascending(const void* a, const void* b) {
    uint64_t x = static_cast<const FunctionSpan*>(a)->begin, y = static_cast<const FunctionSpan*>(b)->begin;
    return x < y ? -1 : x > y;
}

bool Within(const Elf64_Shdr& section, uint64_t bytes) {
    return section.sh_offset <= bytes && section.sh_size <= bytes - section.sh_offset;
}

void Find(const uint8_t* file, uint64_t bytes, FunctionSpans* spans) {
    auto* head = reinterpret_cast<const Elf64_Ehdr*>(file);
    if (bytes < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return;
    if (head->e_shoff > bytes || head->e_shnum > (bytes - head->e_shoff) / sizeof(Elf64_Shdr)) return;
    auto* sections = reinterpret_cast<const Elf64_Shdr*>(file + head->e_shoff);
    for (int i = 0; i < head->e_shnum; ++i) {
        if (sections[i].sh_type != SHT_SYMTAB || !Within(sections[i], bytes)) continue;
        if (sections[i].sh_link >= head->e_shnum || !Within(sections[sections[i].sh_link], bytes)) return;
        const Elf64_Shdr& names = sections[sections[i].sh_link];
        if (names.sh_size == 0 || file[names.sh_offset + names.sh_size - 1] != 0) return;
        auto* symbols = reinterpret_cast<const Elf64_Sym*>(file + sections[i].sh_offset);
        size_t count = sections[i].sh_size / sizeof(Elf64_Sym);
        spans->first = static_cast<FunctionSpan*>(malloc((count + 1) * sizeof(FunctionSpan)));
        if (spans->first == nullptr) return;
        for (size_t n = 0; n < count; ++n) {
            if (ELF64_ST_TYPE(symbols[n].st_info) != STT_FUNC || symbols[n].st_shndx == SHN_UNDEF) continue;
            if (symbols[n].st_name >= names.sh_size) continue;
            const uint64_t name = names.sh_offset + symbols[n].st_name;
            spans->first[spans->count++] = {symbols[n].st_value, symbols[n].st_size, name,
                                            IsConstructor(reinterpret_cast<const char*>(file + name))};
        }
        qsort(spans->first, spans->count, sizeof(FunctionSpan), Ascending);
        return;
    }
}

bool Digit(char c) { return c >= '0' && c <= '9'; }

// Behind a name with its length in front.
const char* PastIdentifier(const char* at) {
    uint64_t length = 0;
    for (; Digit(*at); ++at) length = length < UINT32_MAX ? 10 * length + static_cast<uint64_t>(*at - '0') : length;
    while (length > 0 && *at != '\0') ++at, --length;
    return at;
}

// Behind `end`, if that comes.
const char* Past(const char* at, char end) {
    while (*at != '\0' && *at != end) ++at;
    return *at == '\0' ? at : at + 1;
}

// Behind one part of a name that stands for something by itself: an identifier, something that was named before, a
// parameter of a template, a type with numbers in its name. Letters that only open or close others count one by one.
const char* PastPart(const char* at) {
    if (Digit(*at)) return PastIdentifier(at);
    if (*at == 'S' && at[1] != '_' && !Digit(at[1]) && (at[1] < 'A' || at[1] > 'Z'))
        return at[1] == '\0' ? at + 1 : at + 2;
    if (*at == 'D') return at[1] == 'F' || at[1] == 'v' ? Past(at, '_') : at[1] == '\0' ? at + 1 : at + 2;
    if (*at == 'S' || *at == 'T' || *at == 'A') return Past(at, '_');
    return at + 1;
}

// Behind a constant, whose type may be a name with several parts.
const char* PastConstant(const char* at) {
    bool nested = *++at == 'N';
    if (nested) {
        for (++at; *at != '\0' && *at != 'E';) at = PastPart(at);
        if (*at == 'E') ++at;
    } else if (*at != '\0') {
        at = PastPart(at);
    }
    return Past(at, 'E');
}

}  // namespace

bool IsConstructor(const char* name) {
    if (strncmp(name, "_ZN", 3) != 0) return false;
    int open = 0;  // arguments of templates, and what is nested in them
    for (const char* at = name + 3; *at != '\0';) {
        if (open == 0 && *at == 'C' && at[1] >= '1' && at[1] <= '3') return true;
        if (*at == 'L' && open > 0) {
            at = PastConstant(at);
            continue;
        }
        if (*at == 'E' && open-- == 0) return false;
        open += *at == 'I' || *at == 'N' || *at == 'J' || *at == 'X' || *at == 'F';
        at = PastPart(at);
    }
    return false;
}

FunctionSpans ReadFunctions(const char* path) {
    FunctionSpans spans;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about{};
    if (file < 0) return spans;
    if (fstat(file, &about) == 0 && about.st_size > 0) {
        auto bytes = static_cast<uint64_t>(about.st_size);
        void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
        if (mapped != MAP_FAILED) {
            Find(static_cast<const uint8_t*>(mapped), bytes, &spans);
            munmap(mapped, bytes);
        }
    }
    close(file);
    return spans;
}

}  // namespace twin
