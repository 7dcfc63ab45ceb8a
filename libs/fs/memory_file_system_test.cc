#include "libs/fs/memory_file_system.h"

#include "libs/fs/testing/file_system_conformance.h"

namespace weft {
namespace {

FileSystemHarness NewHarness(absl::string_view directory) {
  auto file_system = std::make_unique<MemoryFileSystem>();
  EXPECT_OK(file_system->CreateDirectories(directory));
  return {std::move(file_system), std::string(directory)};
}

INSTANTIATE_TEST_SUITE_P(Absolute, FileSystemConformanceTest,
                         ::testing::Values([] { return NewHarness("/a/b"); }));
INSTANTIATE_TEST_SUITE_P(Relative, FileSystemConformanceTest,
                         ::testing::Values([] { return NewHarness("a/b"); }));

}  // namespace
}  // namespace weft
