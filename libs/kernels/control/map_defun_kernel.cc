// MapDefun: a function's results for each row of its arguments.
#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/control/calling_kernel.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Far above any map; bounds the memory that one shape can make a kernel
// allocate.
constexpr int64_t kMaxRows = int64_t{1} << 24;

// Returns the shape of `rows` stacked tensors of shape `row`.
absl::StatusOr<TensorShape> RowsOf(int64_t rows,
                                   absl::Span<const int64_t> row) {
  std::vector<int64_t> dims = {rows};
  dims.insert(dims.end(), row.begin(), row.end());
  return TensorShape::Create(dims);
}

// Returns one row of `tensor`, without the first dimension.
absl::StatusOr<Tensor> RowOf(const Tensor& tensor, int64_t row,
                             Allocator& allocator) {
  ASSIGN_OR_RETURN(const Tensor slice,
                   tensor.SliceRows(row, row + 1, allocator));
  ASSIGN_OR_RETURN(TensorShape shape,
                   TensorShape::Create(tensor.shape().dims().subspan(1)));
  return slice.Reshaped(std::move(shape));
}

// The calls of one run: a limited number at a time, in row order.
class RowCalls : public std::enable_shared_from_this<RowCalls> {
 public:
  static constexpr int64_t kAtOnce = 16;

  // `context` must live until `done` is called.
  RowCalls(OpKernelContext& context, const RunnableFunction& function,
           const std::vector<PartialShape>& shapes, int num_mapped,
           AsyncOpKernel::Done done)
      : context_(context),
        function_(function),
        shapes_(shapes),
        num_mapped_(num_mapped),
        num_rows_(context.input(0).dim(0)),
        done_(std::move(done)),
        results_(num_rows_) {}

  void Begin() {
    const int64_t first = std::min(kAtOnce, num_rows_);
    if (first == 0) return End();
    {
      absl::MutexLock lock(&mutex_);
      running_ = first;
      next_ = first;
    }
    for (int64_t row = 0; row < first; ++row) Call(row);
  }

 private:
  using Results = absl::StatusOr<std::vector<Tensor>>;

  // The `done` of one call. If an exception destroys it without a call, its row
  // fails: otherwise the other rows, which hold the calls, would wait for it
  // forever. Destruction without an exception does nothing, because it may
  // outlive the step: a scheduler that ends destroys closures that it has not
  // run.
  class RowDone {
   public:
    RowDone(std::shared_ptr<RowCalls> calls, int64_t row)
        : calls_(std::move(calls)), row_(row) {}
    RowDone(RowDone&&) = default;
    RowDone& operator=(RowDone&&) = delete;
    ~RowDone() {
      if (calls_ == nullptr) return;
      if (std::current_exception() != nullptr) {
        calls_->Ended(row_, CurrentExceptionStatus());
      } else if (std::uncaught_exceptions() > 0) {
        calls_->Ended(row_, StatusWithoutThrowing([this] { return Lost(); }));
      }
    }

    void operator()(Results results) {
      std::exchange(calls_, nullptr)->Ended(row_, std::move(results));
    }

   private:
    absl::Status Lost() const {
      return absl::ResourceExhaustedError(absl::StrCat(
          "an exception, most likely for lack of memory, ended the call for "
          "row ",
          row_));
    }

    std::shared_ptr<RowCalls> calls_;
    int64_t row_;
  };

  absl::StatusOr<std::vector<Tensor>> ArgsOf(int64_t row) const {
    std::vector<Tensor> args;
    for (int i = 0; i < context_.num_inputs(); ++i) {
      if (i >= num_mapped_) {
        args.push_back(context_.input(i));
        continue;
      }
      ASSIGN_OR_RETURN(Tensor arg,
                       RowOf(context_.input(i), row, context_.allocator()));
      args.push_back(std::move(arg));
    }
    return args;
  }

  void Call(int64_t row) {
    absl::StatusOr<std::vector<Tensor>> args =
        CatchExceptions([&] { return ArgsOf(row); });
    if (!args.ok()) return Ended(row, args.status());
    // An exception that destroys the RowDone ends the row.
    CatchExceptions([&] {
      function_.Run(context_.step(), *std::move(args),
                    RowDone(shared_from_this(), row));
      return absl::OkStatus();
    }).IgnoreError();
  }

  void Ended(int64_t row, Results results) {
    int64_t next = -1;
    {
      absl::MutexLock lock(&mutex_);
      if (results.ok()) {
        results_[row] = *std::move(results);
      } else if (status_.ok() ||
                 (IsDerived(status_) && !IsDerived(results.status()))) {
        status_ = results.status();
      }
      if (status_.ok() && next_ < num_rows_) {
        next = next_++;
      } else if (--running_ > 0) {
        return;
      }
    }
    if (next < 0) return End();
    const absl::Status scheduled = CatchExceptions([&] {
      ScheduleCall(next);
      return absl::OkStatus();
    });
    if (!scheduled.ok()) Ended(next, scheduled);
  }

  // Schedules the call instead of making it here, because calls that end
  // immediately would nest on the stack.
  void ScheduleCall(int64_t row) {
    context_.scheduler().Schedule(
        Pool::kCompute, [self = shared_from_this(), row] { self->Call(row); });
  }

  // `context_` must not be used after `done_` was called.
  void End() {
    absl::Status status = CatchExceptions([&] { return SetOutputs(); });
    AsyncOpKernel::Done done = std::move(done_);
    done(std::move(status));
  }

  // Called when no call is running any more.
  absl::Status SetOutputs() {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(status_);
    for (int i = 0; i < context_.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor output, Joined(i));
      context_.SetOutput(i, std::move(output));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Joined(int i) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const DataType dtype = context_.output_type(i);
    if (num_rows_ == 0) return NoRows(i);
    const TensorShape& row = results_[0][i].shape();
    ASSIGN_OR_RETURN(const TensorShape shape, RowsOf(num_rows_, row.dims()));
    ASSIGN_OR_RETURN(Tensor output, context_.AllocateTemp(dtype, shape));
    HeapCharge charge(context_.host_allocator());
    const int64_t elements = row.num_elements();
    for (int64_t r = 0; r < num_rows_; ++r) {
      const Tensor& result = results_[r][i];
      if (result.dtype() != dtype || result.shape() != row) {
        return absl::InvalidArgumentError(absl::StrCat(
            "result ", i, " of row ", r, " is ", DataTypeName(result.dtype()),
            " ", result.shape().ToString(), ", but ", DataTypeName(dtype), " ",
            row.ToString(), " in row 0"));
      }
      RETURN_IF_ERROR(
          CopyElements(charge, result, 0, elements, output, r * elements));
    }
    return output;
  }

  // Unknown sizes are 0.
  absl::StatusOr<Tensor> NoRows(int i) const {
    std::vector<int64_t> dims;
    if (shapes_[i].has_rank()) {
      for (const int64_t dim : shapes_[i].dims()) {
        dims.push_back(std::max<int64_t>(dim, 0));
      }
    }
    ASSIGN_OR_RETURN(const TensorShape shape, RowsOf(0, dims));
    return context_.AllocateTemp(context_.output_type(i), shape);
  }

  OpKernelContext& context_;
  const RunnableFunction& function_;
  const std::vector<PartialShape>& shapes_;
  const int num_mapped_;
  const int64_t num_rows_;
  AsyncOpKernel::Done done_;
  absl::Mutex mutex_;
  std::vector<std::vector<Tensor>> results_ ABSL_GUARDED_BY(mutex_);
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

class MapDefun : public CallingKernel {
 public:
  MapDefun(const OpKernelConstruction& construction, NameAttrList function,
           std::vector<PartialShape> shapes, int num_mapped)
      : CallingKernel(construction, std::move(function)),
        shapes_(std::move(shapes)),
        num_mapped_(num_mapped) {}

  void ComputeAsync(OpKernelContext& context, Done done) override {
    const absl::StatusOr<const RunnableFunction*> function = Function();
    if (!function.ok()) return done(function.status());
    if (absl::Status status = Check(context, **function); !status.ok()) {
      return done(std::move(status));
    }
    std::make_shared<RowCalls>(context, **function, shapes_, num_mapped_,
                               std::move(done))
        ->Begin();
  }

 private:
  absl::Status Check(const OpKernelContext& context,
                     const RunnableFunction& function) const {
    if (static_cast<int>(function.result_types().size()) !=
        context.num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the function returns ", function.result_types().size(),
          " results, but attr 'output_types' has ", context.num_outputs()));
    }
    // Rows without elements take no memory, but their results do.
    if (context.input(0).rank() > 0 && context.input(0).dim(0) > kMaxRows) {
      return absl::ResourceExhaustedError(
          absl::StrCat("argument 0 has ", context.input(0).dim(0),
                       " rows to map, more than ", kMaxRows));
    }
    for (int i = 0; i < num_mapped_; ++i) {
      const TensorShape& shape = context.input(i).shape();
      if (shape.rank() == 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "argument ", i, " is a scalar, and has no rows to map"));
      }
      if (shape.dim(0) == context.input(0).dim(0)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "All inputs must have the same dimension 0: argument ", i, " has ",
          shape.dim(0), ", but argument 0 has ", context.input(0).dim(0)));
    }
    return absl::OkStatus();
  }

  const std::vector<PartialShape> shapes_;
  const int num_mapped_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<OpKernel>> MakeMapDefun(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(NameAttrList function,
                   construction.GetAttr<NameAttrList>("f"));
  ASSIGN_OR_RETURN(
      std::vector<PartialShape> shapes,
      construction.GetAttr<std::vector<PartialShape>>("output_shapes"));
  ASSIGN_OR_RETURN(const auto mapped,
                   construction.GetAttr<DataTypeVector>("Targuments"));
  if (static_cast<int>(shapes.size()) != construction.node().num_outputs() ||
      mapped.empty()) {
    return absl::InvalidArgumentError(
        "attrs 'output_shapes' and 'Targuments' don't fit");
  }
  return std::make_unique<MapDefun>(construction, std::move(function),
                                    std::move(shapes),
                                    static_cast<int>(mapped.size()));
}

}  // namespace weft
