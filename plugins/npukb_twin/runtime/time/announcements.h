// What is known of the announcements in images' code: how many operations each piece holds that one begins.
#pragma once
#include <stdint.h>

namespace twin {

class Announcements {
  public:
    // Of code that lies in [begin, end). An image more than there are kinds of cores is not noted.
    static Announcements* Of(uint64_t begin, uint64_t end);

    // `behind` is where the announcement returns to.
    void Note(uint64_t behind, uint32_t operations) { behind_[behind - begin_] = 1 + operations; }

  private:
    friend uint32_t OperationsBehind(uint64_t pc);
    uint64_t begin_, end_;
    uint32_t* behind_;  // one more than the piece's operations, 0 elsewhere
};

// Operations of the piece of code that was announced by the call that returns to `pc`.
uint32_t OperationsBehind(uint64_t pc);

}  // namespace twin
