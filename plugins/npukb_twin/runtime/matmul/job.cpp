// A call of an object step by step: its state is checked, its block of the result is divided, operands are loaded,
// products are added up, results are stored and tracked.
#include "matmul/job.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "cube/product.h"
#include "semantics/numeric.h"
#include "check/raw_access.h"
#include "check/operand_check.h"
#include "check/tracker.h"
#include "cores/fiber.h"

namespace twin {
namespace {

using npukb::MatmulOperand;
using npukb::MatrixPlace;

constexpr int64_t kDepthPiece = 512;  // along K that is unpacked at a time
constexpr int64_t kSidePiece = 512;   // rows and columns of a result that are computed at a time

struct Panel {
    float* data;
    explicit Panel(int64_t elements)
        : data(static_cast<float*>(malloc(static_cast<size_t>(elements) * sizeof(float)))) {
        if (data == nullptr) abort();
    }
    ~Panel() { free(data); }
    Panel(const Panel&) = delete;
    Panel& operator=(const Panel&) = delete;
};

float ScalarValue(uint64_t bits, DType type) {
    if (type == DType::F16) return static_cast<float>(Bits<half>(static_cast<uint16_t>(bits)));
    return Bits<float>(static_cast<uint32_t>(bits));
}

}  // namespace

npukb::MatmulState* OwnState(npukb::MatmulState* state, const void* pc) {
    CheckResult(state, sizeof *state, pc);
    // What is computed and what it costs follow from the same numbers, which other cores may change in between only
    // where they lie in variables: such a kernel runs on one thread, on which nothing happens in between.
    Launch& launch = *ThisCore().launch;
    bool shared = !OnOwnStack(reinterpret_cast<uint64_t>(state), sizeof *state) ||
                  __atomic_load_n(&launch.variables_written, __ATOMIC_ACQUIRE);
    if (shared) __atomic_store_n(&launch.talks, true, __ATOMIC_RELAXED);
    if (state->form != nullptr) CheckSource(state->form, sizeof *state->form, pc);  // null before it was registered
    return state;
}

void MatmulJob::Misuse(const char* remedy, const char* what) const {
    core_.Violate("matmul_misuse", pc_, remedy, "%s: %s", name_, what);
}

void MatmulJob::Require() const {
    if (!s_.ready) Misuse("Give REGIST_MATMUL_OBJ or Init the tiling structure.", "the object has no tiling");
    // The kernel can write where these numbers lie: Init looked at others.
    const TCubeTiling& t = s_.tiling;
    bool registered = s_.number >= 1 && s_.number <= MatmulOf(core_).count;
    bool sized = t.baseM > 0 && t.baseN > 0 && t.baseK > 0 &&
                 int64_t{4} * t.baseM * t.baseN <= int64_t{core_.launch->machine.l0c_bytes};
    if (!registered || !sized) Misuse("Leave the object's memory to it.", "its state was changed from outside");
    if (s_.a.place == MatrixPlace::None) Misuse("Call SetTensorA first.", "the left matrix is not set");
    if (s_.b.place == MatrixPlace::None) Misuse("Call SetTensorB first.", "the right matrix is not set");
    if (s_.m <= 0 || s_.n <= 0 || s_.k <= 0) {
        core_.Violate("matmul_misuse", pc_, "Give SetTail and SetSingleShape positive sizes.",
                      "%s: the single shape is %d by %d by %d", name_, s_.m, s_.n, s_.k);
    }
    bool wrong_a = s_.a.transposed && !f_.a_may_turn, wrong_b = s_.b.transposed && !f_.b_may_turn;
    if (wrong_a || wrong_b) {
        Misuse("Set ISTRANS of the MatmulType to true.", "a matrix is transposed whose MatmulType does not allow it");
    }
    auto elsewhere = [](const MatmulOperand& matrix, AscendC::TPosition position) {
        bool global = position == AscendC::TPosition::GM;
        return matrix.place == (global ? MatrixPlace::Local : MatrixPlace::Global);
    };
    if (elsewhere(s_.a, f_.a_position) || elsewhere(s_.b, f_.b_position)) {
        Misuse("Give the MatmulType the position of the tensor: TPosition::GM for a GlobalTensor.",
               "a matrix does not lie where its MatmulType says");
    }
    core_.time.Access(core_.launch->machine.scalar_issue_cycles);
}

int64_t MatmulJob::AnyBlockCount() const {
    int64_t blocks = PartsOf(s_.m, s_.tiling.baseM) * PartsOf(s_.n, s_.tiling.baseN);
    return f_.config.isPartialOutput ? blocks * PartsOf(s_.k, s_.tiling.baseK) : blocks;
}

// Of an upper triangle, blocks wholly below the diagonal; of a lower one, those above it.
bool MatmulJob::Skipped(const Block& block) const {
    if (f_.triangle == npukb::MatmulTriangle::Upper) return block.row >= block.column + s_.tiling.baseN;
    return f_.triangle == npukb::MatmulTriangle::Lower && block.column >= block.row + s_.tiling.baseM;
}

int64_t MatmulJob::BlockCount() const {
    const int64_t all = AnyBlockCount();
    if (f_.triangle == npukb::MatmulTriangle::None) return all;
    int64_t count = 0;
    for (int64_t i = 0; i < all; ++i) count += Skipped(AnyBlockAt(i)) ? 0 : 1;
    return count;
}

Block MatmulJob::BlockAt(int64_t index) const {
    if (f_.triangle == npukb::MatmulTriangle::None) return AnyBlockAt(index);
    Block block = AnyBlockAt(0);
    for (int64_t i = 0;; block = AnyBlockAt(++i)) {
        if (!Skipped(block) && index-- == 0) return block;
    }
}

Block MatmulJob::AnyBlockAt(int64_t index) const {
    const TCubeTiling& t = s_.tiling;
    int64_t from = 0, depth = s_.k;
    if (f_.config.isPartialOutput) {
        int64_t steps = PartsOf(s_.k, t.baseK);
        from = index % steps * t.baseK;
        depth = std::min<int64_t>(t.baseK, s_.k - from);
        index /= steps;
    }
    int64_t down = PartsOf(s_.m, t.baseM), across = PartsOf(s_.n, t.baseN);
    int64_t row = t.iterateOrder == 1 ? index / across : index % down;
    int64_t column = t.iterateOrder == 1 ? index % across : index / down;
    row *= t.baseM;
    column *= t.baseN;
    return {row,  column, std::min<int64_t>(t.baseM, s_.m - row), std::min<int64_t>(t.baseN, s_.n - column),
            from, depth};
}

const void* MatmulJob::Check(const MatmulOperand& operand, const char* role, int64_t first, int64_t elements,
                             DType type) const {
    auto bytes = static_cast<uint64_t>(BytesOfType(type, elements));
    int64_t skip = BytesOfType(type, first);
    if (operand.place == MatrixPlace::Global) {
        const void* address = static_cast<const uint8_t*>(operand.global.address) + skip;
        uint32_t element = type == DType::I4 ? 1 : static_cast<uint32_t>(BytesOfType(type, 1));
        CheckGlobal(core_, {name_, address, bytes, element, false, operand.global.origin}, pc_);
        return address;
    }
    const void* address = static_cast<const uint8_t*>(operand.local.address) + skip;
    CheckLocal(core_,
               {name_, role, address, bytes, operand.local.bytes - static_cast<uint32_t>(skip), 32, false, Own()}, pc_);
    return address;
}

Stored MatmulJob::OpenMatrix(const MatmulOperand& operand, bool left, const BatchPlace& batch) const {
    const DType type = left ? f_.a : f_.b;
    const char* role = left ? "the left matrix" : "the right matrix";
    Stored stored{nullptr, type, false, operand.transposed, false, 0, 0, 0, 0};
    if (operand.place == MatrixPlace::Scalar) {
        stored.constant = true;
        stored.value = ScalarValue(operand.scalar, type);
        return stored;
    }
    const CubeFormat format = left ? f_.a_format : f_.b_format;
    const bool global = operand.place == MatrixPlace::Global, turned = operand.transposed;
    const int64_t outer = left ? s_.m : s_.k, inner = left ? s_.k : s_.n;
    const int64_t rows = turned ? inner : outer, columns = turned ? outer : inner;
    const int64_t org_rows = left ? (turned ? s_.org_ka : s_.org_m) : (turned ? s_.org_n : s_.org_kb);
    const int64_t org_columns = left ? (turned ? s_.org_m : s_.org_ka) : (turned ? s_.org_kb : s_.org_n);
    int64_t extent = 0;
    if (format == CubeFormat::NZ) {
        stored.fractal = true;
        stored.height = AlignUp(global ? org_rows : rows, kFractalSide);
        extent = ((PartsOf(columns, LanesOf(type)) - 1) * stored.height + rows) * LanesOf(type);
    } else {
        stored.stride = batch.on ? (left ? batch.stride_a : batch.stride_b) : (global ? org_columns : columns);
        if (format == CubeFormat::VECTOR) stored.stride = columns;
        extent = (rows - 1) * stored.stride + columns;
    }
    stored.lanes = LanesOf(type);
    stored.address = static_cast<const uint8_t*>(Check(operand, role, left ? batch.a : batch.b, extent, type));
    Refine(stored.address, false, stored, rows, columns);
    return stored;
}

MatmulPlan MatmulJob::Plan(const npukb::MatmulTarget* target, const BatchPlace& batch) const {
    MatmulPlan plan{};
    plan.pc = pc_;
    const TCubeTiling& t = s_.tiling;
    auto shared = [&](bool asked, int64_t side, int32_t base, int32_t depth) {
        return asked && PartsOf(s_.k, t.baseK) * PartsOf(side, base) <= depth ? s_.k * side : 0;
    };
    plan.a = {a_, s_.a.place == MatrixPlace::Global, s_.a.global.origin, shared(f_.a_shared, s_.m, t.baseM, t.depthA1)};
    plan.b = {b_, s_.b.place == MatrixPlace::Global, s_.b.global.origin, shared(f_.b_shared, s_.n, t.baseN, t.depthB1)};
    plan.multiplies = true;
    plan.large_loads = f_.config.doMultiDataLoad || f_.config.doSpecialMDL;
    // As documented: all of K in L1, and room for twice the blocks along M or N.
    auto ahead = [&](uint32_t mode, int32_t along, int32_t deep, int32_t depth) {
        return plan.large_loads && f_.config.doMTE2Preload == mode && PartsOf(s_.k, t.baseK) <= deep &&
               depth >= 2 * std::max(along, 1) * deep;
    };
    plan.ahead_a = ahead(1, t.stepM, t.stepKa, t.depthA1);
    plan.ahead_b = ahead(2, t.stepN, t.stepKb, t.depthB1);
    plan.nine = f_.config.doMultiDataLoad && f_.config.scheduleType == ScheduleType::N_BUFFER_33;
    plan.staggered = f_.config.doMultiDataLoad && f_.config.enableKdimReorderLoad;
    plan.unit_flag = f_.config.enUnitFlag && !f_.config.doSpecialMDL && !f_.config.doBasicBlock;
    plan.constant = f_.constant.singleCoreM > 0;
    plan.down_first = t.iterateOrder != 1;
    plan.hf32 = s_.hf32;
    plan.type = f_.a;
    plan.m = s_.m, plan.n = s_.n, plan.k = s_.k;
    plan.tiling = t;
    if (target == nullptr) return plan;
    plan.stores = true;
    plan.stores_global = target->global != nullptr;
    plan.sequential = target->sequential;
    plan.c = PlaceAt(*target, !plan.stores_global, AnyBlockAt(0), batch);
    if (plan.stores_global) plan.c_origin = target->global->origin;
    return plan;
}

void MatmulJob::Open(const BatchPlace& batch) {
    a_ = OpenMatrix(s_.a, true, batch);
    b_ = OpenMatrix(s_.b, false, batch);
    bias_ = nullptr;
    if (s_.bias.place != MatrixPlace::None && s_.tiling.isBias != 0 && f_.config.enableSetBias) {
        bias_ = Check(s_.bias, "the bias", batch.bias, s_.n, f_.bias);
    }
    quant_ = nullptr;
    quant_columns_ = 0;
    const bool narrows = f_.c == DType::I8 || (IsInteger(f_.a) && f_.c == DType::F16);
    if (!narrows) return;
    if (s_.quant.place == MatrixPlace::None) {
        Misuse("Call SetQuantScalar or SetQuantVector first.", "the result needs factors, and none are set");
    }
    if (s_.quant.place == MatrixPlace::Scalar) {
        quant_ = &s_.quant.scalar;
    } else {
        quant_ = static_cast<const uint64_t*>(Check(s_.quant, "the factors", 0, s_.n, DType::U64));
        quant_columns_ = s_.n;
    }
}

// Zeros, or the bias in every row.
void MatmulJob::Start(const Block& block, void* sums, int64_t width) const {
    auto* words = static_cast<uint32_t*>(sums);
    for (int64_t c = 0; c < block.columns; ++c) {
        uint32_t word = 0;
        if (bias_ != nullptr && block.from == 0) {
            int64_t at = block.column + c;
            if (f_.bias == DType::F16)
                word = Bits<uint32_t>(static_cast<float>(static_cast<const half*>(bias_)[at]));
            else
                word = static_cast<const uint32_t*>(bias_)[at];
        }
        words[c] = word;
    }
    for (int64_t r = 1; r < block.rows; ++r) memcpy(words + r * width, words, static_cast<size_t>(block.columns) * 4);
}

void MatmulJob::Multiply(const Block& block, void* sums, int64_t width, bool add) const {
    if (!add) Start(block, sums, width);
    const int64_t deep = std::min(block.depth, kDepthPiece);
    Panel left(block.rows * deep), right(deep * block.columns);
    for (int64_t k = 0; k < block.depth; k += kDepthPiece) {
        int64_t depth = std::min(kDepthPiece, block.depth - k);
        Unpack(a_, block.row, block.from + k, block.rows, depth, left.data, depth);
        Unpack(b_, block.from + k, block.column, depth, block.columns, right.data, block.columns);
        if (s_.hf32 && f_.a == DType::F32) {
            for (int64_t i = 0; i < block.rows * depth; ++i) left.data[i] = ToHf32(left.data[i], s_.hf32_away);
            for (int64_t i = 0; i < block.columns * depth; ++i) right.data[i] = ToHf32(right.data[i], s_.hf32_away);
        }
        if (IsInteger(f_.a)) {
            MultiplyAccumulateInteger(static_cast<int32_t*>(sums), width, left.data, depth, right.data, block.columns,
                                      block.rows, block.columns, depth);
        } else {
            MultiplyAccumulate(static_cast<float*>(sums), width, left.data, depth, right.data, block.columns,
                               block.rows, block.columns, depth);
        }
    }
}

Placed MatmulJob::PlaceAt(const npukb::MatmulTarget& target, bool local, const Block& block,
                          const BatchPlace& batch) const {
    const bool sequential = target.sequential;
    Placed to{};
    to.address =
        static_cast<uint8_t*>(local ? target.local->address : target.global->address) + BytesOfType(f_.c, batch.c);
    to.type = f_.c;
    to.fractal = f_.c_format == CubeFormat::NZ;
    to.lanes = f_.config.isEnableChannelSplit ? 8 : f_.c == DType::I8 ? 32 : 16;
    int64_t rows = sequential ? block.rows : local ? s_.m : s_.org_m;
    int64_t columns = sequential ? block.columns : local ? s_.n : s_.org_c > 0 ? s_.org_c : s_.org_n;
    to.height = AlignUp(rows, kFractalSide);
    to.stride = f_.c_format == CubeFormat::ND_ALIGN ? AlignUp(columns, 32 / BytesOfType(f_.c, 1)) : columns;
    if (batch.on && !local) to.stride = batch.stride_c;
    static constexpr npukb::AtomicMode modes[] = {npukb::AtomicMode::None, npukb::AtomicMode::Add,
                                                  npukb::AtomicMode::Max, npukb::AtomicMode::Min};
    if (target.atomic > 3)
        Misuse("Give 0 for none, 1 for add, 2 for max or 3 for min.", "there is no such atomic mode");
    to.atomic = modes[target.atomic];
    if (to.atomic == npukb::AtomicMode::None && core_.kind == CoreKind::Cube && !local) to.atomic = core_.atomic_mode;
    return to;
}

void MatmulJob::Refine(const void* address, bool write, const Stored& shape, int64_t rows, int64_t columns) const {
    if (core_.order == nullptr) return;
    int64_t lanes = shape.lanes, piece = columns, step = shape.stride, count = rows;
    if (shape.fractal) piece = rows * lanes, step = shape.height * lanes, count = PartsOf(columns, lanes);
    core_.order->Refine(address, write, static_cast<uint64_t>(BytesOfType(shape.type, piece)),
                        static_cast<uint64_t>(BytesOfType(shape.type, step)), static_cast<uint32_t>(count));
}

void MatmulJob::CheckResult(const npukb::MatmulTarget& target, bool local, const Placed& to, const Block& block) const {
    const int64_t row = target.sequential ? 0 : block.row, column = target.sequential ? 0 : block.column;
    const int64_t size = BytesOfType(to.type, 1), first = to.At(row, column);
    int64_t last = (row + block.rows - 1) * to.stride + column + block.columns;
    if (to.fractal) last = to.At(row + block.rows, column + block.columns - 1) / to.lanes * to.lanes;
    auto bytes = static_cast<uint64_t>((last - first) * size);
    uint8_t* address = to.address + first * size;
    if (!local) {
        CheckGlobal(core_, {name_, address, bytes, static_cast<uint32_t>(size), true, target.global->origin}, pc_);
        return;
    }
    auto skip = static_cast<uint32_t>(address - static_cast<uint8_t*>(target.local->address));
    CheckLocal(
        core_,
        {name_, "the result", address, bytes, target.local->bytes - skip, static_cast<uint32_t>(size), true, Own()},
        pc_);
}

// What a block has put where, for the full checker.
void MatmulJob::Track(const Placed& to, bool local, int64_t row, int64_t column, const Block& block) const {
    const uint8_t* address = to.address + BytesOfType(to.type, to.At(row, column));
    const Stored shape{address, to.type, to.fractal, false, false, to.stride, to.height, to.lanes, 0};
    Refine(address, true, shape, block.rows, block.columns);
    const int64_t pieces = to.fractal ? PartsOf(block.columns, to.lanes) : block.rows;
    const int64_t piece = to.fractal ? block.rows * to.lanes : block.columns,
                  step = to.fractal ? to.height * to.lanes : to.stride;
    for (int64_t i = 0; !local && i < pieces; ++i) {
        TrackStored(core_, address + BytesOfType(to.type, i * step),
                    static_cast<uint64_t>(BytesOfType(to.type, piece)));
    }
    core_.order->Served();
}

void MatmulJob::Store(const npukb::MatmulTarget& target, const Block& block, const void* sums, int64_t width,
                      const BatchPlace& batch) {
    const int64_t row = target.sequential ? 0 : block.row, column = target.sequential ? 0 : block.column;
    Scaling scaling = ScalingOf();
    if (scaling.per_column) scaling.factors += block.column - column;
    for (bool local : {false, true}) {
        if (local ? target.local == nullptr : target.global == nullptr) continue;
        const Placed to = PlaceAt(target, local, block, batch);
        const auto mode = core_.atomic_mode;
        core_.atomic_mode = to.atomic;
        CheckResult(target, local, to, block);
        Place(core_, to, sums, IsInteger(f_.a), width, row, column, block.rows, block.columns, scaling, pc_);
        if (core_.order != nullptr) Track(to, local, row, column, block);
        core_.atomic_mode = mode;
    }
}

uint8_t* MatmulJob::StoreAside(const Block& block, const void* sums, int64_t width, int64_t at) {
    if (s_.workspace.address == nullptr) {
        Misuse("Call SetWorkspace before Iterate.", "there is no workspace that the results could wait in");
    }
    npukb::MatmulTarget target{&s_.workspace, nullptr, 0, true};
    BatchPlace place;
    place.c = at;
    Store(target, block, sums, width, place);
    return static_cast<uint8_t*>(s_.workspace.address) + BytesOfType(f_.c, at);
}

void MatmulJob::Whole(const npukb::MatmulTarget& target, const BatchPlace& batch) {
    Open(batch);
    Panel sums(std::min<int64_t>(s_.m, kSidePiece) * std::min<int64_t>(s_.n, kSidePiece));
    if (target.sequential || f_.config.isPartialOutput || f_.triangle != npukb::MatmulTriangle::None) {
        const int64_t area = int64_t{s_.tiling.baseM} * s_.tiling.baseN;
        for (int64_t i = 0; i < BlockCount(); ++i) {
            Block block = BlockAt(i);
            Panel panel(block.rows * block.columns);
            Multiply(block, panel.data, block.columns, false);
            BatchPlace place = batch;
            if (target.sequential) place.c += i * area;
            Store(target, block, panel.data, block.columns, place);
        }
        return;
    }
    for (int64_t column = 0; column < s_.n; column += kSidePiece) {
        for (int64_t row = 0; row < s_.m; row += kSidePiece) {
            Block block{
                row, column, std::min<int64_t>(kSidePiece, s_.m - row), std::min<int64_t>(kSidePiece, s_.n - column),
                0,   s_.k};
            Multiply(block, sums.data, block.columns, false);
            Store(target, block, sums.data, block.columns, batch);
        }
    }
}

uint8_t* MatmulJob::Sums() {
    const int32_t number = s_.number;
    if (number < 1 || number > kMatmulObjects)
        Misuse("Leave the object's memory to it.", "its state was changed from outside");
    uint8_t*& sums = MatmulOf(core_).sums[number - 1];
    if (sums == nullptr) {
        sums = static_cast<uint8_t*>(calloc(core_.launch->machine.l0c_bytes, 1));  // whatever the sizes of a block
        if (sums == nullptr) abort();
    }
    return sums;
}

}  // namespace twin
