// ReplayFuzzCorpus runs the inputs of a fuzzer's corpus through its target, so
// that an ordinary test covers earlier findings. RequireForFuzz checks a
// condition in a target.
//
// A target is a function that takes arbitrary bytes. It must return for all
// inputs. Threads: the functions start no threads.
#ifndef WEFT_LIBS_BASE_TESTING_FUZZ_CORPUS_H_
#define WEFT_LIBS_BASE_TESTING_FUZZ_CORPUS_H_

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weft {

// Aborts the process if `condition` is false. A fuzzer and a test report this
// as a failure.
inline void RequireForFuzz(bool condition) {
  if (!condition) std::abort();
}

using FuzzTarget = std::function<void(absl::string_view)>;

// Runs the target with the bytes truncated at each length and with each bit
// flipped.
inline void GiveDamaged(std::string bytes, const FuzzTarget& target) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    target(absl::string_view(bytes).substr(0, i));
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      target(bytes);
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
    }
  }
}

// Runs the target with each file of a directory, in the order of the files'
// names. The directory is named as in the repository. Also runs the target with
// damaged copies of files that have at most `damage_up_to` bytes. Returns the
// number of files.
inline int ReplayFuzzCorpus(const std::string& directory,
                            const FuzzTarget& target,
                            size_t damage_up_to = 2048) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    target(bytes);
    if (bytes.size() <= damage_up_to) GiveDamaged(bytes, target);
  }
  return static_cast<int>(files.size());
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TESTING_FUZZ_CORPUS_H_
