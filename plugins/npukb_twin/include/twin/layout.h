// Shapes, strides, layouts and coordinates, and TransData, which takes its shapes as layouts.
//
// Not part of kernel_operator.h: names such as Shape and Tile are often a kernel's own. The driver includes this header
// where a kernel asks for one of its functions.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>

#include "tensor.h"

namespace AscendC {

template <typename... Shapes>
using Shape = std::tuple<Shapes...>;
template <typename... Strides>
using Stride = std::tuple<Strides...>;
template <typename... Coords>
using Coord = std::tuple<Coords...>;
template <typename... Layouts>
using Tile = std::tuple<Layouts...>;

template <typename... Ts>
NPUKB_API constexpr Shape<Ts...> MakeShape(const Ts&... t) {
    return {t...};
}
template <typename... Ts>
NPUKB_API constexpr Stride<Ts...> MakeStride(const Ts&... t) {
    return {t...};
}
template <typename... Ts>
NPUKB_API constexpr Coord<Ts...> MakeCoord(const Ts&... t) {
    return {t...};
}
template <typename... Ts>
NPUKB_API constexpr Tile<Ts...> MakeTile(const Ts&... t) {
    return {t...};
}

}  // namespace AscendC

namespace npukb {

template <typename T>
struct IsTuple : std::false_type {};
template <typename... Ts>
struct IsTuple<std::tuple<Ts...>> : std::true_type {};

// The place of a coordinate in memory: every part times its stride, groups inside one another included.
template <typename C, typename S>
NPUKB_API constexpr int64_t PlaceOf(const C& coord, const S& stride) {
    if constexpr (IsTuple<C>::value) {
        return std::apply(
            [&](const auto&... part) {
                return std::apply([&](const auto&... step) { return (PlaceOf(part, step) + ... + int64_t{0}); },
                                  stride);
            },
            coord);
    } else {
        return static_cast<int64_t>(coord) * static_cast<int64_t>(stride);
    }
}

// Sizes as plain numbers, the outermost first.
template <typename... Ts>
NPUKB_API void PutSizes(uint32_t* sizes, const std::tuple<Ts...>& shape) {
    std::apply([&](const auto&... size) { ((*sizes++ = static_cast<uint32_t>(size)), ...); }, shape);
}

}  // namespace npukb

namespace AscendC {

// Where the elements of a tensor lie: a shape, and how far it is from one element to the next along each axis.
template <typename ShapeType, typename StrideType>
struct Layout {
    constexpr Layout(const ShapeType& shape = {}, const StrideType& stride = {}) : shape_(shape), stride_(stride) {}
    constexpr decltype(auto) layout() { return *this; }
    constexpr decltype(auto) layout() const { return *this; }
    constexpr ShapeType& GetShape() { return shape_; }
    constexpr const ShapeType& GetShape() const { return shape_; }
    constexpr StrideType& GetStride() { return stride_; }
    constexpr const StrideType& GetStride() const { return stride_; }
    template <typename CoordType>
    constexpr auto operator()(const CoordType& coord) const {
        return npukb::PlaceOf(coord, stride_);
    }

  private:
    ShapeType shape_;
    StrideType stride_;
};

template <typename ShapeType, typename StrideType>
NPUKB_API constexpr Layout<ShapeType, StrideType> MakeLayout(const ShapeType& shape, const StrideType& stride) {
    return {shape, stride};
}

template <typename T>
struct is_layout : std::false_type {};
template <typename ShapeType, typename StrideType>
struct is_layout<Layout<ShapeType, StrideType>> : std::true_type {};

template <typename CoordType, typename ShapeType, typename StrideType>
NPUKB_API constexpr auto Crd2Idx(const CoordType& coord, const Layout<ShapeType, StrideType>& layout) {
    return npukb::PlaceOf(coord, layout.GetStride());
}
template <typename CoordType, typename ShapeType, typename StrideType>
NPUKB_API constexpr auto Crd2Idx(const CoordType& coord, const ShapeType&, const StrideType& stride) {
    return npukb::PlaceOf(coord, stride);
}

template <typename T, typename U>
struct TransDataParams {
    T srcLayout;
    U dstLayout;
};

}  // namespace AscendC

#pragma GCC visibility push(default)
extern "C" {
// `formats`: DataFormat of src, then of dst, eight bits each. Shapes as the formats have them, eight numbers of room
// each.
void npukb_trans_data(uint32_t formats, const npukb::BufferView* dst, const npukb::BufferView* src,
                      const npukb::BufferView* tmp, const uint32_t* src_shape, const uint32_t* dst_shape);
}
#pragma GCC visibility pop

namespace AscendC {

// From one arrangement of a five-dimensional tensor to another. Along h and w, NCDHW is padded to whole blocks.
template <const TransDataConfig& config, typename T, typename U, typename S>
NPUKB_API void NpukbTransData(const npukb::BufferView& dst, const npukb::BufferView& src, const npukb::BufferView* tmp,
                              const TransDataParams<U, S>& params) {
    using namespace npukb::types;
    static_assert((npukb::kSetOf<T> & (I16 | U16 | F16 | BF16)) != 0,
                  "TransData takes int16_t, uint16_t, half or bfloat16_t");
    static_assert(is_layout<U>::value && is_layout<S>::value, "TransData takes shapes as Layout: see MakeLayout");
    constexpr DataFormat from = config.srcFormat, to = config.dstFormat;
    static_assert((from == DataFormat::NCDHW && (to == DataFormat::NDC1HWC0 || to == DataFormat::FRACTAL_Z_3D)) ||
                      (to == DataFormat::NCDHW && (from == DataFormat::NDC1HWC0 || from == DataFormat::FRACTAL_Z_3D)),
                  "TransData converts between NCDHW and NDC1HWC0 or FRACTAL_Z_3D");
    constexpr uint32_t axes[] = {0, 0, 0, 0, 0, 5, 6, 7};
    static_assert(
        std::tuple_size_v<std::decay_t<decltype(params.srcLayout.GetShape())>> == axes[static_cast<int>(from)] &&
            std::tuple_size_v<std::decay_t<decltype(params.dstLayout.GetShape())>> == axes[static_cast<int>(to)],
        "TransData: NCDHW has five axes, NDC1HWC0 six (n, d, c1, h, w, c0), FRACTAL_Z_3D seven (d, c1, h, w, n1, n0, "
        "c0)");
    uint32_t src_shape[8] = {}, dst_shape[8] = {};
    npukb::PutSizes(src_shape, params.srcLayout.GetShape());
    npukb::PutSizes(dst_shape, params.dstLayout.GetShape());
    npukb_trans_data(static_cast<uint32_t>(from) | static_cast<uint32_t>(to) << 8, &dst, &src, tmp, src_shape,
                     dst_shape);
}
template <const TransDataConfig& config, typename T, typename U, typename S>
NPUKB_API void TransData(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                         const LocalTensor<uint8_t>& sharedTmpBuffer, const TransDataParams<U, S>& params) {
    NpukbTransData<config, T>(dstTensor.npukb_view, srcTensor.npukb_view, &sharedTmpBuffer.npukb_view, params);
}
template <const TransDataConfig& config, typename T, typename U, typename S>
NPUKB_API void TransData(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
                         const TransDataParams<U, S>& params) {
    NpukbTransData<config, T>(dstTensor.npukb_view, srcTensor.npukb_view, nullptr, params);
}

}  // namespace AscendC
