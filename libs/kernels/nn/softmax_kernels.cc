// Softmax, its logarithm and the cross entropies. float and double have their
// own loops; half and bfloat16 are converted to float at each step.
#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/common/narrow_sum.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/isa/narrow_loops.h"
#include "libs/kernels/isa/nn_loops.h"
#include "libs/kernels/isa/reduction_loops.h"
#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/operand_checks.h"
#include "libs/kernels/resource/variable_lookup.h"

namespace weft {
namespace {

// exp costs about as much as this many additions.
constexpr int64_t kCostOfExp = 8;

template <typename T>
constexpr bool kHasLoops =
    std::is_same_v<T, float> || std::is_same_v<T, double>;

// A row of half or bfloat16: the result of each step is rounded to T, as in
// TensorFlow. Reused for all rows.
template <typename T>
class NarrowRow {
 public:
  explicit NarrowRow(int64_t classes)
      : shifted_(classes), exps_(classes), wide_(classes) {}

  // `first` is the index of the row's first element.
  void Read(const T* x, int64_t first) {
    BestNarrowLoops<T>().widen(x, wide_.data(), classes());
    Combine(x, floats_.subtract, max_(wide_.data(), classes()),
            shifted_.data());
    InFloats(shifted_.data(), exps_.data(), classes(), floats_.exp);
    sum_ = NarrowSum<T>::Of(exps_.data(), classes(), first);
    log_of_sum_ = static_cast<T>(std::log(static_cast<float>(sum_)));
  }

  void WriteSoftmax(T* out) const {
    Combine(exps_.data(), floats_.multiply, static_cast<T>(1 / sum_), out);
  }
  void WriteLogSoftmax(T* out) const {
    Combine(shifted_.data(), floats_.subtract, log_of_sum_, out);
  }
  // The loss if class `i` is the label.
  T LossOf(int64_t i) const {
    return static_cast<T>(log_of_sum_ - shifted_[i]);
  }
  // The loss of each class, times its label.
  void WriteTerms(const T* labels, T* out) const {
    const float log_of_sum = log_of_sum_;
    InFloats(shifted_.data(), out, classes(),
             [&](const float* x, float* to, int64_t n) {
               floats_.subtract(&log_of_sum, 0, x, 1, to, n);
             });
    CombineEach(out, floats_.multiply, labels);
  }
  // The gradient of a cross entropy: the softmax minus the labels, or minus one
  // for a single class.
  void WriteSoftmaxLess(const T* wanted, T* out) const {
    WriteShares(out);
    CombineEach(out, floats_.subtract, wanted);
  }
  void WriteSoftmaxLess(int64_t wanted, T* out) const {
    WriteShares(out);
    out[wanted] = static_cast<T>(out[wanted] - 1.0f);
  }

 private:
  int64_t classes() const { return static_cast<int64_t>(exps_.size()); }

  // Applies `loop` to each element and `right`.
  void Combine(const T* x, BinaryLoop loop, float right, T* out) const {
    InFloats(x, out, classes(), [&](const float* from, float* to, int64_t n) {
      loop(from, 1, &right, 0, to, n);
    });
  }
  // Applies `loop` elementwise.
  void CombineEach(T* x, BinaryLoop loop, const T* right) const {
    InFloats(x, right, x, classes(),
             [&](const float* from, const float* by, float* to, int64_t n) {
               loop(from, 1, by, 1, to, n);
             });
  }
  void WriteShares(T* out) const {
    Combine(exps_.data(), floats_.divide, sum_, out);
  }

  const FloatLoops& floats_ = BestFloatLoops();
  float (*const max_)(const float* x, int64_t n) =
      BestReductionLoops<float>(ReductionOp::kMax).run;
  std::vector<T> shifted_, exps_;
  std::vector<float> wide_;
  T sum_, log_of_sum_;
};

// Rows [begin, end).
template <typename T>
void SoftmaxRows(const T* x, T* out, int64_t begin, int64_t end,
                 int64_t classes, bool is_log) {
  const int64_t first = begin * classes;
  if constexpr (kHasLoops<T>) {
    const auto& loops = BestNnLoops<T>();
    const auto loop = is_log ? loops.log_softmax : loops.softmax;
    loop(x + first, out + first, end - begin, classes);
  } else {
    NarrowRow<T> row(classes);
    for (int64_t at = first; at < end * classes; at += classes) {
      row.Read(x + at, at);
      if (is_log) {
        row.WriteLogSoftmax(out + at);
      } else {
        row.WriteSoftmax(out + at);
      }
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
                   SoftmaxRows(x, out, begin, end, classes, is_log_);
                 });
    return absl::OkStatus();
  }

 private:
  const bool is_log_;
};

// Rows [begin, end).
template <typename T>
void CrossEntropyRows(const T* logits, const T* labels, T* loss, T* backprop,
                      int64_t begin, int64_t end, int64_t classes) {
  if constexpr (kHasLoops<T>) {
    const int64_t first = begin * classes;
    BestNnLoops<T>().cross_entropy(logits + first, labels + first, loss + begin,
                                   backprop + first, end - begin, classes);
  } else {
    NarrowRow<T> row(classes);
    std::vector<T> terms(classes);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t first = r * classes;
      row.Read(logits + first, first);
      row.WriteTerms(labels + first, terms.data());
      row.WriteSoftmaxLess(labels + first, backprop + first);
      loss[r] = NarrowSum<T>::Of(terms.data(), classes, first);
    }
  }
}

template <typename T>
void SparseCrossEntropyRows(const T* logits, const int64_t* labels, T* loss,
                            T* backprop, int64_t begin, int64_t end,
                            int64_t classes) {
  if constexpr (kHasLoops<T>) {
    const int64_t first = begin * classes;
    BestNnLoops<T>().sparse_cross_entropy(logits + first, labels + begin,
                                          loss + begin, backprop + first,
                                          end - begin, classes);
  } else {
    NarrowRow<T> row(classes);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t first = r * classes;
      row.Read(logits + first, first);
      loss[r] = row.LossOf(labels[r]);
      row.WriteSoftmaxLess(labels[r], backprop + first);
    }
  }
}

// `matrix` broadcast to `shape`; unchanged if it already has that shape.
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
                   CrossEntropyRows(x, y, l, b, begin, end, classes);
                 });
    return absl::OkStatus();
  }
};

// Lists `values` for an error text, shortened to stay readable.
std::string ShortList(absl::Span<const int64_t> values) {
  constexpr size_t kMost = 256;
  return absl::StrCat(absl::StrJoin(values.subspan(0, kMost), " "),
                      values.size() > kMost ? " ..." : "");
}

// The labels as int64; INVALID_ARGUMENT if one is out of range.
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
                   SparseCrossEntropyRows(x, label, l, b, begin, end, classes);
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
