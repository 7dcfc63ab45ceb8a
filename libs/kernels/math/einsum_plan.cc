#include "libs/kernels/math/einsum_plan.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

constexpr int kFirstOfEllipsis = 256;

// The label of each dimension.
std::vector<int> LabelsOf(absl::string_view subscript, int ellipsis_dims) {
  std::vector<int> labels;
  for (const char label : subscript) {
    if (label != EinsumEquation::kEllipsis) {
      labels.push_back(static_cast<unsigned char>(label));
      continue;
    }
    for (int i = ellipsis_dims; i-- > 0;) {
      labels.push_back(kFirstOfEllipsis + i);
    }
  }
  return labels;
}

using Sizes = std::map<int, int64_t>;

absl::Status WrongSize(int64_t expected, int axis, const TensorShape& shape) {
  return absl::InvalidArgumentError(
      absl::StrCat("Expected dimension ", expected, " at axis ", axis,
                   " of the input shaped ", shape.ToString(),
                   " but got dimension ", shape.dim(axis)));
}

absl::Status RecordSizes(const std::vector<int>& labels,
                         const TensorShape& shape, Sizes& sizes) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t size = shape.dim(axis);
    const auto [known, is_new] = sizes.try_emplace(labels[axis], size);
    if (is_new || known->second == size) continue;
    if (labels[axis] < kFirstOfEllipsis) {
      return WrongSize(known->second, axis, shape);
    }
    if (known->second != 1 && size != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Invalid broadcasting dimensions: ", known->second, " vs. ", size,
          " at axis ", axis, " of the input shaped ", shape.ToString()));
    }
    if (known->second == 1) known->second = size;
  }
  return absl::OkStatus();
}

EinsumView ViewOf(const std::vector<int>& labels, const TensorShape& shape) {
  const Dims strides = PackedStrides(shape.dims());
  EinsumView view;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == 1) continue;
    const auto same = [&](const EinsumAxis& axis) {
      return axis.label == labels[i];
    };
    const auto known = std::find_if(view.begin(), view.end(), same);
    if (known != view.end()) {
      known->stride += strides[i];
    } else {
      view.push_back({labels[i], shape.dim(i), strides[i]});
    }
  }
  return view;
}

absl::StatusOr<TensorShape> ShapeOf(const std::vector<int>& labels,
                                    const Sizes& sizes) {
  Dims dims;
  for (const int label : labels) {
    // An ellipsis that only the result has stands for no dimensions.
    dims.push_back(sizes.at(label));
  }
  return TensorShape::Create(dims);
}

}  // namespace

absl::StatusOr<EinsumViews> ViewsOf(const EinsumEquation& equation,
                                    absl::Span<const TensorShape> inputs) {
  EinsumViews views;
  Sizes sizes;
  int broadcast_dims = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSIGN_OR_RETURN(const int ellipsis_dims,
                     EllipsisDims(equation.inputs[i], static_cast<int>(i),
                                  inputs[i].rank()));
    broadcast_dims = std::max(broadcast_dims, ellipsis_dims);
    const std::vector<int> labels = LabelsOf(equation.inputs[i], ellipsis_dims);
    RETURN_IF_ERROR(RecordSizes(labels, inputs[i], sizes));
    views.inputs.push_back(ViewOf(labels, inputs[i]));
  }
  RETURN_IF_ERROR(CheckEinsumOutput(equation, broadcast_dims));
  const std::vector<int> labels = LabelsOf(equation.output, broadcast_dims);
  ASSIGN_OR_RETURN(views.output_shape, ShapeOf(labels, sizes));
  views.output = ViewOf(labels, views.output_shape);
  return views;
}

const EinsumAxis* FindAxis(const EinsumView& view, int label) {
  for (const EinsumAxis& axis : view) {
    if (axis.label == label) return &axis;
  }
  return nullptr;
}

EinsumView FilterAxes(const EinsumView& view,
                      const std::function<bool(int label)>& keep) {
  EinsumView kept;
  for (const EinsumAxis& axis : view) {
    if (keep(axis.label)) kept.push_back(axis);
  }
  return kept;
}

EinsumView AxesAs(const EinsumView& view, const EinsumView& order) {
  EinsumView axes;
  for (const EinsumAxis& axis : order) {
    axes.push_back(*FindAxis(view, axis.label));
  }
  return axes;
}

EinsumView JoinAxes(absl::Span<const EinsumView> parts) {
  EinsumView all;
  for (const EinsumView& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

ElementPattern PatternOf(const EinsumView& view) {
  ElementPattern pattern;
  for (const EinsumAxis& axis : view) {
    pattern.dims.push_back(axis.size);
    pattern.strides.push_back(axis.stride);
  }
  return pattern;
}

EinsumView Packed(EinsumView view) {
  int64_t stride = 1;
  for (size_t i = view.size(); i-- > 0;) {
    view[i].stride = stride;
    stride *= view[i].size;
  }
  return view;
}

bool IsPacked(const EinsumView& view) {
  const std::optional<EinsumRun> run = JoinedRun(view);
  return run.has_value() && run->stride == 1;
}

int64_t CountElements(const EinsumView& view) {
  int64_t count = 1;
  for (const EinsumAxis& axis : view) count *= axis.size;
  return count;
}

std::optional<EinsumRun> JoinedRun(const EinsumView& view) {
  EinsumRun run;
  for (size_t i = view.size(); i-- > 0;) {
    if (i + 1 == view.size()) {
      run.stride = view[i].stride;
    } else if (view[i].stride != run.size * run.stride) {
      return std::nullopt;
    }
    run.size *= view[i].size;
  }
  return run;
}

}  // namespace weft
