// Tiling structures declared by macros: a class with set_… and get_… whose content is laid out as the plain structure
// that the kernel declares, members at their natural alignment.
#pragma once
#include <map>
#include <type_traits>

#include "twin_host/context.h"

namespace npukb_host {

// A member of a tiling structure.
struct TilingMember {
    const char* name;
    const char* type;  // as C spells it: "uint32_t", "float", …; the class for a nested structure
    size_t offset;
    size_t bytes;      // of the whole member
    size_t count;      // elements of an array, 0 for others
    ptrdiff_t nested;  // where the nested object lies from this one, 0 for others
};

template <class T>
constexpr const char* TypeName(const char* spelled) {
    if constexpr (std::is_same_v<T, bool>)
        return "bool";
    else if constexpr (std::is_same_v<T, float>)
        return "float";
    else if constexpr (std::is_same_v<T, double>)
        return "double";
    else if constexpr (!std::is_integral_v<T>)
        return spelled;
    else if constexpr (std::is_signed_v<T>)
        return sizeof(T) == 1 ? "int8_t" : sizeof(T) == 2 ? "int16_t" : sizeof(T) == 4 ? "int32_t" : "int64_t";
    else
        return sizeof(T) == 1 ? "uint8_t" : sizeof(T) == 2 ? "uint16_t" : sizeof(T) == 4 ? "uint32_t" : "uint64_t";
}

}  // namespace npukb_host

namespace optiling {

// Code inside this namespace uses them without a qualifier.
using std::map;
using std::string;
using std::vector;

class TilingDef {
  public:
    explicit TilingDef(const char* class_name);
    TilingDef(const TilingDef& other);
    TilingDef& operator=(const TilingDef& other);
    virtual ~TilingDef();
    // Copies the content to `data` when it fits into `capacity` bytes.
    void SaveToBuffer(void* data, size_t capacity);
    // From now on the content lives at `data`.
    void SetDataPtr(void* data);
    // Takes the content of the plain structure.
    void NpukbAssign(const void* data, size_t bytes);
    size_t GetDataSize() const;
    const char* GetTilingClassName() const { return class_name_; }
    const std::vector<npukb_host::TilingMember>& Members() const { return members_; }
    size_t Alignment() const { return alignment_; }

  protected:
    // Each returns the member's offset; called in the order of the declarations.
    size_t Append(const char* name, const char* type, size_t bytes, size_t alignment, size_t count);
    size_t AppendNested(const char* name, const TilingDef& nested);
    unsigned char* At(size_t offset) const { return data_ + offset; }

  private:
    const char* class_name_;
    std::vector<npukb_host::TilingMember> members_;
    std::vector<unsigned char> own_;
    unsigned char* data_ = nullptr;
    size_t end_ = 0;
    size_t alignment_ = 1;
};

}  // namespace optiling

namespace npukb_host {
struct TilingClass {
    TilingClass(const char* key, optiling::TilingDef* (*create)());
};
}  // namespace npukb_host

#define BEGIN_TILING_DATA_DEF(class_name)           \
    class class_name : public optiling::TilingDef { \
      public:                                       \
        class_name() : optiling::TilingDef(#class_name) {}

#define TILING_DATA_FIELD_DEF(data_type, field_name)                                                                \
  private:                                                                                                          \
    size_t npukb_at_##field_name =                                                                                  \
        Append(#field_name, npukb_host::TypeName<data_type>(#data_type), sizeof(data_type), alignof(data_type), 0); \
                                                                                                                    \
  public:                                                                                                           \
    void set_##field_name(data_type value) { *reinterpret_cast<data_type*>(At(npukb_at_##field_name)) = value; }    \
    data_type get_##field_name() const { return *reinterpret_cast<data_type*>(At(npukb_at_##field_name)); }

#define TILING_DATA_FIELD_DEF_ARR(data_type, array_size, field_name)                                           \
  private:                                                                                                     \
    size_t npukb_at_##field_name = Append(#field_name, npukb_host::TypeName<data_type>(#data_type),            \
                                          sizeof(data_type) * (array_size), alignof(data_type), (array_size)); \
                                                                                                               \
  public:                                                                                                      \
    void set_##field_name(const data_type* values) {                                                           \
        __builtin_memcpy(At(npukb_at_##field_name), values, sizeof(data_type) * (array_size));                 \
    }                                                                                                          \
    data_type* get_##field_name() const { return reinterpret_cast<data_type*>(At(npukb_at_##field_name)); }

#define TILING_DATA_FIELD_DEF_STRUCT(struct_type, field_name)                   \
  public:                                                                       \
    struct_type field_name;                                                     \
                                                                                \
  private:                                                                      \
    size_t npukb_at_##field_name = AppendNested(#field_name, this->field_name); \
                                                                                \
  public:

// Complete in itself: written with and without a semicolon.
#define END_TILING_DATA_DEF \
    }                       \
    ;

#define REGISTER_TILING_DATA_CLASS(op_type, class_name)                                    \
    [[maybe_unused]] static npukb_host::TilingClass npukb_tiling_##op_type##_##class_name( \
        #op_type, []() -> optiling::TilingDef* { return new class_name(); });
