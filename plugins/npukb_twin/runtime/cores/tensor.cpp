// What tensors are besides memory: views of UB, notes (shape and tag), and lists of tensors in global memory.
#include <stdlib.h>
#include <string.h>

#include "../../include/twin/tensor.h"
#include "cores/core.h"
#include "check/raw_access.h"
#include "check/operand_check.h"

namespace twin {

struct TensorNotes {
    AscendC::ShapeInfo shape;
    int32_t tag;
};

namespace {

const TensorNotes kNoNotes{};

const TensorNotes& NotesOf(const Core& core, uint32_t notes) {
    return notes < core.notes_count ? core.notes[notes] : kNoNotes;
}

// Equal notes get equal numbers, so that a loop that sets the same shape again and again needs one entry.
uint32_t Intern(Core& core, const TensorNotes& wanted, const void* pc) {
    for (uint32_t i = core.notes_count; i > 0; --i) {
        if (memcmp(&core.notes[i - 1], &wanted, sizeof wanted) == 0) return i - 1;
    }
    if (core.notes_count >= 0xffffu) {
        core.Violate("limit_exceeded", pc, "Reuse shapes and tags.",
                     "SetShapeInfo: more than 65535 different shapes and tags");
    }
    if (core.notes_count == core.notes_room) {
        core.notes_room = core.notes_room == 0 ? 16 : 2 * core.notes_room;
        core.notes =
            static_cast<TensorNotes*>(realloc(static_cast<void*>(core.notes), core.notes_room * sizeof(TensorNotes)));
        if (core.notes == nullptr) abort();
    }
    if (core.notes_count == 0) memset(static_cast<void*>(&core.notes[core.notes_count++]), 0, sizeof(TensorNotes));
    memcpy(static_cast<void*>(&core.notes[core.notes_count]), &wanted, sizeof wanted);
    return core.notes_count++;
}

const Buffer* BufferOf(const Core& core, uint32_t handle) {
    return handle > 0 && handle <= core.buffer_count ? &core.buffers[handle] : nullptr;
}

// A table of tensors: the byte offset of their addresses; per tensor one word of dimensions and index and one word per
// dimension; the addresses.
class List {
  public:
    List(const void* table, const char* operation, const void* pc)
        : core_(ThisCore()), words_(static_cast<const uint64_t*>(table)), operation_(operation), pc_(pc) {
        addresses_ = Word(0) / 8;
        for (uint64_t at = 1; at < addresses_; at += 1 + DimOf(at)) ++size_;
        if (size_ == 0) {
            core_.Violate("illegal_read", pc_, "Give ListTensorDesc the address of a list argument.",
                          "%s: what lies at the given address is no list of tensors", operation_);
        }
    }
    uint32_t size() const { return size_; }
    uint64_t Word(uint64_t at) const {
        CheckGlobal(core_, {operation_, words_ + at, 8, 8, false}, pc_);
        core_.time.Scalar(core_.launch->machine.gm_scalar_cycles);
        return words_[at];
    }
    uint32_t DimOf(uint64_t at) const { return static_cast<uint32_t>(Word(at)); }
    void Expect(uint32_t index) const {
        if (index < size_) return;
        core_.Violate("limit_exceeded", pc_, "Ask GetSize how many tensors there are.",
                      "%s: index %u in a list of %u tensors", operation_, index, size_);
    }
    uint64_t Description(uint32_t index) const {
        uint64_t at = 1;
        for (uint32_t i = 0; i < index; ++i) at += 1 + DimOf(at);
        return at;
    }
    void* Address(uint32_t index) const { return reinterpret_cast<void*>(Word(addresses_ + index)); }

  private:
    Core& core_;
    const uint64_t* words_;
    const char* operation_;
    const void* pc_;
    uint64_t addresses_ = 0;
    uint32_t size_ = 0;
};

}  // namespace
}  // namespace twin

extern "C" {

uint32_t npukb_notes_set(uint32_t notes, const void* shape, int32_t tag, int what) {
    using namespace twin;
    Core& core = ThisCore();
    TensorNotes wanted;
    memset(static_cast<void*>(&wanted), 0, sizeof wanted);
    if (what == 0) CheckSource(shape, sizeof(AscendC::ShapeInfo), NPUKB_PC);
    const TensorNotes& old = NotesOf(core, notes);
    const auto& from = what == 0 ? *static_cast<const AscendC::ShapeInfo*>(shape) : old.shape;
    wanted.shape.shapeDim = from.shapeDim;
    wanted.shape.originalShapeDim = from.originalShapeDim;
    memcpy(wanted.shape.shape, from.shape, sizeof from.shape);
    memcpy(wanted.shape.originalShape, from.originalShape, sizeof from.originalShape);
    wanted.shape.dataFormat = from.dataFormat;
    wanted.tag = what == 1 ? tag : old.tag;
    return Intern(core, wanted, NPUKB_PC);
}

void npukb_notes_shape(uint32_t notes, void* shape) {
    twin::CheckResult(shape, sizeof(AscendC::ShapeInfo), NPUKB_PC);
    *static_cast<AscendC::ShapeInfo*>(shape) = twin::NotesOf(twin::ThisCore(), notes).shape;
}

int32_t npukb_notes_tag(uint32_t notes) { return twin::NotesOf(twin::ThisCore(), notes).tag; }

int npukb_tensor_position(uint32_t handle) {
    const twin::Buffer* buffer = twin::BufferOf(twin::ThisCore(), handle);
    return buffer != nullptr ? buffer->position : static_cast<int>(AscendC::TPosition::VECCALC);
}

void npukb_buffer_view(npukb::BufferView* view, uint32_t handle) {
    using namespace twin;
    Core& core = ThisCore();
    CheckResult(view, sizeof *view, NPUKB_PC);
    const Buffer* buffer = BufferOf(core, handle);
    if (buffer == nullptr)
        *view = {nullptr, 0, 0, 0};
    else
        *view = {core.ub + buffer->offset, buffer->bytes, handle, 0};
}

void npukb_buffer_part(npukb::BufferView* view, const npukb::BufferView* buffer, uint64_t bytes, uint64_t offset,
                       int part) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    Core& core = ThisCore();
    CheckResult(view, sizeof *view, pc);
    CheckSource(buffer, sizeof *buffer, pc);
    const npukb::BufferView whole = *buffer;
    const Buffer* owner = whole.handle != 0 && whole.handle <= kMaxBuffers ? &core.buffers[whole.handle] : nullptr;
    if (owner != nullptr && !owner->live) {
        core.Warn("use_after_free", pc, "Call InitBuffer again after Reset.",
                  "TBuf: Reset has taken back the %u bytes of this buffer; the next InitBuffer may give them away",
                  whole.bytes);
    }
    if (offset % 32 != 0) {
        core.Violate("misaligned", pc, "Use an offset that is a multiple of 32 bytes.",
                     "GetWithOffset: offset %llu is not a multiple of 32 bytes",
                     static_cast<unsigned long long>(offset));
    }
    if (part == 2 && offset + bytes > whole.bytes) {
        core.Warn("past_tensor", pc, "Ask InitBuffer for more bytes or take fewer elements.",
                  "GetWithOffset: bytes %llu to %llu of a buffer that has %u", static_cast<unsigned long long>(offset),
                  static_cast<unsigned long long>(offset + bytes), whole.bytes);
    }
    *view = whole;
    view->address = static_cast<uint8_t*>(whole.address) + offset;
    if (part != 0) view->bytes = static_cast<uint32_t>(bytes);
}

void npukb_stack_rest(npukb::BufferView* view, int position) {
    using namespace twin;
    Core& core = ThisCore();
    CheckResult(view, sizeof *view, NPUKB_PC);
    Memory memory = MemoryOf(position);
    const Pool& p = core.pools[memory == Memory::None ? 0 : WholePool(memory)];
    *view = {core.ub + p.offset + p.used, p.bytes - p.used, 0, 0};
}

void npukb_memory_at(npukb::BufferView* view, int position, uint64_t offset, uint64_t bytes) {
    using namespace twin;
    Core& core = ThisCore();
    CheckResult(view, sizeof *view, NPUKB_PC);
    Memory memory = MemoryOf(position);
    if (memory == Memory::None) memory = Memory::Ub;
    const MemoryRange& range = core.launch->RangeOf(memory);
    uint64_t rest = offset < range.bytes ? range.bytes - offset : 0;
    if (bytes == ~0ull) bytes = rest;
    if (bytes > rest || rest == 0) {
        const char* overflow = memory == Memory::Ub ? "ub_overflow" : "memory_overflow";
        core.Violate(overflow, NPUKB_PC, "Use smaller tiles or fewer buffers.",
                     "a tensor of %llu bytes at %s address %llu does not fit into %u bytes",
                     static_cast<unsigned long long>(bytes), MemoryName(memory),
                     static_cast<unsigned long long>(offset), range.bytes);
    }
    *view = {core.ub + range.offset + offset, static_cast<uint32_t>(bytes), 0, 0};
}

void npukb_ub_rest(npukb::BufferView* view, const void* address) {
    const twin::Core& core = twin::ThisCore();
    twin::CheckResult(view, sizeof *view, NPUKB_PC);
    uint32_t rest = core.InUb(address) ? core.launch->machine.ub_bytes - core.UbOffset(address) : 0;
    *view = {const_cast<void*>(address), rest, 0, 0};
}

uint64_t npukb_memory_base(int position) {
    using namespace twin;
    const Core& core = ThisCore();
    Memory memory = MemoryOf(position);
    return reinterpret_cast<uint64_t>(core.ub) + (memory == Memory::None ? 0 : core.launch->RangeOf(memory).offset);
}

void npukb_list_open(const void* table, uint32_t length, uint32_t count) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    List list(table, "ListTensorDesc", pc);
    if (count != ~0u && count != list.size()) {
        ThisCore().Violate("limit_exceeded", pc, "Give the number of tensors that the list has.",
                           "ListTensorDesc: shapeSize is %u, the list has %u tensors", count, list.size());
    }
    uint64_t bytes = list.Word(0) + 8ull * list.size();
    if (length < bytes) {
        ThisCore().Violate("limit_exceeded", pc, "Give the whole length of the list.",
                           "ListTensorDesc: length is %u, the list has %llu bytes", length,
                           static_cast<unsigned long long>(bytes));
    }
}

uint32_t npukb_list_size(const void* table) { return twin::List(table, "ListTensorDesc::GetSize", NPUKB_PC).size(); }

void* npukb_list_data(const void* table, uint32_t index) {
    twin::List list(table, "ListTensorDesc::GetDataPtr", NPUKB_PC);
    list.Expect(index);
    return list.Address(index);
}

void* npukb_list_shape(const void* table, uint32_t index, uint64_t* shape, uint64_t* dim) {
    using namespace twin;
    const void* pc = NPUKB_PC;
    List list(table, "ListTensorDesc::GetDesc", pc);
    list.Expect(index);
    if (shape == nullptr) {
        ThisCore().Violate("illegal_address", pc, "Call TensorDesc::SetShapeAddr first.",
                           "ListTensorDesc::GetDesc: the TensorDesc has no memory for the shape");
    }
    uint64_t at = list.Description(index);
    CheckResult(dim, sizeof *dim, pc);
    CheckResult(shape, list.DimOf(at) * sizeof *shape, pc);
    *dim = list.DimOf(at);
    for (uint64_t i = 0; i < *dim; ++i) shape[i] = list.Word(at + 1 + i);
    return list.Address(index);
}
}
