// Kernels of lookup tables.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "libs/base/exceptions.h"
#include "libs/base/hash_tables.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/base/text_numbers.h"
#include "libs/kernels/common/bounded_file.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/resource/resource_lookup.h"
#include "libs/kernels/session_kernel.h"
#include "libs/kernels/string/string_hash.h"
#include "libs/resource/dense_table.h"
#include "libs/resource/lookup_table.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Returns INVALID_ARGUMENT if the existing table `name` has other types.
absl::Status CheckSharedTypes(const LookupTable& table, DataType key_type,
                              DataType value_type, const std::string& name) {
  if (table.key_type() == key_type && table.value_type() == value_type) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "Conflicting key/value dtypes ", DataTypeName(key_type), "->",
      DataTypeName(value_type), " with ", DataTypeName(table.key_type()), "-",
      DataTypeName(table.value_type()), " for table ", name));
}
absl::Status OtherKind(const std::string& name, const LookupTable& table) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Trying to access resource ", name,
      " as another kind of table than it is: ", table.DebugString()));
}

class TableHandleKernel : public ResourceHandleKernel<LookupTable> {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<TableHandleKernel>(construction);
    RETURN_IF_ERROR(kernel->ReadName(construction));
    ASSIGN_OR_RETURN(kernel->key_type_,
                     construction.GetAttr<DataType>("key_dtype"));
    ASSIGN_OR_RETURN(kernel->value_type_,
                     construction.GetAttr<DataType>("value_dtype"));
    const absl::string_view op = construction.node().type();
    kernel->is_mutable_ = absl::StartsWith(op, "Mutable");
    if (absl::StrContains(op, "OfTensors")) {
      ASSIGN_OR_RETURN(kernel->row_,
                       construction.GetAttr<PartialShape>("value_shape"));
    }
    // Validates the arguments, so that a later Create cannot fail.
    RETURN_IF_ERROR(kernel->New());
    return kernel;
  }
  explicit TableHandleKernel(const OpKernelConstruction& construction)
      : ResourceHandleKernel<LookupTable>(construction) {}

 private:
  absl::StatusOr<std::shared_ptr<LookupTable>> New() const {
    return row_ ? NewTableOfTensors(key_type_, value_type_, *row_)
                : NewLookupTable(key_type_, value_type_, is_mutable_);
  }
  std::shared_ptr<LookupTable> Create(const std::string&) override {
    return *New();
  }

  absl::Status CheckShared(const LookupTable& table) const override {
    RETURN_IF_ERROR(
        CheckSharedTypes(table, key_type_, value_type_, shared_name()));
    const bool is_same =
        table.is_mutable() == is_mutable_ && !table.is_dense() &&
        (row_ ? row_->IsCompatibleWith(PartialShape(table.value_shape()))
              : table.value_shape().IsScalar());
    return is_same ? absl::OkStatus() : OtherKind(shared_name(), table);
  }

  DataType key_type_ = DT_INVALID, value_type_ = DT_INVALID;
  bool is_mutable_ = false;
  std::optional<PartialShape> row_;  // of a table of tensors
};

// Creates dense tables with the options that the enclosing kernel has read.
class DenseTableMaker : public ResourceHandleKernel<LookupTable> {
 public:
  explicit DenseTableMaker(const OpKernelConstruction& construction)
      : ResourceHandleKernel<LookupTable>(construction) {}

  using ResourceHandleKernel<LookupTable>::ReadName;

  // Creates the table that the next call of Create returns. Create itself
  // cannot report errors.
  absl::Status Prepare(DenseTableOptions options) {
    options_ = std::move(options);
    ASSIGN_OR_RETURN(prepared_, NewDenseTable(options_));
    return absl::OkStatus();
  }
  void Forget() { prepared_ = nullptr; }

 private:
  // Returns the prepared table. If resources were reset since Prepare, there is
  // none, and Create makes a new table with the options that Prepare accepted.
  // The new table starts small if memory is short.
  std::shared_ptr<LookupTable> Create(const std::string&) override {
    if (prepared_ != nullptr) return prepared_;
    auto table = NewDenseTable(options_);
    if (table.ok()) return *std::move(table);
    DenseTableOptions small = options_;
    small.num_buckets = 4;
    return *NewDenseTable(small);
  }

  absl::Status CheckShared(const LookupTable& table) const override {
    RETURN_IF_ERROR(CheckSharedTypes(table, options_.empty_key.dtype(),
                                     options_.value_type, shared_name()));
    const bool is_same = table.is_dense() &&
                         table.key_shape() == options_.empty_key.shape() &&
                         table.value_shape() == options_.value_shape;
    return is_same ? absl::OkStatus() : OtherKind(shared_name(), table);
  }

  DenseTableOptions options_;
  std::shared_ptr<LookupTable> prepared_;
};

// Buckets outlive the step, so its allocator does not own them. Buckets without
// values still take time to create, so they count as the smallest.
absl::Status ChargeBuckets(HeapCharge& charge,
                           const DenseTableOptions& options) {
  constexpr size_t kSmallestBucket = 16;
  const size_t value = options.value_type == DT_STRING
                           ? sizeof(std::string)
                           : DataTypeSize(options.value_type);
  // The table rejects invalid numbers of buckets.
  const int64_t buckets = std::max<int64_t>(options.num_buckets, 0);
  size_t bytes = 0;
  if (__builtin_mul_overflow(options.value_shape.num_elements(), value,
                             &bytes) ||
      __builtin_add_overflow(bytes, options.empty_key.TotalBytes(), &bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there can be no ", options.num_buckets, " buckets with values of ",
        options.value_shape.ToString()));
  }
  return Append(charge.AddObjects(buckets, std::max(bytes, kSmallestBucket)),
                absl::StrCat("for ", options.num_buckets,
                             " buckets of a MutableDenseHashTable"));
}

// MutableDenseHashTable: its inputs define the table, so it can only be
// created, or rejected, in a step.
class DenseTableHandleKernel : public OpKernel, public SessionKernel {
 public:
  // The mutex is not needed, because no other thread has the kernel yet.
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    auto kernel = std::make_unique<DenseTableHandleKernel>(construction);
    DenseTableOptions& options = kernel->options_;
    RETURN_IF_ERROR(kernel->maker_.ReadName(construction));
    ASSIGN_OR_RETURN(options.value_type,
                     construction.GetAttr<DataType>("value_dtype"));
    ASSIGN_OR_RETURN(options.num_buckets,
                     construction.GetAttr<int64_t>("initial_num_buckets"));
    ASSIGN_OR_RETURN(options.max_load_factor,
                     construction.GetAttr<float>("max_load_factor"));
    ASSIGN_OR_RETURN(const PartialShape value,
                     construction.GetAttr<PartialShape>("value_shape"));
    if (value.has_rank()) {
      ASSIGN_OR_RETURN(options.value_shape, TensorShape::Create(value.dims()));
    }
    options.hash = &LegacyHash;
    return kernel;
  }
  explicit DenseTableHandleKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), maker_(construction) {}

  absl::Status Compute(OpKernelContext& context) override {
    absl::MutexLock lock(&mutex_);
    const uint64_t generation = context.resources().generation();
    if (generation != generation_) {
      DenseTableOptions options = options_;
      options.empty_key = context.input(0);
      options.deleted_key = context.input(1);
      HeapCharge charge(context.host_allocator());
      RETURN_IF_ERROR(ChargeBuckets(charge, options));
      RETURN_IF_ERROR(maker_.Prepare(std::move(options)));
    }
    const absl::Status status = maker_.Compute(context);
    maker_.Forget();
    if (status.ok()) generation_ = generation;
    return status;
  }

  void EndSession() override {
    absl::MutexLock lock(&mutex_);
    maker_.EndSession();
  }

 private:
  DenseTableOptions options_;  // without the values of inputs
  absl::Mutex mutex_;
  DenseTableMaker maker_ ABSL_GUARDED_BY(mutex_);
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

absl::Status CheckKeyType(const LookupTable& table, DataType type) {
  if (type == table.key_type()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Key must be type ", DataTypeName(table.key_type()),
                   " but got ", DataTypeName(type)));
}

absl::Status CheckValueType(const LookupTable& table, DataType type) {
  if (type == table.value_type()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Value must be type ", DataTypeName(table.value_type()),
                   " but got ", DataTypeName(type)));
}

// The shape of the values for the keys. INVALID_ARGUMENT if the last dimensions
// of the keys are not those of a single key.
absl::StatusOr<TensorShape> ShapeOfValues(const LookupTable& table,
                                          const TensorShape& keys) {
  const TensorShape key = table.key_shape();
  const int outer = keys.rank() - key.rank();
  if (outer < 0 || keys.dims().subspan(outer) != key.dims()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input key shape ", keys.ToString(),
                     " must end with the table's key shape ", key.ToString()));
  }
  if (key.rank() > 0 && outer != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected keys of shape ", key.ToString(),
                     " as the rows of a matrix, got ", keys.ToString()));
  }
  const TensorShape value = table.value_shape();
  Dims dims(keys.dims().begin(), keys.dims().begin() + outer);
  dims.insert(dims.end(), value.dims().begin(), value.dims().end());
  return TensorShape::Create(dims);
}

// Checks the types of keys and values, and that each key has a value.
absl::Status CheckEntries(const LookupTable& table, const Tensor& keys,
                          const Tensor& values) {
  RETURN_IF_ERROR(CheckKeyType(table, keys.dtype()));
  RETURN_IF_ERROR(CheckValueType(table, values.dtype()));
  ASSIGN_OR_RETURN(const TensorShape wanted,
                   ShapeOfValues(table, keys.shape()));
  if (values.shape() == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Expected shape ", wanted.ToString(), " for value, got ",
                   values.shape().ToString()));
}

// Like CheckEntries, for an import: a dense table accepts only the matrices of
// all buckets that it exports.
absl::Status CheckImport(const LookupTable& table, const Tensor& keys,
                         const Tensor& values) {
  if (!table.is_dense()) return CheckEntries(table, keys, values);
  RETURN_IF_ERROR(CheckKeyType(table, keys.dtype()));
  RETURN_IF_ERROR(CheckValueType(table, values.dtype()));
  Dims wanted(keys.shape().dims().begin(), keys.shape().dims().end());
  if (!wanted.empty()) wanted.pop_back();
  wanted.push_back(table.value_shape().num_elements());
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(wanted));
  if (values.shape() == shape) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Expected shape ", shape.ToString(), " for value, got ",
                   values.shape().ToString()));
}

class FindKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto table, FindResource<LookupTable>(context, 0));
    const Tensor& keys = context.input(1);
    const Tensor& fallback = context.input(2);
    RETURN_IF_ERROR(CheckKeyType(*table, keys.dtype()));
    RETURN_IF_ERROR(CheckValueType(*table, fallback.dtype()));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     ShapeOfValues(*table, keys.shape()));
    if (fallback.shape() != table->value_shape() && fallback.shape() != shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected shape ", table->value_shape().ToString(),
                       " or ", shape.ToString(), " for default value, got ",
                       fallback.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(0, shape));
    HeapCharge charge(context.host_allocator());
    return table->Find(keys, fallback, *values, charge);
  }
};

// Insert, Import and Initialize differ in the method and in the check.
template <absl::Status (LookupTable::*kMethod)(const Cancellation&,
                                               const Tensor&, const Tensor&),
          absl::Status (*kCheck)(const LookupTable&, const Tensor&,
                                 const Tensor&) = &CheckEntries>
class FillKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto table, FindResource<LookupTable>(context, 0));
    RETURN_IF_ERROR(kCheck(*table, context.input(1), context.input(2)));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, context.input(1)));
    RETURN_IF_ERROR(ChargeStrings(charge, context.input(2)));
    return ((*table).*kMethod)(context.cancellation(), context.input(1),
                               context.input(2));
  }
};

class RemoveKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto table, FindResource<LookupTable>(context, 0));
    RETURN_IF_ERROR(CheckKeyType(*table, context.input(1).dtype()));
    RETURN_IF_ERROR(ShapeOfValues(*table, context.input(1).shape()).status());
    return table->Remove(context.cancellation(), context.input(1));
  }
};

class SizeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto table, FindResource<LookupTable>(context, 0));
    context.SetOutput(0, Tensor::Scalar(table->size()));
    return absl::OkStatus();
  }
};

class ExportKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto table, FindResource<LookupTable>(context, 0));
    RETURN_IF_ERROR(CheckKeyType(*table, context.output_type(0)));
    RETURN_IF_ERROR(CheckValueType(*table, context.output_type(1)));
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(auto entries, table->Export(charge));
    context.SetOutput(0, std::move(entries.first));
    context.SetOutput(1, std::move(entries.second));
    return absl::OkStatus();
  }
};

// A column of keys or values: the line, its number, or one of its fields.
class LineColumn {
 public:
  static constexpr int64_t kWholeLine = -2;
  static constexpr int64_t kLineNumber = -1;

  LineColumn(int64_t index, int64_t offset, DataType type)
      : index_(index), offset_(offset), type_(type) {}

  absl::Status Check() const {
    if (index_ == kWholeLine && type_ != DT_STRING && type_ != DT_INT64 &&
        type_ != DT_INT32) {
      return absl::InvalidArgumentError(
          "only strings and integers can be the whole line of a vocabulary");
    }
    if (index_ != kLineNumber || type_ == DT_INT64) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "only int64 can be the line number of a vocabulary");
  }

  // Errors count the lines of the file at `path` from 1.
  absl::StatusOr<Tensor> Read(const std::vector<absl::string_view>& lines,
                              const std::string& delimiter,
                              const std::string& path) const {
    Tensor column(type_, {static_cast<int64_t>(lines.size())});
    for (size_t i = 0; i < lines.size(); ++i) {
      const int64_t row = static_cast<int64_t>(i);
      if (index_ == kLineNumber) {
        // Wraps around.
        column.mutable_flat<int64_t>()[i] = static_cast<int64_t>(
            static_cast<uint64_t>(row) + static_cast<uint64_t>(offset_));
        continue;
      }
      absl::string_view text = lines[i];
      if (index_ >= 0) {
        const std::vector<absl::string_view> fields =
            absl::StrSplit(lines[i], delimiter);
        if (index_ >= static_cast<int64_t>(fields.size())) {
          return absl::InvalidArgumentError(
              absl::StrCat("Invalid number of columns in ", path, " line ",
                           i + 1, " (", lines[i], ") : expected at least ",
                           index_ + 1, " got ", fields.size()));
        }
        text = fields[index_];
      }
      RETURN_IF_ERROR(Set(text, row, path, column));
    }
    return column;
  }

 private:
  static absl::Status Set(absl::string_view text, int64_t row,
                          const std::string& path, Tensor& column) {
    bool is_good = true;
    switch (column.dtype()) {
      case DT_STRING:
        column.mutable_flat<std::string>()[row] = std::string(text);
        break;
      case DT_INT64:
        is_good = ParseNumber(text, column.mutable_flat<int64_t>()[row]);
        break;
      case DT_INT32:
        is_good = ParseNumber(text, column.mutable_flat<int32_t>()[row]);
        break;
      case DT_FLOAT:
        is_good = ParseNumber(text, column.mutable_flat<float>()[row]);
        break;
      case DT_DOUBLE:
        is_good = ParseNumber(text, column.mutable_flat<double>()[row]);
        break;
      default:
        is_good = false;
    }
    if (is_good) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("Field ", text, " in line ", row + 1, " of ", path,
                     " is not a valid ", DataTypeName(column.dtype()), "."));
  }

  const int64_t index_, offset_;
  const DataType type_;
};

// Files may be slow, so they are read on the blocking pool.
class InitializeFromFileKernel : public AsyncOpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<InitializeFromFileKernel>(construction);
    ASSIGN_OR_RETURN(kernel->key_index_,
                     construction.GetAttr<int64_t>("key_index"));
    ASSIGN_OR_RETURN(kernel->value_index_,
                     construction.GetAttr<int64_t>("value_index"));
    ASSIGN_OR_RETURN(kernel->vocab_size_,
                     construction.GetAttr<int64_t>("vocab_size"));
    ASSIGN_OR_RETURN(kernel->offset_, construction.GetAttr<int64_t>("offset"));
    ASSIGN_OR_RETURN(kernel->delimiter_,
                     construction.GetAttr<std::string>("delimiter"));
    if (kernel->delimiter_.size() == 1) return kernel;
    return absl::InvalidArgumentError(absl::StrCat(
        "delimiter should be only 1 char, not '", kernel->delimiter_, "'"));
  }
  using AsyncOpKernel::AsyncOpKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    context.scheduler().Schedule(
        Pool::kBlocking, [this, &context, done = std::move(done)]() mutable {
          done(CatchExceptions([&] { return Initialize(context); }));
        });
  }

 private:
  absl::Status Initialize(OpKernelContext& context) const {
    RETURN_IF_ERROR(context.cancellation().status());
    ASSIGN_OR_RETURN(auto table, FindResource<LookupTable>(context, 0));
    const Tensor& name = context.input(1);
    if (name.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("filename should be a single string, but got ",
                       name.shape().ToString()));
    }
    const LineColumn keys(key_index_, offset_, table->key_type());
    const LineColumn values(value_index_, offset_, table->value_type());
    RETURN_IF_ERROR(keys.Check());
    RETURN_IF_ERROR(values.Check());
    const std::string& path = name.scalar<std::string>();
    ASSIGN_OR_RETURN(const BoundedFile file, ReadFile(context, path));
    ASSIGN_OR_RETURN(const std::vector<absl::string_view> lines,
                     LinesOf(file.contents, path));
    ASSIGN_OR_RETURN(const Tensor key_column,
                     keys.Read(lines, delimiter_, path));
    ASSIGN_OR_RETURN(const Tensor value_column,
                     values.Read(lines, delimiter_, path));
    return NameLines(
        table->Initialize(context.cancellation(), key_column, value_column),
        key_column, value_column, path);
  }

  // Adds the line numbers to the error of a table that got two values for one
  // key.
  static absl::Status NameLines(const absl::Status& filled, const Tensor& keys,
                                const Tensor& values, const std::string& path) {
    if (!absl::IsFailedPrecondition(filled)) return filled;
    FlatHashMap<std::string, int64_t> first;
    for (int64_t i = 0; i < keys.num_elements(); ++i) {
      const std::string key = TextAt(keys, i);
      const auto [at, is_new] = first.emplace(key, i);
      if (is_new || TextAt(values, i) == TextAt(values, at->second)) continue;
      return Append(filled, absl::StrCat("(", path, " has '", key, "' in line ",
                                         at->second + 1, " and again in line ",
                                         i + 1, ": remove one of them)"));
    }
    return Annotate(filled, path);
  }

  // Supports the types that columns may have.
  static std::string TextAt(const Tensor& column, int64_t i) {
    switch (column.dtype()) {
      case DT_STRING:
        return column.flat<std::string>()[i];
      case DT_INT64:
        return absl::StrCat(column.flat<int64_t>()[i]);
      case DT_INT32:
        return absl::StrCat(column.flat<int32_t>()[i]);
      case DT_FLOAT:
        return absl::StrCat(column.flat<float>()[i]);
      case DT_DOUBLE:
        return absl::StrCat(column.flat<double>()[i]);
      default:
        return "";
    }
  }

  static absl::StatusOr<BoundedFile> ReadFile(OpKernelContext& context,
                                              const std::string& path) {
    auto file = ReadBoundedFile(context.file_system(), path,
                                context.allocator(), &context.cancellation());
    if (file.ok() || absl::IsResourceExhausted(file.status())) return file;
    return Annotate(file.status(),
                    "the table's file cannot be read; put it at its path on "
                    "the task that fills the table");
  }

  absl::StatusOr<std::vector<absl::string_view>> LinesOf(
      absl::string_view text, const std::string& path) const {
    std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
    if (lines.back().empty()) lines.pop_back();
    for (absl::string_view& line : lines) absl::ConsumeSuffix(&line, "\r");
    if (static_cast<int64_t>(lines.size()) < vocab_size_) {
      return absl::InvalidArgumentError(
          absl::StrCat("Invalid vocab_size in ", path, ": expected ",
                       vocab_size_, " but got ", lines.size()));
    }
    if (vocab_size_ >= 0) lines.resize(vocab_size_);
    const auto empty = absl::c_find(lines, "");
    if (empty == lines.end()) return lines;
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid content in ", path, ": empty line found at line ",
                     empty - lines.begin() + 1));
  }

  int64_t key_index_ = 0, value_index_ = 0, vocab_size_ = -1, offset_ = 0;
  std::string delimiter_;
};

// Registers a kernel for both kinds of handles.
template <typename Kernel>
void RegisterBoth(KernelRegistry& registry, const char* on_reference,
                  const char* on_resource) {
  registry.Register<Kernel>(on_reference);
  registry.Register<Kernel>(on_resource);
}

}  // namespace

void RegisterLookupKernels(KernelRegistry& registry) {
  const auto table = [](const char* op) {
    KernelDef def;
    def.op = op;
    def.types = {{"key_dtype", TableKeyTypes()},
                 {"value_dtype", TableValueTypes()}};
    return def;
  };
  for (const char* op :
       {"HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2",
        "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2"}) {
    registry.Register(table(op), TableHandleKernel::Make);
  }
  registry.Register(table("MutableDenseHashTableV2"),
                    DenseTableHandleKernel::Make);
  RegisterBoth<FillKernel<&LookupTable::Initialize>>(
      registry, "InitializeTable", "InitializeTableV2");
  for (const char* op :
       {"InitializeTableFromTextFile", "InitializeTableFromTextFileV2"}) {
    registry.Register({.op = op}, InitializeFromFileKernel::Make);
  }
  RegisterBoth<FindKernel>(registry, "LookupTableFind", "LookupTableFindV2");
  RegisterBoth<FillKernel<&LookupTable::Insert>>(registry, "LookupTableInsert",
                                                 "LookupTableInsertV2");
  RegisterBoth<FillKernel<&LookupTable::Import, &CheckImport>>(
      registry, "LookupTableImport", "LookupTableImportV2");
  RegisterBoth<SizeKernel>(registry, "LookupTableSize", "LookupTableSizeV2");
  RegisterBoth<ExportKernel>(registry, "LookupTableExport",
                             "LookupTableExportV2");
  registry.Register<RemoveKernel>("LookupTableRemoveV2");
}

}  // namespace weft
