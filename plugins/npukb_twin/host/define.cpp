// From an operator's definition to what one chip takes: the chip's own configuration replaces the common one, then the
// lists of types and formats are lined up, one entry per combination.
#include "define.h"

namespace npukb_host {
namespace {

using Row = std::vector<Argument*>;

void Merge(Arguments& arguments, const Arguments& own) {
    for (const Argument& theirs : own) {
        auto same =
            std::find_if(arguments.begin(), arguments.end(), [&](const Argument& a) { return a.name == theirs.name; });
        Argument& mine = same == arguments.end() ? arguments.emplace_back(theirs) : *same;
        mine.option = theirs.option;
        if (!theirs.types.empty()) mine.types = theirs.types, mine.types_multiply = theirs.types_multiply;
        if (!theirs.formats.empty()) mine.formats = theirs.formats, mine.formats_multiply = theirs.formats_multiply;
        mine.value_depend |= theirs.value_depend;
        mine.scalar |= theirs.scalar;
        mine.scalar_list |= theirs.scalar_list;
        mine.depends_on_compute |= theirs.depends_on_compute;
    }
}

template <class T>
void Repeat(std::vector<T>& values, size_t times, bool each) {
    std::vector<T> out;
    if (each) {
        for (T value : values) out.insert(out.end(), times, value);
    } else {
        for (size_t i = 0; i < times; ++i) out.insert(out.end(), values.begin(), values.end());
    }
    values = std::move(out);
}

// Makes every list as long as there are combinations: `count` plain ones, times every list that stands by itself.
void Multiply(const Row& row, size_t count) {
    for (Argument* a : row) {
        if (a->types.empty() && a->follows.empty()) throw Refused{"'" + a->name + "' declares no data type (DataType)"};
        if (a->formats.empty()) a->formats.assign(1, ge::FORMAT_ND), a->formats_multiply = true;
    }
    struct List {
        Argument* argument;
        bool types;
    };
    std::vector<List> by_themselves;
    for (Argument* a : row) {
        if (a->types_multiply) by_themselves.push_back({a, true});
        if (a->formats_multiply) by_themselves.push_back({a, false});
    }
    size_t before = count;
    std::vector<size_t> befores;
    for (const List& list : by_themselves) {
        befores.push_back(before);
        before *= list.types ? list.argument->types.size() : list.argument->formats.size();
    }
    const size_t all = before;
    for (size_t i = 0; i < by_themselves.size(); ++i) {
        Argument& a = *by_themselves[i].argument;
        auto widen = [&](auto& values) {
            Repeat(values, befores[i], true);
            Repeat(values, all / values.size(), false);
        };
        by_themselves[i].types ? widen(a.types) : widen(a.formats);
    }
    for (Argument* a : row) {
        if (!a->types_multiply && !a->types.empty()) Repeat(a->types, all / count, false);
        if (!a->formats_multiply) Repeat(a->formats, all / count, false);
    }
}

void Follow(const Row& row) {
    for (Argument* a : row) {
        if (a->follows.empty()) continue;
        auto leader = std::find_if(row.begin(), row.end(), [&](Argument* other) { return other->name == a->follows; });
        if (leader == row.end()) throw Refused{"'" + a->name + "' follows '" + a->follows + "', which does not exist"};
        if (a->follow == ops::FollowType::ALL || a->follow == ops::FollowType::DTYPE || a->types.empty())
            a->types = (*leader)->types;
        if (a->follow == ops::FollowType::ALL || a->follow == ops::FollowType::FORMAT) a->formats = (*leader)->formats;
    }
}

// Initial values that were declared for each type, as the types stand now. Equal types have equal values.
void SpreadInitials(const Argument& declared, Argument& a) {
    if (declared.initials.size() < 2) return;
    if (declared.initials.size() != declared.types.size()) {
        throw Refused{"'" + a.name + "' declares " + std::to_string(declared.types.size()) + " data types and " +
                      std::to_string(declared.initials.size()) + " initial values: every type needs one"};
    }
    a.initials.clear();
    for (ge::DataType type : a.types) {
        auto at = std::find(declared.types.begin(), declared.types.end(), type) - declared.types.begin();
        if (at == static_cast<ptrdiff_t>(declared.types.size()))
            throw Refused{"'" + a.name + "' has no initial value for one of its types"};
        a.initials.push_back(declared.initials[static_cast<size_t>(at)]);
    }
}

}  // namespace

Operator& Chosen(const std::string& name) {
    Registry& registry = TheRegistry();
    registry.Define();
    std::string names;
    Operator* only = nullptr;
    size_t count = 0;
    for (auto& [type, op] : registry.operators) {
        if (!op->defined) continue;
        if (type == name) return *op;
        names += (names.empty() ? "" : ", ") + type;
        only = op.get();
        ++count;
    }
    if (count == 0) throw Refused{"the host code defines no operator: OP_ADD is missing"};
    if (!name.empty()) throw Refused{"the host code defines no operator '" + name + "' (it defines " + names + ")"};
    if (count > 1) throw Refused{"the host code defines several operators: " + names};
    return *only;
}

void Settle(const Operator& target, const std::string& chip, Arguments& inputs, Arguments& outputs) {
    inputs = target.inputs;
    outputs = target.outputs;
    auto own = target.chips.find(chip);
    if (own != target.chips.end()) {
        Merge(inputs, own->second.inputs);
        Merge(outputs, own->second.outputs);
    }
    Row row;
    for (auto& a : inputs) row.push_back(&a);
    for (auto& a : outputs) row.push_back(&a);
    const Arguments declared = outputs;
    size_t count = 0;
    const Argument* first = nullptr;
    auto require = [&](const Argument& a, size_t length, const char* what) {
        if (first == nullptr) first = &a, count = length;
        if (length != count) {
            throw Refused{"'" + a.name + "' declares " + std::to_string(length) + " " + what + ", '" + first->name +
                          "' " + std::to_string(count) + ": every argument needs one entry per supported combination"};
        }
    };
    for (Argument* a : row) {
        if (!a->types_multiply && !a->types.empty()) require(*a, a->types.size(), "data types");
    }
    for (Argument* a : row) {
        if (!a->formats_multiply && !a->formats.empty()) require(*a, a->formats.size(), "formats");
    }
    Multiply(row, count == 0 ? 1 : count);
    Follow(row);
    for (size_t i = 0; i < outputs.size(); ++i) SpreadInitials(declared[i], outputs[i]);
    for (size_t index : target.value_inputs) {
        if (index < inputs.size()) inputs[index].value_depend = true;
    }
}

}  // namespace npukb_host
