// One call of a library function: an operation made of several instructions, which the runtime computes as a whole.
//
//   void npukb_library_xyz(const BufferView* dst, const BufferView* src, const BufferView* tmp, int64_t count) {
//       Library call("Xyz", NPUKB_PC);
//       auto* d = call.Write<float>(dst, count, "dst");
//       auto* s = call.Read<float>(src, count, "src");
//       call.Apart();
//       call.ScratchFor(tmp, count * sizeof(float));
//       …compute…
//       call.Charge(npukb::DType::F32, count, passes);
//   }
#pragma once
#include "check/operand_check.h"
#include "semantics/moves.h"

namespace twin {

class Library {
  public:
    Library(const char* name, const void* pc) : core_(ThisCore()), name_(name), pc_(pc) {}
    // An instruction with a row, which says what Read and Write below need not be told.
    Library(const MoveRow& row, const void* pc) : core_(ThisCore()), name_(row.name), pc_(pc), row_(&row) {}
    ~Library();
    Library(const Library&) = delete;

    Core& core() const { return core_; }
    const char* name() const { return name_; }
    const void* pc() const { return pc_; }

    template <typename T>
    const T* Read(const npukb::BufferView* view, int64_t elements, const char* role, uint32_t alignment = 32) const {
        return static_cast<const T*>(Check(view, elements, sizeof(T), role, alignment, false));
    }
    template <typename T>
    T* Write(const npukb::BufferView* view, int64_t elements, const char* role, uint32_t alignment = 32) const {
        return static_cast<T*>(Check(view, elements, sizeof(T), role, alignment, true));
    }
    // The same of an operand of the row, which takes elements of `element_bytes`.
    template <typename T>
    const T* Read(const npukb::BufferView* view, int64_t elements, Slot slot, uint32_t element_bytes) const {
        const OperandRow& operand = row_->At(slot);
        return Read<T>(view, elements, operand.role, AlignmentOf(core_, operand, nullptr, element_bytes));
    }
    template <typename T>
    T* Write(const npukb::BufferView* view, int64_t elements, Slot slot, uint32_t element_bytes) const {
        const OperandRow& operand = row_->At(slot);
        return Write<T>(view, elements, operand.role, AlignmentOf(core_, operand, nullptr, element_bytes));
    }
    // No destination may share memory with a source (as most of the library wants), or only the whole of it if `same`
    // is true. Looks at what Read and Write have been asked for.
    void Apart(bool same = false) const;
    // The same where the documentation offers no sharing at all: results that share memory with a source are lost.
    void Exclusive() const;
    // The temporary buffer, null if the caller gave none: apart from all operands, and as large as scratch.def says for
    // so many bytes of data; a smaller one is a warning, but it has to hold a block at least. What is in it afterwards
    // is undefined.
    void ScratchFor(const npukb::BufferView* view, uint64_t data_bytes) const;
    // The same for a function whose need is documented: less is an error.
    void Scratch(const npukb::BufferView* view, uint64_t bytes) const;
    // What a function that may reuse its source leaves behind there: NaN. Not where a result has been put in the same
    // place.
    void Spoil(const npukb::BufferView* source, uint64_t bytes, const npukb::BufferView* dst) const;
    // Time on the vector pipe: `passes` vector instructions over `elements` of type `dtype`.
    void Charge(npukb::DType dtype, int64_t elements, double passes) const;

  private:
    void* Check(const npukb::BufferView* view, int64_t elements, uint32_t element_bytes, const char* role,
                uint32_t alignment, bool write) const;
    // Where an operand lies, for the questions about sharing.
    struct Span {
        const char* role;
        uint64_t begin, end;
        bool write;
    };
    static constexpr int kMaxSpans = 12;
    void WarnShared(const Span& a, const Span& b) const;
    // Whether a source lies where this result does.
    bool Shared(const Span& result) const;

    Core& core_;
    const char* name_;
    const void* pc_;
    const MoveRow* row_ = nullptr;
    mutable Span spans_[kMaxSpans];
    mutable int span_count_ = 0;
    mutable Span scratch_{};
    mutable bool exclusive_ = false;
};

}  // namespace twin
