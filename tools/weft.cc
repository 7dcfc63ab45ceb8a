// weft: looks at what Weft leaves behind.
//
//   bazel run //tools:weft -- wire FILE
//
// prints the captured messages of FILE (docs/wire_capture.md). Exits with 1 if
// the file can't be read, with 2 for a wrong call.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/base/status.h"
#include "libs/fs/local_file_system.h"
#include "libs/fs/path.h"
#include "tools/wire/print_capture.h"

namespace weft::tools {
namespace {

constexpr char kUsage[] =
    "usage: bazel run //tools:weft -- wire FILE\n"
    "  FILE  captured messages; see docs/wire_capture.md\n";

// `bazel run` changes the directory and says where the user stood.
std::string FromWhereTheUserStands(const std::string& path) {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  return directory == nullptr ? path : JoinPath(directory, path);
}

absl::StatusOr<std::string> Wire(const std::string& path) {
  LocalFileSystem files;
  ASSIGN_OR_RETURN(const std::string file, files.ReadFile(path));
  return PrintCapture(file);
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2 || arguments[0] != "wire") {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const auto text = Wire(FromWhereTheUserStands(arguments[1]));
  if (!text.ok()) {
    std::fprintf(stderr, "%s: %s\n", arguments[1].c_str(),
                 std::string(text.status().message()).c_str());
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::Main({argv + 1, argv + argc});
}
