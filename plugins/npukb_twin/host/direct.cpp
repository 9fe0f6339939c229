// Notes what a host function does: every entry is a JSON array, and the order is that of the calls.
#include "direct.h"

#include <cxxabi.h>
#include <string.h>

#include <sstream>

#include "answer.h"
#include "call.h"
#include "define.h"

namespace npukb_host {
namespace {

constexpr uint64_t kStep = 64u << 20;   // between two allocations
constexpr uint64_t kLast = 1ull << 46;  // of the addresses
constexpr size_t kMostSteps = 4096;
constexpr size_t kMostCopied = 1u << 20;  // bytes from the host, all together

uint64_t g_next = 0;
size_t g_copied = 0, g_steps = 0;
std::string g_memory, g_done, g_results;

void Note(std::string& list, const std::string& entry) {
    if (++g_steps > kMostSteps) throw Refused{"the host function does more than 4096 things on the device"};
    list += (list.empty() ? "" : ",") + entry;
}

std::string Hex(const void* from, uint64_t bytes) {
    static const char digits[] = "0123456789abcdef";
    std::string hex;
    for (uint64_t i = 0; i < bytes; ++i) {
        const unsigned char byte = static_cast<const unsigned char*>(from)[i];
        hex += digits[byte >> 4];
        hex += digits[byte & 15];
    }
    return hex;
}

std::string Number(uint64_t value) { return std::to_string(value); }

// A kernel's name as it is written: a launch by <<<>>> is known by the type that the compiler made for it.
std::string KernelName(const char* kernel) {
    static const char mangled[] = "N12npukb_direct8Launched";
    if (strncmp(kernel, mangled, sizeof mangled - 1) != 0) return kernel;
    char* plain = abi::__cxa_demangle(kernel, nullptr, nullptr, nullptr);
    return plain == nullptr ? "" : plain;
}

npukb_direct::TensorArgument ReadTensor(std::istringstream& line) {
    npukb_direct::TensorArgument tensor;
    size_t rank = 0;
    line >> tensor.address >> tensor.type >> rank;
    for (int64_t extent = 0; rank > 0 && line >> extent; --rank) tensor.shape.push_back(extent);
    return tensor;
}

}  // namespace

npukb_direct::Argument ReadGiven(const std::string& text) {
    std::istringstream line(text);
    npukb_direct::Argument argument;
    size_t count = 1;
    line >> argument.kind;
    if (argument.kind == "integer") line >> argument.integer;
    if (argument.kind == "real") line >> argument.real;
    if (argument.kind == "text") {
        std::string hex;
        for (line >> hex; hex.size() >= 2; hex.erase(0, 2))
            argument.text += static_cast<char>(std::stoi(hex.substr(0, 2), nullptr, 16));
    }
    if (argument.kind == "integers")
        for (int64_t value = 0; line >> value;) argument.integers.push_back(value);
    if (argument.kind == "reals")
        for (double value = 0; line >> value;) argument.reals.push_back(value);
    if (argument.kind == "tensors") line >> count;
    if (argument.kind == "tensor" || argument.kind == "tensors")
        while (count-- > 0) argument.tensors.push_back(ReadTensor(line));
    return argument;
}

void SetFirstAddress(uint64_t address) { g_next = address; }

std::string Noted() {
    return "\"memory\":[" + g_memory + "],\"steps\":[" + g_done + "],\"results\":[" + g_results + "]";
}

}  // namespace npukb_host

extern "C" {

uint64_t npukb_device_allocate(uint64_t bytes) {
    using namespace npukb_host;
    const uint64_t at = g_next;
    if (bytes > kLast - at) throw Refused{"the host function allocates more device memory than there is"};
    g_next += (bytes + kStep) / kStep * kStep + kStep;
    Note(g_memory, "[" + Number(at) + "," + Number(bytes) + "]");
    return at;
}

void npukb_device_write(uint64_t to, const void* from, uint64_t bytes) {
    using namespace npukb_host;
    if (bytes > kMostCopied - g_copied)
        throw Refused{"the host function copies more than 1 MiB to the device; tensors are there already"};
    g_copied += bytes;
    Note(g_done, "[\"write\"," + Number(to) + ",\"" + Hex(from, bytes) + "\"]");
}

void npukb_device_move(uint64_t to, uint64_t from, uint64_t bytes) {
    using namespace npukb_host;
    Note(g_done, "[\"move\"," + Number(to) + "," + Number(from) + "," + Number(bytes) + "]");
}

void npukb_device_fill(uint64_t to, int value, uint64_t bytes) {
    using namespace npukb_host;
    Note(g_done, "[\"fill\"," + Number(to) + "," + Number(value & 255) + "," + Number(bytes) + "]");
}

void npukb_device_launch(const char* kernel, uint64_t blocks, const uint8_t* arguments, uint64_t bytes) {
    using namespace npukb_host;
    if (bytes > kMostCopied) throw Refused{"the arguments of a launch have more than 1 MiB"};
    const std::string name = KernelName(kernel);
    Note(g_done, "[\"launch\",\"" + Hex(name.data(), name.size()) + "\"," + Number(blocks) + ",\"" +
                     Hex(arguments, bytes) + "\"]");
}

void npukb_device_result(uint64_t address, uint64_t bytes, int type) {
    using namespace npukb_host;
    Note(g_results, "[" + Number(address) + "," + Number(bytes) + "," + std::to_string(type) + "]");
}

int64_t npukb_device_property(int what) {
    const auto& chip = npukb_host::ThePlatform();
    const uint64_t known[] = {chip.cube_cores, chip.vector_cores, chip.l2_bytes};
    return what < 0 || what > 2 ? -1 : static_cast<int64_t>(known[what]);
}
}
