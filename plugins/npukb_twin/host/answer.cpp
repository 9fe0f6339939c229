// An answer is put together as text and written in one piece, as JSON.
#include "answer.h"

#include <unistd.h>

namespace npukb_host {
namespace {

int g_descriptor = -1;
char g_token[64];

std::string Quoted(const std::string& text) {
    std::string out = "\"";
    char escaped[8];
    for (unsigned char c : text) {
        if (c == '"' || c == '\\')
            out += '\\', out += static_cast<char>(c);
        else if (c >= 0x20 && c < 0x7f)
            out += static_cast<char>(c);
        else
            snprintf(escaped, sizeof escaped, "\\u%04x", c), out += escaped;
    }
    return out + "\"";
}

template <class Items, class Write>
std::string List(const Items& items, Write write) {
    std::string out = "[";
    for (const auto& item : items) out += (out.size() > 1 ? "," : "") + write(item);
    return out + "]";
}

std::string Number(int64_t value) { return std::to_string(value); }

// JSON knows neither infinities nor NaN: they travel as strings.
std::string Real(float value) {
    char text[40];
    snprintf(text, sizeof text, std::isfinite(value) ? "%.9g" : "\"%f\"", static_cast<double>(value));
    return text;
}

const char* Truth(bool value) { return value ? "true" : "false"; }

void Send(const std::string& body) {
    std::string line = std::string("{\"token\":\"") + g_token + "\"," + body + "}\n";
    for (size_t sent = 0; sent < line.size();) {
        ssize_t n = write(g_descriptor, line.data() + sent, line.size() - sent);
        if (n <= 0) return;
        sent += static_cast<size_t>(n);
    }
}

std::string InitialJson(const ops::ScalarVar& value) {
    switch (value.scalar_type) {
        case ops::ScalarType::FLOAT32:
        case ops::ScalarType::FLOAT16: return Real(value.scalar_num.value_f32);
        case ops::ScalarType::UINT64: return std::to_string(value.scalar_num.value_u64);
        default: return Number(value.scalar_num.value_i64);
    }
}

std::string ArgumentJson(const Argument& a) {
    const char* presence = a.option == ops::OPTIONAL ? "optional" : a.option == ops::DYNAMIC ? "dynamic" : "required";
    std::string out = "{\"name\":" + Quoted(a.name) + ",\"presence\":\"" + presence + "\"";
    out += ",\"dtypes\":" +
           List(a.types, [](ge::DataType type) { return Quoted(ge::TypeUtils::DataTypeToSerialString(type)); });
    out += ",\"formats\":" +
           List(a.formats, [](ge::Format f) { return Quoted("FORMAT_" + ge::TypeUtils::FormatToSerialString(f)); });
    out += std::string(",\"scalar\":") + Truth(a.scalar) + ",\"scalar_list\":" + Truth(a.scalar_list);
    out += std::string(",\"value_depend\":") + Truth(a.value_depend) +
           ",\"depends_on_compute\":" + Truth(a.depends_on_compute);
    return out + ",\"initial\":" + List(a.initials, InitialJson) + "}";
}

std::string ValueJson(AttributeKind kind, const Value& value) {
    auto truth = [](int64_t item) { return std::string(Truth(item != 0)); };
    switch (kind) {
        case AttributeKind::kBool: return Truth(value.integer != 0);
        case AttributeKind::kInt: return Number(value.integer);
        case AttributeKind::kFloat: return Real(value.real);
        case AttributeKind::kString: return Quoted(value.text);
        case AttributeKind::kListBool: return List(value.integers, truth);
        case AttributeKind::kListInt: return List(value.integers, Number);
        case AttributeKind::kListFloat: return List(value.reals, Real);
        case AttributeKind::kListListInt:
            return List(value.rows, [](const std::vector<int64_t>& row) { return List(row, Number); });
        case AttributeKind::kNone: break;
    }
    return "null";
}

std::string AttributeJson(const Attribute& a) {
    std::string out = "{\"name\":" + Quoted(a.name) + ",\"type\":\"" + KindName(a.kind) + "\"";
    out += std::string(",\"required\":") + Truth(a.option == ops::REQUIRED && !a.has_default);
    return out + ",\"default\":" + (a.has_default ? ValueJson(a.kind, a.value) : "null") + "}";
}

std::string StructJson(const optiling::TilingDef& t) {
    std::string out =
        "{\"name\":" + Quoted(t.GetTilingClassName()) + ",\"bytes\":" + Number(static_cast<int64_t>(t.GetDataSize()));
    std::string nested;
    out += ",\"fields\":" + List(t.Members(), [&](const TilingMember& member) {
               if (member.nested != 0) {
                   auto* inner =
                       reinterpret_cast<const optiling::TilingDef*>(reinterpret_cast<const char*>(&t) + member.nested);
                   nested += (nested.empty() ? "" : ",") + StructJson(*inner);
               }
               return "{\"name\":" + Quoted(member.name) + ",\"type\":" + Quoted(member.type) +
                      ",\"count\":" + std::to_string(member.count) + ",\"nested\":" + Truth(member.nested != 0) +
                      ",\"offset\":" + std::to_string(member.offset) + "}";
           });
    return out + ",\"nested\":[" + nested + "]}";
}

}  // namespace

const char* KindName(AttributeKind kind) {
    switch (kind) {
        case AttributeKind::kBool: return "bool";
        case AttributeKind::kInt: return "int";
        case AttributeKind::kFloat: return "float";
        case AttributeKind::kString: return "string";
        case AttributeKind::kListBool: return "list_bool";
        case AttributeKind::kListInt: return "list_int";
        case AttributeKind::kListFloat: return "list_float";
        case AttributeKind::kListListInt: return "list_list_int";
        case AttributeKind::kNone: break;
    }
    return "none";
}

void SetAnswerDescriptor(int descriptor, const char* token) {
    g_descriptor = descriptor;
    snprintf(g_token, sizeof g_token, "%s", token);
}

void AnswerFailure(const char* status, const std::string& message) {
    Send("\"status\":" + Quoted(status) + ",\"message\":" + Quoted(message));
}

void AnswerSignal(int signal, const uint64_t* pcs, int count, uint64_t address, bool stack_overflow) {
    char line[256 + 24 * kTrail];
    int n = snprintf(
        line, sizeof line,
        "{\"token\":\"%s\",\"status\":\"signal\",\"signal\":%d,\"address\":%llu,\"stack_overflow\":%s,\"pcs\":[",
        g_token, signal, static_cast<unsigned long long>(address), Truth(stack_overflow));
    for (int i = 0; i < count; ++i) {
        n += snprintf(line + n, sizeof line - static_cast<size_t>(n), "%s%llu", i == 0 ? "" : ",",
                      static_cast<unsigned long long>(pcs[i]));
    }
    n += snprintf(line + n, sizeof line - static_cast<size_t>(n), "]}\n");
    if (write(g_descriptor, line, static_cast<size_t>(n)) != n) _exit(3);
}

void AnswerDescription(const Operator& target, const Arguments& inputs, const Arguments& outputs) {
    std::string body = "\"status\":\"described\",\"name\":" + Quoted(target.type);
    body += ",\"inputs\":" + List(inputs, ArgumentJson) + ",\"outputs\":" + List(outputs, ArgumentJson);
    body += ",\"attributes\":" + List(target.attributes, AttributeJson);
    body += ",\"socs\":" + List(target.chips, [](const auto& chip) { return Quoted(chip.first); });
    body += ",\"tiling\":" + List(TheRegistry().tilings, [](const auto& entry) {
                std::unique_ptr<optiling::TilingDef> made(entry.second());
                return "{\"key\":" + Quoted(entry.first) + ",\"struct\":" + StructJson(*made) + "}";
            });
    Send(body);
}

void AnswerTiling(const Call& call) {
    static const char digits[] = "0123456789abcdef";
    std::string hex;
    for (size_t i = 0; i < call.data->GetDataSize(); ++i) {
        hex += digits[call.buffer[i] >> 4];
        hex += digits[call.buffer[i] & 15];
    }
    std::vector<size_t> workspaces(call.workspace_sizes, call.workspace_sizes + call.workspace_count);
    Send("\"status\":\"tiled\",\"tiling_key\":" + std::to_string(call.tiling_key) + ",\"block_dim\":" +
         std::to_string(call.block_dim) + ",\"schedule_mode\":" + std::to_string(call.schedule_mode) +
         ",\"workspace_bytes\":" + List(workspaces, [](size_t bytes) { return std::to_string(bytes); }) +
         ",\"data\":\"" + hex + "\"");
}

void AnswerSteps(const std::string& noted) { Send("\"status\":\"noted\"," + noted); }

}  // namespace npukb_host
