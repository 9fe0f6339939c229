// An operator's definition as one chip sees it.
#pragma once
#include "call.h"

namespace npukb_host {

// What is wrong with an operator, for its author.
struct Refused {
    std::string message;
};

// The operator called `name`, or the only one that is defined when `name` is empty. Throws Refused.
Operator& Chosen(const std::string& name);
// Arguments with the chip's own configuration in place and one entry per supported combination in `types` and
// `formats`. Throws Refused when the declared lists do not fit together.
void Settle(const Operator& target, const std::string& chip, Arguments& inputs, Arguments& outputs);

}  // namespace npukb_host
