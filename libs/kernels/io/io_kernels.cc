#include "libs/kernels/io/io_kernels.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/checkpoint/merge_bundles.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/fs/path.h"
#include "libs/kernels/op_kernel.h"

namespace weft {
namespace {

using checkpoint::BundleEntry;
using checkpoint::BundleReader;
using checkpoint::BundleWriter;
using checkpoint::ParseShapeAndSlice;
using checkpoint::ShapeAndSlice;

// A kernel that blocks: it runs where it may.
class FileKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;

  void ComputeAsync(OpKernelContext& context, Done done) final {
    context.scheduler().Schedule(
        Pool::kBlocking, [this, &context, done = std::move(done)]() mutable {
          done(Run(context));
        });
  }

 private:
  virtual absl::Status Run(OpKernelContext& context) const = 0;
};

absl::StatusOr<std::string> StringInput(OpKernelContext& context, int i,
                                        absl::string_view name) {
  const Tensor& input = context.input(i);
  if (input.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input ", name, " should have a single element, got ",
                     input.num_elements(), " instead."));
  }
  return input.flat<std::string>()[0];
}

// What SaveV2 and RestoreV2 are asked for.
struct Request {
  std::string prefix;
  absl::Span<const std::string> names;
  absl::Span<const std::string> slices;  // empty texts: whole tensors
};

absl::StatusOr<Request> ReadRequest(OpKernelContext& context, int num_tensors) {
  Request request;
  ASSIGN_OR_RETURN(request.prefix, StringInput(context, 0, "prefix"));
  const Tensor& names = context.input(1);
  const Tensor& slices = context.input(2);
  if (names.rank() != 1 || slices.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Input tensor_names and shape_and_slices should be an 1-D tensors, "
        "got ",
        names.shape().ToString(), " and ", slices.shape().ToString(),
        " instead."));
  }
  if (names.num_elements() != slices.num_elements()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor_names and shape_and_slices have different number of elements: ",
        names.num_elements(), " vs. ", slices.num_elements()));
  }
  if (names.num_elements() != num_tensors) {
    return absl::InvalidArgumentError(absl::StrCat("Got ", names.num_elements(),
                                                   " tensor names but ",
                                                   num_tensors, " tensors."));
  }
  request.names = names.flat<std::string>();
  request.slices = slices.flat<std::string>();
  return request;
}

class SaveV2Kernel : public FileKernel {
 public:
  explicit SaveV2Kernel(const OpKernelConstruction& construction)
      : FileKernel(construction), random_(construction.random()) {}

 private:
  static constexpr int kFirstTensor = 3;

  absl::Status Run(OpKernelContext& context) const override {
    const int num_tensors = context.num_inputs() - kFirstTensor;
    ASSIGN_OR_RETURN(const Request request, ReadRequest(context, num_tensors));
    RETURN_IF_ERROR(context.cancellation().status());
    ASSIGN_OR_RETURN(
        const std::unique_ptr<BundleWriter> writer,
        BundleWriter::Create(context.file_system(), request.prefix, random_));
    for (int i = 0; i < num_tensors; ++i) {
      RETURN_IF_ERROR(context.cancellation().status());
      RETURN_IF_ERROR(Add(*writer, request.names[i], request.slices[i],
                          context.input(kFirstTensor + i)));
    }
    RETURN_IF_ERROR(context.cancellation().status());
    return writer->Finish();
  }

  static absl::Status Add(BundleWriter& writer, const std::string& name,
                          const std::string& text, const Tensor& tensor) {
    if (text.empty()) return writer.Add(name, tensor);
    ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(text));
    return writer.AddSlice(name, parsed.shape, parsed.slice, tensor);
  }

  Random& random_;
};

class RestoreV2Kernel : public FileKernel {
 public:
  using FileKernel::FileKernel;

 private:
  absl::Status Run(OpKernelContext& context) const override {
    ASSIGN_OR_RETURN(const Request request,
                     ReadRequest(context, context.num_outputs()));
    auto reader = BundleReader::Open(context.file_system(), request.prefix);
    if (absl::IsNotFound(reader.status())) {
      return absl::NotFoundError(absl::StrCat(
          "Unsuccessful TensorSliceReader constructor: Failed to find any "
          "matching files for ",
          request.prefix, ": ", reader.status().message()));
    }
    RETURN_IF_ERROR(reader.status());
    // All are looked at before the first is read.
    for (int i = 0; i < context.num_outputs(); ++i) {
      RETURN_IF_ERROR(Check(**reader, request.names[i], request.slices[i],
                            context.output_type(i)));
    }
    for (int i = 0; i < context.num_outputs(); ++i) {
      RETURN_IF_ERROR(context.cancellation().status());
      ASSIGN_OR_RETURN(Tensor tensor,
                       Read(**reader, request.names[i], request.slices[i],
                            context.allocator()));
      context.SetOutput(i, std::move(tensor));
    }
    return absl::OkStatus();
  }

  static absl::Status Check(BundleReader& reader, const std::string& name,
                            const std::string& text, DataType expected) {
    ASSIGN_OR_RETURN(const BundleEntry entry, reader.Find(name));
    if (entry.dtype != expected) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor_name = ", name, "; expected dtype ", DataTypeName(expected),
          " does not equal original dtype ", DataTypeName(entry.dtype)));
    }
    if (text.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(text));
    if (parsed.shape == entry.shape) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("tensor_name = ", name, "; shape in shape_and_slice spec ",
                     parsed.shape.ToString(),
                     " does not match the shape stored in checkpoint: ",
                     entry.shape.ToString()));
  }

  static absl::StatusOr<Tensor> Read(BundleReader& reader,
                                     const std::string& name,
                                     const std::string& text,
                                     Allocator& allocator) {
    if (text.empty()) return reader.Read(name, allocator);
    ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(text));
    return reader.ReadSlice(name, parsed.slice, allocator);
  }
};

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
                                             merged, random_));
    if (delete_old_dirs_) {
      DeleteOldDirs(context.file_system(), prefixes, merged);
    }
    return absl::OkStatus();
  }

  // Those that are there, or all if none may be missing.
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

  // The folders of the shards, which are empty now. One that is not, or that
  // another shard shared, is nobody's concern.
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

class ShardedFilenameKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (context.input(i).rank() == 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " must be a scalar, got shape ",
                       context.input(i).shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * name, context.AllocateOutput(0, TensorShape()));
    name->mutable_scalar<std::string>() = absl::StrFormat(
        "%s-%05d-of-%05d", context.input(0).scalar<std::string>(),
        context.input(1).scalar<int32_t>(), context.input(2).scalar<int32_t>());
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterIoKernels(KernelRegistry& registry) {
  registry.Register<SaveV2Kernel>("SaveV2");
  registry.Register<RestoreV2Kernel>("RestoreV2");
  registry.Register<MergeV2CheckpointsKernel>("MergeV2Checkpoints");
  registry.Register<ShardedFilenameKernel>("ShardedFilename", {},
                                           /*is_cheap=*/true);
}

}  // namespace weft
