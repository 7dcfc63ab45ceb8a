// Reductions, scans, products of matrices, and ops on rows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "libs/gradients/testing/reference_ops.h"

namespace weft {
namespace {

using Value = ReferenceValue;
using Values = ReferenceValues;

// ---- Reductions ----

struct Reduction {
  double begin;
  double (*join)(double, double);
};

double Sum(double x, double y) { return x + y; }
double Product(double x, double y) { return x * y; }

std::vector<bool> IsReduced(const Value& axes, int rank) {
  std::vector<bool> reduced(rank);
  for (double axis : axes.at) reduced[Axis(axis, rank)] = true;
  return reduced;
}

// Keeps the reduced dimensions, with size 1.
Value Reduce(const Value& x, const std::vector<bool>& reduced,
             const Reduction& reduction) {
  std::vector<int64_t> dims = DimsOf(x.shape);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (reduced[d]) dims[d] = 1;
  }
  Value result = NewReference(ReferenceShape(dims));
  std::fill(result.at.begin(), result.at.end(), reduction.begin);
  for (size_t i = 0; i < x.at.size(); ++i) {
    std::vector<int64_t> place = PlaceOf(x.shape, static_cast<int64_t>(i));
    for (size_t d = 0; d < place.size(); ++d) {
      if (reduced[d]) place[d] = 0;
    }
    double& at = result.at[IndexOf(result.shape, place)];
    at = reduction.join(at, x.at[i]);
  }
  return result;
}

TensorShape WithoutReduced(const TensorShape& shape,
                           const std::vector<bool>& reduced) {
  std::vector<int64_t> dims;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!reduced[d]) dims.push_back(shape.dim(d));
  }
  return ReferenceShape(dims);
}

ReferenceOp Reducer(const Reduction& reduction, bool is_mean = false) {
  return [=](const Node& node, const Values& in) {
    const std::vector<bool> reduced = IsReduced(in[1], in[0].shape.rank());
    Value result = Reduce(in[0], reduced, reduction);
    if (is_mean) {
      const double count = static_cast<double>(in[0].at.size()) /
                           static_cast<double>(result.at.size());
      for (double& element : result.at) element /= count;
    }
    if (!*node.attr<bool>("keep_dims")) {
      result.shape = WithoutReduced(result.shape, reduced);
    }
    return Values{result};
  };
}

Values L2Loss(const Node&, const Values& in) {
  double sum = 0;
  for (double x : in[0].at) sum += x * x;
  return {ReferenceScalar(sum / 2)};
}

// Running sums or products along an axis.
ReferenceOp Scan(const Reduction& reduction) {
  return [=](const Node& node, const Values& in) {
    const Value& x = in[0];
    const int axis = Axis(in[1].at[0], x.shape.rank());
    const bool reverse = *node.attr<bool>("reverse");
    const bool exclusive = *node.attr<bool>("exclusive");
    Value result = NewReference(x.shape);
    for (size_t i = 0; i < x.at.size(); ++i) {
      std::vector<int64_t> place = PlaceOf(x.shape, static_cast<int64_t>(i));
      const int64_t own = place[axis];
      double at = reduction.begin;
      for (int64_t j = 0; j < x.shape.dim(axis); ++j) {
        const bool before = reverse ? j > own : j < own;
        if (!before && (j != own || exclusive)) continue;
        place[axis] = j;
        at = reduction.join(at, x.at[IndexOf(x.shape, place)]);
      }
      result.at[i] = at;
    }
    return Values{result};
  };
}

// ---- Products ----

// [..., n, m] as [..., m, n].
Value Adjoint(const Value& x) {
  std::vector<int64_t> dims = DimsOf(x.shape);
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  Value result = NewReference(ReferenceShape(dims));
  for (size_t i = 0; i < x.at.size(); ++i) {
    std::vector<int64_t> place = PlaceOf(x.shape, static_cast<int64_t>(i));
    std::swap(place[place.size() - 1], place[place.size() - 2]);
    result.at[IndexOf(result.shape, place)] = x.at[i];
  }
  return result;
}

TensorShape BatchShape(const TensorShape& shape) {
  std::vector<int64_t> dims = DimsOf(shape);
  dims.resize(dims.size() - 2);
  return ReferenceShape(dims);
}

Value BroadcastBatch(const Value& x, const TensorShape& batch) {
  std::vector<int64_t> dims = DimsOf(batch);
  dims.push_back(x.shape.dim(x.shape.rank() - 2));
  dims.push_back(x.shape.dim(x.shape.rank() - 1));
  return BroadcastReference(x, ReferenceShape(dims));
}

Value Multiply(const Value& left, const Value& right) {
  const TensorShape batch =
      BroadcastShape(BatchShape(left.shape), BatchShape(right.shape));
  const Value a = BroadcastBatch(left, batch);
  const Value b = BroadcastBatch(right, batch);
  const int rank = a.shape.rank();
  const int64_t n = a.shape.dim(rank - 2), k = a.shape.dim(rank - 1),
                m = b.shape.dim(rank - 1);
  std::vector<int64_t> dims = DimsOf(batch);
  dims.push_back(n);
  dims.push_back(m);
  Value c = NewReference(ReferenceShape(dims));
  for (int64_t i = 0; i < c.shape.num_elements(); ++i) {
    const int64_t column = i % m, row = i / m % n, matrix = i / (n * m);
    for (int64_t j = 0; j < k; ++j) {
      c.at[i] += a.at[(matrix * n + row) * k + j] *
                 b.at[(matrix * k + j) * m + column];
    }
  }
  return c;
}

ReferenceOp MatrixProduct(const char* adjoin_left, const char* adjoin_right) {
  return [=](const Node& node, const Values& in) {
    return Values{
        Multiply(*node.attr<bool>(adjoin_left) ? Adjoint(in[0]) : in[0],
                 *node.attr<bool>(adjoin_right) ? Adjoint(in[1]) : in[1])};
  };
}

Values Cross(const Node&, const Values& in) {
  Value result = in[0];
  for (size_t row = 0; row < result.at.size(); row += 3) {
    const double* a = &in[0].at[row];
    const double* b = &in[1].at[row];
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      result.at[row + i] = a[j] * b[k] - a[k] * b[j];
    }
  }
  return {result};
}

// ---- Rows ----

size_t RowSize(const Value& x) {
  return static_cast<size_t>(x.shape.dim(x.shape.rank() - 1));
}

Value LogSoftmaxOf(const Value& x) {
  Value result = x;
  for (size_t begin = 0; begin < x.at.size(); begin += RowSize(x)) {
    double sum = 0;
    for (size_t i = 0; i < RowSize(x); ++i) sum += std::exp(x.at[begin + i]);
    for (size_t i = 0; i < RowSize(x); ++i) {
      result.at[begin + i] -= std::log(sum);
    }
  }
  return result;
}

Value SoftmaxOf(const Value& x) {
  Value result = LogSoftmaxOf(x);
  for (double& element : result.at) element = std::exp(element);
  return result;
}

// The loss of each row, and its derivatives with respect to the logits.
Values CrossEntropy(const Value& logits, const Value& labels) {
  const Value log_softmax = LogSoftmaxOf(logits);
  Value backprop = SoftmaxOf(logits);
  Value loss = NewReference({logits.shape.dim(0)});
  for (size_t i = 0; i < logits.at.size(); ++i) {
    loss.at[i / RowSize(logits)] -= labels.at[i] * log_softmax.at[i];
    backprop.at[i] -= labels.at[i];
  }
  return {loss, backprop};
}

Values SparseCrossEntropy(const Node&, const Values& in) {
  Value labels = NewReference(in[0].shape);
  for (size_t row = 0; row < in[1].at.size(); ++row) {
    labels.at[row * RowSize(labels) + static_cast<size_t>(in[1].at[row])] = 1;
  }
  return CrossEntropy(in[0], labels);
}

Values BiasAdd(const Node&, const Values& in) {
  Value result = in[0];
  const Value bias = BroadcastReference(in[1], result.shape);
  for (size_t i = 0; i < result.at.size(); ++i) result.at[i] += bias.at[i];
  return {result};
}

Values BiasAddGrad(const Node&, const Values& in) {
  std::vector<bool> reduced(in[0].shape.rank(), true);
  reduced.back() = false;
  Value result = Reduce(in[0], reduced, {0, Sum});
  result.shape = WithoutReduced(result.shape, reduced);
  return {result};
}

}  // namespace

void AddReferenceMatrixOps(ReferenceOps& ops) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto larger = [](double x, double y) { return std::max(x, y); };
  const auto smaller = [](double x, double y) { return std::min(x, y); };
  ops["Sum"] = Reducer({0, Sum});
  ops["Mean"] = Reducer({0, Sum}, /*is_mean=*/true);
  ops["Prod"] = Reducer({1, Product});
  ops["Max"] = Reducer({-kInfinity, larger});
  ops["Min"] = Reducer({kInfinity, smaller});
  ops["L2Loss"] = L2Loss;
  ops["Cumsum"] = Scan({0, Sum});
  ops["Cumprod"] = Scan({1, Product});
  ops["MatMul"] = MatrixProduct("transpose_a", "transpose_b");
  ops["BatchMatMul"] = MatrixProduct("adj_x", "adj_y");
  ops["BatchMatMulV2"] = MatrixProduct("adj_x", "adj_y");
  ops["Cross"] = Cross;
  ops["Softmax"] = [](const Node&, const Values& in) {
    return Values{SoftmaxOf(in[0])};
  };
  ops["LogSoftmax"] = [](const Node&, const Values& in) {
    return Values{LogSoftmaxOf(in[0])};
  };
  ops["SoftmaxCrossEntropyWithLogits"] = [](const Node&, const Values& in) {
    return CrossEntropy(in[0], in[1]);
  };
  ops["SparseSoftmaxCrossEntropyWithLogits"] = SparseCrossEntropy;
  ops["BiasAdd"] = BiasAdd;
  ops["BiasAddGrad"] = BiasAddGrad;
}

}  // namespace weft
