// Functions of an image, as its file's table of symbols has them.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace twin {

struct FunctionSpan {
    uint64_t begin;  // from the image's base
    uint64_t bytes;
    uint64_t name;    // where its name begins in the file
    bool constructs;  // objects of a class: it is a constructor
};

// In order of their places. A file that is not what the linker makes has none.
struct FunctionSpans {
    FunctionSpan* first = nullptr;
    size_t count = 0;
};

FunctionSpans ReadFunctions(const char* path);

// Whether the function of this name, as compilers write it for linkers, is a constructor.
bool IsConstructor(const char* name);

}  // namespace twin
