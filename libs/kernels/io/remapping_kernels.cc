// Kernels for warm starts: GenerateVocabRemapping maps the entries of a
// vocabulary to an older one, LoadAndRemapMatrix reads the matrix of a
// checkpoint in that order. Behavior and errors are TensorFlow's
// (core/kernels/{generate_vocab_remapping,load_and_remap_matrix}_op.cc), except
// for a column missing in the old matrix, which TensorFlow leaves zero.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/fs/input_stream.h"
#include "libs/kernels/io/file_kernel.h"
#include "libs/kernels/io/io_kernels.h"

namespace weft {
namespace {

using checkpoint::CheckpointReader;
using checkpoint::TensorSlice;

absl::StatusOr<std::string> OneString(OpKernelContext& context, int i,
                                      absl::string_view name) {
  const Tensor& input = context.input(i);
  if (input.num_elements() == 1) return input.flat<std::string>()[0];
  return absl::InvalidArgumentError(absl::StrCat(
      "The `", name, "` tensor must have exactly one element, got tensor of ",
      "shape ", input.shape().ToString()));
}

// Reads the lines of a text file in a step that may be cancelled.
class VocabularyReader {
 public:
  static absl::StatusOr<std::unique_ptr<VocabularyReader>> Open(
      OpKernelContext& context, const std::string& path) {
    ASSIGN_OR_RETURN(auto file,
                     context.file_system().NewRandomAccessFile(path));
    return std::make_unique<VocabularyReader>(context, path, std::move(file));
  }
  VocabularyReader(OpKernelContext& context, const std::string& path,
                   std::unique_ptr<RandomAccessFile> file)
      : context_(context),
        path_(path),
        stream_(NewInputStream(std::move(file), Compression::kNone)),
        lines_(*stream_) {}

  // Reads the next line into `line`; returns whether there was one.
  absl::StatusOr<bool> Next(std::string& line) {
    if (++count_ % 1024 == 0) {
      RETURN_IF_ERROR(context_.cancellation().status());
    }
    const absl::Status status = lines_.ReadLine(line);
    if (absl::IsOutOfRange(status)) return false;
    RETURN_IF_ERROR(status);
    if (!line.empty()) return true;
    return absl::InvalidArgumentError(absl::StrCat(
        "Invalid content in ", path_, ": empty line found at line ", count_));
  }

 private:
  OpKernelContext& context_;
  const std::string path_;
  const std::unique_ptr<InputStream> stream_;
  LineReader lines_;
  int64_t count_ = 0;
};

class GenerateVocabRemappingKernel : public FileKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<GenerateVocabRemappingKernel>(construction);
    ASSIGN_OR_RETURN(kernel->offset_,
                     construction.GetAttr<int64_t>("new_vocab_offset"));
    ASSIGN_OR_RETURN(kernel->num_new_,
                     construction.GetAttr<int64_t>("num_new_vocab"));
    ASSIGN_OR_RETURN(kernel->old_size_,
                     construction.GetAttr<int64_t>("old_vocab_size"));
    return kernel;
  }
  using FileKernel::FileKernel;

 private:
  using LineNumbers = FlatHashMap<std::string, int64_t>;

  absl::Status Run(OpKernelContext& context) const override {
    ASSIGN_OR_RETURN(const std::string new_path,
                     OneString(context, 0, "new_vocab_file"));
    ASSIGN_OR_RETURN(const std::string old_path,
                     OneString(context, 1, "old_vocab_file"));
    ASSIGN_OR_RETURN(const LineNumbers old, ReadOld(context, old_path));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create({num_new_}));
    ASSIGN_OR_RETURN(Tensor remapping, context.AllocateTemp(DT_INT64, shape));
    ASSIGN_OR_RETURN(
        const int64_t present,
        Find(context, new_path, old, remapping.mutable_flat<int64_t>()));
    context.SetOutput(0, std::move(remapping));
    context.SetOutput(1, Tensor::Scalar(static_cast<int32_t>(present)));
    return absl::OkStatus();
  }

  absl::StatusOr<LineNumbers> ReadOld(OpKernelContext& context,
                                      const std::string& path) const {
    ASSIGN_OR_RETURN(const auto lines, VocabularyReader::Open(context, path));
    LineNumbers numbers;
    std::string line;
    for (int64_t i = 0; old_size_ < 0 || i < old_size_; ++i) {
      ASSIGN_OR_RETURN(const bool is_there, lines->Next(line));
      if (!is_there) {
        if (old_size_ < 0) break;
        return absl::InvalidArgumentError(
            absl::StrCat("Invalid vocab_size in ", path, ": expected ",
                         old_size_, " but got ", i));
      }
      const auto [at, is_new] = numbers.emplace(line, i);
      if (is_new) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "HashTable has different value for same key. Key ", line, " has ",
          at->second, " and trying to add value ", i, ": line ", at->second + 1,
          " of ", path, " is repeated."));
    }
    return numbers;
  }

  // Fills `remapping`; returns the number of new entries that are old.
  absl::StatusOr<int64_t> Find(OpKernelContext& context,
                               const std::string& path, const LineNumbers& old,
                               absl::Span<int64_t> remapping) const {
    ASSIGN_OR_RETURN(const auto lines, VocabularyReader::Open(context, path));
    int64_t present = 0;
    std::string line;
    for (int64_t i = -offset_; i < num_new_; ++i) {
      ASSIGN_OR_RETURN(const bool is_there, lines->Next(line));
      if (!is_there) {
        return absl::InvalidArgumentError(
            absl::StrCat("lookup table size must be larger than last new vocab "
                         "entry's line: ",
                         path, " has ", i + offset_, " lines, not ", offset_,
                         " + ", num_new_));
      }
      if (i < 0) continue;
      const auto found = old.find(line);
      remapping[i] = found == old.end() ? -1 : found->second;
      present += remapping[i] >= 0 ? 1 : 0;
    }
    return present;
  }

  int64_t offset_ = 0, num_new_ = 0, old_size_ = -1;
};

// The number of rows copied between checks for cancellation.
constexpr int64_t kRowsAtOnce = 1 << 12;
constexpr size_t kElementsAtOnce = size_t{1} << 20;

// The target of each row or column of the old matrix; -1: none.
struct Remapping {
  FlatHashMap<int64_t, int64_t> new_of_old;
  std::vector<bool> is_present;  // indexed by new id
  int64_t min_old = 0, end_old = 0;

  static absl::StatusOr<Remapping> Of(absl::Span<const int64_t> old_of_new) {
    Remapping result;
    result.is_present.resize(old_of_new.size());
    for (size_t i = 0; i < old_of_new.size(); ++i) {
      const int64_t old = old_of_new[i];
      if (old < 0) continue;
      if (old == std::numeric_limits<int64_t>::max()) {
        return absl::InvalidArgumentError(
            absl::StrCat("Old ID ", old, " is larger than any matrix has"));
      }
      const auto id = static_cast<int64_t>(i);
      const auto [at, is_new] = result.new_of_old.emplace(old, id);
      if (!is_new) {
        return absl::UnimplementedError(
            absl::StrCat("Old ID ", old, " is mapped to both new ID ",
                         at->second, " and ", id, ", which is not supported."));
      }
      const bool is_first = result.new_of_old.size() == 1;
      result.min_old = is_first ? old : std::min(result.min_old, old);
      result.end_old = std::max(result.end_old, old + 1);
      result.is_present[i] = true;
    }
    return result;
  }
};

class LoadAndRemapMatrixKernel : public FileKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<LoadAndRemapMatrixKernel>(construction);
    ASSIGN_OR_RETURN(kernel->num_rows_,
                     construction.GetAttr<int64_t>("num_rows"));
    ASSIGN_OR_RETURN(kernel->num_columns_,
                     construction.GetAttr<int64_t>("num_cols"));
    ASSIGN_OR_RETURN(kernel->max_rows_in_memory_,
                     construction.GetAttr<int64_t>("max_rows_in_memory"));
    return kernel;
  }
  using FileKernel::FileKernel;

 private:
  absl::Status Run(OpKernelContext& context) const override {
    ASSIGN_OR_RETURN(const std::string prefix,
                     OneString(context, 0, "ckpt_path"));
    ASSIGN_OR_RETURN(const std::string name,
                     OneString(context, 1, "old_tensor_name"));
    ASSIGN_OR_RETURN(const Remapping rows, RowRemapping(context));
    ASSIGN_OR_RETURN(const auto columns, ColumnRemapping(context));
    RETURN_IF_ERROR(context.cancellation().status());
    ASSIGN_OR_RETURN(const auto reader,
                     CheckpointReader::Open(context.file_system(), prefix,
                                            &context.cancellation(),
                                            context.host_allocator()));
    RETURN_IF_ERROR(CheckOld(*reader, name, rows, columns));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create({num_rows_, num_columns_}));
    ASSIGN_OR_RETURN(Tensor output, context.AllocateTemp(DT_FLOAT, shape));
    RETURN_IF_ERROR(CopyOld(context, *reader, name, rows, columns, output));
    RETURN_IF_ERROR(FillMissing(context, rows, columns, output));
    context.SetOutput(0, std::move(output));
    return absl::OkStatus();
  }

  static absl::StatusOr<absl::Span<const int64_t>> Vector(
      OpKernelContext& context, int i, absl::string_view name) {
    const Tensor& input = context.input(i);
    if (input.rank() == 1) return input.flat<int64_t>();
    return absl::InvalidArgumentError(
        absl::StrCat("The `", name, "` tensor must be 1-D, got a tensor of ",
                     "shape ", input.shape().ToString()));
  }

  absl::StatusOr<Remapping> RowRemapping(OpKernelContext& context) const {
    ASSIGN_OR_RETURN(const auto old_of_new,
                     Vector(context, 2, "row_remapping"));
    if (static_cast<int64_t>(old_of_new.size()) != num_rows_) {
      return absl::InvalidArgumentError(
          absl::StrCat("Size of row_remapping is ", old_of_new.size(),
                       " instead of being equal to num_rows=", num_rows_));
    }
    return Remapping::Of(old_of_new);
  }

  // nullopt: columns stay in place.
  absl::StatusOr<std::optional<Remapping>> ColumnRemapping(
      OpKernelContext& context) const {
    ASSIGN_OR_RETURN(const auto old_of_new,
                     Vector(context, 3, "col_remapping"));
    if (old_of_new.empty()) return std::nullopt;
    if (static_cast<int64_t>(old_of_new.size()) != num_columns_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Provided col_remapping, but its size is ", old_of_new.size(),
          " instead of being equal to num_cols=", num_columns_));
    }
    return Remapping::Of(old_of_new);
  }

  // Checks that the old matrix has all requested rows and columns.
  absl::Status CheckOld(CheckpointReader& reader, const std::string& name,
                        const Remapping& rows,
                        const std::optional<Remapping>& columns) const {
    ASSIGN_OR_RETURN(const auto entry, reader.FindTensor(name));
    if (entry->dtype != DT_FLOAT) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Tensor ", name, " has invalid type ", DataTypeName(entry->dtype),
          " instead of expected type float"));
    }
    const TensorShape& shape = entry->shape;
    if (shape.rank() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Tensor ", name, " has shape ", shape.ToString(), " of invalid rank ",
          shape.rank(), " instead of expected shape of rank 2."));
    }
    if (!columns.has_value() && shape.dim(1) != num_columns_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Tensor ", name, " has shape ", shape.ToString(),
          ", where the size of its 2nd dimension is ", shape.dim(1),
          " instead of being equal to num_cols=", num_columns_));
    }
    if (rows.end_old > shape.dim(0) ||
        (columns.has_value() && columns->end_old > shape.dim(1))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Row ", rows.end_old - 1, " and column ",
          columns.has_value() ? columns->end_old - 1 : num_columns_ - 1,
          " are requested from tensor ", name, " of shape ", shape.ToString(),
          ": the old vocabulary is not the one that the checkpoint was written "
          "with."));
    }
    return absl::OkStatus();
  }

  // Copies as many rows at a time as may be in memory.
  absl::Status CopyOld(OpKernelContext& context, CheckpointReader& reader,
                       const std::string& name, const Remapping& rows,
                       const std::optional<Remapping>& columns,
                       Tensor& output) const {
    const int64_t all = rows.end_old - rows.min_old;
    const int64_t step =
        max_rows_in_memory_ > 0 ? std::min(max_rows_in_memory_, all) : all;
    for (int64_t row = rows.min_old; row < rows.end_old; row += step) {
      RETURN_IF_ERROR(context.cancellation().status());
      const int64_t count = std::min(step, rows.end_old - row);
      ASSIGN_OR_RETURN(const TensorSlice slice,
                       TensorSlice::Create({{row, count}, {}}));
      ASSIGN_OR_RETURN(const Tensor old,
                       reader.ReadSlice(name, slice, context.allocator()));
      for (int64_t i = 0; i < count; ++i) {
        if (i % kRowsAtOnce == 0) {
          RETURN_IF_ERROR(context.cancellation().status());
        }
        const auto to = rows.new_of_old.find(row + i);
        if (to != rows.new_of_old.end()) {
          CopyRow(old, i, columns, to->second, output);
        }
      }
    }
    return absl::OkStatus();
  }

  void CopyRow(const Tensor& old, int64_t row,
               const std::optional<Remapping>& columns, int64_t to,
               Tensor& output) const {
    const float* const from = old.flat<float>().data() + row * old.dim(1);
    float* const out = output.mutable_flat<float>().data() + to * num_columns_;
    if (!columns.has_value()) {
      std::copy_n(from, num_columns_, out);
      return;
    }
    for (const auto& [old_id, new_id] : columns->new_of_old) {
      out[new_id] = from[old_id];
    }
  }

  // Row by row, one number for each element.
  absl::Status FillMissing(OpKernelContext& context, const Remapping& rows,
                           const std::optional<Remapping>& columns,
                           Tensor& output) const {
    const auto values = context.input(4).flat<float>();
    const auto out = output.mutable_flat<float>();
    size_t used = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      if (i % kElementsAtOnce == 0) {
        RETURN_IF_ERROR(context.cancellation().status());
      }
      const int64_t row = static_cast<int64_t>(i) / num_columns_;
      const int64_t column = static_cast<int64_t>(i) % num_columns_;
      if (rows.is_present[row] &&
          (!columns.has_value() || columns->is_present[column])) {
        continue;
      }
      if (used == values.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("initializing_values contained ", values.size(),
                         " elements, but more missing values remain."));
      }
      out[i] = values[used++];
    }
    if (used == values.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "initializing_values contained ", values.size(), " elements, but only ",
        used, " elements were used to fill in missing values."));
  }

  int64_t num_rows_ = 0, num_columns_ = 1, max_rows_in_memory_ = -1;
};

}  // namespace

void RegisterRemappingKernels(KernelRegistry& registry) {
  registry.Register({.op = "GenerateVocabRemapping"},
                    GenerateVocabRemappingKernel::Make);
  registry.Register({.op = "LoadAndRemapMatrix"},
                    LoadAndRemapMatrixKernel::Make);
}

}  // namespace weft
