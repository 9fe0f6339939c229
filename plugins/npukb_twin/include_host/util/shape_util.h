// Questions about shapes in operator repositories, which no page of the documentation describes: written from its use.
#pragma once
#include "twin_host/host.h"

namespace Ops::Base {

// A shape of unknown rank has the one dimension -2.
inline bool IsUnknownRank(const gert::Shape& shape) {
    return shape.GetDimNum() == 1 && shape.GetDim(0) == ge::UNKNOWN_DIM_NUM;
}
inline bool IsUnknownShape(const gert::Shape& shape) {
    for (size_t i = 0; i < shape.GetDimNum(); ++i)
        if (shape.GetDim(i) == ge::UNKNOWN_DIM) return true;
    return false;
}
inline ge::graphStatus SetUnknownRank(gert::Shape& shape) {
    shape.SetDimNum(0);
    shape.AppendDim(ge::UNKNOWN_DIM_NUM);
    return ge::GRAPH_SUCCESS;
}
inline ge::graphStatus SetUnknownShape(int64_t rank, gert::Shape& shape) {
    shape.SetDimNum(0);
    for (int64_t i = 0; i < rank; ++i) shape.AppendDim(ge::UNKNOWN_DIM);
    return ge::GRAPH_SUCCESS;
}
inline std::string ToString(const gert::Shape& shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.GetDimNum(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape.GetDim(i));
    return text + "]";
}
// A scalar as a tensor of one element.
inline const gert::Shape& EnsureNotScalar(const gert::Shape& shape) {
    static const gert::Shape one = {1};
    return shape.IsScalar() ? one : shape;
}

}  // namespace Ops::Base
