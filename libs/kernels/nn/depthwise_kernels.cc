// DepthwiseConv2dNative and its gradients: each channel has separate filters.
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "libs/base/status.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/isa/depthwise_loops.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/nn/convolution_parts.h"
#include "libs/kernels/nn/layout.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/windows.h"

namespace weft {
namespace {

// A convolution in which each channel is a group, with equally many filters.
struct Depthwise : Convolution {
  int64_t multiplier = 1;

  static absl::StatusOr<Depthwise> Of(const WindowAttrs& attrs,
                                      const TensorShape& image,
                                      const TensorShape& filter) {
    RETURN_IF_ERROR(CheckImageAndFilter(image, filter));
    RETURN_IF_ERROR(CheckDepthOfFilter(image.dim(3), filter));
    Depthwise result;
    result.batch = image.dim(0);
    result.channels = result.groups = image.dim(3);
    result.depth = 1;
    result.multiplier = filter.dim(3);
    ASSIGN_OR_RETURN(result.rows, attrs.Dim(1, image.dim(1), filter.dim(0)));
    ASSIGN_OR_RETURN(result.columns, attrs.Dim(2, image.dim(2), filter.dim(1)));
    RETURN_IF_ERROR(
        TensorShape::Create({result.batch, result.rows.out, result.columns.out,
                             result.channels, result.multiplier}));
    result.filters = result.channels * result.multiplier;
    return result;
  }

  // The rows of all outputs, and of all images.
  int64_t output_rows() const { return batch * rows.out; }
  int64_t image_rows() const { return batch * rows.in; }
  // Returns whether an image's rows are repeated for the filters of a channel:
  // if that takes less time than the products, and little memory.
  bool repeats() const {
    constexpr int64_t kMostNumbers = 1 << 20;
    const int64_t seen =
        std::min(rows.in, (rows.size - 1) * rows.dilation + 1) * columns.in;
    return multiplier > 1 && seen <= taps() * columns.out &&
           filters <= kMostNumbers / seen;
  }
};

// The inverse of `number` modulo `modulus`, to which it is coprime.
int64_t InverseOf(int64_t number, int64_t modulus) {
  int64_t a = number % modulus, b = modulus, x = 1, y = 0;
  while (b != 0) {
    const int64_t ratio = a / b;
    a = std::exchange(b, a - ratio * b);
    x = std::exchange(y, x - ratio * y);
  }
  return (x % modulus + modulus) % modulus;
}

// Taps of one dimension, `tap_step` apart, with their positions: `at_step`
// apart in the image, or among the windows.
struct SpacedTaps {
  int64_t count = 0;
  int64_t tap = 0, tap_step = 1;
  int64_t at = 0, at_step = 1;

  // The taps of a window inside the image, and their positions.
  static SpacedTaps OfWindow(const WindowDim& dim, int64_t window) {
    const TapRange range = TapRange::Of(dim, window);
    if (range.begin >= range.end) return {};
    return {.count = range.end - range.begin,
            .tap = range.begin,
            .at = dim.At(window, range.begin),
            .at_step = dim.dilation};
  }

  // The taps at a position of the image, and their windows.
  static SpacedTaps OfPlace(const WindowDim& dim, int64_t place) {
    const int64_t common = std::gcd(dim.stride, dim.dilation);
    const int64_t step = dim.stride / common;
    const int64_t pixel = place + dim.pad;
    if (pixel % common != 0) return {};
    int64_t tap =
        pixel / common % step * InverseOf(dim.dilation / common, step) % step;
    if (tap >= dim.size) return {};
    // A later tap is at the same position in an earlier window.
    const int64_t back = step * dim.dilation / dim.stride;
    int64_t window = (pixel - tap * dim.dilation) / dim.stride;
    if (window >= dim.out) {
      const int64_t skipped = CeilOfRatio(window - dim.out + 1, back);
      window -= skipped * back;
      tap += skipped * step;
    }
    if (window < 0 || tap >= dim.size) return {};
    return {.count = std::min(window / back, (dim.size - 1 - tap) / step) + 1,
            .tap = tap,
            .tap_step = step,
            .at = window,
            .at_step = -back};
  }

  bool HasTheTapsOf(const SpacedTaps& other) const {
    return count == other.count && tap == other.tap;
  }
};

// The kind of a result: a window, or a position of the image.
enum class ResultOf { kWindow, kPlace };

// Equally spaced results of one dimension with the same taps; `taps.at` is that
// of the first one.
struct TapRun {
  int64_t first, count;
  SpacedTaps taps;
};
using TapRuns = absl::InlinedVector<TapRun, 8>;

// The runs of results [begin, end). Positions of the image that are a stride
// apart have the same taps.
TapRuns RunsOf(ResultOf what, const WindowDim& dim, int64_t begin,
               int64_t end) {
  TapRuns runs;
  const int64_t step = what == ResultOf::kPlace ? dim.stride : 1;
  for (int64_t i = begin; i < std::min(begin + step, end); ++i) {
    for (int64_t at = i; at < end; at += step) {
      const SpacedTaps taps = what == ResultOf::kPlace
                                  ? SpacedTaps::OfPlace(dim, at)
                                  : SpacedTaps::OfWindow(dim, at);
      if (at > i && runs.back().taps.HasTheTapsOf(taps)) {
        ++runs.back().count;
      } else {
        runs.push_back({at, 1, taps});
      }
    }
  }
  return runs;
}

// Rows of results, and the pixels they are computed from: windows from the
// image's pixels, positions from the windows' numbers. All have d.filters
// numbers.
class ResultRows {
 public:
  ResultRows(ResultOf what, const Depthwise& d)
      : what_(what),
        d_(d),
        columns_(RunsOf(what, d.columns, 0,
                        is_of_places() ? d.columns.in : d.columns.out)) {}

  // The number of elements in a row.
  int64_t size() const { return result_columns() * d_.filters; }

  // Calls `visit(run, offset)` for all of rows [begin, end) of an image;
  // `offset` is that of a run's results from the first of them. Taps count from
  // row `first_pixels` of the pixels.
  template <typename Visit>
  void ForEach(int64_t begin, int64_t end, int64_t first_pixels,
               const Visit& visit) const {
    Taps taps;
    for (TapRun& rows : RunsOf(what_, d_.rows, begin, end)) {
      rows.taps.at -= first_pixels;
      for (const TapRun& columns : columns_) {
        FindTaps(rows.taps, columns.taps, taps);
        visit(RunOf(rows.count, columns.count, taps),
              (rows.first - begin) * size() + columns.first * d_.filters);
      }
    }
  }

 private:
  using Taps = absl::InlinedVector<DepthwiseTap, 16>;

  bool is_of_places() const { return what_ == ResultOf::kPlace; }
  int64_t result_columns() const {
    return is_of_places() ? d_.columns.in : d_.columns.out;
  }
  int64_t pixel_columns() const {
    return is_of_places() ? d_.columns.out : d_.columns.in;
  }

  // The distances between results and pixels for RunsOf.
  DepthwiseRun RunOf(int64_t rows, int64_t windows, const Taps& taps) const {
    const int64_t pixel = d_.filters * pixel_columns();
    DepthwiseRun run = {.rows = rows,
                        .windows = windows,
                        .channels = d_.filters,
                        .taps = taps.data(),
                        .num_taps = static_cast<int64_t>(taps.size()),
                        .pixel_row = pixel,
                        .pixel_step = d_.filters,
                        .result_row = size(),
                        .result_step = d_.filters};
    (is_of_places() ? run.result_row : run.pixel_row) *= d_.rows.stride;
    (is_of_places() ? run.result_step : run.pixel_step) *= d_.columns.stride;
    return run;
  }

  void FindTaps(const SpacedTaps& rows, const SpacedTaps& columns,
                Taps& taps) const {
    taps.resize(static_cast<size_t>(rows.count * columns.count));
    DepthwiseTap* next = taps.data();
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t pixel =
          (rows.at + i * rows.at_step) * pixel_columns() + columns.at;
      const int64_t tap =
          (rows.tap + i * rows.tap_step) * d_.columns.size + columns.tap;
      for (int64_t j = 0; j < columns.count; ++j) {
        *next++ = {(pixel + j * columns.at_step) * d_.filters,
                   (tap + j * columns.tap_step) * d_.filters};
      }
    }
  }

  const ResultOf what_;
  const Depthwise& d_;
  const TapRuns columns_;
};

// Rows of images for windows: the image itself, or the rows for a band of the
// output with each channel repeated for its filters.
template <typename W>
class RepeatedRows {
 public:
  RepeatedRows(const Depthwise& d, const W* images)
      : d_(d), images_(images), most_(RowsAtATime(d)) {}

  // Calls `visit(row, count, first, pixels)` for rows [begin, end) of the
  // output, counted through all images. Each call is for rows of one image;
  // `pixels` holds the image's rows from `first` on.
  template <typename Visit>
  absl::Status ForEach(OpKernelContext& context, int64_t begin, int64_t end,
                       const Visit& visit) const {
    Tensor room;
    if (d_.repeats()) {
      ASSIGN_OR_RETURN(room,
                       context.AllocateTemp(
                           DataTypeOf<W>::value,
                           {RowsOf(d_, most_) * d_.columns.in * d_.filters}));
    }
    while (begin < end) {
      const int64_t y = begin % d_.rows.out;
      const int64_t count = std::min({most_, end - begin, d_.rows.out - y});
      const int64_t first =
          std::clamp<int64_t>(d_.rows.At(y, 0), 0, d_.rows.in);
      visit(begin, count, first,
            Take(begin / d_.rows.out, first, y + count - 1, room));
      begin += count;
    }
    return absl::OkStatus();
  }

 private:
  // The number of elements that fit into the second-level cache.
  static constexpr int64_t kNumbersOfRows = 1 << 15;

  // The number of image rows for `count` output rows.
  static int64_t RowsOf(const Depthwise& d, int64_t count) {
    return std::min(
        d.rows.in, d.rows.At(count - 1, d.rows.size - 1) + 1 - d.rows.At(0, 0));
  }
  // The number of output rows at a time.
  static int64_t RowsAtATime(const Depthwise& d) {
    if (!d.repeats()) return d.rows.out;
    const int64_t row = std::max<int64_t>(1, d.columns.in * d.filters);
    const int64_t more = (kNumbersOfRows / row - RowsOf(d, 1)) / d.rows.stride;
    return std::clamp<int64_t>(more + 1, 1, d.rows.out);
  }

  // Takes image rows from `first` on, up to the last for an output row.
  const W* Take(int64_t n, int64_t first, int64_t window, Tensor& room) const {
    const int64_t size = d_.columns.in * d_.channels;
    const W* const from = images_ + n * d_.image_size() + first * size;
    if (!d_.repeats()) return from;
    const int64_t end =
        std::min(d_.rows.in, d_.rows.At(window, d_.rows.size - 1) + 1);
    W* to = room.mutable_flat<W>().data();
    for (int64_t i = 0; i < (end - first) * size; ++i) {
      to = std::fill_n(to, d_.multiplier, from[i]);
    }
    return room.flat<W>().data();
  }

  const Depthwise& d_;
  const W* const images_;
  const int64_t most_;
};

// Implements DepthwiseLoops for pixels with unrepeated channels; the run is for
// pixels with repeated ones.
template <typename W>
struct UnrepeatedLoops {
  static void Products(const Depthwise& d, const DepthwiseRun& run,
                       const W* pixels, const W* filter, W* result) {
    ForEachWindow(run, [&](int64_t pixel, int64_t at) {
      W* const sums = result + at;
      std::fill_n(sums, d.filters, W(0));
      ForEachTap(d, run, pixel, [&](int64_t from, int64_t tap) {
        AddProducts(d, pixels + from, filter + tap, sums);
      });
    });
  }
  static void AddToFilter(const Depthwise& d, const DepthwiseRun& run,
                          const W* pixels, const W* result, W* filter) {
    ForEachWindow(run, [&](int64_t pixel, int64_t at) {
      ForEachTap(d, run, pixel, [&](int64_t from, int64_t tap) {
        AddProducts(d, pixels + from, result + at, filter + tap);
      });
    });
  }

 private:
  template <typename Visit>
  static void ForEachWindow(const DepthwiseRun& run, const Visit& visit) {
    for (int64_t y = 0; y < run.rows; ++y) {
      for (int64_t x = 0; x < run.windows; ++x) {
        visit(y * run.pixel_row + x * run.pixel_step,
              y * run.result_row + x * run.result_step);
      }
    }
  }
  template <typename Visit>
  static void ForEachTap(const Depthwise& d, const DepthwiseRun& run,
                         int64_t pixel, const Visit& visit) {
    for (int64_t t = 0; t < run.num_taps; ++t) {
      visit((run.taps[t].pixel + pixel) / d.multiplier, run.taps[t].filter);
    }
  }
  // Multiplies each channel by its elements.
  static void AddProducts(const Depthwise& d, const W* image, const W* numbers,
                          W* sums) {
    for (int64_t c = 0; c < d.channels; ++c) {
      for (int64_t m = 0; m < d.multiplier; ++m) {
        *sums++ += image[c] * *numbers++;
      }
    }
  }
};

// The three passes; each overwrites its result. Each sum has one order,
// whichever thread computes it.
template <typename W>
class DepthwisePasses {
 public:
  DepthwisePasses(OpKernelContext& context, const Depthwise& d)
      : context_(context),
        d_(d),
        is_unrepeated_(d.multiplier > 1 && !d.repeats()) {}

  absl::Status Forward(const W* images, const W* filter, W* output) const {
    const ResultRows rows(ResultOf::kWindow, d_);
    const RepeatedRows<W> repeated(d_, images);
    const auto visit = [&](int64_t row, int64_t count, int64_t first,
                           const W* pixels) {
      Products(rows, row % d_.rows.out, count, first, pixels, filter,
               output + row * rows.size());
    };
    return ForRanges(d_.output_rows(), rows.size(),
                     [&](int64_t begin, int64_t end) {
                       return repeated.ForEach(context_, begin, end, visit);
                     });
  }

  absl::Status ToInput(const W* filter, const W* gradients, W* images) const {
    const ResultRows rows(ResultOf::kPlace, d_);
    return ForRanges(
        d_.image_rows(), rows.size(), [&](int64_t begin, int64_t end) {
          return d_.multiplier == 1
                     ? ToRows(rows, begin, end, filter, gradients, images)
                     : ToFewerChannels(rows, begin, end, filter, gradients,
                                       images);
        });
  }

  // In parts of whole rows with separate sums.
  absl::Status ToFilter(const W* images, const W* gradients, W* filter) const {
    const int64_t numbers = d_.taps() * d_.filters;
    const int64_t all = d_.output_rows();
    const int64_t parts = std::min(all, SumsWorthOf(d_));
    ASSIGN_OR_RETURN(
        Tensor tensor,
        context_.AllocateTemp(DataTypeOf<W>::value, {(parts - 1) * numbers}));
    W* const sums = tensor.mutable_flat<W>().data();
    const ResultRows rows(ResultOf::kWindow, d_);
    FirstError error;
    const std::function<void(int64_t, int64_t)> work = [&](int64_t begin,
                                                           int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        error.Update(SumUp(rows, all * i / parts, all * (i + 1) / parts, images,
                           gradients,
                           i == 0 ? filter : sums + (i - 1) * numbers));
      }
    };
    if (parts == 1) {
      work(0, 1);
      return error.Take();
    }
    context_.scheduler().ParallelFor(parts, 1, work);
    RETURN_IF_ERROR(error.Take());
    AddUp(context_.scheduler(), sums, parts - 1, numbers, filter);
    return absl::OkStatus();
  }

 private:
  // Calls `work(begin, end)` for ranges of rows, each with this many results.
  template <typename Work>
  absl::Status ForRanges(int64_t rows, int64_t results,
                         const Work& work) const {
    constexpr int64_t kMost = 1 << 20;
    FirstError error;
    ParallelLoop(
        context_, rows, std::min(results, kMost) * std::min(d_.taps(), kMost),
        [&](int64_t begin, int64_t end) { error.Update(work(begin, end)); });
    return error.Take();
  }

  // Computes `count` rows.
  void Products(const ResultRows& rows, int64_t row, int64_t count,
                int64_t first_pixels, const W* pixels, const W* filter,
                W* results) const {
    rows.ForEach(row, row + count, first_pixels,
                 [&](const DepthwiseRun& run, int64_t offset) {
                   if (is_unrepeated_) {
                     return UnrepeatedLoops<W>::Products(
                         d_, run, pixels, filter, results + offset);
                   }
                   BestDepthwiseLoops<W>().products(run, pixels, filter,
                                                    results + offset);
                 });
  }

  // Rows [begin, end) of the images, counted through all images.
  absl::Status ToRows(const ResultRows& rows, int64_t begin, int64_t end,
                      const W* filter, const W* gradients, W* images) const {
    while (begin < end) {
      const int64_t n = begin / d_.rows.in, row = begin % d_.rows.in;
      const int64_t count = std::min(end - begin, d_.rows.in - row);
      Products(rows, row, count, 0, gradients + n * d_.output_size(), filter,
               images + begin * rows.size());
      begin += count;
    }
    return absl::OkStatus();
  }

  // Like ToRows, if a channel has a gradient for each of its filters.
  absl::Status ToFewerChannels(const ResultRows& rows, int64_t begin,
                               int64_t end, const W* filter, const W* gradients,
                               W* images) const {
    ASSIGN_OR_RETURN(Tensor room,
                     context_.AllocateTemp(DataTypeOf<W>::value,
                                           {kPixelsAtATime * d_.filters}));
    W* const wide = room.mutable_flat<W>().data();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i % d_.rows.in;
      const W* const from = gradients + i / d_.rows.in * d_.output_size();
      W* const to = images + i * d_.columns.in * d_.channels;
      rows.ForEach(
          row, row + 1, 0, [&](const DepthwiseRun& run, int64_t offset) {
            ToFewerPixels(run, from, filter, wide, to + offset / d_.multiplier);
          });
    }
    return absl::OkStatus();
  }

  // For a run of one row.
  void ToFewerPixels(const DepthwiseRun& run, const W* gradients,
                     const W* filter, W* wide, W* image) const {
    const auto pixel = [&](int64_t x) {
      return image + x * run.result_step / d_.multiplier;
    };
    // Skips empty sums, which would take long with many filters.
    for (int64_t x = 0; run.num_taps == 0 && x < run.windows; ++x) {
      std::fill_n(pixel(x), d_.channels, W(0));
    }
    if (run.num_taps == 0) return;
    DepthwiseRun some = run;
    some.result_step = d_.filters;
    for (int64_t x = 0; x < run.windows; x += some.windows) {
      some.windows = std::min(kPixelsAtATime, run.windows - x);
      BestDepthwiseLoops<W>().products(some, gradients + x * run.pixel_step,
                                       filter, wide);
      for (int64_t k = 0; k < some.windows; ++k) {
        AddUpFilters(wide + k * d_.filters, pixel(x + k));
      }
    }
  }

  // Adds up the filters of each channel.
  void AddUpFilters(const W* from, W* pixel) const {
    for (int64_t c = 0; c < d_.channels; ++c, from += d_.multiplier) {
      pixel[c] = std::accumulate(from, from + d_.multiplier, W(0));
    }
  }

  // Sums over rows [begin, end) of the output.
  absl::Status SumUp(const ResultRows& rows, int64_t begin, int64_t end,
                     const W* images, const W* gradients, W* filter) const {
    std::fill_n(filter, d_.taps() * d_.filters, W(0));
    const auto add = [&](int64_t row, int64_t count, int64_t first,
                         const W* pixels) {
      const int64_t y = row % d_.rows.out;
      rows.ForEach(
          y, y + count, first, [&](const DepthwiseRun& run, int64_t offset) {
            const W* const from = gradients + row * rows.size() + offset;
            if (is_unrepeated_) {
              return UnrepeatedLoops<W>::AddToFilter(d_, run, pixels, from,
                                                     filter);
            }
            BestDepthwiseLoops<W>().add_to_filter(run, pixels, from, filter);
          });
    };
    return RepeatedRows<W>(d_, images).ForEach(context_, begin, end, add);
  }

  // The number of pixels with repeated channels that is optimal for the loops.
  static constexpr int64_t kPixelsAtATime = 8;

  OpKernelContext& context_;
  const Depthwise& d_;
  // Whether pixels have unrepeated channels although a channel has several
  // filters.
  const bool is_unrepeated_;
};

template <typename W>
class DepthwiseKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(WindowAttrs attrs,
                     WindowAttrs::ReadConvolution(construction));
    const std::string& op = construction.node().type();
    const ConvolutionPass pass =
        op == "DepthwiseConv2dNative" ? ConvolutionPass::kForward
        : op == "DepthwiseConv2dNativeBackpropFilter" ? ConvolutionPass::kFilter
                                                      : ConvolutionPass::kInput;
    return std::make_unique<DepthwiseKernel>(construction, std::move(attrs),
                                             pass);
  }
  DepthwiseKernel(const OpKernelConstruction& construction, WindowAttrs attrs,
                  ConvolutionPass pass)
      : OpKernel(construction), attrs_(std::move(attrs)), pass_(pass) {}

  absl::Status Compute(OpKernelContext& context) override {
    // The two given operands, and the shape of the third.
    TensorShape image = context.input(0).shape();
    TensorShape filter = context.input(1).shape();
    if (pass_ == ConvolutionPass::kInput) {
      ASSIGN_OR_RETURN(image, ShapeOfInput(context, 0));
    }
    if (pass_ == ConvolutionPass::kFilter) {
      ASSIGN_OR_RETURN(filter, ShapeOfInput(context, 1));
    }
    ASSIGN_OR_RETURN(const Depthwise d, Depthwise::Of(attrs_, image, filter));
    if (pass_ != ConvolutionPass::kForward) {
      RETURN_IF_ERROR(CheckOutBackprop(context.input(2), d.output_shape()));
    }
    if (!context.output_required(0)) return absl::OkStatus();
    const TensorShape shape = pass_ == ConvolutionPass::kForward
                                  ? d.output_shape()
                              : pass_ == ConvolutionPass::kFilter ? filter
                                                                  : image;
    return Run(context, d, shape);
  }

 private:
  absl::Status Run(OpKernelContext& context, const Depthwise& d,
                   const TensorShape& shape) const {
    const int first = pass_ == ConvolutionPass::kInput ? 1 : 0;
    const int second = pass_ == ConvolutionPass::kForward ? 1 : 2;
    ASSIGN_OR_RETURN(const Tensor a, WidenTo<W>(context, context.input(first)));
    ASSIGN_OR_RETURN(const Tensor b,
                     WidenTo<W>(context, context.input(second)));
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DataTypeOf<W>::value, shape));
    W* const result = output.mutable_flat<W>().data();
    if (a.num_elements() == 0 || b.num_elements() == 0 ||
        output.num_elements() == 0) {
      std::fill_n(result, output.num_elements(), W(0));
    } else {
      RETURN_IF_ERROR(
          Pass(context, d, a.flat<W>().data(), b.flat<W>().data(), result));
    }
    return NarrowTo<W>(context, 0, std::move(output));
  }

  absl::Status Pass(OpKernelContext& context, const Depthwise& d, const W* a,
                    const W* b, W* result) const {
    const DepthwisePasses<W> passes(context, d);
    switch (pass_) {
      case ConvolutionPass::kForward:
        return passes.Forward(a, b, result);
      case ConvolutionPass::kFilter:
        return passes.ToFilter(a, b, result);
      case ConvolutionPass::kInput:
        break;
    }
    return passes.ToInput(a, b, result);
  }

  const WindowAttrs attrs_;
  const ConvolutionPass pass_;
};

}  // namespace

void RegisterDepthwiseKernels(KernelRegistry& registry) {
  for (const char* op :
       {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter",
        "DepthwiseConv2dNativeBackpropInput"}) {
    for (DataType type : {DT_FLOAT, DT_HALF, DT_BFLOAT16, DT_DOUBLE}) {
      KernelDef def;
      def.op = op;
      def.types = {{"T", {type}}};
      registry.Register(
          std::move(def),
          InAnyLayout(ImagesOfConvolution(op),
                      type == DT_DOUBLE ? DepthwiseKernel<double>::Make
                                        : DepthwiseKernel<float>::Make));
    }
  }
}

}  // namespace weft
