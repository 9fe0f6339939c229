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
