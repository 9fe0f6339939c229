// What the rule checker has to say. An error ends the block that caused it; a warning goes into the report.
#pragma once
#include <stdint.h>

#include "cores/onchip.h"

namespace twin {

enum class Severity : uint8_t { Error, Warning, Note };  // the graver one first

struct Diagnostic {
    Severity severity;
    const char* rule;
    uint64_t pc;       // offset inside the kernel image, kCubeImage added for that of the cube core; 0 when unknown
    uint64_t related;  // another place that has to do with it; 0 when there is none
    int64_t block;     // among the cores of its kind
    CoreKind kind;
    uint64_t count;
    char message[384];
    char remedy[160];
};

inline constexpr uint64_t kCubeImage = 1ull << 40;
inline constexpr int kMaxDiagnostics = 64;
inline constexpr int kMaxNotes = 24;  // what kernels print leaves room for what the checker has to say

// Diagnostics of one block, one entry per rule and place; of notes, one per text.
class Diagnostics {
  public:
    void Add(Severity severity, const char* rule, uint64_t pc, uint64_t related, int64_t block, CoreKind kind,
             const char* message, const char* remedy);
    // Counts what has been said before at the same place; false when it has not.
    bool Again(const char* rule, uint64_t pc);
    int size() const { return size_; }
    bool HasError() const;
    const Diagnostic& operator[](int i) const { return items_[i]; }
    void Merge(const Diagnostics& other);

  private:
    bool Same(const Diagnostic& a, const Diagnostic& b) const;
    bool Full(Severity severity) const;
    static void Join(Diagnostic& known, const Diagnostic& d);
    Diagnostic items_[kMaxDiagnostics];
    int size_ = 0;
};

}  // namespace twin
