// The data cache between a core's scalar unit and global memory: lines of 64 bytes, each written back as a whole, which
// neither transfers nor other cores see into.
//
// Memory here always holds the newest bytes. What a line held when it came into the cache tells which of them the core
// would not see on the device, and which it would destroy by writing its line back. A cache is empty when the kernel
// begins, and is written back when it ends.
#pragma once
#include <pthread.h>

#include "check/pipe_order.h"
#include "cores/core.h"

namespace twin {

class DataCache {
  public:
    explicit DataCache(Core& core);
    ~DataCache();
    DataCache(const DataCache&) = delete;
    // The scalar unit is about to load or store these bytes of a buffer that the kernel may write.
    void Touch(uint64_t begin, uint64_t bytes, bool write, const char* instruction, const void* pc);
    // DataCacheCleanAndInvalid from `address` to the end of its line, or of everything when it is null.
    void Clean(const void* address);
    // Another pipe of the core has moved this.
    void Pass(const Access& access);
    // Bytes of a range that the core has changed and not written back.
    struct Unwritten {
        uint64_t line;
        uint64_t bytes;
        const void* pc;
    };
    // Looks for what was stored before `reader`, another core, last met this one.
    bool FindUnwritten(const Core& reader, const Range& range, Unwritten* found);
    // The block has ended: only what is not written back yet is kept.
    void Retire();
    // After the last block has ended: it is written back now.
    void Finish();

    // A line that was stored to in part, and between which meetings it was in the cache.
    struct Stored {
        uint64_t line;
        uint64_t bytes;
        uint64_t from, to;
        const void* pc;
    };
    uint32_t stored_count() const { return stored_count_; }
    const Stored& stored(uint32_t i) const { return stored_[i]; }
    // The core has loaded after it invalidated: it may take its turns from what others store.
    bool listens() const { return listens_; }
    bool ended() const { return ended_; }

  private:
    static constexpr uint32_t kSets = 128, kWays = 4;  // 32 KiB
    static constexpr uint32_t kMostStored = 1u << 16;  // later ones are not looked at
    struct Line {
        uint64_t line;       // 0 for none
        uint64_t stored;     // bytes, one bit each
        uint64_t moved;      // the same, by transfers of the core since the line came in
        const void* pc;      // that brought it in, or stored to it first
        const void* mover;   // the last such transfer
        uint64_t filled;     // meetings at that time
        uint64_t met;        // meetings when it was first stored to, of the core's kind
        uint64_t met_whole;  // and of both kinds
        uint8_t before[64];
    };
    Line* Find(uint64_t line);
    Line& Fill(uint64_t line, const void* pc);
    void Store(Line& line, uint64_t bytes, const void* pc);
    void Load(const Line& line, uint64_t bytes, const char* instruction, const void* pc);
    void PassLine(Line& line, const Access& access);
    void WriteBack(Line& line, uint64_t until);
    void Remember(const Line& line, uint64_t until);
    Core& core_;
    pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;  // other cores look at lines that are stored to
    Line* lines_;
    uint32_t size_ = kSets * kWays;
    uint8_t next_[kSets] = {};
    uint32_t dirty_ = 0;
    uint64_t low_ = ~0ull, high_ = 0;  // lines that were in the cache lie between
    bool invalidated_ = false;         // what was not stored to
    bool listens_ = false;
    bool ended_ = false;
    Stored* stored_ = nullptr;
    uint32_t stored_count_ = 0, stored_room_ = 0;
};

// Lines that transfers of a core have written in part, at their ends. Another core that stores to such a line with its
// scalar unit writes it back as a whole.
class Edges {
  public:
    ~Edges();
    void Add(const Range& range, uint64_t met, const void* pc);
    uint32_t count() const { return count_; }
    const DataCache::Stored& operator[](uint32_t i) const { return edges_[i]; }

  private:
    static constexpr uint32_t kMost = 1u << 12;  // later ones are not looked at
    void Note(uint64_t line, uint64_t bytes, uint64_t met, const void* pc);
    DataCache::Stored* edges_ = nullptr;
    uint32_t count_ = 0, room_ = 0;
};

// A pipe of `core` has moved this, past the caches.
void PastCaches(Core& core, const Access& access);
// The scalar unit of `core` loads or stores these bytes of a buffer by its data cache.
void ThroughCache(Core& core, const GlobalBuffer& buffer, const void* address, uint64_t bytes, bool write,
                  const char* instruction, const void* pc);
void StopDataCache(Core& core);
// Whether the core waits for others in a way that is not followed here: by flags, or by what they store.
bool TakesTurns(const Core& core);
// After all blocks have ended: lines that several cores have written back, each without the others' bytes.
void CheckLines(Core* const* cores, int64_t count);

}  // namespace twin
