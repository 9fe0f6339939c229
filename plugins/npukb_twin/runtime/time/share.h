// A resource that its users share: whoever is there gets an equal part. Time is in seconds, work in seconds of the
// whole resource.
#pragma once
#include <stdint.h>

namespace twin {

// A heap of numbered events, the earliest first; of equal times the one with the smallest number.
class EventHeap {
  public:
    void Open(uint32_t room);
    void Close();
    void Push(double time, uint32_t id);
    bool empty() const { return size_ == 0; }
    double time() const { return items_[0].time; }
    uint32_t Pop();

  private:
    struct Item {
        double time;
        uint32_t id;
        bool Before(const Item& o) const { return time < o.time || (time == o.time && id < o.id); }
    };
    Item* items_ = nullptr;
    uint32_t size_ = 0, room_ = 0;
};

class Share {
  public:
    void Open(uint32_t room) { heap_.Open(room); }
    void Close() { heap_.Close(); }
    // User `id`, who stands for `weight` alike, wants `work` each, from `now` on.
    void Join(double now, uint32_t id, double work, double weight) {
        Pass(now);
        heap_.Push(done_ + work, id);
        users_ += weight;
    }
    bool empty() const { return heap_.empty(); }
    // When the next user is served, if nobody else comes.
    double NextAt() const {
        double left = heap_.time() - done_;
        return at_ + (left > 0 ? left : 0) * users_;
    }
    // Who that is.
    uint32_t Serve(double now) {
        Pass(now);
        return heap_.Pop();
    }
    void Leave(double weight) {
        users_ -= weight;
        if (heap_.empty()) users_ = 0;
    }

  private:
    void Pass(double now) {
        if (users_ > 0) done_ += (now - at_) / users_;
        at_ = now;
    }
    EventHeap heap_;
    double done_ = 0;  // work that each user was given since the beginning
    double users_ = 0;
    double at_ = 0;
};

}  // namespace twin
