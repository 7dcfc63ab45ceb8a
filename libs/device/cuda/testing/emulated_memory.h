// EmulatedMemory: the memory of a GPU that the processor plays, or pinned
// memory. A block ends where its bytes end, and guards lie between blocks: who
// writes there is found when the block is given back, under AddressSanitizer at
// once.
#ifndef WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_MEMORY_H_
#define WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_MEMORY_H_

#include <cstddef>
#include <map>

namespace weft {

// Thread-compatible.
class EmulatedMemory {
 public:
  // `is_closed`: nobody may touch it but between Open and Close.
  EmulatedMemory(size_t bytes, bool is_closed);
  ~EmulatedMemory();
  EmulatedMemory(const EmulatedMemory&) = delete;
  EmulatedMemory& operator=(const EmulatedMemory&) = delete;

  // Holds 0xff, in its first 4 MiB. Null where there is no room.
  void* Take(size_t bytes);
  // False where nothing was taken. Ends the program where somebody wrote beside
  // the block.
  bool Give(void* block);

  // Whether so many bytes lie in a block.
  bool Holds(const void* from, size_t bytes) const;
  size_t in_use() const { return in_use_; }

  void Open();
  void Close();

 private:
  // With the guards. Offsets are of the arena.
  struct Block {
    size_t bytes = 0;  // of the block itself
    size_t size = 0;   // of all
  };

  void SetGuards(size_t offset, const Block& block);
  void CheckGuards(size_t offset, const Block& block) const;

  const size_t size_;
  const bool is_closed_;
  char* const arena_;
  size_t in_use_ = 0;
  std::map<size_t, Block> blocks_;  // by where they begin, with the guards
  std::map<size_t, size_t> free_;   // sizes, by where they begin
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_MEMORY_H_
