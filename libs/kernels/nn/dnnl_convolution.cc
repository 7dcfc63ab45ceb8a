#include "libs/kernels/nn/dnnl_convolution.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/kernels/common/dnnl_library.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/nn/convolution_parts.h"

namespace weft {
namespace {

using SharedPrimitive = std::shared_ptr<const DnnlPrimitive>;

// For fewer channels, oneDNN's gradient with respect to the image takes as long
// as for this many.
constexpr int64_t kMinChannelsOfInput = 8;

// oneDNN's sizes have 64 bits, but its loops over a dimension use 32.
bool FitsInt(const Convolution& c) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  for (const int64_t size :
       {c.batch, c.channels, c.filters, c.rows.in, c.rows.out, c.rows.size,
        c.columns.in, c.columns.out, c.columns.size, c.image_size(),
        c.output_size(), c.taps()}) {
    if (size < 1 || size > kMax) return false;
  }
  return true;
}

// A part of the work: some images, or a band of the rows of one.
struct Piece {
  Convolution sizes;
  int64_t image_offset, output_offset;  // in numbers
};

std::vector<Piece> CutImages(const Convolution& c, int64_t parts) {
  std::vector<Piece> pieces;
  const int64_t step = CeilOfRatio(c.batch, std::min(parts, c.batch));
  for (int64_t n = 0; n < c.batch; n += step) {
    Piece piece{c, n * c.image_size(), n * c.output_size()};
    piece.sizes.batch = std::min(step, c.batch - n);
    pieces.push_back(piece);
  }
  return pieces;
}

// The windows of rows [begin, end), and the rows that they cover; nullopt if
// they cover only padding.
std::optional<WindowDim> BandOf(const WindowDim& rows, int64_t begin,
                                int64_t end, int64_t& first) {
  const int64_t from = rows.At(begin, 0);
  first = std::max<int64_t>(from, 0);
  WindowDim band = rows;
  band.in = std::min(rows.At(end - 1, rows.size - 1) + 1, rows.in) - first;
  band.out = end - begin;
  band.pad = first - from;
  if (band.in <= 0) return std::nullopt;
  return band;
}

// Divides each image into `bands`. Empty if that is not possible.
std::vector<Piece> CutRows(const Convolution& c, int64_t bands) {
  std::vector<Piece> pieces;
  const int64_t step = CeilOfRatio(c.rows.out, bands);
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t y = 0; y < c.rows.out; y += step) {
      Piece piece{c, 0, 0};
      int64_t first = 0;
      const auto band =
          BandOf(c.rows, y, std::min(y + step, c.rows.out), first);
      if (!band.has_value()) return {};
      piece.sizes.batch = 1;
      piece.sizes.rows = *band;
      piece.image_offset =
          n * c.image_size() + first * c.columns.in * c.channels;
      piece.output_offset = n * c.output_size() + y * c.columns.out * c.filters;
      pieces.push_back(piece);
    }
  }
  return pieces;
}

std::vector<Piece> Cut(const Convolution& c, ConvolutionPass pass,
                       int threads) {
  if (pass == ConvolutionPass::kFilter) return CutImages(c, SumsWorthOf(c));
  // Two per thread, so that a late thread does not delay the others.
  const int64_t parts =
      threads == 1 ? 1 : std::min<int64_t>(2 * threads, PartsWorthOf(c));
  if (pass == ConvolutionPass::kForward && parts > c.batch) {
    const int64_t bands =
        std::min(CeilOfRatio(parts, c.batch), CeilOfRatio(c.rows.out, 4));
    std::vector<Piece> pieces = CutRows(c, bands);
    if (!pieces.empty()) return pieces;
  }
  return CutImages(c, parts);
}

absl::StatusOr<dnnl_memory_desc_t> LayoutOf(const DnnlLibrary& library,
                                            const dnnl_dims_t& dims,
                                            dnnl_data_type_t type,
                                            dnnl_format_tag_t tag) {
  dnnl_memory_desc_t layout;
  if (library.memory_desc_init_by_tag(&layout, 4, dims, type, tag) !=
      dnnl_success) {
    return absl::UnimplementedError("oneDNN does not support the layout");
  }
  return layout;
}

absl::StatusOr<dnnl_memory_desc_t> FilterLayout(const DnnlLibrary& library,
                                                const Convolution& c,
                                                dnnl_data_type_t type,
                                                dnnl_format_tag_t tag) {
  return LayoutOf(library, {c.filters, c.channels, c.rows.size, c.columns.size},
                  type, tag);
}

// The number of filter blocks in a layout; 1 if they are not complete.
int64_t BlocksOfFilters(const dnnl_memory_desc_t& layout) {
  if (layout.format_kind != dnnl_blocked) return 1;
  const dnnl_blocking_desc_t& blocking = layout.format_desc.blocking;
  int64_t block = 1;
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    if (blocking.inner_idxs[i] == 0) block *= blocking.inner_blks[i];
  }
  return layout.dims[0] % block == 0 ? layout.dims[0] / block : 1;
}

// `count` filters of a layout, starting at `first`. REQUIRES: they are complete
// blocks.
absl::StatusOr<dnnl_memory_desc_t> FiltersOf(const DnnlLibrary& library,
                                             const dnnl_memory_desc_t& layout,
                                             int64_t first, int64_t count) {
  const dnnl_dims_t sizes = {count, layout.dims[1], layout.dims[2],
                             layout.dims[3]};
  const dnnl_dims_t offsets = {first, 0, 0, 0};
  dnnl_memory_desc_t part;
  if (library.memory_desc_init_submemory(&part, &layout, sizes, offsets) !=
      dnnl_success) {
    return absl::UnimplementedError("oneDNN cannot divide the layout");
  }
  return part;
}

// The types of a pass: images, outputs and their gradients have the first type.
// A filter does, too, but its gradient is a sum of floats.
struct Types {
  dnnl_data_type_t image, filter;

  static Types Of(DataType type, ConvolutionPass pass) {
    const dnnl_data_type_t image = type == DT_FLOAT ? dnnl_f32 : dnnl_bf16;
    return {image, pass == ConvolutionPass::kFilter ? dnnl_f32 : image};
  }
};

// The layouts of one convolution: unblocked, except for the filter, whose
// layout oneDNN chooses unless `filter` is given.
struct Layouts {
  dnnl_memory_desc_t image, filter, output;

  static absl::StatusOr<Layouts> Of(const DnnlLibrary& library,
                                    const Convolution& c, Types types,
                                    const dnnl_memory_desc_t* filter) {
    Layouts layouts;
    ASSIGN_OR_RETURN(
        layouts.image,
        LayoutOf(library, {c.batch, c.channels, c.rows.in, c.columns.in},
                 types.image, dnnl_nhwc));
    ASSIGN_OR_RETURN(layouts.filter, FilterLayout(library, c, types.filter,
                                                  dnnl_format_tag_any));
    ASSIGN_OR_RETURN(
        layouts.output,
        LayoutOf(library, {c.batch, c.filters, c.rows.out, c.columns.out},
                 types.image, dnnl_nhwc));
    if (filter != nullptr) layouts.filter = *filter;
    return layouts;
  }
};

// The padding after the last row or column, in oneDNN's convention.
int64_t PaddingAfter(const WindowDim& dim) {
  return std::max<int64_t>(dim.At(dim.out - 1, dim.size - 1) - (dim.in - 1), 0);
}

// The window description for oneDNN.
struct Windows {
  dnnl_dims_t strides, dilations, before, after;

  explicit Windows(const Convolution& c)
      : strides{c.rows.stride, c.columns.stride},
        dilations{c.rows.dilation - 1, c.columns.dilation - 1},
        before{c.rows.pad, c.columns.pad},
        after{PaddingAfter(c.rows), PaddingAfter(c.columns)} {}
};

// Returns UNIMPLEMENTED if oneDNN would lay out windows one element at a time.
absl::StatusOr<DnnlDescriptor> DescribeFast(const DnnlLibrary& library,
                                            const dnnl_convolution_desc_t& desc,
                                            const DnnlDescriptor* hint) {
  ASSIGN_OR_RETURN(DnnlDescriptor result,
                   DnnlDescriptor::Create(library, &desc, hint));
  if (absl::StrContains(result.implementation(), "gemm:")) {
    return absl::UnimplementedError(
        absl::StrCat("oneDNN lays windows out: ", result.implementation()));
  }
  return result;
}

absl::StatusOr<DnnlDescriptor> DescribeForward(
    const DnnlLibrary& library, const Convolution& c, Types types,
    const dnnl_memory_desc_t* filter) {
  ASSIGN_OR_RETURN(const Layouts layouts,
                   Layouts::Of(library, c, types, filter));
  const Windows windows(c);
  dnnl_convolution_desc_t desc;
  if (library.dilated_convolution_forward_desc_init(
          &desc, dnnl_forward_training, dnnl_convolution_direct, &layouts.image,
          &layouts.filter, nullptr, &layouts.output, windows.strides,
          windows.dilations, windows.before, windows.after) != dnnl_success) {
    return absl::UnimplementedError("oneDNN does not support the convolution");
  }
  return DescribeFast(library, desc, nullptr);
}

absl::StatusOr<DnnlDescriptor> DescribeGradient(
    const DnnlLibrary& library, ConvolutionPass pass, const Convolution& c,
    Types types, const dnnl_memory_desc_t* filter) {
  // Its filter may have another layout.
  ASSIGN_OR_RETURN(
      const DnnlDescriptor forward,
      DescribeForward(library, c, {types.image, types.image}, nullptr));
  ASSIGN_OR_RETURN(const Layouts layouts,
                   Layouts::Of(library, c, types, filter));
  const Windows windows(c);
  dnnl_convolution_desc_t desc;
  const dnnl_status_t status =
      pass == ConvolutionPass::kInput
          ? library.dilated_convolution_backward_data_desc_init(
                &desc, dnnl_convolution_direct, &layouts.image, &layouts.filter,
                &layouts.output, windows.strides, windows.dilations,
                windows.before, windows.after)
          : library.dilated_convolution_backward_weights_desc_init(
                &desc, dnnl_convolution_direct, &layouts.image, &layouts.filter,
                nullptr, &layouts.output, windows.strides, windows.dilations,
                windows.before, windows.after);
  if (status != dnnl_success) {
    return absl::UnimplementedError("oneDNN does not support the gradient");
  }
  return DescribeFast(library, desc, &forward);
}

absl::StatusOr<SharedPrimitive> NewPrimitive(const DnnlLibrary& library,
                                             ConvolutionPass pass,
                                             const Convolution& c, Types types,
                                             const dnnl_memory_desc_t* filter) {
  ASSIGN_OR_RETURN(DnnlDescriptor descriptor,
                   pass == ConvolutionPass::kForward
                       ? DescribeForward(library, c, types, filter)
                       : DescribeGradient(library, pass, c, types, filter));
  return DnnlPrimitive::Create(std::move(descriptor));
}

// oneDNN's names of a pass's arguments.
int ImageOf(ConvolutionPass pass) {
  return pass == ConvolutionPass::kInput ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC;
}
int FilterOf(ConvolutionPass pass) {
  return pass == ConvolutionPass::kFilter ? DNNL_ARG_DIFF_WEIGHTS
                                          : DNNL_ARG_WEIGHTS;
}
int OutputOf(ConvolutionPass pass) {
  return pass == ConvolutionPass::kForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST;
}

// The size of a buffer in floats; each part is aligned to a cache line.
int64_t FloatsOf(size_t bytes) {
  return CeilOfRatio(static_cast<int64_t>(bytes), 64) * 16;
}

}  // namespace

// The parts of a convolution, and their oneDNN primitives.
class DnnlConvolution::Plan {
 public:
  static absl::StatusOr<SharedPlan> Create(const DnnlLibrary& library,
                                           ConvolutionPass pass, DataType type,
                                           const Convolution& c, int threads) {
    auto plan = std::make_shared<Plan>();
    plan->pass_ = pass;
    plan->types_ = Types::Of(type, pass);
    plan->size_ = static_cast<int64_t>(DataTypeSize(type));
    const dnnl_memory_desc_t* filter = nullptr;
    for (const Piece& piece : Cut(c, pass, threads)) {
      ASSIGN_OR_RETURN(SharedPrimitive primitive,
                       plan->PrimitiveFor(library, piece.sizes, filter));
      filter = &primitive->layout(FilterOf(pass));
      plan->scratchpad_ =
          std::max(plan->scratchpad_, FloatsOf(primitive->scratchpad_bytes()));
      plan->parts_.push_back({piece, std::move(primitive)});
    }
    plan->filter_ = FloatsOf(plan->parts_[0].primitive->bytes(FilterOf(pass)));
    RETURN_IF_ERROR(plan->AddReorders(library, c, *filter));
    return plan;
  }

  absl::Status Run(OpKernelContext& context, const void* first,
                   const void* second, void* output) const {
    switch (pass_) {
      case ConvolutionPass::kForward:
        return RunParts(context, second, [&](const Piece& piece) {
          return Pointers{At(first, piece.image_offset),
                          At(output, piece.output_offset)};
        });
      case ConvolutionPass::kInput:
        return RunParts(context, first, [&](const Piece& piece) {
          return Pointers{At(output, piece.image_offset),
                          At(second, piece.output_offset)};
        });
      case ConvolutionPass::kFilter:
        break;
    }
    return RunSums(context, first, second, output);
  }

 private:
  struct Part {
    Piece piece;
    SharedPrimitive primitive;
  };
  struct Pointers {
    const void* image;
    const void* output;
  };

  // The address within an image or an output.
  const void* At(const void* data, int64_t number) const {
    return static_cast<const char*>(data) + number * size_;
  }

  // Pieces of the same shape share a primitive.
  absl::StatusOr<SharedPrimitive> PrimitiveFor(
      const DnnlLibrary& library, const Convolution& sizes,
      const dnnl_memory_desc_t* filter) const {
    for (const Part& part : parts_) {
      if (part.piece.sizes == sizes) return part.primitive;
    }
    return NewPrimitive(library, pass_, sizes, types_, filter);
  }

  // Conversions between the graph's and oneDNN's filter layout.
  absl::Status AddReorders(const DnnlLibrary& library, const Convolution& c,
                           const dnnl_memory_desc_t& packed) {
    ASSIGN_OR_RETURN(const dnnl_memory_desc_t plain,
                     FilterLayout(library, c, types_.image, dnnl_hwio));
    const int64_t pieces = PiecesOfFilter(packed);
    if (pieces == 1) return AddReorder(library, plain, packed);
    const int64_t step = c.filters / pieces;
    for (int64_t first = 0; first < c.filters; first += step) {
      ASSIGN_OR_RETURN(const dnnl_memory_desc_t some_plain,
                       FiltersOf(library, plain, first, step));
      ASSIGN_OR_RETURN(const dnnl_memory_desc_t some_packed,
                       FiltersOf(library, packed, first, step));
      RETURN_IF_ERROR(AddReorder(library, some_plain, some_packed));
    }
    return absl::OkStatus();
  }

  absl::Status AddReorder(const DnnlLibrary& library,
                          const dnnl_memory_desc_t& plain,
                          const dnnl_memory_desc_t& packed) {
    const bool is_sum = pass_ == ConvolutionPass::kFilter;
    ASSIGN_OR_RETURN(DnnlDescriptor copy, DnnlDescriptor::CreateReorder(
                                              library, is_sum ? packed : plain,
                                              is_sum ? plain : packed));
    ASSIGN_OR_RETURN(SharedPrimitive reorder,
                     DnnlPrimitive::Create(std::move(copy)));
    scratchpad_ = std::max(scratchpad_, FloatsOf(reorder->scratchpad_bytes()));
    reorders_.push_back(std::move(reorder));
    return absl::OkStatus();
  }

  // The number of pieces into which converting a filter is worth dividing; each
  // needs a part's scratchpad.
  int64_t PiecesOfFilter(const dnnl_memory_desc_t& packed) const {
    constexpr int64_t kWorth = 1 << 14;
    const int64_t blocks = BlocksOfFilters(packed);
    int64_t pieces = std::max<int64_t>(
        1, std::min<int64_t>({blocks, static_cast<int64_t>(parts_.size()),
                              filter_ / kWorth}));
    while (blocks % pieces != 0) --pieces;
    return pieces;
  }

  absl::Status Reorder(OpKernelContext& context, const void* from, void* to,
                       float* scratchpads) const {
    return ForEach(
        context, static_cast<int64_t>(reorders_.size()), [&](int64_t i) {
          return reorders_[i]->Run({{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}},
                                   scratchpads + i * scratchpad_);
        });
  }

  // Allocates all parts' scratchpads, preceded by `more` elements.
  absl::StatusOr<Tensor> NewBuffer(OpKernelContext& context,
                                   int64_t more) const {
    return context.AllocateTemp(
        DT_FLOAT, {more + std::max<int64_t>(1, scratchpad_) *
                              static_cast<int64_t>(parts_.size())});
  }

  // Converts the filter, then runs each part separately.
  template <typename PointersOf>
  absl::Status RunParts(OpKernelContext& context, const void* filter,
                        const PointersOf& pointers_of) const {
    ASSIGN_OR_RETURN(Tensor buffer, NewBuffer(context, filter_));
    float* const packed = buffer.mutable_flat<float>().data();
    float* const scratchpads = packed + filter_;
    RETURN_IF_ERROR(Reorder(context, filter, packed, scratchpads));
    return ForEachPart(context, [&](int64_t i) {
      const Pointers pointers = pointers_of(parts_[i].piece);
      return parts_[i].primitive->Run({{ImageOf(pass_), pointers.image},
                                       {FilterOf(pass_), packed},
                                       {OutputOf(pass_), pointers.output}},
                                      scratchpads + i * scratchpad_);
    });
  }

  // Each part computes a sum; these are added in order.
  absl::Status RunSums(OpKernelContext& context, const void* images,
                       const void* gradients, void* output) const {
    const int64_t count = static_cast<int64_t>(parts_.size());
    ASSIGN_OR_RETURN(Tensor buffer, NewBuffer(context, filter_ * count));
    float* const sums = buffer.mutable_flat<float>().data();
    float* const scratchpads = sums + filter_ * count;
    RETURN_IF_ERROR(ForEachPart(context, [&](int64_t i) {
      const Piece& piece = parts_[i].piece;
      return parts_[i].primitive->Run(
          {{ImageOf(pass_), At(images, piece.image_offset)},
           {FilterOf(pass_), sums + i * filter_},
           {OutputOf(pass_), At(gradients, piece.output_offset)}},
          scratchpads + i * scratchpad_);
    }));
    AddUp(context.scheduler(), sums + filter_, count - 1, filter_, sums);
    return Reorder(context, sums, output, scratchpads);
  }

  template <typename Work>
  absl::Status ForEachPart(OpKernelContext& context, const Work& work) const {
    return ForEach(context, static_cast<int64_t>(parts_.size()), work);
  }

  template <typename Work>
  static absl::Status ForEach(OpKernelContext& context, int64_t count,
                              const Work& work) {
    if (count == 1) return work(0);
    FirstError error;
    context.scheduler().ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) error.Update(work(i));
    });
    return error.Take();
  }

  ConvolutionPass pass_ = ConvolutionPass::kForward;
  Types types_ = {dnnl_f32, dnnl_f32};
  int64_t size_ = 0;         // bytes per element of an image
  std::vector<Part> parts_;  // at least one
  // Each converts some of the filters; at least one.
  std::vector<SharedPrimitive> reorders_;
  int64_t filter_ = 0;      // floats of the converted filter
  int64_t scratchpad_ = 0;  // floats per part
};

DnnlConvolution::DnnlConvolution(const DnnlLibrary* library,
                                 ConvolutionPass pass, DataType type)
    : library_(library), pass_(pass), type_(type) {}

DnnlConvolution::~DnnlConvolution() = default;

DnnlConvolution::SharedPlan DnnlConvolution::PlanFor(OpKernelContext& context,
                                                     const Convolution& sizes) {
  if (library_ == nullptr || sizes.groups != 1 || !FitsInt(sizes)) {
    return nullptr;
  }
  if (pass_ == ConvolutionPass::kInput &&
      sizes.channels < kMinChannelsOfInput) {
    return nullptr;
  }
  const int threads = context.scheduler().num_compute_threads();
  return plans_.Find(sizes, [&] {
    return Plan::Create(*library_, pass_, type_, sizes, threads);
  });
}

bool DnnlConvolution::CanRun(OpKernelContext& context,
                             const Convolution& sizes) {
  return PlanFor(context, sizes) != nullptr;
}

absl::StatusOr<bool> DnnlConvolution::Run(OpKernelContext& context,
                                          const Convolution& sizes,
                                          const void* first, const void* second,
                                          void* output) {
  const SharedPlan plan = PlanFor(context, sizes);
  if (plan == nullptr) return false;
  RETURN_IF_ERROR(plan->Run(context, first, second, output));
  return true;
}

}  // namespace weft
