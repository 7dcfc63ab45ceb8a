// Replays the corpus of the fuzzers: what they found once stays found.
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "libs/bus/testing/fuzz_targets.h"

namespace weft::bus {
namespace {

// Also each case with one bit turned at a time, and cut short.
void Replay(const std::string& corpus,
            const std::function<void(absl::string_view)>& target) {
  int num_cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           "libs/bus/testdata/fuzz/" + corpus)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)),
                      std::istreambuf_iterator<char>());
    target(bytes);
    for (size_t i = 0; i < bytes.size(); ++i) {
      target(absl::string_view(bytes).substr(0, i));
      for (int bit = 0; bit < 8; ++bit) {
        bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
        target(bytes);
        bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      }
    }
    ++num_cases;
  }
  EXPECT_GE(num_cases, 3) << "where is the corpus?";
}

TEST(FuzzCorpusTest, ControlMessages) {
  Replay("control_message", FuzzControlMessage);
}
TEST(FuzzCorpusTest, Chunks) { Replay("chunks", FuzzChunks); }
TEST(FuzzCorpusTest, Greetings) { Replay("greeting", FuzzGreeting); }

}  // namespace
}  // namespace weft::bus
