OP_ADD(AddCustom);
