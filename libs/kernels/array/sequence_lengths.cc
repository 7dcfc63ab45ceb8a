#include "libs/kernels/array/sequence_lengths.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"

namespace weft {
namespace {

absl::Status CheckDims(const TensorShape& input, const TensorShape& lengths,
                       const SequenceDims& dims) {
  if (dims.sequence == dims.step) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_dim == seq_dim == ", dims.step));
  }
  if (lengths.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("seq_lens must be 1-dim, not ", lengths.rank()));
  }
  if (dims.step < 0 || dims.step >= input.rank() || dims.sequence < 0 ||
      dims.sequence >= input.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "seq_dim and batch_dim must be in [0, input rank), but are ", dims.step,
        " and ", dims.sequence, " for rank ", input.rank()));
  }
  const int64_t sequences = input.dim(static_cast<int>(dims.sequence));
  if (lengths.dim(0) == sequences) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Length of seq_lens != input.dims(", dims.sequence, "), (",
                   lengths.dim(0), " vs. ", sequences, ")"));
}

absl::Status CheckLength(const TensorShape& input, int64_t i, int64_t length,
                         const SequenceDims& dims) {
  if (length < 0) {
    return absl::InvalidArgumentError(absl::StrCat("seq_lens(", i, ") < 0"));
  }
  if (length > input.dim(static_cast<int>(dims.step))) {
    return absl::InvalidArgumentError(
        absl::StrCat("seq_lens(", i, ") > input.dims(", dims.step, ")"));
  }
  return absl::OkStatus();
}

}  // namespace

SequenceDims SequenceDims::Read(const OpKernelConstruction& construction) {
  SequenceDims dims;
  const int64_t* step = construction.node().attr<int64_t>("seq_dim");
  const int64_t* sequence = construction.node().attr<int64_t>("batch_dim");
  if (step != nullptr) dims.step = *step;
  if (sequence != nullptr) dims.sequence = *sequence;
  return dims;
}

absl::StatusOr<Dims> SequenceLengths(const OpKernelContext& context,
                                     const SequenceDims& dims) {
  const TensorShape& input = context.input(0).shape();
  RETURN_IF_ERROR(CheckDims(input, context.input(1).shape(), dims));
  ASSIGN_OR_RETURN(Dims lengths, IntegersOf(context.input(1)));
  for (size_t i = 0; i < lengths.size(); ++i) {
    RETURN_IF_ERROR(
        CheckLength(input, static_cast<int64_t>(i), lengths[i], dims));
  }
  return lengths;
}

}  // namespace weft
