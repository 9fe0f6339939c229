// Type inference of operators that answer with booleans.
#ifndef TRUTH_TYPE_H
#define TRUTH_TYPE_H
#include "register/op_def_registry.h"

namespace ge {
inline graphStatus TypeBool(gert::InferDataTypeContext* context) {
    context->SetOutputDataType(0, DT_BOOL);
    return GRAPH_SUCCESS;
}
}  // namespace ge
#endif
// npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
