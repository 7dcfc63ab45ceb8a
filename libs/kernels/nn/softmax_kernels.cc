// Softmax, its logarithm and the cross entropies. float and double have loops
// of their own; half and bfloat16 go through float, a row at a time.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/isa/nn_loops.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/operand_checks.h"
#include "libs/kernels/number_types.h"
#include "libs/kernels/parallel_loop.h"
#include "libs/kernels/resource/variable_lookup.h"

namespace weft {
namespace {

// exp costs about as much as this many additions.
constexpr int64_t kCostOfExp = 8;

template <typename T>
constexpr bool kHasLoops =
    std::is_same_v<T, float> || std::is_same_v<T, double>;

template <typename T>
void Narrow(const std::vector<float>& from, T* to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(from[i]);
}

template <typename T>
void SoftmaxRows(const T* x, T* out, int64_t rows, int64_t classes,
                 bool is_log) {
  const auto& loops = BestNnLoops<Wide<T>>();
  const auto loop = is_log ? loops.log_softmax : loops.softmax;
  if constexpr (kHasLoops<T>) {
    loop(x, out, rows, classes);
  } else {
    std::vector<float> row(classes);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(x + r * classes, classes, row.begin());
      loop(row.data(), row.data(), 1, classes);
      Narrow(row, out + r * classes);
    }
  }
}

template <typename T>
class SoftmaxKernel : public OpKernel {
 public:
  explicit SoftmaxKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        is_log_(construction.node().type() == "LogSoftmax") {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& logits = context.input(0);
    if (logits.rank() < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "logits must have >= 1 dimension, got ", logits.shape().ToString()));
    }
    const T* x = logits.flat<T>().data();
    ASSIGN_OR_RETURN(Tensor * output,
                     context.ForwardOrAllocate({0}, 0, logits.shape()));
    if (output->num_elements() == 0) return absl::OkStatus();
    const int64_t classes = output->dim(output->rank() - 1);
    T* out = output->mutable_flat<T>().data();
    ParallelLoop(context, output->num_elements() / classes,
                 classes * kCostOfExp, [&](int64_t begin, int64_t end) {
                   SoftmaxRows(x + begin * classes, out + begin * classes,
                               end - begin, classes, is_log_);
                 });
    return absl::OkStatus();
  }

 private:
  const bool is_log_;
};

template <typename T>
void CrossEntropyRows(const T* logits, const T* labels, T* loss, T* backprop,
                      int64_t rows, int64_t classes) {
  const auto& loops = BestNnLoops<Wide<T>>();
  if constexpr (kHasLoops<T>) {
    loops.cross_entropy(logits, labels, loss, backprop, rows, classes);
  } else {
    std::vector<float> row(classes), label(classes);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(logits + r * classes, classes, row.begin());
      std::copy_n(labels + r * classes, classes, label.begin());
      float row_loss = 0;
      loops.cross_entropy(row.data(), label.data(), &row_loss, row.data(), 1,
                          classes);
      loss[r] = static_cast<T>(row_loss);
      Narrow(row, backprop + r * classes);
    }
  }
}

template <typename T>
void SparseCrossEntropyRows(const T* logits, const int64_t* labels, T* loss,
                            T* backprop, int64_t rows, int64_t classes) {
  const auto& loops = BestNnLoops<Wide<T>>();
  if constexpr (kHasLoops<T>) {
    loops.sparse_cross_entropy(logits, labels, loss, backprop, rows, classes);
  } else {
    std::vector<float> row(classes);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(logits + r * classes, classes, row.begin());
      float row_loss = 0;
      loops.sparse_cross_entropy(row.data(), labels + r, &row_loss, row.data(),
                                 1, classes);
      loss[r] = static_cast<T>(row_loss);
      Narrow(row, backprop + r * classes);
    }
  }
}

// `matrix` repeated to `shape`; itself where it has that shape already.
template <typename T>
absl::StatusOr<Tensor> BroadcastMatrix(OpKernelContext& context,
                                       const Tensor& matrix,
                                       const TensorShape& shape) {
  if (matrix.shape() == shape) return matrix;
  ASSIGN_OR_RETURN(Tensor result, context.AllocateTemp(matrix.dtype(), shape));
  if (shape.num_elements() == 0) return result;
  const T* from = matrix.flat<T>().data();
  T* to = result.mutable_flat<T>().data();
  const int64_t row_step = matrix.dim(0) == 1 ? 0 : matrix.dim(1);
  const int64_t column_step = matrix.dim(1) == 1 ? 0 : 1;
  for (int64_t r = 0; r < shape.dim(0); ++r) {
    for (int64_t c = 0; c < shape.dim(1); ++c) {
      *to++ = from[r * row_step + c * column_step];
    }
  }
  return result;
}

template <typename T>
class CrossEntropyKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(
        TensorShape shape,
        CrossEntropyShape(context.input(0).shape(), context.input(1).shape()));
    ASSIGN_OR_RETURN(Tensor logits,
                     BroadcastMatrix<T>(context, context.input(0), shape));
    ASSIGN_OR_RETURN(Tensor labels,
                     BroadcastMatrix<T>(context, context.input(1), shape));
    ASSIGN_OR_RETURN(Tensor * loss,
                     context.AllocateOutput(0, TensorShape({shape.dim(0)})));
    ASSIGN_OR_RETURN(Tensor * backprop, context.AllocateOutput(1, shape));
    const T* x = logits.flat<T>().data();
    const T* y = labels.flat<T>().data();
    T* l = loss->mutable_flat<T>().data();
    T* b = backprop->mutable_flat<T>().data();
    const int64_t classes = shape.dim(1);
    if (classes == 0) {
      std::fill_n(l, shape.dim(0), T(0.0f));
      return absl::OkStatus();
    }
    ParallelLoop(context, shape.dim(0), classes * kCostOfExp,
                 [&](int64_t begin, int64_t end) {
                   CrossEntropyRows(x + begin * classes, y + begin * classes,
                                    l + begin, b + begin * classes, end - begin,
                                    classes);
                 });
    return absl::OkStatus();
  }
};

// For an error text, which should stay readable.
std::string ShortList(absl::Span<const int64_t> values) {
  constexpr size_t kMost = 256;
  return absl::StrCat(absl::StrJoin(values.subspan(0, kMost), " "),
                      values.size() > kMost ? " ..." : "");
}

// The labels as int64; INVALID_ARGUMENT when one is no class.
absl::StatusOr<Tensor> ReadLabels(OpKernelContext& context,
                                  const Tensor& labels, int64_t classes) {
  ASSIGN_OR_RETURN(Tensor result,
                   context.AllocateTemp(DT_INT64, labels.shape()));
  absl::Span<int64_t> values = result.mutable_flat<int64_t>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = IndexAt(labels, i);
  for (int64_t label : values) {
    if (label >= 0 && label < classes) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Received a label value of ", label,
                     " which is outside the valid range of [0, ", classes,
                     ").  Label values: ", ShortList(values)));
  }
  return result;
}

template <typename T>
class SparseCrossEntropyKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& logits = context.input(0);
    const TensorShape shape = logits.shape();
    RETURN_IF_ERROR(CheckSparseShapes(shape, context.input(1).shape()));
    const int64_t classes = shape.dim(1);
    ASSIGN_OR_RETURN(const Tensor labels,
                     ReadLabels(context, context.input(1), classes));
    const int64_t* label = labels.flat<int64_t>().data();
    ASSIGN_OR_RETURN(Tensor * loss,
                     context.AllocateOutput(0, TensorShape({shape.dim(0)})));
    const T* x = logits.flat<T>().data();
    ASSIGN_OR_RETURN(Tensor * backprop,
                     context.ForwardOrAllocate({0}, 1, shape));
    T* l = loss->mutable_flat<T>().data();
    T* b = backprop->mutable_flat<T>().data();
    ParallelLoop(context, shape.dim(0), classes * kCostOfExp,
                 [&](int64_t begin, int64_t end) {
                   SparseCrossEntropyRows(x + begin * classes, label + begin,
                                          l + begin, b + begin * classes,
                                          end - begin, classes);
                 });
    return absl::OkStatus();
  }
};

template <typename... Ts>
void RegisterAll(KernelRegistry& registry, TypeList<Ts...>) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    (registry.Register<SoftmaxKernel<Ts>>(op, {{"T", {DataTypeOf<Ts>::value}}}),
     ...);
  }
  (registry.Register<CrossEntropyKernel<Ts>>("SoftmaxCrossEntropyWithLogits",
                                             {{"T", {DataTypeOf<Ts>::value}}}),
   ...);
  (registry.Register<SparseCrossEntropyKernel<Ts>>(
       "SparseSoftmaxCrossEntropyWithLogits", {{"T", {DataTypeOf<Ts>::value}}}),
   ...);
}

}  // namespace

void RegisterSoftmaxKernels(KernelRegistry& registry) {
  RegisterAll(registry, FloatingTypes{});
}

}  // namespace weft
