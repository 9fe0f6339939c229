// An application that calls operators through the vendor's interface (aclnn…GetWorkspaceSize), as it runs here: memory
// of the device is the host's, and calls are noted instead of made. A line of JSON for each call has its arguments in
// their order; tensors are files beside it. Included by what stands for the headers of such calls.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <string>
#include <type_traits>

#include "aclnn/acl_meta.h"

namespace npukb_application {

class Notes {
  public:
    static Notes& All() {
        static Notes notes;
        return notes;
    }
    uint64_t Allocate(uint64_t bytes) {
        auto address = reinterpret_cast<uint64_t>(calloc(bytes + 64, 1));
        rooms_[address] = bytes;
        return address;
    }
    void Call(const char* name, const std::string& arguments) {
        FILE* file = fopen((folder_ + "/npukb_calls.jsonl").c_str(), "a");
        if (file == nullptr) return;
        fprintf(file, "{\"call\": \"%s\", \"arguments\": [%s]}\n", name, arguments.c_str());
        fclose(file);
    }
    // What a tensor holds, written to a file whose name comes back; "" where nothing is known of its memory.
    std::string Keep(const void* data, uint64_t bytes) {
        auto room = rooms_.find(reinterpret_cast<uint64_t>(data));
        if (room == rooms_.end() || room->second < bytes) return "";
        std::string name = "npukb_tensor_" + std::to_string(count_++);
        FILE* file = fopen((folder_ + "/" + name).c_str(), "w");
        if (file == nullptr) return "";
        bool whole = fwrite(data, 1, bytes, file) == bytes;
        return fclose(file) == 0 && whole ? name : "";
    }
    // Where the application is started; notes stay in the folder above.
    void Enter(const char* folder) {
        char* here = getcwd(nullptr, 0);
        folder_ = here == nullptr ? "." : here;
        free(here);
        if (chdir(folder) != 0) exit(1);
    }

  private:
    std::string folder_ = ".";
    std::map<uint64_t, uint64_t> rooms_;
    int count_ = 0;
};

template <typename Values>
std::string Listed(const Values& values) {
    std::string text;
    for (const auto& value : values) text += (text.empty() ? "" : ", ") + std::string(value);
    return "[" + text + "]";
}

inline std::string Number(double value) {
    if (value != value) return "NaN";
    if (value - value != 0) return value > 0 ? "Infinity" : "-Infinity";
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    // An integer of JSON is an integer to the reader.
    return strpbrk(text, ".e") == nullptr ? std::string(text) + ".0" : text;
}

inline std::string Said(const aclTensor* tensor) {
    if (tensor == nullptr) return "null";
    uint64_t bytes = npukb_direct::BytesOf(tensor->type);
    std::vector<std::string> shape, strides;
    for (int64_t size : tensor->storage) bytes *= static_cast<uint64_t>(size);
    for (int64_t size : tensor->view) shape.push_back(std::to_string(size));
    for (int64_t stride : tensor->strides) strides.push_back(std::to_string(stride));
    return "{\"tensor\": \"" + Notes::All().Keep(tensor->data, bytes) +
           "\", \"type\": " + std::to_string(tensor->type) + ", \"shape\": " + Listed(shape) +
           ", \"strides\": " + Listed(strides) + ", \"offset\": " + std::to_string(tensor->offset) + "}";
}

inline std::string Said(const aclScalar* scalar) {
    if (scalar == nullptr) return "null";
    char text[2 * 16 + 1] = "";
    for (size_t i = 0; i < scalar->bytes.size() && i < 16; ++i) {
        snprintf(text + 2 * i, 3, "%02x", static_cast<unsigned>(static_cast<unsigned char>(scalar->bytes[i])));
    }
    return "{\"scalar\": \"" + std::string(text) + "\", \"type\": " + std::to_string(scalar->type) + "}";
}

template <typename T>
std::string Said(T value) {
    using Plain = std::remove_cv_t<std::remove_pointer_t<T>>;
    if constexpr (std::is_same_v<T, bool>) {
        return value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
        return "null";
    } else if constexpr (std::is_enum_v<T>) {
        return std::to_string(static_cast<long long>(value));
    } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
    } else if constexpr (std::is_floating_point_v<T>) {
        return Number(static_cast<double>(value));
    } else if constexpr (std::is_same_v<Plain, char> && std::is_pointer_v<T>) {
        if (value == nullptr) return "null";
        std::string text;
        for (const char* letter = value; *letter != 0; ++letter) {
            if (*letter == '"' || *letter == '\\') text += '\\';
            if (static_cast<unsigned char>(*letter) >= ' ') text += *letter;
        }
        return "\"" + text + "\"";
    } else if constexpr (std::is_pointer_v<T> && !std::is_void_v<Plain>) {
        if (value == nullptr) return "null";
        std::vector<std::string> every;
        if constexpr (std::is_same_v<Plain, aclTensor> || std::is_same_v<Plain, aclScalar>) {
            return Said(static_cast<const Plain*>(value));
        } else if constexpr (std::is_same_v<Plain, aclTensorList> || std::is_same_v<Plain, aclScalarList>) {
            for (const auto* one : *value) every.push_back(Said(one));
        } else if constexpr (std::is_same_v<Plain, aclIntArray> || std::is_same_v<Plain, aclFloatArray>) {
            for (auto one : *value) every.push_back(Said(one));
        } else if constexpr (std::is_same_v<Plain, aclBoolArray>) {
            for (bool one : *value) every.push_back(Said(one));
        } else {
            return "{}";
        }
        return Listed(every);
    } else {
        return "{}";
    }
}

inline aclnnStatus Noted(const char* name, const std::string& said, uint64_t* workspace, aclOpExecutor** executor) {
    Notes::All().Call(name, said);
    if (workspace != nullptr) *workspace = 0;
    if (executor != nullptr) *executor = reinterpret_cast<aclOpExecutor*>(&Notes::All());
    return 0;
}

// The last two arguments are where sizes and the executor go.
template <typename T, typename... Rest>
aclnnStatus Noted(const char* name, const std::string& said, T value, Rest... rest) {
    return Noted(name, said + (said.empty() ? "" : ", ") + Said(value), rest...);
}

}  // namespace npukb_application

#define NPUKB_CALL(name)                                          \
    template <typename... Arguments>                              \
    aclnnStatus name##GetWorkspaceSize(Arguments... arguments) {  \
        return npukb_application::Noted(#name, "", arguments...); \
    }                                                             \
    template <typename... Arguments>                              \
    aclnnStatus name(Arguments...) {                              \
        return 0;                                                 \
    }

// What runs the application: its main, when the image is loaded, in the folder that it looks for its files from.
#define NPUKB_APPLICATION_IN(folder)                                                                               \
    extern "C" {                                                                                                   \
    uint64_t npukb_device_allocate(uint64_t bytes) { return npukb_application::Notes::All().Allocate(bytes); }     \
    void npukb_device_write(uint64_t to, const void* from, uint64_t bytes) { memcpy((void*)to, from, bytes); }     \
    void npukb_device_move(uint64_t to, uint64_t from, uint64_t bytes) { memmove((void*)to, (void*)from, bytes); } \
    void npukb_device_fill(uint64_t to, int value, uint64_t bytes) { memset((void*)to, value, bytes); }            \
    void npukb_device_launch(const char*, uint64_t, const uint8_t*, uint64_t) {}                                   \
    void npukb_device_result(uint64_t, uint64_t, int) {}                                                           \
    int64_t npukb_device_property(int) { return -1; }                                                              \
    }                                                                                                              \
    __attribute__((weak)) int npukb_main(int count, char** words);                                                 \
    __attribute__((weak)) int npukb_main();                                                                        \
    __attribute__((constructor(65535))) static void NpukbRun() {                                                   \
        static char name[] = "application";                                                                        \
        static char* words[] = {name, nullptr};                                                                    \
        npukb_application::Notes::All().Enter(folder);                                                             \
        int (*plain)() = &npukb_main;                                                                              \
        int (*taking)(int, char**) = &npukb_main;                                                                  \
        if (taking != nullptr) {                                                                                   \
            taking(1, words);                                                                                      \
        } else if (plain != nullptr) {                                                                             \
            plain();                                                                                               \
        }                                                                                                          \
        fflush(nullptr);                                                                                           \
        _exit(0);                                                                                                  \
    }
