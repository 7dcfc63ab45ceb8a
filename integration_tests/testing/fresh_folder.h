// FreshFolder returns the path of a new directory for the files of a test.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_FRESH_FOLDER_H_
#define WEFT_INTEGRATION_TESTS_TESTING_FRESH_FOLDER_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/fs/file_system.h"
#include "libs/fs/path.h"

namespace weft {

// Returns a path that is unique to the running test. The directory does not
// exist yet.
inline std::string FreshFolder(FileSystem& files) {
  const auto& test = *testing::UnitTest::GetInstance()->current_test_info();
  std::string folder =
      JoinPath(testing::TempDir(),
               absl::StrCat(test.test_suite_name(), "_", test.name()));
  files.DeleteRecursively(folder).IgnoreError();
  return folder;
}

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_FRESH_FOLDER_H_
