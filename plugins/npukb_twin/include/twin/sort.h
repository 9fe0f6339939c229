// Sorting: Sort32 and MrgSort on records of a value and an index, the region proposals of older chips, and the
// library's Concat, Sort, MrgSort, Extract and TopK.
//
// A record has 8 bytes: the value in the low bytes (half leaves two unused), the uint32_t index in the high four. Order
// is descending; equal values keep the order of the input; NaN comes first.
#pragma once
#include "tensor.h"
#include "tiling_structs.h"

#pragma GCC visibility push(default)
extern "C" {
void npukb_sort32(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* value,
                  const npukb::BufferView* index, int32_t repeat);
// `region` sorts region proposals of eight elements instead of records.
void npukb_merge_sort(uint32_t element_bytes, uint32_t region, const npukb::BufferView* dst,
                      const npukb::BufferView* src1, const npukb::BufferView* src2, const npukb::BufferView* src3,
                      const npukb::BufferView* src4, const AscendC::MrgSort4Info* info);
void npukb_merge_result(uint16_t* counts);
void npukb_region_sort(uint32_t element_bytes, const npukb::BufferView* dst, const npukb::BufferView* src,
                       int32_t repeat);
void npukb_region_move(uint32_t element_bytes, uint32_t extract, const npukb::BufferView* dst,
                       const npukb::BufferView* src, int32_t repeat, int32_t field);
void npukb_sort_concat(uint32_t element_bytes, const npukb::BufferView* src, int32_t repeat);
void npukb_sort(uint32_t element_bytes, uint32_t full, const npukb::BufferView* dst, const npukb::BufferView* value,
                const npukb::BufferView* index, const npukb::BufferView* tmp, int32_t repeat);
void npukb_sort_extract(uint32_t element_bytes, const npukb::BufferView* value, const npukb::BufferView* index,
                        const npukb::BufferView* sorted, int32_t repeat);
// flags: 1 indices given, 2 finish given, 4 small mode, 8 smallest first.
void npukb_topk(uint32_t element_bytes, uint32_t flags, const npukb::BufferView* value, const npukb::BufferView* index,
                const npukb::BufferView* src, const npukb::BufferView* src_index, const npukb::BufferView* finish,
                const npukb::BufferView* tmp, int32_t k, const AscendC::TopKInfo* info);
void npukb_vbitsort(uint32_t element_bytes, void* dst, const void* value, const void* index, uint64_t repeat);
void npukb_vmrgsort4(uint32_t element_bytes, void* dst, const void* const* sources, uint64_t lengths, uint64_t config);
}
#pragma GCC visibility pop

#define NPUKB_SORTABLE(name) static_assert(npukb::moves::Sort32<T>, #name " sorts half and float values only")

namespace AscendC {

template <typename T>
struct MrgSortSrcList {
    NPUKB_API MrgSortSrcList() {}
    NPUKB_API MrgSortSrcList(const LocalTensor<T>& src1In, const LocalTensor<T>& src2In, const LocalTensor<T>& src3In,
                             const LocalTensor<T>& src4In)
        : src1(src1In), src2(src2In), src3(src3In), src4(src4In) {}
    LocalTensor<T> src1;
    LocalTensor<T> src2;
    LocalTensor<T> src3;
    LocalTensor<T> src4;
};

template <typename T>
NPUKB_API void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src1,
                      const int32_t repeatTime) {
    NPUKB_SORTABLE(Sort32);
    npukb_sort32(sizeof(T), &dst.npukb_view, &src0.npukb_view, &src1.npukb_view, repeatTime);
}

template <typename T>
NPUKB_API void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params) {
    NPUKB_SORTABLE(MrgSort);
    npukb_merge_sort(sizeof(T), 0, &dst.npukb_view, &src.src1.npukb_view, &src.src2.npukb_view, &src.src3.npukb_view,
                     &src.src4.npukb_view, &params);
}

// The library's form: `sortedNum` receives how many records of each queue were taken when one ran out.
template <typename T, bool isExhaustedSuspension = false>
NPUKB_API void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& sortList, const uint16_t elementCountList[4],
                       uint32_t sortedNum[4], npukb::of::MrgSort::validBit validBit, const int32_t repeatTime) {
    NPUKB_SORTABLE(MrgSort);
    MrgSort4Info params(elementCountList, isExhaustedSuspension, validBit, static_cast<uint16_t>(repeatTime));
    npukb_merge_sort(sizeof(T), 0, &dst.npukb_view, &sortList.src1.npukb_view, &sortList.src2.npukb_view,
                     &sortList.src3.npukb_view, &sortList.src4.npukb_view, &params);
    if constexpr (isExhaustedSuspension) {
        uint16_t counts[4];
        npukb_merge_result(counts);
        for (int i = 0; i < 4; ++i) sortedNum[i] = counts[i];
    }
}

NPUKB_API void GetMrgSortResult(uint16_t& mrgSortList1, uint16_t& mrgSortList2, uint16_t& mrgSortList3,
                                uint16_t& mrgSortList4) {
    uint16_t counts[4];
    npukb_merge_result(counts);
    mrgSortList1 = counts[0];
    mrgSortList2 = counts[1];
    mrgSortList3 = counts[2];
    mrgSortList4 = counts[3];
}

// Region proposals [x1, y1, x2, y2, score, label, -, -]: documented for older chips, kept for kernels that serve
// several.
template <typename T>
NPUKB_API void ProposalConcat(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,
                              const int32_t modeNumber) {
    NPUKB_SORTABLE(ProposalConcat);
    npukb_region_move(sizeof(T), 0, &dst.npukb_view, &src.npukb_view, repeatTime, modeNumber);
}
template <typename T>
NPUKB_API void ProposalExtract(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,
                               const int32_t modeNumber) {
    NPUKB_SORTABLE(ProposalExtract);
    npukb_region_move(sizeof(T), 1, &dst.npukb_view, &src.npukb_view, repeatTime, modeNumber);
}
template <typename T>
NPUKB_API void RpSort16(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime) {
    NPUKB_SORTABLE(RpSort16);
    npukb_region_sort(sizeof(T), &dst.npukb_view, &src.npukb_view, repeatTime);
}
template <typename T>
NPUKB_API void MrgSort4(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params) {
    NPUKB_SORTABLE(MrgSort4);
    npukb_merge_sort(sizeof(T), 1, &dst.npukb_view, &src.src1.npukb_view, &src.src2.npukb_view, &src.src3.npukb_view,
                     &src.src4.npukb_view, &params);
}

// Values need no preparation on this core: the result is another handle on `src`, as the documented use with a tensor
// that was never allocated requires.
template <typename T>
NPUKB_API void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>& /*tmp*/,
                      const int32_t repeatTime) {
    NPUKB_SORTABLE(Concat);
    npukb_sort_concat(sizeof(T), &src.npukb_view, repeatTime);
    concat = src;
}
template <typename T, bool isFullSort>
NPUKB_API void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat, const LocalTensor<uint32_t>& index,
                    LocalTensor<T>& tmp, const int32_t repeatTime) {
    NPUKB_SORTABLE(Sort);
    npukb_sort(sizeof(T), isFullSort, &dst.npukb_view, &concat.npukb_view, &index.npukb_view, &tmp.npukb_view,
               repeatTime);
}
template <typename T>
NPUKB_API void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex,
                       const LocalTensor<T>& sorted, const int32_t repeatTime) {
    NPUKB_SORTABLE(Extract);
    npukb_sort_extract(sizeof(T), &dstValue.npukb_view, &dstIndex.npukb_view, &sorted.npukb_view, repeatTime);
}

// Where record `elemOffset` begins, and how long `elemCount` records are, in elements of the sorted tensor.
template <typename T>
NPUKB_API uint32_t GetSortOffset(const uint32_t elemOffset) {
    NPUKB_SORTABLE(GetSortOffset);
    return elemOffset * (8 / sizeof(T));
}
template <typename T>
NPUKB_API uint32_t GetSortLen(const uint32_t elemCount) {
    NPUKB_SORTABLE(GetSortLen);
    return elemCount * (8 / sizeof(T));
}

template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          enum TopKMode topkMode = TopKMode::TOPK_NORMAL>
NPUKB_API void TopK(const LocalTensor<T>& dstValueLocal, const LocalTensor<int32_t>& dstIndexLocal,
                    const LocalTensor<T>& srcLocal, const LocalTensor<int32_t>& srcIndexLocal,
                    const LocalTensor<bool>& finishLocal, const int32_t k, const TopkTiling& /*tilling*/,
                    const TopKInfo& topKInfo, const bool isLargest = true) {
    NPUKB_SORTABLE(TopK);
    static_assert(topkMode == TopKMode::TOPK_NORMAL || !isHasfinish, "TopK: the small mode takes no finishLocal");
    constexpr uint32_t flags =
        (isInitIndex ? 1 : 0) | (isHasfinish ? 2 : 0) | (topkMode == TopKMode::TOPK_NSMALL ? 4 : 0);
    npukb_topk(sizeof(T), flags | (isLargest ? 0u : 8u), &dstValueLocal.npukb_view, &dstIndexLocal.npukb_view,
               &srcLocal.npukb_view, &srcIndexLocal.npukb_view, &finishLocal.npukb_view, nullptr, k, &topKInfo);
}
template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          enum TopKMode topkMode = TopKMode::TOPK_NORMAL>
NPUKB_API void TopK(const LocalTensor<T>& dstValueLocal, const LocalTensor<int32_t>& dstIndexLocal,
                    const LocalTensor<T>& srcLocal, const LocalTensor<int32_t>& srcIndexLocal,
                    const LocalTensor<bool>& finishLocal, const LocalTensor<uint8_t>& tmpLocal, const int32_t k,
                    const TopkTiling& /*tilling*/, const TopKInfo& topKInfo, const bool isLargest = true) {
    NPUKB_SORTABLE(TopK);
    static_assert(topkMode == TopKMode::TOPK_NORMAL || !isHasfinish, "TopK: the small mode takes no finishLocal");
    constexpr uint32_t flags =
        (isInitIndex ? 1 : 0) | (isHasfinish ? 2 : 0) | (topkMode == TopKMode::TOPK_NSMALL ? 4 : 0);
    npukb_topk(sizeof(T), flags | (isLargest ? 0u : 8u), &dstValueLocal.npukb_view, &dstIndexLocal.npukb_view,
               &srcLocal.npukb_view, &srcIndexLocal.npukb_view, &finishLocal.npukb_view, &tmpLocal.npukb_view, k,
               &topKInfo);
}

}  // namespace AscendC

// The instructions by their C-level names. `lengths` holds four 16-bit queue lengths; `config` the repeat count in its
// low byte, a bit per valid queue from bit 8 on, and in bit 12 whether to stop when a queue runs out.
NPUKB_API void vbitsort(__ubuf__ half* dst, __ubuf__ half* src0, __ubuf__ uint32_t* src1, uint64_t repeat) {
    npukb_vbitsort(sizeof(half), dst, src0, src1, repeat);
}
NPUKB_API void vbitsort(__ubuf__ float* dst, __ubuf__ float* src0, __ubuf__ uint32_t* src1, uint64_t repeat) {
    npukb_vbitsort(sizeof(float), dst, src0, src1, repeat);
}
NPUKB_API void vmrgsort4(__ubuf__ half* dst, __ubuf__ half** src, uint64_t lengths, uint64_t config) {
    npukb_vmrgsort4(sizeof(half), dst, reinterpret_cast<const void* const*>(src), lengths, config);
}
NPUKB_API void vmrgsort4(__ubuf__ float* dst, __ubuf__ float** src, uint64_t lengths, uint64_t config) {
    npukb_vmrgsort4(sizeof(float), dst, reinterpret_cast<const void* const*>(src), lengths, config);
}

#undef NPUKB_SORTABLE
