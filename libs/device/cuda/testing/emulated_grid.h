// EmulatedGrid runs a kernel's threads on the CPU, one at a time, in a random
// order: a thread that reads what another thread writes, without a barrier
// between them, usually finds another value.
#ifndef WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_GRID_H_
#define WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_GRID_H_

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "libs/device/cuda/testing/emulated_kernel.h"

namespace weft {

// For one caller at a time.
class EmulatedGrid {
 public:
  explicit EmulatedGrid(std::mt19937_64& random);
  ~EmulatedGrid();

  // Calls `thread` as each thread of each block. Returns the error, or "": a
  // thread accessed invalid memory, or threads of a block reached different
  // barriers; the other threads were then abandoned where they were, so
  // `thread` must have nothing to destroy.
  std::string Run(dim3 blocks, dim3 threads,
                  const std::function<void()>& thread);

 private:
  friend bool EmulatedBarrier(int line, bool vote);
  class Block;
  class Stack;

  std::string RunBlocks(dim3 blocks, dim3 threads,
                        const std::function<void()>& thread);

  std::mt19937_64& random_;
  std::vector<std::unique_ptr<Stack>> stacks_;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_TESTING_EMULATED_GRID_H_
