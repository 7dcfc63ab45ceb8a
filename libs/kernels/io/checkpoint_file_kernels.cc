#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/merge_bundles.h"
#include "libs/fs/path.h"
#include "libs/kernels/io/checkpoint_request.h"
#include "libs/kernels/io/file_kernel.h"
#include "libs/kernels/io/io_kernels.h"
#include "libs/kernels/op_kernel.h"

namespace weft {
namespace {

class MergeV2CheckpointsKernel : public FileKernel {
 public:
  explicit MergeV2CheckpointsKernel(const OpKernelConstruction& construction)
      : FileKernel(construction),
        random_(construction.random()),
        delete_old_dirs_(
            construction.GetAttr<bool>("delete_old_dirs").value_or(true)),
        allow_missing_files_(
            construction.GetAttr<bool>("allow_missing_files").value_or(false)) {
  }

 private:
  absl::Status Run(OpKernelContext& context) const override {
    const Tensor& input = context.input(0);
    if (input.rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input checkpoint_prefixes should be an 1-D tensor, got ",
          input.shape().ToString(), " instead."));
    }
    ASSIGN_OR_RETURN(const std::string merged,
                     StringInput(context, 1, "destination_prefix"));
    ASSIGN_OR_RETURN(const std::vector<std::string> prefixes,
                     Present(context.file_system(), input.flat<std::string>()));
    RETURN_IF_ERROR(context.cancellation().status());
    RETURN_IF_ERROR(checkpoint::MergeBundles(context.file_system(), prefixes,
                                             merged, random_,
                                             &context.cancellation()));
    if (delete_old_dirs_) {
      DeleteOldDirs(context.file_system(), prefixes, merged);
    }
    return absl::OkStatus();
  }

  // Returns the existing shards, or all if none may be missing.
  absl::StatusOr<std::vector<std::string>> Present(
      FileSystem& files, absl::Span<const std::string> prefixes) const {
    std::vector<std::string> present;
    for (const std::string& prefix : prefixes) {
      const absl::Status found =
          allow_missing_files_
              ? files.FileExists(checkpoint::IndexFilename(prefix))
              : absl::OkStatus();
      if (absl::IsNotFound(found)) continue;
      RETURN_IF_ERROR(found);
      present.push_back(prefix);
    }
    return present;
  }

  // Deletes the directories of the shards, which are now empty. A directory
  // that is not empty, or is shared with another shard, is ignored.
  static void DeleteOldDirs(FileSystem& files,
                            absl::Span<const std::string> prefixes,
                            const std::string& merged) {
    for (const std::string& prefix : prefixes) {
      const absl::string_view folder = Dirname(prefix);
      if (folder != Dirname(merged)) (void)files.DeleteDirectory(folder);
    }
  }

  Random& random_;
  const bool delete_old_dirs_;
  const bool allow_missing_files_;
};

absl::Status CheckScalars(const OpKernelContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (context.input(i).rank() == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " must be a scalar, got shape ",
                     context.input(i).shape().ToString()));
  }
  return absl::OkStatus();
}

class ShardedFilenameKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckScalars(context));
    ASSIGN_OR_RETURN(Tensor * name, context.AllocateOutput(0, TensorShape()));
    name->mutable_scalar<std::string>() = absl::StrFormat(
        "%s-%05d-of-%05d", context.input(0).scalar<std::string>(),
        context.input(1).scalar<int32_t>(), context.input(2).scalar<int32_t>());
    return absl::OkStatus();
  }
};

// The pattern that all names of ShardedFilename match.
class ShardedFilespecKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckScalars(context));
    ASSIGN_OR_RETURN(Tensor * name, context.AllocateOutput(0, TensorShape()));
    name->mutable_scalar<std::string>() = absl::StrFormat(
        "%s-\?\?\?\?\?-of-%05d", context.input(0).scalar<std::string>(),
        context.input(1).scalar<int32_t>());
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterCheckpointFileKernels(KernelRegistry& registry) {
  registry.Register<MergeV2CheckpointsKernel>("MergeV2Checkpoints");
  registry.Register<ShardedFilenameKernel>("ShardedFilename", {},
                                           /*is_cheap=*/true);
  registry.Register<ShardedFilespecKernel>("ShardedFilespec", {},
                                           /*is_cheap=*/true);
}

}  // namespace weft
