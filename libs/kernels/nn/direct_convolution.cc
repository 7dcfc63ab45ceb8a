#include "libs/kernels/nn/direct_convolution.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>

#include "libs/base/status.h"
#include "libs/kernels/isa/conv_loops.h"
#include "libs/kernels/nn/convolution_parts.h"
#include "libs/kernels/nn/panels.h"

namespace weft {
namespace {

// The elements of image rows that are copied at a time: they fit into the
// second-level cache while all filters are applied.
constexpr int64_t kNumbersOfRows = 1 << 15;
// The elements of a gradient's rows that are summed at a time: they fit into
// the first-level cache.
constexpr int64_t kNumbersOfPanel = 1 << 12;
// The maximum per thread.
constexpr int64_t kMaxNumbersOfRows = 1 << 22;
// The columns of an image that windows cover, including padding.
int64_t PaddedColumns(const WindowDim& columns) {
  return (columns.out - 1) * columns.stride + columns.size;
}

// With few filters, adjacent windows share a vector: they become one window as
// wide as all of them, with as many times the filters, each of which covers
// only its own part. The memory layout of the results is unchanged.
Convolution Joined(const Convolution& c, int64_t windows) {
  Convolution result = c;
  result.filters *= windows;
  result.columns.size += (windows - 1) * c.columns.stride;
  result.columns.stride *= windows;
  result.columns.out /= windows;
  return result;
}

// The approximate cost of a row of windows in half cycles, for each row of a
// filter, including its share of packing the filter. Additions to one sum are
// sequential, so there should be eight at a time.
int64_t CostOfJoined(const Convolution& c, int64_t windows) {
  constexpr int64_t kAtATime = 8, kCyclesToPack = 12;
  const Convolution joined = Joined(c, windows);
  const int64_t vectors = CeilOfRatio(joined.filters, BestConvLoops().vector);
  const int64_t rest = c.columns.out % windows == 0 ? 0 : kAtATime;
  const int64_t packing =
      windows == 1
          ? 0
          : kCyclesToPack * BestConvLoops().vector / (c.batch * c.rows.out);
  return joined.columns.size * joined.channels *
         (std::max(joined.columns.out * vectors, kAtATime) + rest + packing);
}

// Returns the cost of computing dot products of one filter.
int64_t CostOfDots(const Convolution& c) {
  const int64_t numbers = c.columns.size * c.channels;
  const int64_t vector = BestConvLoops().vector;
  return c.columns.out * 2 * (numbers / vector + numbers % vector + 4);
}

// The best number of windows to join; 1: none.
int64_t WindowsToJoin(const Convolution& c) {
  int64_t best = 1;
  int64_t cost = c.filters == 1 ? CostOfDots(c) : CostOfJoined(c, 1);
  const int64_t most =
      std::min(BestConvLoops().vector / c.filters, c.columns.out);
  const int64_t unjoined = cost;
  for (int64_t windows = 2; windows <= most; ++windows) {
    const int64_t other = CostOfJoined(c, windows);
    if (other < cost) {
      cost = other;
      best = windows;
    }
  }
  // A small gain does not justify checking the whole image.
  return cost * 5 < unjoined * 4 ? best : 1;
}

// Returns whether all elements of the images are finite: an infinite one must
// not be multiplied by the zeros of other windows.
bool AreFinite(Scheduler& scheduler, const Convolution& c,
               const float* images) {
  constexpr int64_t kRange = 1 << 15;
  std::atomic<bool> result{true};
  const std::function<void(int64_t, int64_t)> look = [&](int64_t begin,
                                                         int64_t end) {
    if (!BestConvLoops().are_finite(images + begin, end - begin)) {
      result.store(false, std::memory_order_relaxed);
    }
  };
  scheduler.ParallelFor(c.batch * c.image_size(), kRange, look);
  return result.load(std::memory_order_relaxed);
}

// The rows of an image for a range of windows, padded left and right; or the
// image itself without padding, unless a copy is requested.
class PaddedRows {
 public:
  explicit PaddedRows(const Convolution& c, bool always_copies)
      : c_(c),
        copies_(always_copies || c.columns.pad > 0 ||
                PaddedColumns(c.columns) > c.columns.in),
        row_((copies_ ? PaddedColumns(c.columns) : c.columns.in) * c.channels) {
  }

  int64_t row() const { return row_; }
  // The buffer size for `windows` rows of windows, including space for vectors
  // that exceed the end.
  int64_t numbers(int64_t windows) const {
    if (!copies_) return 0;
    const int64_t rows =
        (windows - 1) * c_.rows.stride + (c_.rows.size - 1) * c_.rows.dilation;
    return std::min(rows + 1, c_.rows.in) * row_ + 64;
  }

  // Copies the rows for windows [begin, end) of one image to `buffer`.
  void Take(const float* image, int64_t begin, int64_t end, float* buffer) {
    first_ = std::max<int64_t>(0, c_.rows.At(begin, 0));
    const int64_t last =
        std::min(c_.rows.in, c_.rows.At(end - 1, c_.rows.size - 1) + 1);
    rows_ = image;
    // Windows beyond the image cover no row of it.
    if (last <= first_) return;
    image += first_ * c_.columns.in * c_.channels;
    rows_ = image;
    if (!copies_) return;
    rows_ = buffer;
    for (int64_t y = first_; y < last; ++y, buffer += row_) {
      CopyRow(image + (y - first_) * c_.columns.in * c_.channels, buffer);
    }
  }

  // Row `y` of the image. REQUIRES: it was taken.
  const float* Row(int64_t y) const { return rows_ + (y - first_) * row_; }

 private:
  void CopyRow(const float* from, float* to) const {
    const int64_t before = std::min(c_.columns.pad * c_.channels, row_);
    const int64_t count = std::min(c_.columns.in * c_.channels, row_ - before);
    std::fill_n(to, before, 0.0f);
    std::copy_n(from, count, to + before);
    std::fill_n(to + before + count, row_ - before - count, 0.0f);
  }

  const Convolution& c_;
  const bool copies_;
  const int64_t row_;  // numbers
  int64_t first_ = 0;
  const float* rows_ = nullptr;
};

// A forward convolution with a packed filter.
class Forward {
 public:
  // With this number of joined windows.
  Forward(const Convolution& convolution, int64_t joined)
      : c_(Joined(convolution, joined)),
        unjoined_(convolution),
        joined_(joined),
        taps_of_row_(c_.columns.size * c_.channels),
        panels_(c_.filters),
        flat_(c_.rows.size == 1 && c_.columns.size == 1 &&
              c_.rows.stride == 1 && c_.columns.stride == 1 &&
              c_.rows.pad == 0 && c_.columns.pad == 0 &&
              c_.rows.in == c_.rows.out && c_.columns.in == c_.columns.out) {}

  // `at(i, k, f)` is the filter's element in row i, for element k of the
  // image's row and filter f.
  template <typename At>
  absl::Status Run(OpKernelContext& context, const float* images, float* output,
                   const At& at) const {
    const int64_t rows = c_.rows.size * taps_of_row_;
    const int64_t filter = is_dot() ? rows : panels_.numbers(rows);
    const int64_t lines =
        flat_ ? CeilOfRatio(c_.all_windows(), kFlat) : c_.batch * c_.rows.out;
    const int64_t parts =
        std::min({lines, PartsWorthOf(unjoined_),
                  2 * int64_t{context.scheduler().num_compute_threads()}});
    const int64_t size = PaddedRows(unjoined_, false).numbers(RowsAtATime());
    ASSIGN_OR_RETURN(Tensor tensor,
                     context.AllocateTemp(DT_FLOAT, {filter + parts * size}));
    float* const packed = tensor.mutable_flat<float>().data();
    const int64_t taps = unjoined_.columns.size * c_.channels;
    const int64_t apart = unjoined_.columns.stride * c_.channels;
    const auto pack = [&](int64_t r, int64_t f) {
      const int64_t window = f / unjoined_.filters;
      const int64_t tap = r % taps_of_row_ - window * apart;
      if (tap < 0 || tap >= taps) return 0.0f;
      return at(r / taps_of_row_, tap, f % unjoined_.filters);
    };
    if (is_dot()) {
      for (int64_t r = 0; r < rows; ++r) packed[r] = pack(r, 0);
    } else {
      panels_.Pack(rows, 0, rows, packed, pack);
    }
    const std::function<void(int64_t, int64_t)> work = [&](int64_t begin,
                                                           int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = lines * i / parts, last = lines * (i + 1) / parts;
        if (flat_) {
          Flat(first * kFlat, std::min(last * kFlat, c_.all_windows()), images,
               packed, output);
        } else {
          Lines(first, last, images, packed, packed + filter + i * size,
                output);
        }
      }
    };
    if (parts == 1) {
      work(0, 1);
    } else {
      context.scheduler().ParallelFor(parts, 1, work);
    }
    return absl::OkStatus();
  }

 private:
  // The size of a part of 1 x 1 windows is a multiple of this.
  static constexpr int64_t kFlat = 48;

  bool is_dot() const { return c_.filters == 1; }
  // Returns whether the last windows of a row are too few to be joined.
  bool has_rest() const { return unjoined_.columns.out % joined_ != 0; }
  // The number of elements in a row of windows.
  int64_t line() const { return unjoined_.columns.out * unjoined_.filters; }

  int64_t RowsAtATime() const {
    const int64_t row = PaddedColumns(unjoined_.columns) * c_.channels;
    const int64_t fit = kNumbersOfRows / row - c_.rows.size * c_.rows.dilation;
    return std::clamp<int64_t>(fit / c_.rows.stride, 1, c_.rows.out);
  }

  // Rows [begin, end) of windows, counted through all images.
  void Lines(int64_t begin, int64_t end, const float* images,
             const float* filter, float* buffer, float* output) const {
    PaddedRows rows(unjoined_, false);
    const int64_t most = RowsAtATime();
    while (begin < end) {
      const int64_t n = begin / c_.rows.out, y = begin % c_.rows.out;
      const int64_t count = std::min({most, end - begin, c_.rows.out - y});
      rows.Take(images + n * c_.image_size(), y, y + count, buffer);
      Block(rows, y, y + count, filter, output + begin * line());
      begin += count;
    }
  }

  // Rows [begin, end) of windows of one image.
  void Block(const PaddedRows& rows, int64_t begin, int64_t end,
             const float* filter, float* output) const {
    OverlapArgs args;
    args.rows = c_.columns.out;
    args.steps = taps_of_row_;
    args.a_run = c_.rows.dilation * rows.row();
    args.a_row = c_.columns.stride * c_.channels;
    for (int64_t p = 0; p < panels_.count(); ++p) {
      float* out = output;
      for (int64_t y = begin; y < end; ++y) {
        const TapRange taps = TapRange::Of(c_.rows, y);
        args.runs = taps.end - taps.begin;
        // For a window without rows, the operands are not read.
        const float* a =
            args.runs == 0 ? filter : rows.Row(c_.rows.At(y, taps.begin));
        Products(args, p, a, filter, taps.begin, out);
        if (has_rest()) LastWindows(args, p, a, filter, taps.begin, out);
        out += line();
      }
    }
  }

  // The windows that are too few to be joined, together with preceding ones,
  // which are computed again.
  void LastWindows(OverlapArgs args, int64_t panel, const float* a,
                   const float* filter, int64_t tap, float* out) const {
    const int64_t first = unjoined_.columns.out - joined_;
    args.rows = 1;
    Products(args, panel, a + first * unjoined_.columns.stride * c_.channels,
             filter, tap, out + first * unjoined_.filters);
  }

  // 1 x 1 windows [begin, end).
  void Flat(int64_t begin, int64_t end, const float* images,
            const float* filter, float* output) const {
    OverlapArgs args;
    args.runs = 1;
    args.steps = args.a_row = c_.channels;
    for (int64_t i = begin; i < end; i += kFlat) {
      args.rows = std::min(kFlat, end - i);
      for (int64_t p = 0; p < panels_.count(); ++p) {
        Products(args, p, images + i * c_.channels, filter, 0,
                 output + i * c_.filters);
      }
    }
  }

  // Multiplies the filter from its row `tap` on.
  void Products(OverlapArgs args, int64_t panel, const float* a,
                const float* filter, int64_t tap, float* out) const {
    const ConvLoops& loops = BestConvLoops();
    args.sum_row = c_.filters;
    args.a_step = 1;
    if (is_dot()) {
      args.b_run = taps_of_row_;
      return loops.dots(args, a, filter + tap * taps_of_row_, out);
    }
    const int64_t w = panels_.width(panel);
    args.columns = panels_.columns(panel);
    args.b_step = w;
    args.b_run = taps_of_row_ * w;
    loops.products(args, a,
                   filter + panels_.offset(panel, c_.rows.size * taps_of_row_) +
                       tap * taps_of_row_ * w,
                   out + panels_.first(panel));
  }

  const Convolution c_;
  const Convolution& unjoined_;
  const int64_t joined_;
  const int64_t taps_of_row_;
  const Panels panels_;
  const bool flat_;  // windows of one pixel, side by side
};

template <typename At>
absl::Status RunForward(OpKernelContext& context, const Convolution& c,
                        const float* images, float* output, const At& at) {
  int64_t joined = WindowsToJoin(c);
  if (joined > 1 && !AreFinite(context.scheduler(), c, images)) joined = 1;
  return Forward(c, joined).Run(context, images, output, at);
}

// The gradient with respect to the filter.
class FilterGradient {
 public:
  FilterGradient(const Convolution& c)
      : c_(c), taps_of_row_(c.columns.size * c.channels), panels_(c.filters) {}

  absl::Status Run(OpKernelContext& context, const float* images,
                   const float* gradients, float* output) const {
    const int64_t numbers = c_.taps() * c_.filters;
    const int64_t parts = std::min(c_.batch, SumsWorthOf(c_));
    const int64_t size = SizeOfImageBuffer() + SizeOfGradientBuffer();
    ASSIGN_OR_RETURN(
        Tensor tensor,
        context.AllocateTemp(DT_FLOAT, {(parts - 1) * numbers + parts * size}));
    float* const sums = tensor.mutable_flat<float>().data();
    float* const buffers = sums + (parts - 1) * numbers;
    const auto sum_of = [&](int64_t i) {
      return i == 0 ? output : sums + (i - 1) * numbers;
    };
    const std::function<void(int64_t, int64_t)> work = [&](int64_t begin,
                                                           int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        SumUp(c_.batch * i / parts, c_.batch * (i + 1) / parts, images,
              gradients, buffers + i * size, sum_of(i));
      }
    };
    if (parts == 1) {
      work(0, 1);
      return absl::OkStatus();
    }
    context.scheduler().ParallelFor(parts, 1, work);
    AddUp(context.scheduler(), sums, parts - 1, numbers, output);
    return absl::OkStatus();
  }

 private:
  int64_t RowsAtATime() const {
    const int64_t fit =
        kNumbersOfPanel / (2 * BestConvLoops().vector * c_.columns.out);
    return std::clamp<int64_t>(fit, 1, c_.rows.out);
  }
  int64_t SizeOfImageBuffer() const {
    return PaddedRows(c_, is_row()).numbers(RowsAtATime());
  }
  int64_t SizeOfGradientBuffer() const {
    if (is_row()) return 0;
    return panels_.numbers(RowsAtATime() * c_.columns.out);
  }
  // With one filter, the sum is a row of the image's elements.
  bool is_row() const { return c_.filters == 1; }

  // Sums over images [begin, end).
  void SumUp(int64_t begin, int64_t end, const float* images,
             const float* gradients, float* buffer, float* sum) const {
    std::fill_n(sum, c_.taps() * c_.filters, 0.0f);
    PaddedRows rows(c_, is_row());
    const int64_t most = RowsAtATime();
    float* const packed = buffer + SizeOfImageBuffer();
    for (int64_t n = begin; n < end; ++n) {
      for (int64_t y = 0; y < c_.rows.out; y += most) {
        const int64_t last = std::min(y + most, c_.rows.out);
        rows.Take(images + n * c_.image_size(), y, last, buffer);
        AddRows(
            rows, y, last,
            gradients + n * c_.output_size() + y * c_.columns.out * c_.filters,
            packed, sum);
      }
    }
  }

  // Rows [begin, end) of windows of one image.
  void AddRows(const PaddedRows& rows, int64_t begin, int64_t end,
               const float* gradient, float* packed, float* sum) const {
    const int64_t count = (end - begin) * c_.columns.out;
    if (!is_row()) {
      panels_.Pack(count, 0, count, packed, [&](int64_t r, int64_t f) {
        return gradient[r * c_.filters + f];
      });
    }
    for (int64_t i = 0; i < c_.rows.size; ++i) {
      // The windows whose row i is inside the image.
      int64_t first = begin, last = end;
      while (first < last && c_.rows.At(first, i) < 0) ++first;
      while (first < last && c_.rows.At(last - 1, i) >= c_.rows.in) --last;
      if (first == last) continue;
      const float* const image = rows.Row(c_.rows.At(first, i));
      OverlapArgs args;
      args.former = FormerSums::kAddedTo;
      args.runs = last - first;
      args.steps = c_.columns.out;
      float* const out = sum + i * taps_of_row_ * c_.filters;
      const int64_t skipped = (first - begin) * c_.columns.out;
      if (is_row()) {
        AddRow(args, rows, gradient + skipped, image, out);
      } else {
        AddPanels(args, rows, image, packed, count, skipped, out);
      }
    }
  }

  void AddPanels(OverlapArgs args, const PaddedRows& rows, const float* image,
                 const float* packed, int64_t count, int64_t skipped,
                 float* out) const {
    args.rows = taps_of_row_;
    args.a_run = c_.rows.stride * rows.row();
    args.a_step = c_.columns.stride * c_.channels;
    args.a_row = 1;
    args.sum_row = c_.filters;
    for (int64_t p = 0; p < panels_.count(); ++p) {
      const int64_t w = panels_.width(p);
      args.columns = panels_.columns(p);
      args.b_step = w;
      args.b_run = c_.columns.out * w;
      BestConvLoops().products(args, image,
                               packed + panels_.offset(p, count) + skipped * w,
                               out + panels_.first(p));
    }
  }

  void AddRow(OverlapArgs args, const PaddedRows& rows, const float* gradient,
              const float* image, float* out) const {
    args.rows = 1;
    args.a_run = c_.columns.out;
    args.a_step = 1;
    args.b_run = c_.rows.stride * rows.row();
    args.b_step = c_.columns.stride * c_.channels;
    const Panels panels(taps_of_row_);
    for (int64_t p = 0; p < panels.count(); ++p) {
      args.columns = panels.columns(p);
      BestConvLoops().products(args, gradient, image + panels.first(p),
                               out + panels.first(p));
    }
  }

  const Convolution& c_;
  const int64_t taps_of_row_;
  const Panels panels_;
};

// Returns whether padded rows are not much longer than the image's, and short
// enough for a thread to copy some.
bool RowsFit(const Convolution& c) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  for (const WindowDim* dim : {&c.rows, &c.columns}) {
    for (const int64_t size :
         {dim->in, dim->out, dim->size, dim->stride, dim->dilation}) {
      if (size < 1 || size > kMax) return false;
    }
    if (dim->pad < 0 || dim->pad > kMax) return false;
  }
  const int64_t columns = PaddedColumns(c.columns);
  if (columns / 4 > c.columns.in + c.columns.size) return false;
  const int64_t rows = (c.rows.size - 1) * c.rows.dilation + 1;
  return columns <= kMaxNumbersOfRows / c.channels / std::min(rows, c.rows.in);
}

}  // namespace

bool IsBestDirect(const Convolution& c, ConvolutionPass pass) {
  if (pass == ConvolutionPass::kFilter) return false;
  const Convolution forward =
      pass == ConvolutionPass::kForward ? c : c.Reversed();
  // With one channel, the filter fits into the first-level cache.
  constexpr int64_t kSmallFilter = 1600;
  return (forward.channels == 1 &&
          forward.taps() * forward.filters <= kSmallFilter) ||
         forward.filters == 1 || WindowsToJoin(forward) > 1;
}

bool IsDirect(const Convolution& c, ConvolutionPass pass) {
  if (c.groups != 1 || c.columns.dilation != 1) return false;
  if (c.batch < 1 || c.channels < 1 || c.filters < 1) return false;
  if (!RowsFit(c)) return false;
  if (pass != ConvolutionPass::kInput) return true;
  return c.rows.stride == 1 && c.columns.stride == 1 && RowsFit(c.Reversed());
}

absl::Status DirectConvolution(OpKernelContext& context, const Convolution& c,
                               ConvolutionPass pass, const float* first,
                               const float* second, float* output) {
  const int64_t row = c.columns.size * c.channels;
  switch (pass) {
    case ConvolutionPass::kForward:
      return RunForward(context, c, first, output,
                        [&](int64_t i, int64_t k, int64_t f) {
                          return second[(i * row + k) * c.filters + f];
                        });
    case ConvolutionPass::kInput: {
      const Convolution reversed = c.Reversed();
      return RunForward(
          context, reversed, second, output,
          [&](int64_t i, int64_t k, int64_t channel) {
            const int64_t y = c.rows.size - 1 - i;
            const int64_t x = c.columns.size - 1 - k / c.filters;
            return first[(y * row + x * c.channels + channel) * c.filters +
                         k % c.filters];
          });
    }
    case ConvolutionPass::kFilter:
      break;
  }
  return FilterGradient(c).Run(context, first, second, output);
}

}  // namespace weft
