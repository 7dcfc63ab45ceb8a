// Kernels of ReadFile, WriteFile and MatchingFiles.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/kernels/common/bounded_file.h"
#include "libs/kernels/io/file_kernel.h"
#include "libs/kernels/io/io_kernels.h"

namespace weft {
namespace {

absl::StatusOr<std::string> ScalarInput(OpKernelContext& context, int i,
                                        absl::string_view name) {
  const Tensor& input = context.input(i);
  if (input.rank() == 0) return input.scalar<std::string>();
  return absl::InvalidArgumentError(absl::StrCat(
      "Input ", name,
      " tensor must be scalar, but had shape: ", input.shape().ToString()));
}

class ReadFileKernel : public FileKernel {
 public:
  using FileKernel::FileKernel;

 private:
  absl::Status Run(OpKernelContext& context) const override {
    ASSIGN_OR_RETURN(const std::string path,
                     ScalarInput(context, 0, "filename"));
    ASSIGN_OR_RETURN(
        BoundedFile file,
        ReadBoundedFile(context.file_system(), path, context.allocator(),
                        &context.cancellation()));
    context.SetOutput(0, Tensor::Scalar<std::string>(std::move(file.contents)));
    return absl::OkStatus();
  }
};

class WriteFileKernel : public FileKernel {
 public:
  using FileKernel::FileKernel;

 private:
  absl::Status Run(OpKernelContext& context) const override {
    ASSIGN_OR_RETURN(const std::string path,
                     ScalarInput(context, 0, "filename"));
    ASSIGN_OR_RETURN(const std::string contents,
                     ScalarInput(context, 1, "contents"));
    RETURN_IF_ERROR(context.cancellation().status());
    FileSystem& files = context.file_system();
    if (const absl::string_view folder = Dirname(path); !folder.empty()) {
      RETURN_IF_ERROR(files.CreateDirectories(folder));
    }
    return files.WriteFileAtomically(path, contents);
  }
};

class MatchingFilesKernel : public FileKernel {
 public:
  using FileKernel::FileKernel;

 private:
  absl::Status Run(OpKernelContext& context) const override {
    const Tensor& patterns = context.input(0);
    if (patterns.rank() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input patterns tensor must be scalar or vector, but had shape: ",
          patterns.shape().ToString()));
    }
    std::vector<std::string> paths;
    for (const std::string& pattern : patterns.flat<std::string>()) {
      RETURN_IF_ERROR(context.cancellation().status());
      ASSIGN_OR_RETURN(const std::vector<std::string> matching,
                       context.file_system().GetMatchingPaths(pattern));
      paths.insert(paths.end(), matching.begin(), matching.end());
    }
    std::sort(paths.begin(), paths.end());
    context.SetOutput(0, Tensor::Vector<std::string>(paths));
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterWholeFileKernels(KernelRegistry& registry) {
  registry.Register<ReadFileKernel>("ReadFile");
  registry.Register<WriteFileKernel>("WriteFile");
  registry.Register<MatchingFilesKernel>("MatchingFiles");
}

}  // namespace weft
