// Kernels of Save and SaveSlices, which write one file in TensorFlow's format
// V1 for graphs older than TensorFlow 1.0.
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/checkpoint/tensor_slice_writer.h"
#include "libs/fs/paced_file_system.h"
#include "libs/kernels/io/checkpoint_request.h"
#include "libs/kernels/io/file_kernel.h"
#include "libs/kernels/io/io_kernels.h"

namespace weft {
namespace {

using checkpoint::TensorSlice;
using checkpoint::TensorSliceWriter;

// Save lacks the third input, the slices.
class SaveSlicesKernel : public FileKernel {
 public:
  explicit SaveSlicesKernel(const OpKernelConstruction& construction)
      : FileKernel(construction),
        random_(construction.random()),
        has_slices_(construction.node().op().name == "SaveSlices") {}

 private:
  absl::Status Run(OpKernelContext& context) const override {
    const MeasuredCheckpoint measured(context, &CheckpointMetrics::save_seconds,
                                      &CheckpointMetrics::save_errors);
    return measured.Ended(Save(context));
  }

  absl::Status Save(OpKernelContext& context) const {
    ASSIGN_OR_RETURN(const std::string path,
                     StringInput(context, 0, "filename"));
    const int first = has_slices_ ? 3 : 2;
    const auto names = context.input(1).flat<std::string>();
    const auto num_tensors = static_cast<size_t>(context.num_inputs() - first);
    if (names.size() != num_tensors) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Got ", names.size(), " tensor names but ", num_tensors, " tensors"));
    }
    if (has_slices_ &&
        context.input(2).num_elements() != context.input(1).num_elements()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected ", names.size(),
                       " elements for the tensor shapes and slices but got ",
                       context.input(2).num_elements()));
    }
    CheckpointMetrics* const metrics = context.checkpoint_metrics();
    PacedFileSystem files(
        context.file_system(),
        {.scheduler = &context.scheduler(),
         .cancellation = &context.cancellation(),
         .written_bytes = metrics ? &metrics->saved_bytes : nullptr});
    TensorSliceWriter writer(files, path, random_);
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string text =
          has_slices_ ? context.input(2).flat<std::string>()[i] : "";
      RETURN_IF_ERROR(Add(writer, names[i], text,
                          context.input(first + static_cast<int>(i))));
    }
    return writer.Finish(&context.cancellation());
  }

  static absl::Status Add(TensorSliceWriter& writer, const std::string& name,
                          const std::string& text, const Tensor& tensor) {
    if (text.empty()) {
      return writer.Add(name, tensor.shape(), TensorSlice(tensor.rank()),
                        tensor);
    }
    ASSIGN_OR_RETURN(const auto parsed, checkpoint::ParseShapeAndSlice(text));
    return writer.Add(name, parsed.shape, parsed.slice, tensor);
  }

  Random& random_;
  const bool has_slices_;
};

}  // namespace

void RegisterSaveSlicesKernels(KernelRegistry& registry) {
  registry.Register<SaveSlicesKernel>("Save");
  registry.Register<SaveSlicesKernel>("SaveSlices");
}

}  // namespace weft
