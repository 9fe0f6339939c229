// The key of a choice of template arguments.
#include "twin_host/template_argument.h"

#include "call.h"

namespace npukb_host {
namespace {

constexpr uint64_t kNone = ~0ull;

// Every value of a parameter: ranges of unsigned numbers written out.
std::vector<uint64_t> Expanded(const TemplateParameter& parameter) {
    const auto& v = parameter.values;
    if (parameter.kind != TemplateKind::Unsigned || v.empty()) return v;
    if (v[0] == ASCENDC_TPL_UI_LIST) return {v.begin() + 1, v.end()};
    std::vector<uint64_t> all;
    size_t at = 2, ranges = v.size() > 1 ? v[1] : 0;
    for (; ranges > 0 && at + 1 < v.size(); --ranges, at += 2) {
        for (uint64_t n = v[at]; n <= v[at + 1] && n - v[at] < 4096; ++n) all.push_back(n);
    }
    if (v[0] == ASCENDC_TPL_UI_MIX) all.insert(all.end(), v.begin() + static_cast<ptrdiff_t>(at), v.end());
    return all;
}

bool IsArgument(uint64_t value) { return value >> 32 == 1 || value >> 32 == 2; }

bool Has(const TemplateParameter& parameter, uint64_t value) {
    bool argument = false;
    size_t plain = 0;
    for (uint64_t known : Expanded(parameter)) {
        if (known == value) return true;
        argument |= IsArgument(known);
        plain += !IsArgument(known);
    }
    return argument && plain == 0;
}

bool Fits(const std::vector<TemplateParameter>& declared, const std::vector<TemplateParameter>& combination,
          const std::vector<uint64_t>& values) {
    for (size_t i = 0; i < declared.size(); ++i) {
        for (const auto& chosen : combination) {
            if (strcmp(chosen.name, declared[i].name) == 0 && !Has(chosen, values[i])) return false;
        }
    }
    return true;
}

}  // namespace

uint64_t TemplateKey(const std::vector<TemplateParameter>& declared,
                     const std::vector<std::vector<TemplateParameter>>& combinations,
                     const std::vector<uint64_t>& values) {
    if (values.size() != declared.size()) {
        fprintf(stderr, "error: the template takes %zu arguments, the tiling function gives %zu\n", declared.size(),
                values.size());
        return kNone;
    }
    bool known = combinations.empty();
    for (const auto& combination : combinations) known |= Fits(declared, combination, values);
    std::string said;
    for (size_t i = 0; i < values.size(); ++i)
        said += std::string(i > 0 ? ", " : "") + declared[i].name + " = " + std::to_string(values[i]);
    if (!known) {
        fprintf(stderr, "error: ASCENDC_TPL_SEL has no combination with %s\n", said.c_str());
        return kNone;
    }
    uint64_t key = 0;
    uint32_t shift = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        uint64_t part = values[i];
        if (declared[i].kind == TemplateKind::Unsigned) {
            const auto all = Expanded(declared[i]);
            part = static_cast<uint64_t>(std::find(all.begin(), all.end(), part) - all.begin());
        }
        key |= part << shift;
        shift += declared[i].bits;
    }
    return key;
}

}  // namespace npukb_host
