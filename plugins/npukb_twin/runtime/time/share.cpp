// The heap of events behind shared resources, an array of a size known beforehand.
#include "time/share.h"

#include <stdlib.h>

namespace twin {

void EventHeap::Open(uint32_t room) {
    items_ = static_cast<Item*>(malloc(room * sizeof(Item)));
    if (items_ == nullptr) abort();
    room_ = room;
    size_ = 0;
}

void EventHeap::Close() {
    free(items_);
    items_ = nullptr;
}

void EventHeap::Push(double time, uint32_t id) {
    if (size_ == room_) abort();
    Item item{time, id};
    uint32_t at = size_++;
    while (at > 0 && item.Before(items_[(at - 1) / 2])) {
        items_[at] = items_[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    items_[at] = item;
}

uint32_t EventHeap::Pop() {
    uint32_t first = items_[0].id;
    Item item = items_[--size_];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= size_) break;
        if (child + 1 < size_ && items_[child + 1].Before(items_[child])) ++child;
        if (!items_[child].Before(item)) break;
        items_[at] = items_[child];
        at = child;
    }
    items_[at] = item;
    return first;
}

}  // namespace twin
