// The child process of one question about an operator's host code: loads the image, asks, answers.
//
//   npukb-twin-tiling REQUEST_FILE
//
// The request is text, one directive per line:
//   report FD TOKEN · limit AS|FSIZE|CORE|CPU|NOFILE N · chip KEY VALUE · deterministic 0|1 · operator NAME
//   namespaces [FD...] · parent PID · confine · filter      (measures of process/sandbox.h that this machine has)
//   input|output none | input|output list COUNT | input|output|item DTYPE FORMAT RANK DIM… DATA_BYTES [PATH]
//   attribute NAME COUNT TOKEN…           (text as hex after 'x'; rows of a table end in ';')
//   memory ADDRESS                        (where a direct launch's own device memory begins)
//   given KIND …                          (an argument of its host function: direct.h)
//   describe IMAGE | tile IMAGE | direct IMAGE           (last: loads and asks)
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <cxxabi.h>

#include <algorithm>

#include "answer.h"
#include "define.h"
#include "direct.h"
#include "process/sandbox.h"

namespace npukb_host {
namespace {

// The request itself is wrong: a fault of the caller, not of the host code.
struct BadRequest {
    std::string message;
};

struct TensorLine {
    ge::DataType type;
    ge::Format format;
    gert::Shape shape;
    std::vector<uint64_t> data;
    bool has_data = false;
};

struct ArgumentLine {
    std::vector<TensorLine> tensors;
    size_t expected = 1;
};

struct Request {
    std::string name, operator_name;
    std::vector<ArgumentLine> inputs, outputs;
    std::map<std::string, std::vector<std::string>> attributes;
    std::vector<npukb_direct::Argument> given;
    bool deterministic = false;
    bool confine = false, filter = false;
};

uint64_t g_image_base, g_image_end, g_stack_top;

int FindImage(dl_phdr_info* info, size_t, void*) {
    if (info->dlpi_addr != g_image_base) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD)
            g_image_end = std::max<uint64_t>(g_image_end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
    }
    return 1;
}

bool Inside(uint64_t pc) { return pc >= g_image_base && pc < g_image_end; }

// Where in the image a crash was and which calls led there, innermost first: the pc if it is in the image, then words
// on the stack that point into it. Data may look like a return address; whoever reads the list takes the first that
// makes sense.
struct Trail {
    uint64_t pcs[kTrail];
    int count = 0;

    void Add(uint64_t pc) {
        if (count < kTrail && Inside(pc)) pcs[count++] = pc - g_image_base;
    }
    void Walk(uint64_t stack) {
        const auto* words = reinterpret_cast<const uint64_t*>(stack & ~7ull);
        const auto* end = reinterpret_cast<const uint64_t*>(g_stack_top);
        for (int i = 0; i < 4096 && words + i < end; ++i) Add(words[i] - 1);
    }
};

void OnSignal(int signal, siginfo_t* info, void* context) {
    const auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    uint64_t pc = static_cast<uint64_t>(machine.gregs[REG_RIP]), stack = static_cast<uint64_t>(machine.gregs[REG_RSP]);
#else
    uint64_t pc = machine.pc, stack = machine.sp;
#endif
    static volatile sig_atomic_t nested = 0;
    auto address = reinterpret_cast<uint64_t>(info->si_addr);
    bool overflow = signal == SIGSEGV && address + 65536 > stack && address < stack + 65536;
    Trail trail;
    trail.Add(pc);
    if (nested++ == 0 && !overflow) trail.Walk(stack);  // a stack that is used up cannot be read
    AnswerSignal(signal, trail.pcs, trail.count, address, overflow);
    _exit(128 + signal);
}

void CatchSignals() {
    static char own_stack[65536];
    stack_t stack{};
    stack.ss_sp = own_stack;
    stack.ss_size = sizeof own_stack;
    sigaltstack(&stack, nullptr);
    struct sigaction action{};
    action.sa_sigaction = OnSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

// ---- reading the request

void Limit(const std::string& what, unsigned long long value) {
    const std::map<std::string, int> known = {{"AS", RLIMIT_AS},
                                              {"FSIZE", RLIMIT_FSIZE},
                                              {"CORE", RLIMIT_CORE},
                                              {"CPU", RLIMIT_CPU},
                                              {"NOFILE", RLIMIT_NOFILE}};
    auto limit_id = known.find(what);
    if (limit_id == known.end()) throw BadRequest{"there is no limit named " + what};
    auto resource = static_cast<__rlimit_resource_t>(limit_id->second);
    rlimit before{RLIM_INFINITY, RLIM_INFINITY};
    getrlimit(resource, &before);
    rlim_t least = std::min(static_cast<rlim_t>(value), before.rlim_max);
    rlimit limit{least, least};
    if (setrlimit(resource, &limit) != 0) throw BadRequest{"cannot limit " + what};
}

void SetChip(std::istringstream& line) {
    std::string key;
    line >> key;
    Platform& chip = ThePlatform();
    if (key == "soc") {
        line >> chip.soc;
        return;
    }
    const std::map<std::string, uint64_t*> known = {
        {"vector_cores", &chip.vector_cores}, {"cube_cores", &chip.cube_cores},
        {"ub_bytes", &chip.ub_bytes},         {"l1_bytes", &chip.l1_bytes},
        {"l0a_bytes", &chip.l0a_bytes},       {"l0b_bytes", &chip.l0b_bytes},
        {"l0c_bytes", &chip.l0c_bytes},       {"l2_bytes", &chip.l2_bytes},
        {"hbm_bytes", &chip.hbm_bytes},       {"workspace_reserve_bytes", &chip.workspace_reserve_bytes},
        {"bt_bytes", &chip.bt_bytes},         {"load_rate", &chip.load_rate},
        {"feed_a_rate", &chip.feed_a_rate},   {"feed_b_rate", &chip.feed_b_rate},
    };
    auto number = known.find(key);
    if (number == known.end() || !(line >> *number->second)) throw BadRequest{"bad chip number " + key};
}

TensorLine ReadTensor(const std::string& type, std::istringstream& line) {
    TensorLine tensor;
    std::string format, path;
    size_t rank = 0;
    int64_t dim = 0, bytes = -1;
    line >> format >> rank;
    tensor.type = ge::TypeUtils::SerialStringToDataType(type);
    tensor.format = ge::TypeUtils::SerialStringToFormat(format);
    if (!ge::TypeUtils::IsDataTypeValid(tensor.type)) throw BadRequest{"no data type " + type};
    if (tensor.format == ge::FORMAT_RESERVED) throw BadRequest{"no format " + format};
    if (rank > gert::Shape::kMaxDimNum) throw BadRequest{"a tensor of rank " + std::to_string(rank)};
    for (size_t i = 0; i < rank && line >> dim; ++i) tensor.shape.AppendDim(dim);
    if (!(line >> bytes)) throw BadRequest{"bad tensor line"};
    if (bytes < 0) return tensor;
    line >> std::ws;
    std::getline(line, path);
    tensor.has_data = true;
    tensor.data.resize(static_cast<size_t>(bytes) / 8 + 1);
    FILE* file = fopen(path.c_str(), "rb");
    if (file == nullptr ||
        fread(tensor.data.data(), 1, static_cast<size_t>(bytes), file) != static_cast<size_t>(bytes)) {
        throw BadRequest{"cannot read " + path};
    }
    fclose(file);
    unlink(path.c_str());
    return tensor;
}

void ReadArgument(std::vector<ArgumentLine>& side, std::istringstream& line) {
    std::string word;
    line >> word;
    ArgumentLine& argument = side.emplace_back();
    if (word == "none")
        argument.expected = 0;
    else if (word == "list")
        line >> argument.expected;
    else
        argument.tensors.push_back(ReadTensor(word, line));
}

// ---- building the call

void Build(Side& side, const std::vector<ArgumentLine>& lines) {
    for (const ArgumentLine& argument : lines) {
        if (argument.tensors.size() != argument.expected) throw BadRequest{"a list is cut short"};
        side.arguments.emplace_back(static_cast<uint32_t>(side.tensors.size()),
                                    static_cast<uint32_t>(argument.tensors.size()));
        for (const TensorLine& tensor : argument.tensors) {
            TensorRecord& record = side.tensors.emplace_back();
            gert::StorageShape shape;
            shape.MutableOriginShape() = tensor.shape;
            shape.MutableStorageShape() = tensor.shape;
            record.data = tensor.data;
            void* address = tensor.has_data ? record.data.data() : nullptr;
            record.tensor =
                gert::Tensor(shape, gert::StorageFormat(tensor.format, tensor.format, gert::ExpandDimsType()),
                             tensor.has_data ? gert::kOnHost : gert::kOnDeviceHbm, tensor.type, address);
            record.description.SetDataType(tensor.type);
            record.description.SetOriginFormat(tensor.format);
            record.description.SetStorageFormat(tensor.format);
        }
    }
}

template <class T, class Parse>
T Parsed(const std::string& token, const Attribute& attribute, Parse parse) {
    char* end = nullptr;
    T value = static_cast<T>(parse(token.c_str(), &end));
    if (token.empty() || *end != 0)
        throw BadRequest{"attribute " + attribute.name + " of type " + KindName(attribute.kind) + " cannot be " +
                         token};
    return value;
}

Value ReadValue(const Attribute& attribute, const std::vector<std::string>& tokens) {
    auto integer = [&](const std::string& token) {
        return Parsed<int64_t>(token, attribute, [](const char* text, char** end) { return strtoll(text, end, 10); });
    };
    auto real = [&](const std::string& token) { return Parsed<float>(token, attribute, strtof); };
    Value value;
    switch (attribute.kind) {
        case AttributeKind::kBool:
        case AttributeKind::kInt: value.integer = integer(tokens.at(0)); break;
        case AttributeKind::kFloat: value.real = real(tokens.at(0)); break;
        case AttributeKind::kString:
            if (tokens.at(0)[0] != 'x') throw BadRequest{"attribute " + attribute.name + " is a string"};
            for (size_t i = 1; i + 1 < tokens[0].size(); i += 2)
                value.text += static_cast<char>(std::stoi(tokens[0].substr(i, 2), nullptr, 16));
            break;
        case AttributeKind::kListBool:
        case AttributeKind::kListInt:
            for (const auto& token : tokens) value.integers.push_back(integer(token));
            break;
        case AttributeKind::kListFloat:
            for (const auto& token : tokens) value.reals.push_back(real(token));
            break;
        case AttributeKind::kListListInt: {
            std::vector<int64_t> row;
            for (const auto& token : tokens) {
                if (token != ";")
                    row.push_back(integer(token));
                else
                    value.rows.push_back(std::exchange(row, {}));
            }
            break;
        }
        case AttributeKind::kNone: break;
    }
    return value;
}

void BuildAttributes(Call& call, const Request& request) {
    for (const auto& [name, tokens] : request.attributes) {
        const auto& known = call.target->attributes;
        if (std::none_of(known.begin(), known.end(), [&n = name](const Attribute& a) { return a.name == n; })) {
            throw Refused{"the operator has no attribute '" + name + "'"};
        }
    }
    auto add = [&](const Attribute& attribute) {
        auto given = request.attributes.find(attribute.name);
        if (given != request.attributes.end())
            call.values.Add(attribute.kind, ReadValue(attribute, given->second));
        else if (attribute.option != ops::REQUIRED || attribute.has_default)
            call.values.Add(attribute.kind, attribute.value);
        else
            throw Refused{"the required attribute '" + attribute.name + "' has no value"};
    };
    const auto& own = call.target->attributes;
    std::for_each(own.begin(), own.end(), add);
    for (const Attribute& attribute : call.target->private_attributes) {
        if (attribute.kind != AttributeKind::kNone) {
            call.values.Add(attribute.kind, attribute.value);
            continue;
        }
        auto known = std::find_if(own.begin(), own.end(), [&](const Attribute& a) { return a.name == attribute.name; });
        if (known == own.end())
            throw Refused{"the private attribute '" + attribute.name + "' has no value, and no attribute has its name"};
        add(*known);
    }
}

void CheckCount(const char* what, size_t declared, size_t given) {
    if (declared == given) return;
    throw Refused{"the operator declares " + std::to_string(declared) + " " + what + "s, the call has " +
                  std::to_string(given)};
}

// ---- asking

void* Load(const std::string& path) {
    // The image names no libraries: what it may call of the C library must be here already.
    for (const char* library : {"libm.so.6", "libpthread.so.0", "librt.so.1"}) dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    void* image = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (image == nullptr) {
        std::string message = dlerror();
        static const char missing[] = "undefined symbol: ";
        size_t at = message.find(missing);
        if (at != std::string::npos) {
            std::string symbol = message.substr(at + sizeof missing - 1);
            char* plain = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr);
            message = std::string("the host code declares ") + (plain == nullptr ? symbol : plain) +
                      ", calls it and does not define it";
        }
        throw Refused{message};
    }
    link_map* map = nullptr;
    if (dlinfo(image, RTLD_DI_LINKMAP, &map) == 0) g_image_base = map->l_addr;
    dl_iterate_phdr(FindImage, nullptr);
    return image;
}

void Describe(const Request& request) {
    const Operator& target = Chosen(request.operator_name);
    Arguments inputs, outputs;
    Settle(target, "ascend910b", inputs, outputs);
    AnswerDescription(target, inputs, outputs);
}

void Tile(const Request& request) {
    Call call;
    call.target = &Chosen(request.operator_name);
    call.name = call.target->type;
    call.deterministic = request.deterministic;
    if (call.target->tiling == nullptr) throw Refused{"no tiling function is registered for " + call.target->type};
    CheckCount("input", call.target->inputs.size(), request.inputs.size());
    CheckCount("output", call.target->outputs.size(), request.outputs.size());
    Build(call.inputs, request.inputs);
    Build(call.outputs, request.outputs);
    BuildAttributes(call, request);
    if (call.target->parse != nullptr) {
        call.compile_info = call.target->create_compile_info();
        gert::TilingParseContext context(&call);
        ge::graphStatus status = call.target->parse(&context);
        if (status != ge::GRAPH_SUCCESS)
            throw Refused{"the tiling parse function returned " + std::to_string(static_cast<int32_t>(status))};
    }
    gert::TilingContext context(&call);
    ge::graphStatus status = call.target->tiling(&context);
    if (status != ge::GRAPH_SUCCESS) {
        throw Refused{"the tiling function returned " +
                      (status == ge::GRAPH_FAILED ? "GRAPH_FAILED" : std::to_string(status))};
    }
    if (!call.GuardIntact()) throw Refused{"the tiling function wrote past the end of the tiling buffer"};
    if (call.data->GetDataSize() > call.data->GetCapacity()) {
        throw Refused{"the tiling data has " + std::to_string(call.data->GetDataSize()) + " bytes, the buffer " +
                      std::to_string(kTilingCapacity)};
    }
    if (call.block_dim == 0) throw Refused{"the tiling function set no block dim (SetBlockDim)"};
    AnswerTiling(call);
}

void CallDirect(const Request& request, void* image) {
    auto call =
        reinterpret_cast<void (*)(const std::vector<npukb_direct::Argument>&)>(dlsym(image, "npukb_direct_call"));
    if (call == nullptr) throw Refused{"the image has no host function"};
    call(request.given);
    AnswerSteps(Noted());
}

void Ask(const std::string& verb, const std::string& image, const Request& request) {
    CatchSignals();
    setvbuf(stdout, nullptr, _IOLBF, 65536);
    if (request.confine && !twin::ConfineToImages(image.c_str()))
        throw BadRequest{"the host code's process cannot be confined"};
    if (!twin::ForbidProcesses() && request.filter) throw BadRequest{"the host code's system calls cannot be filtered"};
    try {
        void* loaded = Load(image);
        if (verb == "direct")
            CallDirect(request, loaded);
        else
            verb == "describe" ? Describe(request) : Tile(request);
    } catch (const Refused& refused) {
        fflush(nullptr);
        AnswerFailure("launch_error", refused.message);
    } catch (const std::exception& error) {
        fflush(nullptr);
        AnswerFailure("launch_error", std::string("the host code threw an exception: ") + error.what());
    } catch (const BadRequest&) {
        throw;
    } catch (...) {
        fflush(nullptr);
        AnswerFailure("launch_error", "the host code threw an exception");
    }
    std::cout.flush();
    fflush(nullptr);
    _exit(0);  // destructors of the host code's global objects do not run
}

void Read(const char* path) {
    FILE* file = fopen(path, "r");
    if (file == nullptr) throw BadRequest{std::string("cannot open ") + path};
    std::string text;
    char chunk[65536];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, file)) > 0;) text.append(chunk, n);
    fclose(file);
    std::istringstream lines(text);
    std::string row, word, token;
    Request request;
    bool last_is_input = true;
    while (std::getline(lines, row)) {
        std::istringstream line(row);
        unsigned long long number = 0;
        line >> word;
        if (word == "report" && line >> number >> token)
            SetAnswerDescriptor(static_cast<int>(number), token.c_str());
        else if (word == "limit" && line >> token >> number)
            Limit(token, number);
        else if (word == "namespaces") {
            if (!twin::LeaveNamespaces(row.c_str() + word.size()))
                throw BadRequest{"the host code's process cannot leave its namespaces"};
        } else if (word == "parent" && line >> number) {
            if (!twin::DieWith(static_cast<int>(number))) _exit(125);
        } else if (word == "confine")
            request.confine = true;
        else if (word == "filter")
            request.filter = true;
        else if (word == "chip")
            SetChip(line);
        else if (word == "deterministic")
            line >> request.deterministic;
        else if (word == "operator")
            line >> request.operator_name;
        else if (word == "input" || word == "output")
            ReadArgument((last_is_input = word == "input") ? request.inputs : request.outputs, line);
        else if (word == "item" && line >> token)
            (last_is_input ? request.inputs : request.outputs).back().tensors.push_back(ReadTensor(token, line));
        else if (word == "attribute" && line >> token >> number) {
            auto& tokens = request.attributes[token];
            while (tokens.size() < number && line >> token) tokens.push_back(token);
        } else if (word == "memory" && line >> number)
            SetFirstAddress(number);
        else if (word == "given" && line >> std::ws && std::getline(line, token))
            request.given.push_back(ReadGiven(token));
        else if ((word == "describe" || word == "tile" || word == "direct") && line >> std::ws &&
                 std::getline(line, token)) {
            unlink(path);  // what is in it is not the host code's to know
            Ask(word, token, request);
        } else
            throw BadRequest{"bad request line: " + row};
    }
    throw BadRequest{"the request asks nothing"};
}

}  // namespace
}  // namespace npukb_host

int main(int argc, char** argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: npukb-twin-tiling REQUEST_FILE\n");
        return 2;
    }
    npukb_host::g_stack_top = reinterpret_cast<uint64_t>(&argc);
    try {
        npukb_host::Read(argv[1]);
    } catch (const npukb_host::BadRequest& bad) {
        npukb_host::AnswerFailure("infra_error", bad.message);
    } catch (const std::exception& error) {
        npukb_host::AnswerFailure("infra_error", error.what());
    }
    return 0;
}
