#include "libs/kernels/nn/element_program.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "libs/kernels/common/parallel_loop.h"

namespace weft {
namespace {

// The block of one value. A few blocks fit into the first-level cache.
constexpr int64_t kBlockBytes = 4096;

// Returns whether it is one row of a tensor of that shape.
bool IsRowOf(const TensorShape& row, const TensorShape& whole) {
  return row.rank() == 1 && whole.rank() >= 2 &&
         row.dim(0) == whole.dim(whole.rank() - 1);
}

// The result shape of a step for operands of these shapes, if it can be
// computed in blocks.
const TensorShape* ResultShape(const ElementLoops& loops, const TensorShape& x,
                               const TensorShape* y) {
  if (loops.unary != nullptr) return &x;
  if (loops.rows != nullptr) return IsRowOf(*y, x) ? &x : nullptr;
  if (x == *y) return &x;
  if (loops.binary == nullptr) return nullptr;
  if (y->rank() == 0 || IsRowOf(*y, x)) return &x;
  return x.rank() == 0 || IsRowOf(x, *y) ? y : nullptr;
}

// The extent of a value: all elements of the result, or a row or scalar that is
// repeated.
enum class Extent { kWhole, kRow, kScalar };

Extent ExtentOf(const TensorShape& shape, const TensorShape& whole) {
  if (shape.rank() == 0) return Extent::kScalar;
  if (!IsRowOf(shape, whole)) return Extent::kWhole;
  return shape.dim(0) == 1 ? Extent::kScalar : Extent::kRow;
}

struct Value {
  const char* data;  // all elements, or the block's for a step
  Extent extent;
};

}  // namespace

// One run of a program.
class ElementProgram::Blocks {
 public:
  Blocks(const ElementProgram& program, absl::Span<const Tensor* const> args,
         Tensor& out)
      : program_(program),
        size_(program.element_size_),
        out_(static_cast<char*>(out.mutable_data())),
        columns_(out.rank() == 0 ? 1 : out.dim(out.rank() - 1)) {
    for (const Tensor* arg : args) {
      values_.push_back({static_cast<const char*>(arg->data()),
                         ExtentOf(arg->shape(), out.shape())});
    }
    for (const ElementStep& step : program.steps_) {
      const Extent x = values_[step.x].extent;
      const Extent y = step.y < 0 ? x : values_[step.y].extent;
      const bool is_scalar = x == Extent::kScalar && y == Extent::kScalar;
      values_.push_back(
          {nullptr, is_scalar ? Extent::kScalar : Extent::kWhole});
      has_rows_ |= x == Extent::kRow || y == Extent::kRow;
    }
  }

  // Ranges begin and end at multiples of this.
  int64_t granule() const {
    return has_rows_ && columns_ <= block() ? columns_ : 1;
  }

  void Run(int64_t begin, int64_t end) {
    // Usually few values are live at a time, so that the stack has room for
    // them.
    constexpr int kUsual = 4;
    alignas(64) char usual[kUsual * kBlockBytes];
    std::unique_ptr<char[]> more;
    char* memory = usual;
    if (program_.num_places_ > kUsual) {
      more = std::make_unique_for_overwrite<char[]>(program_.num_places_ *
                                                    kBlockBytes);
      memory = more.get();
    }
    Values values = values_;
    while (begin < end) {
      const int64_t n = SizeAt(begin, end);
      RunBlock(begin, n, memory, values);
      begin += n;
    }
  }

 private:
  using Values = absl::InlinedVector<Value, 16>;

  // The maximum number of elements in a block.
  int64_t block() const { return kBlockBytes / size_; }

  // If rows matter, a block has whole rows, or is inside one.
  int64_t SizeAt(int64_t begin, int64_t end) const {
    const int64_t most = std::min(block(), end - begin);
    if (!has_rows_) return most;
    if (columns_ > block()) return std::min(most, columns_ - begin % columns_);
    return most / columns_ * columns_;
  }

  void RunBlock(int64_t begin, int64_t n, char* memory, Values& values) {
    const int num_args = program_.num_args_;
    const int last = static_cast<int>(program_.steps_.size()) - 1;
    const auto operand = [&](int i) {
      Value value = values[i];
      if (i < num_args && value.extent == Extent::kWhole) {
        value.data += begin * size_;
      }
      return value;
    };
    for (int k = 0; k <= last; ++k) {
      const ElementStep& step = program_.steps_[k];
      Value& result = values[num_args + k];
      char* const out = k == last ? out_ + begin * size_
                                  : memory + program_.places_[k] * kBlockBytes;
      result.data = out;
      const int64_t count = result.extent == Extent::kScalar ? 1 : n;
      const Value x = operand(step.x);
      if (step.loops.unary != nullptr) {
        step.loops.unary(x.data, out, count);
      } else {
        Combine(step.loops, x, operand(step.y), begin, count, out);
      }
    }
  }

  // The choice of the scalar operand, and the handling of rows one by one,
  // match the kernels.
  void Combine(const ElementLoops& loops, Value x, Value y, int64_t begin,
               int64_t n, char* out) const {
    if (loops.pair != nullptr) return loops.pair(x.data, y.data, out, n);
    const bool has_row = x.extent == Extent::kRow || y.extent == Extent::kRow;
    if (has_row || loops.rows != nullptr) {
      return CombineRows(loops, x, y, begin, n, out);
    }
    const bool x_is_scalar = x.extent == Extent::kScalar;
    if (y.extent == Extent::kScalar) {
      loops.binary(x.data, 1, y.data, x_is_scalar ? 1 : 0, out, n);
    } else {
      loops.binary(x.data, x_is_scalar ? 0 : 1, y.data, 1, out, n);
    }
  }

  void CombineRows(const ElementLoops& loops, Value x, Value y, int64_t begin,
                   int64_t n, char* out) const {
    const bool is_part = columns_ > block();  // part of one row
    const int64_t offset = is_part ? begin % columns_ * size_ : 0;
    const int64_t columns = is_part ? n : columns_;
    const bool x_is_row = x.extent == Extent::kRow;
    const bool y_is_row = y.extent == Extent::kRow;
    if (x_is_row) x.data += offset;
    if (y_is_row) y.data += offset;
    if (loops.rows != nullptr) {
      return loops.rows(x.data, y.data, out, n / columns, columns);
    }
    for (; n > 0; n -= columns, out += columns * size_) {
      loops.binary(x.data, 1, y.data, 1, out, columns);
      if (!x_is_row) x.data += columns * size_;
      if (!y_is_row) y.data += columns * size_;
    }
  }

  const ElementProgram& program_;
  const int64_t size_;
  char* const out_;
  const int64_t columns_;
  bool has_rows_ = false;
  Values values_;
};

absl::StatusOr<ElementProgram> ElementProgram::Of(
    int num_args, int64_t element_size, std::vector<ElementStep> steps) {
  if (steps.empty() || steps.size() > kMaxSteps) {
    return absl::InvalidArgumentError(
        absl::StrCat("there must be 1 to ", kMaxSteps,
                     " functions, but there are ", steps.size()));
  }
  for (size_t k = 0; k < steps.size(); ++k) {
    const int end = num_args + static_cast<int>(k);
    const bool has_two = steps[k].loops.num_operands() == 2;
    const auto is_there = [&](int i) { return i >= 0 && i < end; };
    if (!is_there(steps[k].x) || (has_two && !is_there(steps[k].y))) {
      return absl::InvalidArgumentError(
          absl::StrCat("function ", k, " uses a value that is computed later"));
    }
    if (!has_two) steps[k].y = -1;
  }
  return ElementProgram(num_args, element_size, std::move(steps));
}

ElementProgram::ElementProgram(int num_args, int64_t element_size,
                               std::vector<ElementStep> steps)
    : num_args_(num_args),
      element_size_(element_size),
      steps_(std::move(steps)) {
  PlaceResults();
}

// A buffer is reused after the last step that reads it. The last step writes to
// the result.
void ElementProgram::PlaceResults() {
  const int count = static_cast<int>(steps_.size());
  std::vector<int> last_use(count, -1);
  for (int k = 0; k < count; ++k) {
    for (const int value : {steps_[k].x, steps_[k].y}) {
      if (value >= num_args_) last_use[value - num_args_] = k;
    }
  }
  std::vector<int> free;
  for (int k = 0; k + 1 < count; ++k) {
    if (free.empty()) free.push_back(num_places_++);
    places_.push_back(free.back());
    free.pop_back();
    for (int used = 0; used <= k; ++used) {
      const bool is_over =
          last_use[used] == k || (used == k && last_use[k] < k);
      if (is_over) free.push_back(places_[used]);
    }
  }
}

std::optional<TensorShape> ElementProgram::ShapeOf(
    absl::Span<const Tensor* const> args) const {
  absl::InlinedVector<const TensorShape*, 16> shapes;
  for (const Tensor* arg : args) shapes.push_back(&arg->shape());
  for (const ElementStep& step : steps_) {
    const TensorShape* const shape = ResultShape(
        step.loops, *shapes[step.x], step.y < 0 ? nullptr : shapes[step.y]);
    if (shape == nullptr) return std::nullopt;
    shapes.push_back(shape);
  }
  const TensorShape& result = *shapes.back();
  for (size_t i = args.size(); i < shapes.size(); ++i) {
    if (shapes[i]->rank() != 0 && *shapes[i] != result) return std::nullopt;
  }
  return result;
}

void ElementProgram::Run(OpKernelContext& context,
                         absl::Span<const Tensor* const> args,
                         Tensor& out) const {
  const int64_t n = out.num_elements();
  if (n == 0) return;
  Blocks blocks(*this, args, out);
  const int64_t granule = blocks.granule();
  const auto range = [&](int64_t begin, int64_t end) {
    blocks.Run(begin * granule, end * granule);
  };
  // A step on data in the cache takes about half the time of a separate kernel.
  const int64_t cost = static_cast<int64_t>(steps_.size() + 1) / 2;
  ParallelLoop(context, n / granule, granule * cost, std::ref(range));
}

}  // namespace weft
