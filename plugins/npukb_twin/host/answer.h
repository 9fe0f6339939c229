// Answers of the runner, as JSON on a private descriptor.
#pragma once
#include "call.h"

namespace npukb_host {

// Where answers go, and the token that every answer begins with to be told from what host code may write there.
void SetAnswerDescriptor(int descriptor, const char* token);
// {"token":…,"status":status,"message":message}
void AnswerFailure(const char* status, const std::string& message);
void AnswerDescription(const Operator& target, const Arguments& inputs, const Arguments& outputs);
// What a host function of a direct launch did, as members of a JSON object.
void AnswerSteps(const std::string& noted);
void AnswerTiling(const Call& call);
constexpr int kTrail = 32;
// From a signal handler: allocates nothing. At most kTrail places.
void AnswerSignal(int signal, const uint64_t* pcs, int count, uint64_t address, bool stack_overflow);

const char* KindName(AttributeKind kind);

}  // namespace npukb_host
