// Functions of both images are brought together by their names.
#include "time/reference.h"

#include <stdlib.h>

#include "verify/image.h"

namespace twin {
namespace {

constexpr uint32_t kMuchMore = 2, kFewMore = 16;  // operations that the own code may have for one of the reference's

struct Function {
    uint64_t name;  // a hash of it
    size_t first, count;
};

uint64_t HashOf(const char* name) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (; *name != 0; ++name) hash = (hash ^ static_cast<uint8_t>(*name)) * 0x100000001b3ull;
    return hash;
}

int ByName(const void* a, const void* b) {
    uint64_t one = static_cast<const Function*>(a)->name, other = static_cast<const Function*>(b)->name;
    return one < other ? -1 : one > other;
}

class Reference {
  public:
    explicit Reference(const char* path) {
        List<uint64_t> addresses;
        VerifyImage(path, &addresses);
        WeighImage(path, &addresses, {this, Add});
        if (!functions_.empty()) qsort(functions_.begin(), functions_.size(), sizeof(Function), ByName);
    }
    // The operations of a function with `count` pieces; null where there is none.
    const uint32_t* Find(const char* name, size_t count) const {
        Function wanted{HashOf(name), 0, 0};
        if (functions_.empty()) return nullptr;
        auto* found = static_cast<const Function*>(
            bsearch(&wanted, functions_.begin(), functions_.size(), sizeof wanted, ByName));
        return found == nullptr || found->count != count ? nullptr : operations_.begin() + found->first;
    }

  private:
    static void Add(void* context, const char* name, uint64_t, const PiecesOfCode& pieces) {
        auto& self = *static_cast<Reference*>(context);
        self.functions_.Add({HashOf(name), self.operations_.size(), pieces.found.size()});
        for (const Piece& piece : pieces.found) self.operations_.Add(piece.operations);
    }
    List<Function> functions_;
    List<uint32_t> operations_;
};

struct Join {
    const Reference& reference;
    List<WeighedPiece> found;

    static void Add(void* context, const char* name, uint64_t begin, const PiecesOfCode& pieces) {
        auto& self = *static_cast<Join*>(context);
        const uint32_t* known = self.reference.Find(name, pieces.found.size());
        for (size_t i = 0; i < pieces.found.size(); ++i) {
            const Piece& piece = pieces.found[i];
            bool less = known == nullptr || piece.operations > kMuchMore * known[i] + kFewMore;
            self.found.Add({begin + piece.behind, less ? piece.operations : known[i]});
        }
    }
};

}  // namespace

List<WeighedPiece> WeighByReference(const char* path, const char* reference) {
    Reference known(reference);
    Join join{known, {}};
    WeighImage(path, nullptr, {&join, Join::Add});
    return join.found;
}

}  // namespace twin
