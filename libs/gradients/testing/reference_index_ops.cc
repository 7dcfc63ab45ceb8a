// Ops that read and write tensors at indices.
#include <algorithm>
#include <limits>

#include "libs/gradients/testing/reference_ops.h"

namespace weft {
namespace {

using Value = ReferenceValue;
using Values = ReferenceValues;
using Join = double (*)(double, double);

std::vector<int64_t> Joined(std::vector<int64_t> dims,
                            const std::vector<int64_t>& more) {
  dims.insert(dims.end(), more.begin(), more.end());
  return dims;
}

std::vector<int64_t> DimsFrom(const TensorShape& shape, int begin) {
  const std::vector<int64_t> dims = DimsOf(shape);
  return {dims.begin() + begin, dims.end()};
}

// ---- Gather ----

Value GatherAlong(const Value& params, const Value& indices, int axis) {
  std::vector<int64_t> dims = DimsOf(params.shape);
  dims.resize(axis);
  dims = Joined(Joined(dims, DimsOf(indices.shape)),
                DimsFrom(params.shape, axis + 1));
  Value result = NewReference(ReferenceShape(dims));
  const int64_t inner = SizeOf(params.shape, axis + 1, params.shape.rank());
  const int64_t count = indices.shape.num_elements();
  for (int64_t i = 0; i < result.shape.num_elements(); ++i) {
    const int64_t outer = i / (count * inner);
    const auto row = static_cast<int64_t>(indices.at[i / inner % count]);
    result.at[i] =
        params.at[(outer * params.shape.dim(axis) + row) * inner + i % inner];
  }
  return result;
}

// Without batch_dims.
Values GatherV2(const Node&, const Values& in) {
  return {GatherAlong(in[0], in[1], Axis(in[2].at[0], in[0].shape.rank()))};
}

// The position in `shape` of each row of `indices`, and the size of the slices.
struct Slices {
  Slices(const Value& indices, const TensorShape& shape) {
    const int depth =
        static_cast<int>(indices.shape.dim(indices.shape.rank() - 1));
    size = SizeOf(shape, depth, shape.rank());
    std::vector<int64_t> outer = DimsOf(shape);
    outer.resize(depth);
    for (size_t i = 0; i < indices.at.size(); i += depth) {
      std::vector<int64_t> place;
      for (int d = 0; d < depth; ++d) {
        place.push_back(static_cast<int64_t>(indices.at[i + d]));
      }
      begins.push_back(IndexOf(ReferenceShape(outer), place) * size);
    }
  }
  std::vector<int64_t> begins;
  int64_t size = 1;
};

Values GatherNd(const Node&, const Values& in) {
  const Value& indices = in[1];
  const Slices slices(indices, in[0].shape);
  std::vector<int64_t> dims = DimsOf(indices.shape);
  const int depth = static_cast<int>(dims.back());
  dims.pop_back();
  Value result =
      NewReference(ReferenceShape(Joined(dims, DimsFrom(in[0].shape, depth))));
  for (size_t i = 0; i < result.at.size(); ++i) {
    result.at[i] = in[0].at[slices.begins[i / slices.size] + i % slices.size];
  }
  return {result};
}

// ---- Scatter ----

// Joins each slice of `updates` to its place in `x`.
Value ScatterInto(Value x, const Value& indices, const Value& updates,
                  Join join) {
  const Slices slices(indices, x.shape);
  for (size_t i = 0; i < updates.at.size(); ++i) {
    double& at = x.at[slices.begins[i / slices.size] + i % slices.size];
    at = join(at, updates.at[i]);
  }
  return x;
}

ReferenceOp TensorScatter(Join join) {
  return [join](const Node&, const Values& in) {
    return Values{ScatterInto(in[0], in[1], in[2], join)};
  };
}

double Plus(double x, double y) { return x + y; }

Values ScatterNd(const Node&, const Values& in) {
  return {ScatterInto(NewReference(ReferenceShape(Integers(in[2]))), in[0],
                      in[1], Plus)};
}

// ---- Segments ----

Value Segments(const Value& data, const Value& ids, int64_t count, Join join,
               double begin) {
  std::vector<int64_t> dims = {count};
  dims = Joined(dims, DimsFrom(data.shape, ids.shape.rank()));
  Value result = NewReference(ReferenceShape(dims));
  std::fill(result.at.begin(), result.at.end(), begin);
  const size_t row = data.at.size() / ids.at.size();
  for (size_t i = 0; i < data.at.size(); ++i) {
    if (ids.at[i / row] < 0) continue;  // of no segment
    const size_t segment = static_cast<size_t>(ids.at[i / row]);
    double& at = result.at[segment * row + i % row];
    at = join(at, data.at[i]);
  }
  return result;
}

// The number of segments is an input, or follows from the last id.
int64_t NumSegments(const Values& in) {
  return static_cast<int64_t>(in.size() > 2 ? in[2].at[0]
                                            : in[1].at.back() + 1);
}

ReferenceOp Segment(Join join, double begin) {
  return [=](const Node&, const Values& in) {
    return Values{Segments(in[0], in[1], NumSegments(in), join, begin)};
  };
}

Values SegmentMean(const Node&, const Values& in) {
  Value ones = in[0];
  std::fill(ones.at.begin(), ones.at.end(), 1);
  Value mean = Segments(in[0], in[1], NumSegments(in), Plus, 0);
  const Value counts = Segments(ones, in[1], NumSegments(in), Plus, 0);
  for (size_t i = 0; i < mean.at.size(); ++i) mean.at[i] /= counts.at[i];
  return {mean};
}

// ---- Partitions, vectors ----

// The rows of `indices` in `data`, both lists of the same length.
Values DynamicStitch(const Node&, const Values& in) {
  const size_t count = in.size() / 2;
  int64_t rows = 0;
  for (size_t i = 0; i < count; ++i) {
    for (int64_t row : Integers(in[i])) rows = std::max(rows, row + 1);
  }
  const TensorShape& first = in[count].shape;
  std::vector<int64_t> dims = {rows};
  dims = Joined(dims, DimsFrom(first, in[0].shape.rank()));
  Value result = NewReference(ReferenceShape(dims));
  const int64_t size = SizeOf(result.shape, 1, result.shape.rank());
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < in[count + i].at.size(); ++j) {
      const auto row = static_cast<int64_t>(in[i].at[j / size]);
      result.at[row * size + j % size] = in[count + i].at[j];
    }
  }
  return {result};
}

// Partitions are a vector.
Values DynamicPartition(const Node& node, const Values& in) {
  Values result;
  for (int part = 0; part < node.num_outputs(); ++part) {
    std::vector<int64_t> rows;
    for (size_t i = 0; i < in[1].at.size(); ++i) {
      if (in[1].at[i] == part) rows.push_back(static_cast<int64_t>(i));
    }
    result.push_back(GatherAlong(in[0], ReferenceVector(rows), 0));
  }
  return result;
}

// Of vectors, with positive strides.
Values StridedSlice(const Node& node, const Values& in) {
  const int64_t size = in[0].shape.dim(0);
  const auto clamp = [size](double place) {
    const auto at = static_cast<int64_t>(place);
    return std::clamp(at < 0 ? at + size : at, int64_t{0}, size);
  };
  int64_t begin = clamp(in[1].at[0]), end = clamp(in[2].at[0]);
  if (*node.attr<int64_t>("begin_mask") != 0) begin = 0;
  if (*node.attr<int64_t>("end_mask") != 0) end = size;
  if (*node.attr<int64_t>("shrink_axis_mask") != 0) {
    return {ReferenceScalar(in[0].at[begin])};
  }
  Value result;
  for (int64_t i = begin; i < end; i += static_cast<int64_t>(in[3].at[0])) {
    result.at.push_back(in[0].at[i]);
  }
  result.shape = TensorShape({static_cast<int64_t>(result.at.size())});
  return {result};
}

// The elements of the first list that are not in the second, and their
// positions.
Values ListDiff(const Node&, const Values& in) {
  std::vector<int64_t> kept, positions;
  for (size_t i = 0; i < in[0].at.size(); ++i) {
    const std::vector<double>& out = in[1].at;
    if (std::find(out.begin(), out.end(), in[0].at[i]) != out.end()) continue;
    kept.push_back(static_cast<int64_t>(in[0].at[i]));
    positions.push_back(static_cast<int64_t>(i));
  }
  return {ReferenceVector(kept), ReferenceVector(positions)};
}

}  // namespace

void AddReferenceIndexOps(ReferenceOps& ops) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto product = [](double x, double y) { return x * y; };
  const auto larger = [](double x, double y) { return std::max(x, y); };
  const auto smaller = [](double x, double y) { return std::min(x, y); };
  ops["Gather"] = [](const Node&, const Values& in) {
    return Values{GatherAlong(in[0], in[1], 0)};
  };
  ops["GatherV2"] = GatherV2;
  ops["GatherNd"] = GatherNd;
  ops["ScatterNd"] = ScatterNd;
  ops["TensorScatterUpdate"] =
      TensorScatter([](double, double update) { return update; });
  ops["TensorScatterAdd"] = TensorScatter(Plus);
  ops["TensorScatterSub"] =
      TensorScatter([](double x, double update) { return x - update; });
  ops["TensorScatterMax"] = TensorScatter(larger);
  ops["TensorScatterMin"] = TensorScatter(smaller);
  for (const std::string prefix : {"Segment", "UnsortedSegment"}) {
    ops[prefix + "Sum"] = Segment(Plus, 0);
    ops[prefix + "Prod"] = Segment(product, 1);
    ops[prefix + "Max"] = Segment(larger, -kInfinity);
    ops[prefix + "Min"] = Segment(smaller, kInfinity);
  }
  ops["SegmentMean"] = SegmentMean;
  ops["DynamicStitch"] = DynamicStitch;
  ops["ParallelDynamicStitch"] = DynamicStitch;
  ops["DynamicPartition"] = DynamicPartition;
  ops["StridedSlice"] = StridedSlice;
  ops["ListDiff"] = ListDiff;
}

}  // namespace weft
