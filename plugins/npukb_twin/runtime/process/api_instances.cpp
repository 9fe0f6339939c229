// The API functions that most kernels call, compiled for every element type: headers declare them with NPUKB_ONCE, and
// kernels link to what is here. Taking an address is what makes the compiler emit a function.
#define NPUKB_INSTANCES 1
#include "../../include/kernel_operator.h"

namespace twin {
namespace {

using namespace AscendC;

template <typename Function>
void Emit(Function function) {
    static volatile Function sink;
    sink = function;
}

template <typename T>
using Local = const LocalTensor<T>&;
template <typename T>
using Global = const GlobalTensor<T>&;

template <typename T>
void Tensors() {
    using Queue = npukb_detail::Queue;
    using Room = npukb_detail::Room;
    Emit(static_cast<LocalTensor<T> (Queue::*)()>(&Queue::AllocTensor<T>));
    Emit(static_cast<void (Queue::*)(LocalTensor<T>&)>(&Queue::AllocTensor<T>));
    Emit(static_cast<bool (Queue::*)(Local<T>)>(&Queue::EnQue<T>));
    Emit(static_cast<LocalTensor<T> (Queue::*)()>(&Queue::DeQue<T>));
    Emit(static_cast<void (Queue::*)(LocalTensor<T>&)>(&Queue::DeQue<T>));
    Emit(static_cast<void (Queue::*)(LocalTensor<T>&)>(&Queue::FreeTensor<T>));
    Emit(static_cast<LocalTensor<T> (Room::*)()>(&Room::Get<T>));
    Emit(static_cast<LocalTensor<T> (Room::*)(uint32_t)>(&Room::Get<T>));
    Emit(static_cast<LocalTensor<T> (Room::*)(uint32_t, uint32_t)>(&Room::GetWithOffset<T>));
    Emit(static_cast<LocalTensor<T> (Room::*)()>(&Room::AllocTensor<T>));
}

template <typename T>
void Moves() {
    Emit(static_cast<void (*)(Local<T>, Global<T>, const uint32_t)>(&DataCopy<T>));
    Emit(static_cast<void (*)(Global<T>, Local<T>, const uint32_t)>(&DataCopy<T>));
    Emit(static_cast<void (*)(Local<T>, Local<T>, const uint32_t)>(&DataCopy<T>));
    Emit(static_cast<void (*)(Local<T>, Global<T>, const DataCopyParams&)>(&DataCopy<T>));
    Emit(static_cast<void (*)(Global<T>, Local<T>, const DataCopyParams&)>(&DataCopy<T>));
    Emit(static_cast<void (*)(Local<T>, Local<T>, const DataCopyParams&)>(&DataCopy<T>));
    Emit(static_cast<void (*)(Local<T>, Global<T>, const DataCopyExtParams&, const DataCopyPadExtParams<T>&)>(
        &DataCopyPad<T>));
    Emit(static_cast<void (*)(Local<T>, Global<T>, const DataCopyParams&, const DataCopyPadParams&)>(&DataCopyPad<T>));
    Emit(static_cast<void (*)(Global<T>, Local<T>, const DataCopyExtParams&)>(&DataCopyPad<T>));
    Emit(static_cast<void (*)(Global<T>, Local<T>, const DataCopyParams&)>(&DataCopyPad<T>));
}

template <typename T>
void Instructions() {
    using namespace npukb::types;
    using One = void (*)(Local<T>, Local<T>, const int32_t&);
    using Two = void (*)(Local<T>, Local<T>, Local<T>, const int32_t&);
    using Scalar = void (*)(Local<T>, Local<T>, const T&, const int32_t&);
    using Single = void (*)(Local<T>, const T&, const int32_t&);
#define NPUKB_UNARY(name, set) \
    if constexpr ((npukb::kSetOf<T> & (set)) != 0) Emit(static_cast<One>(&AscendC::name<T>));
#define NPUKB_BINARY(name, set) \
    if constexpr ((npukb::kSetOf<T> & (set)) != 0) Emit(static_cast<Two>(&AscendC::name<T>));
#define NPUKB_SCALAR(name, set)                              \
    if constexpr ((npukb::kSetOf<T> & (set)) != 0) {         \
        Emit(static_cast<Scalar>(&AscendC::name<T, true>));  \
        Emit(static_cast<Scalar>(&AscendC::name<T, false>)); \
    }
#include "../../include/twin/instructions.def"
    if constexpr (npukb::takes::Duplicate<T>::value) {
        Emit(static_cast<Single>(&Duplicate<T, true>));
        Emit(static_cast<Single>(&Duplicate<T, false>));
    }
}

template <typename T, typename U>
void CastOf() {
    if constexpr (NpukbCastSupported<T, U>()) {
        Emit(static_cast<void (*)(Local<T>, Local<U>, const RoundMode&, const uint32_t)>(&Cast<T, U>));
    }
}

template <typename T>
void All() {
    Tensors<T>();
    Moves<T>();
    Instructions<T>();
    CastOf<T, half>();
    CastOf<T, bfloat16_t>();
    CastOf<T, float>();
    CastOf<T, int4b_t>();
    CastOf<T, int8_t>();
    CastOf<T, uint8_t>();
    CastOf<T, int16_t>();
    CastOf<T, int32_t>();
    CastOf<T, int64_t>();
}

}  // namespace

// Never called.
__attribute__((used)) void EmitInstances() {
    All<half>();
    All<bfloat16_t>();
    All<float>();
    All<int4b_t>();
    All<int8_t>();
    All<uint8_t>();
    All<bool>();
    All<int16_t>();
    All<uint16_t>();
    All<int32_t>();
    All<uint32_t>();
    All<int64_t>();
    All<uint64_t>();
    Tensors<double>();
    Moves<double>();
    Tensors<complex32>();
    Moves<complex32>();
    Tensors<complex64>();
    Moves<complex64>();
}

}  // namespace twin
