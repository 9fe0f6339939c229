// A direct launch's host function: what it is called with, and what it did.
#pragma once
#include <string>
#include <vector>

#include "twin_direct/call.h"

namespace npukb_host {

// Reads one `argument …` line: KIND, then what the kind needs.
npukb_direct::Argument ReadGiven(const std::string& line);
// Where device memory of the host function's own begins.
void SetFirstAddress(uint64_t address);
// What was noted, as the members of a JSON object.
std::string Noted();

}  // namespace npukb_host
