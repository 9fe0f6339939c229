// Data movement between global memory and the unified buffer.
#pragma once
#include "tensor.h"

namespace npukb {

enum Direction : uint8_t { kIn, kOut, kInside };

// DataCopy in 32-byte blocks with gaps between pieces, tail to head.
template <typename T>
NPUKB_API void CopyBlocks(const void* dst, const void* src, const AscendC::DataCopyParams& params, Direction direction) {
    CopyInstruction copy{};
    copy.dst = dst;
    copy.src = src;
    copy.blocks = params.blockCount;
    copy.block_bytes = params.blockLen * 32u;
    copy.requested_bytes = copy.block_bytes;
    copy.src_stride = (static_cast<int64_t>(params.blockLen) + params.srcStride) * 32;
    copy.dst_stride = (static_cast<int64_t>(params.blockLen) + params.dstStride) * 32;
    copy.element_bytes = sizeof(T);
    copy.direction = direction;
    npukb_copy(&copy);
}

// DataCopyPad into UB: gaps are bytes on the GM side and 32-byte blocks on the UB side, where each piece starts on a block.
template <typename T>
NPUKB_API void CopyPadIn(const void* dst, const void* src, uint32_t blocks, uint32_t bytes, uint32_t src_gap,
                         uint32_t dst_gap, bool is_pad, uint8_t left, uint8_t right, uint64_t value) {
    uint32_t padded = bytes + (is_pad ? (left + right) * sizeof(T) : 0);
    CopyInstruction copy{};
    copy.dst = dst;
    copy.src = src;
    copy.blocks = blocks;
    copy.block_bytes = bytes;
    copy.requested_bytes = bytes;
    copy.src_stride = static_cast<int64_t>(bytes) + src_gap;
    copy.dst_stride = static_cast<int64_t>((padded + 31u) & ~31u) + static_cast<int64_t>(dst_gap) * 32;
    copy.element_bytes = sizeof(T);
    copy.direction = kIn;
    copy.padded = 1;
    copy.pad_left = is_pad ? left : 0;
    copy.pad_right = is_pad ? right : 0;
    copy.pad_value_set = is_pad;
    copy.pad_value = value;
    npukb_copy(&copy);
}

// DataCopyPad out of UB: exactly the bytes asked for.
template <typename T>
NPUKB_API void CopyPadOut(const void* dst, const void* src, uint32_t blocks, uint32_t bytes, uint32_t src_gap,
                          uint32_t dst_gap) {
    CopyInstruction copy{};
    copy.dst = dst;
    copy.src = src;
    copy.blocks = blocks;
    copy.block_bytes = bytes;
    copy.requested_bytes = bytes;
    copy.src_stride = static_cast<int64_t>((bytes + 31u) & ~31u) + static_cast<int64_t>(src_gap) * 32;
    copy.dst_stride = static_cast<int64_t>(bytes) + dst_gap;
    copy.element_bytes = sizeof(T);
    copy.direction = kOut;
    copy.padded = 1;
    npukb_copy(&copy);
}

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
    npukb::CopyBlocks<T>(dst.GetPhyAddr(), src.GetPhyAddr(), params, npukb::kIn);
}
template <typename T>
NPUKB_API void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params) {
    npukb::CopyBlocks<T>(dst.GetPhyAddr(), src.GetPhyAddr(), params, npukb::kOut);
}
template <typename T>
NPUKB_API void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params) {
    npukb::CopyBlocks<T>(dst.GetPhyAddr(), src.GetPhyAddr(), params, npukb::kInside);
}

template <typename T>
NPUKB_API void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params,
                           const DataCopyPadExtParams<T>& pad) {
    npukb::CopyPadIn<T>(dst.GetPhyAddr(), src.GetPhyAddr(), params.blockCount, params.blockLen, params.srcStride,
                        params.dstStride, pad.isPad, pad.leftPadding, pad.rightPadding, npukb::RawBits(pad.paddingValue));
}
template <typename T>
NPUKB_API void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
                           const DataCopyPadParams& pad) {
    npukb::CopyPadIn<T>(dst.GetPhyAddr(), src.GetPhyAddr(), params.blockCount, params.blockLen, params.srcStride,
                        params.dstStride, pad.isPad, pad.leftPadding, pad.rightPadding, pad.paddingValue);
}
template <typename T>
NPUKB_API void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& params) {
    npukb::CopyPadOut<T>(dst.GetPhyAddr(), src.GetPhyAddr(), params.blockCount, params.blockLen, params.srcStride,
                         params.dstStride);
}
template <typename T>
NPUKB_API void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params) {
    npukb::CopyPadOut<T>(dst.GetPhyAddr(), src.GetPhyAddr(), params.blockCount, params.blockLen, params.srcStride,
                         params.dstStride);
}

}  // namespace AscendC
