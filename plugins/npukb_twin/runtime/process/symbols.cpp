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
            spans->first[spans->count++] = {symbols[n].st_value, symbols[n].st_size,
                                            names.sh_offset + symbols[n].st_name};
        }
        qsort(spans->first, spans->count, sizeof(FunctionSpan), Ascending);
        return;
    }
}

}  // namespace

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
