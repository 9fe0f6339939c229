// One call of an object that multiplies matrices: where its operands and results lie, checked, and its blocks.
#pragma once
#include "matmul/schedule.h"

namespace twin {

// Where a batch lies that is not alone.
struct BatchPlace {
    bool on = false;
    int64_t a = 0, b = 0, c = 0, bias = 0;             // elements before it
    int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // elements from row to row
};

// The state of an object, which lies in memory of the kernel: its own, and nobody else's.
npukb::MatmulState* OwnState(npukb::MatmulState* state, const void* pc);

class MatmulJob {
  public:
    MatmulJob(npukb::MatmulState* state, const char* name, const void* pc)
        : core_(ThisCore()), s_(*OwnState(state, pc)), f_(*state->form), name_(name), pc_(pc) {}

    Core& core() const { return core_; }
    npukb::MatmulState& state() const { return s_; }
    const npukb::MatmulForm& form() const { return f_; }
    const void* pc() const { return pc_; }
    // Ends the block unless the object can multiply now.
    void Require() const;
    [[noreturn]] void Misuse(const char* remedy, const char* what) const;

    // Of those that are computed, in the order of iteration.
    int64_t BlockCount() const;
    Block BlockAt(int64_t index) const;
    // What the cube core has to do for the whole result, or for a block of it; `target` may be null. Ask after Open.
    MatmulPlan Plan(const npukb::MatmulTarget* target, const BatchPlace& batch) const;
    // Checks both operands and the bias, and remembers where they lie.
    void Open(const BatchPlace& batch);
    // sums[r * width + c]: the products of a block, on top of what is there already or of the bias.
    void Multiply(const Block& block, void* sums, int64_t width, bool add) const;
    // A whole result, or some of its rows and columns, to `target`.
    Placed PlaceAt(const npukb::MatmulTarget& target, bool local, const Block& block, const BatchPlace& batch) const;
    void Store(const npukb::MatmulTarget& target, const Block& block, const void* sums, int64_t width,
               const BatchPlace& batch);
    // A block to element `at` of the workspace, rows one after the other.
    uint8_t* StoreAside(const Block& block, const void* sums, int64_t width, int64_t at);
    // Multiplies the whole result of one core and stores it.
    void Whole(const npukb::MatmulTarget& target, const BatchPlace& batch);
    uint8_t* Sums();

  private:
    Stored OpenMatrix(const npukb::MatmulOperand& operand, bool left, const BatchPlace& batch) const;
    const void* Check(const npukb::MatmulOperand& operand, const char* role, int64_t first, int64_t elements,
                      DType type) const;
    // Where the operand or result at `address` has gaps.
    void Refine(const void* address, bool write, const Stored& shape, int64_t rows, int64_t columns) const;
    void Track(const Placed& to, bool local, int64_t row, int64_t column, const Block& block) const;
    void CheckResult(const npukb::MatmulTarget& target, bool local, const Placed& to, const Block& block) const;
    Scaling ScalingOf() const { return {quant_ != nullptr, quant_, quant_columns_ > 0}; }
    Block AnyBlockAt(int64_t index) const;
    int64_t AnyBlockCount() const;
    // Where local operands may lie.
    MemorySet Own() const { return SetOf(core_.kind == CoreKind::Cube ? Memory::L1 : Memory::Ub); }
    bool Skipped(const Block& block) const;
    void Start(const Block& block, void* sums, int64_t width) const;

    Core& core_;
    npukb::MatmulState& s_;
    const npukb::MatmulForm& f_;
    const char* name_;
    const void* pc_;
    Stored a_{}, b_{};
    const void* bias_ = nullptr;
    const uint64_t* quant_ = nullptr;
    int64_t quant_columns_ = 0;
};

}  // namespace twin
