#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_writer.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/fs/paced_file_system.h"
#include "libs/kernels/checkpoint_metrics.h"
#include "libs/kernels/io/checkpoint_request.h"
#include "libs/kernels/io/file_kernel.h"
#include "libs/kernels/io/io_kernels.h"
#include "libs/kernels/op_kernel.h"
#include "libs/kernels/resource/variable_lookup.h"
#include "libs/resource/chunk_snapshot.h"
#include "libs/resource/resource.h"

namespace weft {
namespace {

using checkpoint::BundleWriter;
using checkpoint::ParseShapeAndSlice;
using checkpoint::PiecewiseTensor;
using checkpoint::ShapeAndSlice;

// `T` is a Tensor or a PiecewiseTensor; `text` its shape_and_slice.
template <typename T>
absl::Status AddToBundle(BundleWriter& writer, const std::string& name,
                         const std::string& text, const T& tensor) {
  if (text.empty()) return writer.Add(name, tensor);
  ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(text));
  return writer.AddSlice(name, parsed.shape, parsed.slice, tensor);
}

// SaveV2 and _SaveVariables, which differ in the source of values.
class SaveKernel : public FileKernel {
 public:
  explicit SaveKernel(const OpKernelConstruction& construction)
      : FileKernel(construction),
        random_(construction.random()),
        max_bytes_per_second_(MaxBytesPerSecond(construction.node())) {}

 protected:
  static constexpr int kFirstTensor = 3;

  // Adds the tensor of the i-th name, with the slice in `text`.
  using AddTensor = absl::FunctionRef<absl::Status(BundleWriter& writer, int i,
                                                   const std::string& name,
                                                   const std::string& text)>;

  absl::Status Save(OpKernelContext& context, const CheckpointRequest& request,
                    AddTensor add) const {
    const MeasuredCheckpoint measured(context, &CheckpointMetrics::save_seconds,
                                      &CheckpointMetrics::save_errors);
    return measured.Ended(WriteBundle(context, request, add));
  }

 private:
  absl::Status WriteBundle(OpKernelContext& context,
                           const CheckpointRequest& request,
                           AddTensor add) const {
    RETURN_IF_ERROR(context.cancellation().status());
    CheckpointMetrics* const metrics = context.checkpoint_metrics();
    PacedFileSystem files(
        context.file_system(),
        {.max_bytes_per_second = max_bytes_per_second_,
         .scheduler = &context.scheduler(),
         .cancellation = &context.cancellation(),
         .written_bytes = metrics ? &metrics->saved_bytes : nullptr});
    ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer,
                     BundleWriter::Create(files, request.prefix, random_));
    for (size_t i = 0; i < request.names.size(); ++i) {
      RETURN_IF_ERROR(context.cancellation().status());
      RETURN_IF_ERROR(add(*writer, static_cast<int>(i), request.names[i],
                          request.slices[i]));
    }
    RETURN_IF_ERROR(context.cancellation().status());
    return writer->Finish(&context.cancellation());
  }

  // Not an attr of TensorFlow's SaveV2; the Saver adds it with this name.
  static int64_t MaxBytesPerSecond(const Node& node) {
    for (const char* name : {"max_bytes_per_second", "_max_bytes_per_second"}) {
      if (const auto* rate = node.attr<int64_t>(name)) return *rate;
    }
    return 0;
  }

  Random& random_;
  const int64_t max_bytes_per_second_;
};

class SaveV2Kernel : public SaveKernel {
 public:
  using SaveKernel::SaveKernel;

 private:
  absl::Status Run(OpKernelContext& context) const override {
    ASSIGN_OR_RETURN(
        const CheckpointRequest request,
        ReadCheckpointRequest(context, context.num_inputs() - kFirstTensor));
    return Save(context, request,
                [&](BundleWriter& writer, int i, const std::string& name,
                    const std::string& text) {
                  return AddToBundle(writer, name, text,
                                     context.input(kFirstTensor + i));
                });
  }
};

// The saved state of one tensor: its value or, for a variable, a snapshot.
struct Saved {
  Tensor value;
  std::unique_ptr<ChunkSnapshot> snapshot;  // null: there is a value
};

// Holds the snapshots of a _MarkVariables for the following _SaveVariables.
class VariableMark : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "VariableMark";

  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override { return "VariableMark"; }

  // Stores `saved`, whose last element is its prefix, and releases earlier
  // snapshots. Returns a number for Forget.
  uint64_t Set(std::vector<Saved> saved) {
    std::vector<Saved> before;  // destroyed without the lock
    absl::MutexLock lock(&mutex_);
    before = std::exchange(saved_, std::move(saved));
    return ++number_;
  }
  // Releases the snapshots of that Set, if they were not taken.
  void Forget(uint64_t number) {
    std::vector<Saved> forgotten;  // destroyed without the lock
    absl::MutexLock lock(&mutex_);
    if (number == number_) forgotten = std::exchange(saved_, {});
  }
  // Returns the snapshots once for each Set; nothing that was set for another
  // prefix, by another Saver.
  std::optional<std::vector<Saved>> Take(const std::string& prefix) {
    absl::MutexLock lock(&mutex_);
    if (saved_.empty()) return std::nullopt;
    const Tensor& owner = saved_.back().value;
    if (owner.dtype() != DT_STRING || owner.num_elements() != 1 ||
        owner.flat<std::string>()[0] != prefix) {
      return std::nullopt;
    }
    saved_.pop_back();
    return std::exchange(saved_, {});
  }

 private:
  absl::Mutex mutex_;
  uint64_t number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Saved> saved_ ABSL_GUARDED_BY(mutex_);
};

// The time that snapshots are kept for their save. It begins once all are set,
// within its max_hold: later, the save has failed, and the snapshots waste
// memory.
constexpr absl::Duration kMarkLease = absl::Minutes(1);

// The inputs of _SaveVariables and _MarkVariables: values, references and
// handles, from input `first` on, and the input of each name.
class SavedInputs {
 public:
  // Returns INVALID_ARGUMENT if the attrs are inconsistent: a client's graph
  // may have such nodes, too.
  absl::Status Read(const OpKernelConstruction& construction, int first) {
    first_ = first;
    ASSIGN_OR_RETURN(const auto values,
                     construction.GetAttr<DataTypeVector>("dtypes"));
    ASSIGN_OR_RETURN(const auto references,
                     construction.GetAttr<DataTypeVector>("reference_dtypes"));
    ASSIGN_OR_RETURN(handle_dtypes_,
                     construction.GetAttr<DataTypeVector>("handle_dtypes"));
    ASSIGN_OR_RETURN(order_,
                     construction.GetAttr<std::vector<int64_t>>("order"));
    ASSIGN_OR_RETURN(
        groups_, construction.GetAttr<std::vector<int64_t>>("snapshot_groups"));
    num_values_ = values.size();
    num_references_ = references.size();
    return Check(construction.node());
  }

  // Takes the values by position of the names. Takes snapshots of the
  // variables, consistent within each group. No step waits for the files, and
  // for updates meanwhile only what ChunkSnapshot states is copied.
  // `allocates_ahead`: preallocates memory for such updates, which takes time
  // in which steps must not be blocked.
  absl::StatusOr<std::vector<Saved>> Take(OpKernelContext& context,
                                          bool allocates_ahead) const {
    const int size = static_cast<int>(order_.size());
    std::vector<Saved> saved(size);
    std::vector<std::shared_ptr<Variable>> variables(size);
    std::map<int64_t, std::vector<int>> groups;
    for (int i = 0; i < size; ++i) {
      if (order_[i] < static_cast<int64_t>(num_values_)) {
        saved[i].value = context.input(InputOf(i));
        continue;
      }
      ASSIGN_OR_RETURN(variables[i], FindVariable(context, i));
      std::vector<int>& group = groups[groups_[i]];
      const bool is_there = std::any_of(group.begin(), group.end(), [&](int k) {
        return variables[k] == variables[i];
      });
      // A variable that is saved under two names forms a separate group.
      (is_there ? groups[-1 - i] : group).push_back(i);
    }
    std::vector<ChunkSnapshot::Ahead> ahead(size);
    if (allocates_ahead) {
      ahead = ChunkSnapshot::AllocateAhead(variables, context.allocator());
    }
    for (const auto& [id, group] : groups) {
      std::vector<std::shared_ptr<Variable>> together;
      std::vector<ChunkSnapshot::Ahead> ahead_of_these;
      for (const int i : group) {
        together.push_back(variables[i]);
        ahead_of_these.push_back(std::move(ahead[i]));
      }
      ASSIGN_OR_RETURN(auto taken,
                       ChunkSnapshot::TakeAll(together, context.allocator(),
                                              std::move(ahead_of_these)));
      for (size_t k = 0; k < group.size(); ++k) {
        saved[group[k]].snapshot = std::move(taken[k]);
      }
    }
    return saved;
  }

 private:
  absl::Status Check(const Node& node) const {
    const auto size = static_cast<size_t>(node.num_inputs() - first_);
    std::vector<int64_t> sorted = order_;
    std::sort(sorted.begin(), sorted.end());
    bool fits = sorted.size() == size && groups_.size() == size &&
                num_values_ + num_references_ + handle_dtypes_.size() == size;
    for (size_t i = 0; i < size && fits; ++i) {
      fits = sorted[i] == static_cast<int64_t>(i);
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(node.type(),
                     " needs an order of all its tensors, a group for each, "
                     "and a type for each handle"));
  }

  // The input of the i-th name.
  int InputOf(int i) const { return first_ + static_cast<int>(order_[i]); }

  absl::StatusOr<std::shared_ptr<Variable>> FindVariable(
      OpKernelContext& context, int i) const {
    const int input = InputOf(i);
    if (context.input_is_ref(input)) return context.input_variable(input);
    ASSIGN_OR_RETURN(const ResourceHandle* handle,
                     VariableHandle(context, input));
    auto variable = VariableLookup().FromInput(context, input);
    if (!variable.ok()) {
      return CouldNotFindVariable(*handle, variable.status());
    }
    RETURN_IF_ERROR(CheckVariableType(
        **variable, handle_dtypes_[order_[i] - num_values_ - num_references_]));
    return variable;
  }

  int first_ = 0;
  std::vector<int64_t> order_;
  std::vector<int64_t> groups_;
  size_t num_values_ = 0;
  size_t num_references_ = 0;
  DataTypeVector handle_dtypes_;
};

// Writes the marked snapshots or, without a mark, takes snapshots itself.
class SaveVariablesKernel : public SaveKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<SaveVariablesKernel>(construction);
    RETURN_IF_ERROR(kernel->inputs_.Read(construction, kFirstTensor));
    kernel->mark_ = construction.GetAttr<std::string>("mark").value_or("");
    return kernel;
  }
  using SaveKernel::SaveKernel;

 private:
  absl::Status Run(OpKernelContext& context) const override {
    // The mark has all of them; some are not inputs.
    ASSIGN_OR_RETURN(
        const CheckpointRequest request,
        ReadCheckpointRequest(
            context, mark_.empty()
                         ? context.num_inputs() - kFirstTensor
                         : static_cast<int>(context.input(1).num_elements())));
    RETURN_IF_ERROR(context.cancellation().status());
    ASSIGN_OR_RETURN(std::vector<Saved> all,
                     mark_.empty()
                         ? inputs_.Take(context, /*allocates_ahead=*/true)
                         : TakeMarked(context, request));
    std::string piece;
    return Save(context, request,
                [&](BundleWriter& writer, int i, const std::string& name,
                    const std::string& text) -> absl::Status {
                  const Saved saved = std::move(all[i]);
                  if (saved.snapshot == nullptr) {
                    return AddToBundle(writer, name, text, saved.value);
                  }
                  return Write(context, writer, name, text, *saved.snapshot,
                               piece);
                });
  }

  absl::StatusOr<std::vector<Saved>> TakeMarked(
      const OpKernelContext& context, const CheckpointRequest& request) const {
    const auto mark = context.resources().Lookup<VariableMark>("", mark_);
    std::optional<std::vector<Saved>> saved;
    if (mark.ok()) saved = (*mark)->Take(request.prefix);
    if (!saved.has_value() || saved->size() != request.names.size()) {
      return absl::FailedPreconditionError(
          "The variables are not marked for this save: the mark is missing or "
          "for another save, was used by a failed save, expired after a "
          "minute, or was lost when the task restarted. Saves between steps "
          "must mark the variables again each time, as Saver::Save does.");
    }
    return *std::move(saved);
  }

  // `piece` is a buffer for a chunk, which is copied so that no lock is held
  // during file access.
  static absl::Status Write(const OpKernelContext& context,
                            BundleWriter& writer, const std::string& name,
                            const std::string& text, ChunkSnapshot& snapshot,
                            std::string& piece) {
    if (const Tensor whole = snapshot.whole(); whole.IsInitialized()) {
      return AddToBundle(writer, name, text, whole);
    }
    const auto read = [&](PiecewiseTensor::Append append) -> absl::Status {
      for (int64_t chunk = 0; chunk < snapshot.num_chunks(); ++chunk) {
        RETURN_IF_ERROR(context.cancellation().status());
        RETURN_IF_ERROR(
            snapshot.ReadChunk(chunk, [&](absl::Span<const char> bytes) {
              piece.assign(bytes.data(), bytes.size());
            }));
        RETURN_IF_ERROR(append(piece));
      }
      return absl::OkStatus();
    };
    return AddToBundle(
        writer, name, text,
        PiecewiseTensor{snapshot.dtype(), snapshot.shape(), read});
  }

  SavedInputs inputs_;
  std::string mark_;
};

// The kernel owns the mark, so it is released with the session at the latest.
class MarkVariablesKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<MarkVariablesKernel>(construction);
    RETURN_IF_ERROR(kernel->inputs_.Read(construction, /*first=*/0));
    ASSIGN_OR_RETURN(kernel->name_, construction.GetAttr<std::string>("mark"));
    ASSIGN_OR_RETURN(const auto max_hold_micros,
                     construction.GetAttr<int64_t>("max_hold_micros"));
    kernel->lease_ = kMarkLease + absl::Microseconds(max_hold_micros);
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(std::vector<Saved> saved,
                     inputs_.Take(context, /*allocates_ahead=*/false));
    RETURN_IF_ERROR(context.cancellation().status());
    const uint64_t number = mark_->Set(std::move(saved));
    context.resources().AddPrivateAs<VariableMark>("", name_, mark_);
    ForgetLater(context.scheduler(), number);
    return absl::OkStatus();
  }

 private:
  void ForgetLater(Scheduler& scheduler, uint64_t number) const {
    const std::weak_ptr<VariableMark> weak = mark_;
    scheduler.ScheduleAt(scheduler.clock().Now() + lease_, [weak, number] {
      if (const auto mark = weak.lock()) mark->Forget(number);
    });
  }

  SavedInputs inputs_;
  std::string name_;
  absl::Duration lease_;
  const std::shared_ptr<VariableMark> mark_ = std::make_shared<VariableMark>();
};

}  // namespace

void RegisterSaveKernels(KernelRegistry& registry) {
  registry.Register<SaveV2Kernel>("SaveV2");
  registry.Register({.op = "_SaveVariables"}, SaveVariablesKernel::Make);
  registry.Register({.op = "_MarkVariables"}, MarkVariablesKernel::Make);
}

}  // namespace weft
