// Generated. Arguments: the number of blocks, then per kernel argument its bytes and a file; "-" is a null pointer. A
// file is copied to device memory before the launch and back after it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"

extern "C" int npukb_launch(uint32_t blocks, void* stream, void* const* arguments);

namespace {
constexpr int kCount = 3;

void Check(const char* what, int code) {
    if (code == 0) return;
    std::fprintf(stderr, "npukb: %s returned %d\n", what, code);
    std::exit(3);
}
}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 + 2 * kCount) return 2;
    Check("aclInit", aclInit(nullptr));
    Check("aclrtSetDevice", aclrtSetDevice(0));
    aclrtStream stream = nullptr;
    Check("aclrtCreateStream", aclrtCreateStream(&stream));
    std::vector<void*> addresses(kCount, nullptr);
    std::vector<std::vector<uint8_t>> data(kCount);
    for (int i = 0; i < kCount; ++i) {
        const size_t bytes = std::strtoull(argv[2 + 2 * i], nullptr, 10);
        const char* name = argv[3 + 2 * i];
        if (name[0] == '-' && name[1] == 0) continue;
        data[i].resize(bytes);
        FILE* file = std::fopen(name, "rb");
        if (file == nullptr || std::fread(data[i].data(), 1, bytes, file) != bytes) return 2;
        std::fclose(file);
        Check("aclrtMalloc", aclrtMalloc(&addresses[i], bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        Check("aclrtMemcpy", aclrtMemcpy(addresses[i], bytes, data[i].data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    }
    Check("launch", npukb_launch(static_cast<uint32_t>(std::atoi(argv[1])), stream, addresses.data()));
    Check("aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
    for (int i = 0; i < kCount; ++i) {
        if (addresses[i] == nullptr) continue;
        const size_t bytes = data[i].size();
        Check("aclrtMemcpy", aclrtMemcpy(data[i].data(), bytes, addresses[i], bytes, ACL_MEMCPY_DEVICE_TO_HOST));
        FILE* file = std::fopen(argv[3 + 2 * i], "wb");
        if (file == nullptr || std::fwrite(data[i].data(), 1, bytes, file) != bytes) return 2;
        std::fclose(file);
    }
    return 0;
}
