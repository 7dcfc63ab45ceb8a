#include "libs/fs/local_file_system.h"

#include <cstdlib>

#include "libs/fs/testing/file_system_conformance.h"

namespace weft {
namespace {

FileSystemHarness NewHarness() {
  std::string directory = ::testing::TempDir() + "/weft_fs_XXXXXX";
  return {std::make_unique<LocalFileSystem>(), mkdtemp(directory.data())};
}

INSTANTIATE_TEST_SUITE_P(Local, FileSystemConformanceTest,
                         ::testing::Values(NewHarness));

}  // namespace
}  // namespace weft
