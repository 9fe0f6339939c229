// Data movement between global memory and the unified buffer.
#pragma once
#include "tensor.h"

namespace npukb {

// Which way a copy goes.
enum Direction : uint8_t { kIn, kOut, kInside };

}  // namespace npukb

namespace AscendC {

// DataCopy by element count: the runtime rounds the length down to 32-byte blocks, as the hardware does.
template <typename T>
NPUKB_API void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count) {
    npukb_copy_count(sizeof(T), npukb::kIn, &dst, &src, count);
}
template <typename T>
NPUKB_API void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count) {
    npukb_copy_count(sizeof(T), npukb::kOut, &dst, &src, count);
}
template <typename T>
NPUKB_API void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count) {
    npukb_copy_count(sizeof(T), npukb::kInside, &dst, &src, count);
}
template <typename T>
NPUKB_API void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params) {
    npukb_copy_blocks(sizeof(T), npukb::kIn, &dst, &src, &params);
}
template <typename T>
NPUKB_API void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params) {
    npukb_copy_blocks(sizeof(T), npukb::kOut, &dst, &src, &params);
}
template <typename T>
NPUKB_API void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params) {
    npukb_copy_blocks(sizeof(T), npukb::kInside, &dst, &src, &params);
}

// DataCopyPad: gaps are bytes on the GM side and 32-byte blocks on the UB side, where each piece starts on a block.
template <typename T>
NPUKB_API void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params,
                           const DataCopyPadExtParams<T>& pad) {
    npukb_copy_pad_in(sizeof(T), &dst, &src, &params, &pad, &pad.paddingValue);
}
template <typename T>
NPUKB_API void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
                           const DataCopyPadParams& pad) {
    DataCopyExtParams wide(params.blockCount, params.blockLen, params.srcStride, params.dstStride, 0);
    npukb_copy_pad_in(sizeof(T), &dst, &src, &wide, &pad, &pad.paddingValue);
}
template <typename T>
NPUKB_API void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& params) {
    npukb_copy_pad_out(sizeof(T), &dst, &src, &params);
}
template <typename T>
NPUKB_API void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params) {
    DataCopyExtParams wide(params.blockCount, params.blockLen, params.srcStride, params.dstStride, 0);
    npukb_copy_pad_out(sizeof(T), &dst, &src, &wide);
}

}  // namespace AscendC
