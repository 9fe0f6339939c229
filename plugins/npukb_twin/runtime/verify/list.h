// A growing array of plain data. The runtime has no C++ library to link with.
#pragma once
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

namespace twin {

template <typename T>
class List {
    static_assert(__is_trivially_copyable(T));

  public:
    List() = default;
    List(const List& other) { *this = other; }
    List& operator=(const List& other) {
        if (this == &other) return *this;
        Resize(other.size_);
        if (size_ != 0) memcpy(items_, other.items_, size_ * sizeof(T));
        return *this;
    }
    ~List() { free(items_); }

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T& operator[](size_t i) { return items_[i]; }
    const T& operator[](size_t i) const { return items_[i]; }
    T* begin() { return items_; }
    T* end() { return items_ + size_; }
    const T* begin() const { return items_; }
    const T* end() const { return items_ + size_; }
    // New items are full of zeros.
    void Resize(size_t size) {
        if (size > room_) {
            room_ = size > 2 * room_ ? size : 2 * room_;
            items_ = static_cast<T*>(realloc(items_, room_ * sizeof(T)));
            if (items_ == nullptr) abort();
        }
        if (size > size_) memset(static_cast<void*>(items_ + size_), 0, (size - size_) * sizeof(T));
        size_ = size;
    }
    void Add(const T& item) {
        Resize(size_ + 1);
        items_[size_ - 1] = item;
    }
    void Insert(size_t at, const T& item) {
        Resize(size_ + 1);
        memmove(static_cast<void*>(items_ + at + 1), items_ + at, (size_ - 1 - at) * sizeof(T));
        items_[at] = item;
    }
    void Remove(size_t from, size_t to) {
        if (from == to) return;
        memmove(static_cast<void*>(items_ + from), items_ + to, (size_ - to) * sizeof(T));
        size_ -= to - from;
    }
    T TakeLast() { return items_[--size_]; }
    void Clear() { size_ = 0; }

  private:
    T* items_ = nullptr;
    size_t size_ = 0, room_ = 0;
};

}  // namespace twin
