// A small table without allocation: what is said again at the same place is counted, not added.
#include "check/diagnostics.h"

#include <stdio.h>
#include <string.h>

namespace twin {

bool Diagnostics::Same(const Diagnostic& a, const Diagnostic& b) const {
    if (a.pc != b.pc || strcmp(a.rule, b.rule) != 0) return false;
    return a.severity != Severity::Note || strcmp(a.message, b.message) == 0;
}

// What was a warning at first may be an error the next time: the error is what is told.
void Diagnostics::Join(Diagnostic& known, const Diagnostic& d) {
    uint64_t count = known.count + d.count;
    if (d.severity < known.severity) known = d;
    known.count = count;
}

bool Diagnostics::Full(Severity severity) const {
    if (severity != Severity::Note) return size_ == kMaxDiagnostics;
    int notes = 0;
    for (int i = 0; i < size_; ++i) notes += items_[i].severity == Severity::Note ? 1 : 0;
    return notes >= kMaxNotes || size_ == kMaxDiagnostics;
}

void Diagnostics::Add(Severity severity, const char* rule, uint64_t pc, uint64_t related, int64_t block, CoreKind kind,
                      const char* message, const char* remedy) {
    Diagnostic d;
    d.severity = severity;
    d.rule = rule;
    d.pc = pc;
    d.related = related;
    d.block = block;
    d.kind = kind;
    d.count = 1;
    snprintf(d.message, sizeof d.message, "%s", message);
    snprintf(d.remedy, sizeof d.remedy, "%s", remedy);
    for (int i = 0; i < size_; ++i) {
        if (!Same(items_[i], d)) continue;
        Join(items_[i], d);
        return;
    }
    if (!Full(severity)) items_[size_++] = d;
}

bool Diagnostics::Again(const char* rule, uint64_t pc) {
    for (int i = 0; i < size_; ++i) {
        if (items_[i].pc != pc || strcmp(items_[i].rule, rule) != 0) continue;
        ++items_[i].count;
        return true;
    }
    return false;
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
            if (!Same(items_[k], d)) continue;
            Join(items_[k], d);
            known = true;
        }
        if (!known && !Full(d.severity)) items_[size_++] = d;
    }
}

}  // namespace twin
