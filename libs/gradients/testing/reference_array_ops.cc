// Ops that make, join, cut and rearrange tensors.
#include <algorithm>
#include <numeric>

#include "libs/gradients/testing/reference_ops.h"

namespace weft {

TensorShape ReferenceShape(const std::vector<int64_t>& dims) {
  return TensorShape(absl::Span<const int64_t>(dims));
}
std::vector<int64_t> DimsOf(const TensorShape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}
ReferenceValue NewReference(const TensorShape& shape) {
  return {shape, std::vector<double>(shape.num_elements()), false};
}
ReferenceValue ReferenceVector(const std::vector<int64_t>& values) {
  return {{static_cast<int64_t>(values.size())},
          {values.begin(), values.end()},
          false};
}
ReferenceValue ReferenceScalar(double value) { return {{}, {value}, false}; }
std::vector<int64_t> Integers(const ReferenceValue& value) {
  std::vector<int64_t> integers;
  for (double x : value.at) integers.push_back(static_cast<int64_t>(x));
  return integers;
}
int64_t SizeOf(const TensorShape& shape, int begin, int end) {
  int64_t size = 1;
  for (int i = begin; i < end; ++i) size *= shape.dim(i);
  return size;
}
int Axis(double axis, int rank) {
  return static_cast<int>(axis) + (axis < 0 ? rank : 0);
}
std::vector<int64_t> PlaceOf(const TensorShape& shape, int64_t i) {
  std::vector<int64_t> place(shape.rank());
  for (int d = shape.rank() - 1; d >= 0; --d) {
    place[d] = i % shape.dim(d);
    i /= shape.dim(d);
  }
  return place;
}
int64_t IndexOf(const TensorShape& shape, const std::vector<int64_t>& place) {
  int64_t index = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    index = index * shape.dim(d) + place[d];
  }
  return index;
}
TensorShape BroadcastShape(const TensorShape& a, const TensorShape& b) {
  std::vector<int64_t> dims(std::max(a.rank(), b.rank()), 1);
  for (const TensorShape* shape : {&a, &b}) {
    const int missing = static_cast<int>(dims.size()) - shape->rank();
    for (int d = 0; d < shape->rank(); ++d) {
      if (shape->dim(d) != 1) dims[missing + d] = shape->dim(d);
    }
  }
  return ReferenceShape(dims);
}
ReferenceValue BroadcastReference(const ReferenceValue& x,
                                  const TensorShape& shape) {
  ReferenceValue result = NewReference(shape);
  const int missing = shape.rank() - x.shape.rank();
  for (size_t i = 0; i < result.at.size(); ++i) {
    std::vector<int64_t> place = PlaceOf(shape, static_cast<int64_t>(i));
    place.erase(place.begin(), place.begin() + missing);
    for (int d = 0; d < x.shape.rank(); ++d) {
      if (x.shape.dim(d) == 1) place[d] = 0;
    }
    result.at[i] = x.at[IndexOf(x.shape, place)];
  }
  return result;
}

namespace {

using Value = ReferenceValue;
using Values = ReferenceValues;

int IntAttr(const Node& node, absl::string_view name) {
  return static_cast<int>(*node.attr<int64_t>(name));
}

// ---- Shapes ----

Values ShapeN(const Node&, const Values& in) {
  Values shapes;
  for (const Value& x : in) {
    shapes.push_back(ReferenceVector(DimsOf(x.shape)));
  }
  return shapes;
}

Values Reshape(const Node&, const Values& in) {
  std::vector<int64_t> dims = Integers(in[1]);
  int64_t known = 1;
  for (int64_t size : dims) known *= size < 0 ? 1 : size;
  for (int64_t& size : dims) {
    if (size < 0) size = in[0].shape.num_elements() / known;
  }
  return {{ReferenceShape(dims), in[0].at, false}};
}

Values ExpandDims(const Node&, const Values& in) {
  Value y = in[0];
  y.shape.InsertDim(Axis(in[1].at[0], y.shape.rank() + 1), 1);
  return {y};
}

// Without all dimensions of size 1.
Values Squeeze(const Node&, const Values& in) {
  Value y = in[0];
  for (int d = y.shape.rank() - 1; d >= 0; --d) {
    if (y.shape.dim(d) == 1) y.shape.RemoveDim(d);
  }
  return {y};
}

Values BroadcastTo(const Node&, const Values& in) {
  return {BroadcastReference(in[0], ReferenceShape(Integers(in[1])))};
}

// The axes along which each shape is broadcast.
Values BroadcastGradientArgs(const Node&, const Values& in) {
  std::vector<std::vector<int64_t>> dims = {Integers(in[0]), Integers(in[1])};
  const size_t rank = std::max(dims[0].size(), dims[1].size());
  for (auto& sizes : dims) sizes.insert(sizes.begin(), rank - sizes.size(), 1);
  std::vector<std::vector<int64_t>> axes(2);
  for (size_t d = 0; d < rank; ++d) {
    if (dims[0][d] == 1) axes[0].push_back(static_cast<int64_t>(d));
    if (dims[1][d] == 1) axes[1].push_back(static_cast<int64_t>(d));
  }
  return {ReferenceVector(axes[0]), ReferenceVector(axes[1])};
}

Values Fill(const Node&, const Values& in) {
  Value y = NewReference(ReferenceShape(Integers(in[0])));
  std::fill(y.at.begin(), y.at.end(), in[1].at[0]);
  return {y};
}

Values Range(const Node&, const Values& in) {
  Value y;
  for (double x = in[0].at[0]; x < in[1].at[0]; x += in[2].at[0]) {
    y.at.push_back(x);
  }
  y.shape = TensorShape({static_cast<int64_t>(y.at.size())});
  return {y};
}

// ---- Joining and splitting ----

Value Concat(const Values& parts, int axis) {
  std::vector<int64_t> dims = DimsOf(parts[0].shape);
  dims[axis] = 0;
  for (const Value& part : parts) dims[axis] += part.shape.dim(axis);
  Value result = NewReference(ReferenceShape(dims));
  int64_t offset = 0;
  for (const Value& part : parts) {
    for (size_t i = 0; i < part.at.size(); ++i) {
      std::vector<int64_t> place = PlaceOf(part.shape, static_cast<int64_t>(i));
      place[axis] += offset;
      result.at[IndexOf(result.shape, place)] = part.at[i];
    }
    offset += part.shape.dim(axis);
  }
  return result;
}

Values ConcatV2(const Node&, const Values& in) {
  const Values parts(in.begin(), in.end() - 1);
  return {Concat(parts, Axis(in.back().at[0], parts[0].shape.rank()))};
}

Values ConcatOffset(const Node&, const Values& in) {
  const int rank = static_cast<int>(in[1].at.size());
  const int axis = Axis(in[0].at[0], rank);
  Values result;
  int64_t offset = 0;
  for (size_t i = 1; i < in.size(); ++i) {
    std::vector<int64_t> begin(rank);
    begin[axis] = offset;
    result.push_back(ReferenceVector(begin));
    offset += Integers(in[i])[axis];
  }
  return result;
}

Values Pack(const Node& node, const Values& in) {
  const int axis = Axis(IntAttr(node, "axis"), in[0].shape.rank() + 1);
  Values parts = in;
  for (Value& part : parts) part.shape.InsertDim(axis, 1);
  return {Concat(parts, axis)};
}

// The box of `size` at `begin`.
Value Cut(const Value& x, const std::vector<int64_t>& begin,
          const std::vector<int64_t>& size) {
  Value result = NewReference(ReferenceShape(size));
  for (size_t i = 0; i < result.at.size(); ++i) {
    std::vector<int64_t> place = PlaceOf(result.shape, static_cast<int64_t>(i));
    for (size_t d = 0; d < place.size(); ++d) place[d] += begin[d];
    result.at[i] = x.at[IndexOf(x.shape, place)];
  }
  return result;
}

Values Slice(const Node&, const Values& in) {
  const std::vector<int64_t> begin = Integers(in[1]);
  std::vector<int64_t> size = Integers(in[2]);
  for (size_t d = 0; d < size.size(); ++d) {
    if (size[d] < 0) {
      size[d] = in[0].shape.dim(static_cast<int>(d)) - begin[d];
    }
  }
  return {Cut(in[0], begin, size)};
}

// Cuts `x` along `axis` into parts of these sizes.
Values SplitInto(const Value& x, const std::vector<int64_t>& sizes, int axis) {
  Values parts;
  std::vector<int64_t> begin(x.shape.rank());
  std::vector<int64_t> size = DimsOf(x.shape);
  for (int64_t part : sizes) {
    size[axis] = part;
    parts.push_back(Cut(x, begin, size));
    begin[axis] += part;
  }
  return parts;
}

Values Split(const Node& node, const Values& in) {
  const int axis = Axis(in[0].at[0], in[1].shape.rank());
  const int count = node.num_outputs();
  const std::vector<int64_t> sizes(count, in[1].shape.dim(axis) / count);
  return SplitInto(in[1], sizes, axis);
}

Values SplitV(const Node&, const Values& in) {
  return SplitInto(in[0], Integers(in[1]),
                   Axis(in[2].at[0], in[0].shape.rank()));
}

Values Unpack(const Node& node, const Values& in) {
  const int axis = Axis(IntAttr(node, "axis"), in[0].shape.rank());
  Values parts =
      SplitInto(in[0], std::vector<int64_t>(node.num_outputs(), 1), axis);
  for (Value& part : parts) part.shape.RemoveDim(axis);
  return parts;
}

Values Tile(const Node&, const Values& in) {
  std::vector<int64_t> dims = Integers(in[1]);
  for (size_t d = 0; d < dims.size(); ++d) {
    dims[d] *= in[0].shape.dim(static_cast<int>(d));
  }
  Value result = NewReference(ReferenceShape(dims));
  for (size_t i = 0; i < result.at.size(); ++i) {
    std::vector<int64_t> place = PlaceOf(result.shape, static_cast<int64_t>(i));
    for (int d = 0; d < in[0].shape.rank(); ++d) place[d] %= in[0].shape.dim(d);
    result.at[i] = in[0].at[IndexOf(in[0].shape, place)];
  }
  return {result};
}

// Pad and PadV2.
Values Pad(const Node&, const Values& in) {
  const Value& x = in[0];
  const std::vector<int64_t> paddings = Integers(in[1]);
  std::vector<int64_t> dims = DimsOf(x.shape);
  for (size_t d = 0; d < dims.size(); ++d) {
    dims[d] += paddings[2 * d] + paddings[2 * d + 1];
  }
  Value result = NewReference(ReferenceShape(dims));
  if (in.size() > 2) {
    std::fill(result.at.begin(), result.at.end(), in[2].at[0]);
  }
  for (size_t i = 0; i < x.at.size(); ++i) {
    std::vector<int64_t> place = PlaceOf(x.shape, static_cast<int64_t>(i));
    for (size_t d = 0; d < place.size(); ++d) place[d] += paddings[2 * d];
    result.at[IndexOf(result.shape, place)] = x.at[i];
  }
  return {result};
}

// ---- Order ----

Values Transpose(const Node&, const Values& in) {
  const std::vector<int64_t> order = Integers(in[1]);
  std::vector<int64_t> dims;
  for (int64_t d : order) dims.push_back(in[0].shape.dim(static_cast<int>(d)));
  Value result = NewReference(ReferenceShape(dims));
  for (size_t i = 0; i < in[0].at.size(); ++i) {
    const std::vector<int64_t> from =
        PlaceOf(in[0].shape, static_cast<int64_t>(i));
    std::vector<int64_t> to;
    for (int64_t d : order) to.push_back(from[d]);
    result.at[IndexOf(result.shape, to)] = in[0].at[i];
  }
  return {result};
}

Values InvertPermutation(const Node&, const Values& in) {
  Value result = in[0];
  for (size_t i = 0; i < in[0].at.size(); ++i) {
    result.at[static_cast<size_t>(in[0].at[i])] = static_cast<double>(i);
  }
  return {result};
}

Values ReverseV2(const Node&, const Values& in) {
  Value result = in[0];
  for (size_t i = 0; i < in[0].at.size(); ++i) {
    std::vector<int64_t> place = PlaceOf(result.shape, static_cast<int64_t>(i));
    for (double at : in[1].at) {
      const int axis = Axis(at, result.shape.rank());
      place[axis] = result.shape.dim(axis) - 1 - place[axis];
    }
    result.at[IndexOf(result.shape, place)] = in[0].at[i];
  }
  return {result};
}

}  // namespace

void AddReferenceArrayOps(ReferenceOps& ops) {
  ops["Shape"] = ShapeN;
  ops["ShapeN"] = ShapeN;
  ops["Size"] = [](const Node&, const Values& in) {
    return Values{ReferenceScalar(static_cast<double>(in[0].at.size()))};
  };
  ops["Rank"] = [](const Node&, const Values& in) {
    return Values{ReferenceScalar(in[0].shape.rank())};
  };
  ops["IdentityN"] = [](const Node&, const Values& in) { return in; };
  ops["Reshape"] = Reshape;
  ops["ExpandDims"] = ExpandDims;
  ops["Squeeze"] = Squeeze;
  ops["BroadcastTo"] = BroadcastTo;
  ops["BroadcastGradientArgs"] = BroadcastGradientArgs;
  ops["Fill"] = Fill;
  ops["Range"] = Range;
  ops["ConcatV2"] = ConcatV2;
  ops["ConcatOffset"] = ConcatOffset;
  ops["Pack"] = Pack;
  ops["Slice"] = Slice;
  ops["Split"] = Split;
  ops["SplitV"] = SplitV;
  ops["Unpack"] = Unpack;
  ops["Tile"] = Tile;
  ops["Pad"] = Pad;
  ops["PadV2"] = Pad;
  ops["Transpose"] = Transpose;
  ops["InvertPermutation"] = InvertPermutation;
  ops["ReverseV2"] = ReverseV2;
}

}  // namespace weft
