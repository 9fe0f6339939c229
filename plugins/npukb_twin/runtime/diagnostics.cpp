#include "diagnostics.h"

#include <stdio.h>
#include <string.h>

namespace twin {

void Diagnostics::Add(Severity severity, const char* rule, uint64_t pc, uint64_t related, int64_t block,
                      const char* message, const char* remedy) {
    for (int i = 0; i < size_; ++i) {
        if (items_[i].pc == pc && strcmp(items_[i].rule, rule) == 0) {
            ++items_[i].count;
            return;
        }
    }
    if (size_ == kMaxDiagnostics) return;
    Diagnostic& d = items_[size_++];
    d.severity = severity;
    d.rule = rule;
    d.pc = pc;
    d.related = related;
    d.block = block;
    d.count = 1;
    snprintf(d.message, sizeof d.message, "%s", message);
    snprintf(d.remedy, sizeof d.remedy, "%s", remedy);
}

bool Diagnostics::HasError() const {
    for (int i = 0; i < size_; ++i) {
        if (items_[i].severity == Severity::Error) return true;
    }
    return false;
}

void Diagnostics::Merge(const Diagnostics& other) {
    for (int i = 0; i < other.size_; ++i) {
        const Diagnostic& d = other.items_[i];
        bool known = false;
        for (int k = 0; k < size_ && !known; ++k) {
            if (items_[k].pc == d.pc && strcmp(items_[k].rule, d.rule) == 0) {
                items_[k].count += d.count;
                known = true;
            }
        }
        if (!known && size_ < kMaxDiagnostics) items_[size_++] = d;
    }
}

}  // namespace twin
