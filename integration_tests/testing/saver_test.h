// SaverTest is a fixture for tests of the Saver. Its sessions run in one
// process whose files are in memory.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_SAVER_TEST_H_
#define WEFT_INTEGRATION_TESTS_TESTING_SAVER_TEST_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/api/weft.h"
#include "libs/base/clock.h"
#include "libs/base/test_matchers.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/process/process.h"

namespace weft::saver_tests {

using Paths = std::vector<std::string>;

inline Tensor Floats(const TensorShape& shape, float first) {
  Tensor tensor(DT_FLOAT, shape);
  for (float& value : tensor.mutable_flat<float>()) value = first++;
  return tensor;
}

inline std::unique_ptr<Session> ConnectTo(Process& process,
                                          const Scope& scope) {
  auto session = Session::Connect("", scope, {.process = &process});
  EXPECT_OK(session);
  return session.ok() ? *std::move(session) : nullptr;
}

// Returns a session with initialized variables, or null if an error occurred.
inline std::unique_ptr<Session> InitializedSession(Process& process,
                                                   const Scope& scope) {
  const Operation init = ops::GlobalVariablesInitializer(scope);
  auto session = ConnectTo(process, scope);
  if (session == nullptr) return nullptr;
  const absl::Status initialized = session->Run(init);
  EXPECT_OK(initialized);
  return initialized.ok() ? std::move(session) : nullptr;
}

// A fixture with sessions in one process whose files are in memory.
class SaverTest : public testing::Test {
 protected:
  static ProcessOptions InMemory(FileSystem& files) {
    ProcessOptions options;
    options.file_system = &files;
    return options;
  }
  SaverTest() : process_(InMemory(files_)) {}

  // Returns a new session in which no variable has a value.
  std::unique_ptr<Session> Connect(const Scope& scope) {
    return ConnectTo(process_, scope);
  }
  // Returns a session with initialized variables, or null if an error occurred.
  std::unique_ptr<Session> ConnectAndInitialize(const Scope& scope) {
    return InitializedSession(process_, scope);
  }
  train::SaverOptions Options() {
    train::SaverOptions options;
    options.file_system = &files_;
    options.clock = &clock_;
    return options;
  }
  // Initializes all variables and saves them to `path`.
  void SaveAs(const std::string& path, const Scope& scope) {
    train::Saver saver(scope, Options());
    const Operation init = ops::GlobalVariablesInitializer(scope);
    const auto session = Connect(scope);
    ASSERT_NE(session, nullptr);
    ASSERT_OK(session->Run(init));
    ASSERT_OK_AND_ASSIGN(const std::string saved, saver.Save(*session, path));
    EXPECT_EQ(saved, path);
  }
  absl::StatusOr<Tensor> Stored(const std::string& path,
                                const std::string& name) {
    ASSIGN_OR_RETURN(const auto reader,
                     checkpoint::BundleReader::Open(files_, path));
    return reader->Read(name, HeapAllocator());
  }
  Paths Files() { return files_.ListDirectory("/job").value_or(Paths()); }

  MemoryFileSystem files_;
  ManualClock clock_;
  Process process_;
};

}  // namespace weft::saver_tests

#endif  // WEFT_INTEGRATION_TESTS_TESTING_SAVER_TEST_H_
