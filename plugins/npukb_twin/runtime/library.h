// One call of a library function: an operation made of several instructions, which the runtime computes as a whole.
//
//   void npukb_library_xyz(const BufferView* dst, const BufferView* src, const BufferView* tmp, int64_t count) {
//       Library call("Xyz", NPUKB_PC);
//       auto* d = call.Write<float>(dst, count, "dst");
//       auto* s = call.Read<float>(src, count, "src");
//       call.Apart(dst, count * 4, src, count * 4, "src");
//       call.Scratch(tmp);
//       …compute…
//       call.Charge(npukb::DType::F32, count, passes);
//   }
#pragma once
#include "region.h"

namespace twin {

class Library {
  public:
    Library(const char* name, const void* pc) : core_(ThisCore()), name_(name), pc_(pc) {}

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
    // The temporary buffer: null means that the caller gave none. What is in it afterwards is undefined. Warns when it is smaller
    // than scratch.def says; it has to hold a block at least.
    void Scratch(const npukb::BufferView* view) const;
    // The same for a function whose need depends on shapes.
    void Scratch(const npukb::BufferView* view, uint64_t bytes) const;
    // Destination and source of most library functions may not share memory, not even all of it.
    void Apart(const npukb::BufferView* dst, uint64_t dst_bytes, const npukb::BufferView* src, uint64_t src_bytes,
               const char* role) const;
    // Time on the vector pipe: `passes` vector instructions over `elements` of type `dtype`.
    void Charge(npukb::DType dtype, int64_t elements, double passes) const;

  private:
    void* Check(const npukb::BufferView* view, int64_t elements, uint32_t element_bytes, const char* role, uint32_t alignment,
                bool write) const;
    Core& core_;
    const char* name_;
    const void* pc_;
};

}  // namespace twin
