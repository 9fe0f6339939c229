// Sizes of temporary space of quantisation, selection and of what changes a tensor's shape.
#include "call.h"

namespace AscendC {
namespace {

using npukb_host::Bytes;
using npukb_host::ScratchFactors;
using npukb_host::ScratchKind;
using npukb_host::ScratchSizes;

uint32_t SizeOf(ge::DataType type) { return static_cast<uint32_t>(std::max(ge::GetSizeByDataType(type), 1)); }

}  // namespace

void GetAscendQuantMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::AscendQuant, Bytes(shape, type_size), most, least);
}
void GetAscendQuantTmpBufferFactorSize(const uint32_t, uint32_t& times, uint32_t& extra) {
    ScratchFactors(ScratchKind::AscendQuant, times, extra);
}
void GetAscendDequantMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::AscendDequant, Bytes(shape, type_size), most, least);
}
void GetAscendDequantTmpBufferFactorSize(const uint32_t, uint32_t& times, uint32_t& extra) {
    ScratchFactors(ScratchKind::AscendDequant, times, extra);
}
void GetAscendAntiQuantMaxMinTmpSize(const ge::Shape& shape, const ge::Shape&, bool, ge::DataType from, ge::DataType,
                                     uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::AscendAntiQuant, Bytes(shape, SizeOf(from)), most, least);
}
void GetAscendAntiQuantTmpBufferFactorSize(const ge::Shape&, const ge::Shape&, bool, ge::DataType, ge::DataType,
                                           uint32_t& times, uint32_t& extra) {
    ScratchFactors(ScratchKind::AscendAntiQuant, times, extra);
}
void GetDropOutMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most,
                             uint32_t& least) {
    ScratchSizes(ScratchKind::DropOut, Bytes(shape, type_size), most, least);
}
void GetSelectWithBytesMaskMaxMinTmpSize(const ge::Shape& first, const ge::Shape& second, const uint32_t type_size,
                                         const ge::Shape&, const uint32_t, const bool, uint32_t& most,
                                         uint32_t& least) {
    ScratchSizes(ScratchKind::SelectWithBytesMask, std::max(Bytes(first, type_size), Bytes(second, type_size)), most,
                 least);
}
void GetSelectMaxMinTmpSize(const ge::Shape& first, const ge::Shape& second, const uint32_t type_size,
                            const ge::Shape& mask, const uint32_t mask_type_size, const bool reuse_mask, uint32_t& most,
                            uint32_t& least) {
    GetSelectWithBytesMaskMaxMinTmpSize(first, second, type_size, mask, mask_type_size, reuse_mask, most, least);
}
void GetClampMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const bool, uint32_t& most,
                           uint32_t& least) {
    ScratchSizes(ScratchKind::ClampMax, Bytes(shape, type_size), most, least);
}
void GetClampTmpBufferFactorSize(const uint32_t, uint32_t& times, uint32_t& extra) {
    ScratchFactors(ScratchKind::ClampMax, times, extra);
}
void GetMeanTmpBufferFactorSize(const uint32_t, uint32_t& times, uint32_t& extra) {
    ScratchFactors(ScratchKind::Mean, times, extra);
}
void GetArithProgressionMaxMinTmpSize(uint32_t& most, uint32_t& least) { most = least = 0; }
void GetArangeMaxMinTmpSize(uint32_t& most, uint32_t& least) { most = least = 0; }

void GetPadMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::Pad, Bytes(shape, type_size), most, least);
}
void GetUnPadMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape& shape, const uint32_t type_size,
                           uint32_t& most, uint32_t& least) {
    ScratchSizes(ScratchKind::UnPad, Bytes(shape, type_size), most, least);
}
void GetTransposeMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t, uint32_t& most,
                               uint32_t& least) {
    ScratchSizes(ScratchKind::Transpose, Bytes(shape, type_size), most, least);
}
void GetConfusionTransposeMaxMinTmpSize(const ge::Shape& shape, const uint32_t type_size, const uint32_t kind,
                                        uint32_t& most, uint32_t& least) {
    GetTransposeMaxMinTmpSize(shape, type_size, kind, most, least);
}
bool GetTransDataMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape& src, const ge::Shape& dst,
                               const ge::DataType type, const TransDataConfig& config, uint32_t& most,
                               uint32_t& least) {
    auto split = [](DataFormat format) { return format == DataFormat::NDC1HWC0 || format == DataFormat::FRACTAL_Z_3D; };
    bool plain_first = config.srcFormat == DataFormat::NCDHW;
    if (!(plain_first ? split(config.dstFormat) : split(config.srcFormat) && config.dstFormat == DataFormat::NCDHW))
        return false;
    uint64_t rows = 1, image = 1;
    const ge::Shape& plain = plain_first ? src : dst;
    for (size_t i = 0; i < plain.GetDimNum(); ++i)
        (i < 3 ? rows : image) *= static_cast<uint64_t>(std::max<int64_t>(plain.GetDim(i), 0));
    ScratchSizes(ScratchKind::TransData, rows * ((image + 15) / 16 * 16) * SizeOf(type), most, least);
    return true;
}

}  // namespace AscendC
