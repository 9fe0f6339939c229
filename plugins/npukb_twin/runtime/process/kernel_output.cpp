// printf, DumpTensor, assert: text for the report, so much of it per block.
#include <stdio.h>
#include <string.h>

#include "../../include/twin/debug.h"
#include "cores/fiber.h"
#include "semantics/numeric.h"
#include "check/operand_check.h"

namespace twin {
namespace {

using npukb::DType;
using npukb::PrintKind;

constexpr uint64_t kDumped = 16;  // elements of a tensor that are shown

class Line {
  public:
    void Put(const char* text, size_t length) {
        for (size_t i = 0; i < length && size_ + 1 < sizeof text_; ++i) text_[size_++] = text[i];
        text_[size_] = 0;
    }
    template <typename T>
    void Format(const char* format, T value) {
        char piece[128];
        int n = snprintf(piece, sizeof piece, format, value);
        if (n > 0) Put(piece, static_cast<size_t>(n) < sizeof piece ? static_cast<size_t>(n) : sizeof piece - 1);
    }
    const char* text() const { return text_; }

  private:
    char text_[sizeof(Diagnostic::message)] = {};
    size_t size_ = 0;
};

// One conversion of a format, from % to its letter. Lengths (h, l, ll) are ours: every value travels in 64 bits.
struct Conversion {
    char text[24];
    char letter;
    const char* end;
};

bool Parse(const char* at, Conversion& c) {
    size_t n = 0;
    c.text[n++] = *at++;
    while (*at != 0 && strchr("-+ #0123456789.", *at) != nullptr && n < 16) c.text[n++] = *at++;
    while (*at == 'h' || *at == 'l' || *at == 'z') ++at;
    if (*at == 0) return false;
    c.letter = *at;
    c.end = at + 1;
    bool whole = strchr("diuxX", c.letter) != nullptr;
    if (whole) n += static_cast<size_t>(snprintf(c.text + n, 3, "ll"));
    c.text[n] = c.letter;
    c.text[n + 1] = 0;
    return strchr("diuxXcspfFeEgG", c.letter) != nullptr;
}

void PutValue(Line& line, const Conversion& c, uint64_t value, PrintKind kind) {
    double real = kind == PrintKind::Real
                      ? Bits<double>(value)
                      : (kind == PrintKind::Signed ? static_cast<double>(static_cast<int64_t>(value))
                                                   : static_cast<double>(value));
    int64_t whole = kind == PrintKind::Real ? static_cast<int64_t>(real) : static_cast<int64_t>(value);
    switch (c.letter) {
        case 's': return line.Format(c.text, kind == PrintKind::Text ? reinterpret_cast<const char*>(value) : "?");
        case 'p': return line.Format(c.text, reinterpret_cast<const void*>(value));
        case 'c': return line.Format(c.text, static_cast<int>(whole));
        case 'd':
        case 'i':
        case 'u':
        case 'x':
        case 'X': return line.Format(c.text, static_cast<long long>(whole));
        default: return line.Format(c.text, real);
    }
}

// A negative int travels as 64 bits, but %x and %u of it mean 32.
uint64_t Narrowed(const Conversion& c, uint64_t value, PrintKind kind) {
    bool unsigned_letter = strchr("uxX", c.letter) != nullptr;
    auto whole = static_cast<int64_t>(value);
    return unsigned_letter && kind == PrintKind::Signed && whole < 0 && whole >= INT32_MIN ? value & 0xffffffffu
                                                                                           : value;
}

void PutElement(Line& line, DType dtype, const uint8_t* at) {
    uint64_t raw = 0;
    memcpy(&raw, at, npukb::kDTypeBytes[static_cast<int>(dtype)]);
    switch (dtype) {
        case DType::F16:
            return line.Format("%g", static_cast<double>(static_cast<float>(Bits<half>(static_cast<uint16_t>(raw)))));
        case DType::BF16: return line.Format("%g", static_cast<double>(Bits<float>(static_cast<uint32_t>(raw) << 16)));
        case DType::F32: return line.Format("%g", static_cast<double>(Bits<float>(static_cast<uint32_t>(raw))));
        case DType::I8: return line.Format("%d", static_cast<int>(static_cast<int8_t>(raw)));
        case DType::I16: return line.Format("%d", static_cast<int>(static_cast<int16_t>(raw)));
        case DType::I32: return line.Format("%d", static_cast<int32_t>(raw));
        case DType::I64: return line.Format("%lld", static_cast<long long>(raw));
        default: return line.Format("%llu", static_cast<unsigned long long>(raw));
    }
}

}  // namespace
}  // namespace twin

extern "C" {

void npukb_print(const char* format, uint32_t count, const uint64_t* values, const uint8_t* kinds) {
    using namespace twin;
    Core& core = ThisCore();
    Line line;
    uint32_t next = 0;
    for (const char* at = format; *at != 0;) {
        Conversion c;
        if (*at != '%') {
            line.Put(at++, 1);
        } else if (at[1] == '%') {
            line.Put("%", 1);
            at += 2;
        } else if (!Parse(at, c) || next == count) {
            line.Put(at++, 1);
        } else {
            auto kind = static_cast<npukb::PrintKind>(kinds[next]);
            PutValue(line, c, Narrowed(c, values[next], kind), kind);
            ++next;
            at = c.end;
        }
    }
    core.Note("printf", NPUKB_PC, line.text());
}

void npukb_dump(npukb::DType dtype, const void* address, int global, uint32_t desc, uint64_t count) {
    using namespace twin;
    Core& core = ThisCore();
    uint32_t bytes = npukb::kDTypeBytes[static_cast<int>(dtype)];
    uint64_t shown = count < kDumped ? count : kDumped;
    if (global)
        CheckGlobal(core, {"DumpTensor", address, shown * bytes, bytes, false}, NPUKB_PC);
    else
        CheckLocal(core,
                   {"DumpTensor", "tensor", address, shown * bytes, static_cast<uint32_t>(shown * bytes), 32, false},
                   NPUKB_PC);
    Line line;
    line.Format("desc=%u, ", desc);
    line.Format("position=%s, ", global ? "GM" : "UB");
    line.Format("dump_size=%llu [", static_cast<unsigned long long>(count));
    for (uint64_t i = 0; i < shown; ++i) {
        if (i > 0) line.Put(", ", 2);
        PutElement(line, dtype, static_cast<const uint8_t*>(address) + i * bytes);
    }
    line.Put(shown < count ? ", ...]" : "]", shown < count ? 6 : 1);
    core.Note("dump_tensor", NPUKB_PC, line.text());
}

void npukb_assert(const char* condition) {
    twin::ThisCore().Violate("assertion", NPUKB_PC, "An assertion of the kernel itself failed.", "assertion failed: %s",
                             condition);
}

void npukb_trap(void) {
    twin::ThisCore().Violate("trap", NPUKB_PC, "Trap ends the kernel with an exception.", "the kernel called Trap");
}
}
