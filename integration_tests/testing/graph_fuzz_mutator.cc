// libFuzzer's mutation functions for graph texts. They mutate nodes and edges
// of a graph (graph_mutator.h), and sometimes the bytes of the text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"
#include "integration_tests/testing/graph_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

// Copies `text` to `data` and returns its size. Returns 0 if `text` is too
// long.
size_t Store(const std::string& text, uint8_t* data, size_t max_size) {
  if (text.empty() || text.size() > max_size) return 0;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

absl::string_view TextOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const size_t stored =
      Store(weft::MutateGraph(TextOf(data, size), seed), data, max_size);
  return stored > 0 ? stored : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size,
                                            const uint8_t* b, size_t b_size,
                                            uint8_t* out, size_t max_out_size,
                                            unsigned int /*seed*/) {
  return Store(weft::JoinGraphs(TextOf(a, a_size), TextOf(b, b_size)), out,
               max_out_size);
}
