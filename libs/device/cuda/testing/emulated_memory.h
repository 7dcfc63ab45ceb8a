// EmulatedMemory is the memory of an emulated GPU, or pinned memory. A block
// ends exactly at its size, with guards between blocks: a write there is
// detected when the block is freed, with AddressSanitizer at once.
#ifndef WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_MEMORY_H_
#define WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_MEMORY_H_

#include <cstddef>
#include <map>

namespace weft {

// Thread-compatible.
class EmulatedMemory {
 public:
  // `is_closed`: it must not be accessed except between Open and Close.
  EmulatedMemory(size_t bytes, bool is_closed);
  ~EmulatedMemory();
  EmulatedMemory(const EmulatedMemory&) = delete;
  EmulatedMemory& operator=(const EmulatedMemory&) = delete;

  // The first 4 MiB are filled with 0xff. Returns null if there is no space.
  void* Take(size_t bytes);
  // Returns false if the block is unknown. Ends the program if there was a
  // write beside the block.
  bool Give(void* block);

  // Returns whether the bytes are inside one block.
  bool Holds(const void* from, size_t bytes) const;
  size_t in_use() const { return in_use_; }

  void Open();
  void Close();

 private:
  // Including the guards. Offsets are into the arena.
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
  std::map<size_t, Block> blocks_;  // by their offset, with the guards
  std::map<size_t, size_t> free_;   // sizes, by their offset
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_MEMORY_H_
