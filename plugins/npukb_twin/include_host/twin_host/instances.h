// What host code has of templates, used once, so that a compiler that compiles this header ahead has their instances,
// too: two thirds of compiling an operator's host side was making them again. Their code is in the runner.
#pragma once
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "twin_host/matmul_tiling.h"
#include "twin_host/op_def.h"

namespace npukb_host {

template <typename T>
void UseList(std::initializer_list<T> given) {
    const std::vector<T> list(given);
    std::vector<T> copy(list), moved(std::move(copy)), sized(3), filled(3, T(*given.begin()));
    copy = list;
    copy = given;
    moved = std::move(copy);
    sized.push_back(list[0]);
    sized.push_back(T(list.at(0)));
    sized.emplace_back(list.front());
    sized.insert(sized.end(), list.begin(), list.end());
    sized.insert(sized.begin(), moved.begin(), moved.end());
    sized.insert(sized.begin(), 2, list.back());
    sized.insert(sized.begin(), list.back());
    sized.erase(sized.begin());
    sized.pop_back();
    sized.resize(4);
    sized.reserve(8);
    sized.assign(list.begin(), list.end());
    for (const T& item : list) filled[filled.size() - 1] = item;
    for (T& item : sized) item = *list.data();
    if (sized.empty()) sized.clear();
}

template <typename K, typename V>
void UseMap(K key, V value) {
    std::map<K, V> sorted{{key, value}};
    std::unordered_map<K, V> hashed{{key, value}};
    sorted[key] = hashed[key] = hashed.at(key);
    if (sorted.find(key) != sorted.end() && hashed.find(key) != hashed.end()) value = sorted.begin()->second;
    if (sorted.count(key) + hashed.count(key) > sorted.size() + hashed.size()) value = sorted.at(key);
}

template <typename T>
T UseNumbers(T a, T b) {
    return std::max(std::max(a, b), std::max({a, b})) + std::min(std::min(a, b), std::min({a, b}));
}

inline void UseTemplates() {
    UseList<ge::DataType>({ge::DT_FLOAT});
    UseList<ge::Format>({ge::FORMAT_ND});
    UseList<int32_t>({1});
    UseList<uint32_t>({1});
    UseList<int64_t>({1});
    UseList<uint64_t>({1});
    UseList<float>({1});
    UseList<std::string>({""});
    UseMap<ge::DataType, uint32_t>(ge::DT_FLOAT, 1);
    UseMap<std::string, std::string>("", "");
    UseMap<uint32_t, uint32_t>(1, 1);
    UseNumbers<int32_t>(1, 1);
    UseNumbers<uint32_t>(1, 1);
    UseNumbers<int64_t>(1, 1);
    UseNumbers<uint64_t>(1, 1);
    std::ostringstream text;
    text << std::string("a") + "b" + std::to_string(1) << 1 << 1u << 1l << 1ul << 1.0f;
    platform_ascendc::PlatformAscendC platform(nullptr);
    matmul_tiling::MatmulApiTiling one(platform);
    matmul_tiling::MultiCoreMatmulTiling many(platform);
    optiling::TCubeTiling tiling;
}

}  // namespace npukb_host
