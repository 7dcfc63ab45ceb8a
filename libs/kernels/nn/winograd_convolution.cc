#include "libs/kernels/nn/winograd_convolution.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <vector>

#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/isa/conv_loops.h"
#include "libs/kernels/isa/transpose_loops.h"
#include "libs/kernels/nn/convolution_parts.h"
#include "libs/kernels/nn/panels.h"
#include "libs/kernels/nn/winograd_tiles.h"

namespace weft {
namespace {

constexpr int64_t kPoints = kWinogradPoints;
// The minimum number of tiles in a block whose sums over tiles are then added
// to others.
constexpr int64_t kTilesOfSummedBlock = 192;
// The number of tiles summed sequentially; more would be less accurate.
constexpr int64_t kTilesOfChain = 48;
// The approximate maximum number of elements that a block reads and writes.
constexpr int64_t kMaxNumbersOfBlock = 1 << 21;
// The maximum for the buffers of all threads.
constexpr int64_t kMaxNumbersOfBuffers = 1 << 24;
// The maximum for a filter at all points, and for the sums of its gradient.
constexpr int64_t kMaxNumbersOfFilter = 1 << 24;
// The minimum number of windows for which transforming a filter pays off.
constexpr int64_t kLeastWindows = 192;
// The minimum number of tiles for one of several sums: adding it to the others
// takes as long as some dozens of tiles.
constexpr int64_t kTilesOfSum = 128;
// The maximum number of these sums, which are twice as large as a filter. A
// power of two.
constexpr int64_t kMaxSums = 8;

// Rows [begin, end) of windows that use the same rows of a filter.
struct RowsAlike {
  int64_t begin, end;
  TapRange taps;
};

std::vector<RowsAlike> RowsOf(const WindowDim& rows,
                              const WinogradBlock& block) {
  std::vector<RowsAlike> result;
  for (int64_t y = block.begin; y < block.end; ++y) {
    const TapRange taps = TapRange::Of(rows, y);
    if (result.empty() || result.back().taps.begin != taps.begin ||
        result.back().taps.end != taps.end) {
      result.push_back({y, y + 1, taps});
    } else {
      ++result.back().end;
    }
  }
  return result;
}

// The taps of a filter: matrices [channels, filters].
struct Taps {
  const float* first;
  int64_t row, column;  // from tap to tap
};

// Panels of filters that are multiplied together.
struct PanelRange {
  int64_t begin, end;

  // The first filter of the range, and the number of filters.
  int64_t first(const Panels& panels) const { return panels.first(begin); }
  int64_t columns(const Panels& panels) const {
    return panels.first(end - 1) + panels.columns(end - 1) - first(panels);
  }

  // Range `i` of `ranges`.
  static PanelRange Of(const Panels& panels, int64_t i, int64_t ranges) {
    return {panels.count() * i / ranges, panels.count() * (i + 1) / ranges};
  }
};

// The number of ranges of panels if there are fewer parts than threads: pixels
// of a block are then transformed again for each range.
int64_t RangesOf(const Panels& panels, int64_t parts, int64_t threads) {
  constexpr int64_t kPanelsOfRange = 2;
  return std::clamp<int64_t>(
      CeilOfRatio(threads, parts), 1,
      std::max<int64_t>(1, panels.count() / kPanelsOfRange));
}

// Calls `work(part, buffer)` for each part, concurrently, with a buffer of this
// many elements.
template <typename Work>
absl::Status ForEachPart(OpKernelContext& context, int64_t parts, int64_t size,
                         const Work& work) {
  FirstError error;
  const std::function<void(int64_t, int64_t)> range = [&](int64_t begin,
                                                          int64_t end) {
    auto tensor = context.AllocateTemp(DT_FLOAT, {size});
    if (!tensor.ok()) return error.Update(tensor.status());
    float* const numbers = tensor->mutable_flat<float>().data();
    for (int64_t i = begin; i < end; ++i) work(i, numbers);
  };
  const int64_t buffers = std::max<int64_t>(1, kMaxNumbersOfBuffers / size);
  context.scheduler().ParallelFor(parts, CeilOfRatio(parts, buffers), range);
  return error.Take();
}

// Calls `work(row)` for each channel in each row of the filter, concurrently.
template <typename Work>
void ForEachRowOfFilter(Scheduler& scheduler, const Convolution& c,
                        const Work& work) {
  constexpr int64_t kNumbersOfRange = 1 << 13;
  const std::function<void(int64_t, int64_t)> range = [&](int64_t begin,
                                                          int64_t end) {
    for (int64_t row = begin; row < end; ++row) work(row);
  };
  scheduler.ParallelFor(
      c.rows.size * c.channels,
      std::max<int64_t>(1, kNumbersOfRange / (kPoints * c.filters)), range);
}

// A forward convolution, with any filter.
class WinogradForward {
 public:
  WinogradForward(const Convolution& c, int64_t threads)
      : c_(c), tiles_(c, 1, 2 * threads), panels_(c.filters) {}

  absl::StatusOr<bool> Run(OpKernelContext& context, const float* images,
                           const Taps& taps, float* output) const {
    Scheduler& scheduler = context.scheduler();
    const int64_t parts =
        std::min({tiles_.num_blocks(), PartsWorthOf(c_),
                  2 * int64_t{scheduler.num_compute_threads()}});
    const int64_t filter = kPoints * panels_.numbers(rows_of_filter());
    ASSIGN_OR_RETURN(Tensor tensor,
                     context.AllocateTemp(DT_FLOAT, {filter + c_.channels}));
    float* const packed = tensor.mutable_flat<float>().data();
    float* const zeros = packed + filter;
    PackFilter(scheduler, taps, packed);
    std::fill_n(zeros, c_.channels, 0.0f);
    const int64_t ranges =
        RangesOf(panels_, parts, scheduler.num_compute_threads());
    std::atomic<bool> all_finite{true};
    const auto compute = [&](int64_t n, float* buffer) {
      const int64_t part = n / ranges, blocks = tiles_.num_blocks();
      const PanelRange range = PanelRange::Of(panels_, n % ranges, ranges);
      for (int64_t i = blocks * part / parts; i < blocks * (part + 1) / parts;
           ++i) {
        if (!Compute(tiles_.block(i), range, images, packed, zeros, buffer,
                     output)) {
          all_finite.store(false, std::memory_order_relaxed);
        }
        if (!all_finite.load(std::memory_order_relaxed)) return;
      }
    };
    RETURN_IF_ERROR(ForEachPart(
        context, parts * ranges,
        kPoints * (tiles_.pixels_size() + sums_size()) + c_.filters, compute));
    return all_finite.load(std::memory_order_relaxed);
  }

 private:
  // The rows of the filter at one point.
  int64_t rows_of_filter() const { return c_.rows.size * c_.channels; }
  // The size of a block's sums at one point.
  int64_t sums_size() const { return tiles_.windows_size(c_.filters); }

  void PackFilter(Scheduler& scheduler, const Taps& taps, float* packed) const {
    ForEachRowOfFilter(scheduler, c_,
                       [&](int64_t r) { PackRow(taps, r, packed); });
  }

  // Packs one channel in one row of the filter.
  void PackRow(const Taps& taps, int64_t row, float* packed) const {
    const float* const first = taps.first + row / c_.channels * taps.row +
                               row % c_.channels * c_.filters;
    for (int64_t i = 0; i < panels_.count(); ++i) {
      const float* from[kPoints];
      float* to[kPoints];
      for (int64_t x = 0; x < c_.columns.size; ++x) {
        from[x] = first + x * taps.column + panels_.first(i);
      }
      const int64_t columns = panels_.columns(i), width = panels_.width(i);
      for (int64_t p = 0; p < kPoints; ++p) {
        to[p] = packed + p * panels_.numbers(rows_of_filter()) +
                panels_.offset(i, rows_of_filter()) + row * width;
        std::fill(to[p] + columns, to[p] + width, 0.0f);
      }
      tiles_.transforms().taps(from, columns, to);
    }
  }

  // Returns whether all sums of the block for these panels are finite.
  bool Compute(const WinogradBlock& block, const PanelRange& range,
               const float* images, const float* packed, const float* zeros,
               float* buffer, float* output) const {
    float* const sums = buffer + kPoints * tiles_.pixels_size();
    tiles_.Spread(block, images, zeros, buffer);
    const std::vector<RowsAlike> rows = RowsOf(c_.rows, block);
    for (int64_t p = 0; p < kPoints; ++p) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        Multiply(block, rows, i, buffer + p * tiles_.pixels_size(),
                 packed + p * panels_.numbers(rows_of_filter()),
                 sums + p * sums_size());
      }
    }
    return Gather(block, range, sums, sums + kPoints * sums_size(), output);
  }

  // Multiplies at one point, for one panel of filters.
  void Multiply(const WinogradBlock& block, const std::vector<RowsAlike>& rows,
                int64_t panel, const float* pixels, const float* packed,
                float* sums) const {
    const int64_t width = panels_.width(panel);
    const float* const filter =
        packed + panels_.offset(panel, rows_of_filter());
    const int64_t row = tiles_.of_rows(block) * c_.channels;
    OverlapArgs args;
    args.columns = panels_.columns(panel);
    args.steps = args.a_row = c_.channels;
    args.a_run = row;
    args.a_step = 1;
    args.b_step = width;
    args.b_run = c_.channels * width;
    args.sum_row = c_.filters;
    float* sum = sums + panels_.first(panel);
    for (const RowsAlike& alike : rows) {
      args.rows = (alike.end - alike.begin) * tiles_.of_rows(block);
      args.runs = alike.taps.end - alike.taps.begin;
      const int64_t y = c_.rows.At(alike.begin, alike.taps.begin);
      // For a window without rows, the operands are not read.
      const float* const a = args.runs == 0
                                 ? pixels
                                 : pixels + (y - tiles_.first_row(block)) * row;
      BestConvLoops().products(args, a, filter + alike.taps.begin * args.b_run,
                               sum);
      sum += args.rows * c_.filters;
    }
  }

  // Writes the windows of a block for these panels; those beyond its rows go to
  // `beyond`.
  bool Gather(const WinogradBlock& block, const PanelRange& range,
              const float* sums, float* beyond, float* output) const {
    const int64_t first = range.first(panels_);
    const int64_t columns = range.columns(panels_);
    bool all_finite = true;
    sums += first;
    for (int64_t y = block.begin; y < block.end; ++y) {
      for (int64_t n = block.image; n < block.image + block.images; ++n) {
        float* const row = output +
                           (n * c_.rows.out + y) * c_.columns.out * c_.filters +
                           first;
        for (int64_t t = 0; t < tiles_.of_row(); ++t, sums += c_.filters) {
          all_finite &= GatherTile(sums, columns, t, row, beyond);
        }
      }
    }
    return all_finite;
  }

  bool GatherTile(const float* sums, int64_t columns, int64_t tile, float* row,
                  float* beyond) const {
    const float* from[kPoints];
    float* to[kPoints];
    for (int64_t p = 0; p < kPoints; ++p) from[p] = sums + p * sums_size();
    const int64_t windows = tiles_.transforms().windows;
    for (int64_t i = 0; i < windows; ++i) {
      const int64_t x = tile * windows + i;
      to[i] = x < c_.columns.out ? row + x * c_.filters : beyond;
    }
    return tiles_.transforms().outputs(from, columns, to);
  }

  const Convolution& c_;
  const WinogradTiles tiles_;
  const Panels panels_;
};

// The gradient with respect to the filter.
class WinogradFilterGradient {
 public:
  explicit WinogradFilterGradient(const Convolution& c)
      : c_(c),
        parts_(PartsOf(c)),
        tiles_(c, kTilesOfSummedBlock, parts_),
        panels_(c.filters) {}

  absl::StatusOr<bool> Run(OpKernelContext& context, const float* images,
                           const float* gradients, float* output) const {
    const int64_t parts = std::min(parts_, tiles_.num_blocks());
    const int64_t zeros = std::max(c_.channels, c_.filters);
    ASSIGN_OR_RETURN(
        Tensor tensor,
        context.AllocateTemp(DT_FLOAT, {zeros + parts * kPoints * numbers()}));
    float* const first = tensor.mutable_flat<float>().data();
    float* const sums = first + zeros;
    std::fill_n(first, zeros, 0.0f);
    const int64_t ranges =
        RangesOf(panels_, parts, context.scheduler().num_compute_threads());
    const auto sum_up = [&](int64_t n, float* buffer) {
      const int64_t part = n / ranges, blocks = tiles_.num_blocks();
      const PanelRange range = PanelRange::Of(panels_, n % ranges, ranges);
      float* const sum = sums + part * kPoints * numbers();
      Clear(range, sum);
      for (int64_t i = blocks * part / parts; i < blocks * (part + 1) / parts;
           ++i) {
        Add(tiles_.block(i), range, images, gradients, first, buffer, sum);
      }
    };
    RETURN_IF_ERROR(ForEachPart(
        context, parts * ranges,
        kPoints * (tiles_.pixels_size() + gradients_size()), sum_up));
    AddUp(context.scheduler(), sums + kPoints * numbers(), parts - 1,
          kPoints * numbers(), sums);
    return Gather(context.scheduler(), sums, output);
  }

 private:
  // The size of the filter at one point.
  int64_t numbers() const { return c_.rows.size * c_.channels * c_.filters; }
  // The size of a block's gradients at one point.
  int64_t gradients_size() const {
    return panels_.numbers(tiles_.windows_size(1));
  }
  // The maximum number of parts, by the shape alone; a power of two, like most
  // numbers of threads.
  static int64_t PartsOf(const Convolution& c) {
    const int64_t tiles =
        c.batch * c.rows.out * WinogradTiles::OfRow(c.columns);
    const int64_t most = std::min(
        {SumsWorthOf(c), kMaxSums, std::max<int64_t>(2, tiles / kTilesOfSum)});
    return int64_t{1} << (std::bit_width(static_cast<uint64_t>(most)) - 1);
  }

  void Clear(const PanelRange& range, float* sums) const {
    const int64_t first = range.first(panels_);
    const int64_t columns = range.columns(panels_);
    for (int64_t r = 0; r < kPoints * c_.rows.size * c_.channels; ++r) {
      std::fill_n(sums + r * c_.filters + first, columns, 0.0f);
    }
  }

  // Adds a block to the sums for these panels.
  void Add(const WinogradBlock& block, const PanelRange& range,
           const float* images, const float* gradients, const float* zeros,
           float* buffer, float* sums) const {
    float* const spread = buffer + kPoints * tiles_.pixels_size();
    tiles_.Spread(block, images, zeros, buffer);
    SpreadGradients(block, range, gradients, zeros, spread);
    for (int64_t p = 0; p < kPoints; ++p) {
      for (int64_t i = 0; i < c_.rows.size; ++i) {
        for (int64_t panel = range.begin; panel < range.end; ++panel) {
          Multiply(block, i, panel, buffer + p * tiles_.pixels_size(),
                   spread + p * gradients_size(), sums + p * numbers());
        }
      }
    }
  }

  // In panels of filters, tile by tile.
  void SpreadGradients(const WinogradBlock& block, const PanelRange& range,
                       const float* gradients, const float* zeros,
                       float* to) const {
    const int64_t numbers = c_.columns.out * c_.filters;
    int64_t at = 0;
    for (int64_t y = block.begin; y < block.end; ++y) {
      for (int64_t n = block.image; n < block.image + block.images; ++n) {
        const float* const row = gradients + (n * c_.rows.out + y) * numbers;
        for (int64_t t = 0; t < tiles_.of_row(); ++t, ++at) {
          SpreadTile(block, range, row, t, zeros, at, to);
        }
      }
    }
  }

  void SpreadTile(const WinogradBlock& block, const PanelRange& range,
                  const float* row, int64_t tile, const float* zeros,
                  int64_t at, float* to) const {
    const int64_t windows = tiles_.transforms().windows;
    const int64_t rows = block.rows() * tiles_.of_rows(block);
    for (int64_t panel = range.begin; panel < range.end; ++panel) {
      const float* from[kPoints];
      float* points[kPoints];
      for (int64_t i = 0; i < windows; ++i) {
        const int64_t x = tile * windows + i;
        from[i] = x < c_.columns.out
                      ? row + x * c_.filters + panels_.first(panel)
                      : zeros;
      }
      for (int64_t p = 0; p < kPoints; ++p) {
        points[p] = to + p * gradients_size() + panels_.offset(panel, rows) +
                    at * panels_.width(panel);
      }
      tiles_.transforms().output_gradients(from, panels_.columns(panel),
                                           points);
    }
  }

  // Multiplies at one point, for one row of the filter and one panel of
  // filters.
  void Multiply(const WinogradBlock& block, int64_t row_of_filter,
                int64_t panel, const float* pixels, const float* spread,
                float* sums) const {
    // The windows whose row of the filter is inside the image.
    int64_t begin = block.begin, end = block.end;
    while (begin < end && c_.rows.At(begin, row_of_filter) < 0) ++begin;
    while (begin < end && c_.rows.At(end - 1, row_of_filter) >= c_.rows.in) {
      --end;
    }
    if (begin == end) return;
    const int64_t row = tiles_.of_rows(block);
    const int64_t width = panels_.width(panel);
    const int64_t y = c_.rows.At(begin, row_of_filter);
    OverlapArgs args;
    args.former = FormerSums::kAddedTo;
    args.rows = c_.channels;
    args.columns = panels_.columns(panel);
    args.runs = 1;
    args.a_step = c_.channels;
    args.a_row = 1;
    args.b_step = width;
    args.sum_row = c_.filters;
    const float* const a =
        pixels + (y - tiles_.first_row(block)) * row * c_.channels;
    const float* const b = spread + panels_.offset(panel, block.rows() * row) +
                           (begin - block.begin) * row * width;
    float* const sum =
        sums + row_of_filter * c_.channels * c_.filters + panels_.first(panel);
    const int64_t tiles = (end - begin) * row;
    const int64_t chains = CeilOfRatio(tiles, kTilesOfChain);
    for (int64_t i = 0; i < chains; ++i) {
      const int64_t from = tiles * i / chains;
      args.steps = tiles * (i + 1) / chains - from;
      BestConvLoops().products(args, a + from * c_.channels, b + from * width,
                               sum);
    }
  }

  // Returns whether the whole gradient is finite.
  bool Gather(Scheduler& scheduler, const float* sums, float* output) const {
    std::atomic<bool> all_finite{true};
    ForEachRowOfFilter(scheduler, c_, [&](int64_t r) {
      if (!GatherRow(sums, r, output)) {
        all_finite.store(false, std::memory_order_relaxed);
      }
    });
    return all_finite.load(std::memory_order_relaxed);
  }

  // Gathers the gradient of one channel in one row of the filter.
  bool GatherRow(const float* sums, int64_t row, float* output) const {
    const float* from[kPoints];
    float* to[kPoints];
    for (int64_t p = 0; p < kPoints; ++p) {
      from[p] = sums + p * numbers() + row * c_.filters;
    }
    const int64_t y = row / c_.channels, channel = row % c_.channels;
    for (int64_t x = 0; x < c_.columns.size; ++x) {
      to[x] = output +
              ((y * c_.columns.size + x) * c_.channels + channel) * c_.filters;
    }
    return tiles_.transforms().filter_gradient(from, c_.filters, to);
  }

  const Convolution& c_;
  const int64_t parts_;
  const WinogradTiles tiles_;
  const Panels panels_;
};

// Transposes channels and filters in each tap.
void TransposeTaps(Scheduler& scheduler, const Convolution& c,
                   const float* filter, float* to) {
  const int64_t numbers = c.channels * c.filters;
  const std::function<void(int64_t, int64_t)> transpose = [&](int64_t begin,
                                                              int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      BestTransposeWords()(filter + i * numbers, c.filters, c.filters,
                           c.channels, to + i * numbers);
    }
  };
  scheduler.ParallelFor(c.rows.size * c.columns.size,
                        std::max<int64_t>(1, (1 << 14) / numbers), transpose);
}

absl::StatusOr<bool> InputGradient(OpKernelContext& context,
                                   const Convolution& c, const float* filter,
                                   const float* gradients, float* output) {
  const int64_t tap = c.channels * c.filters;
  const int64_t taps = c.rows.size * c.columns.size;
  ASSIGN_OR_RETURN(Tensor tensor, context.AllocateTemp(DT_FLOAT, {taps * tap}));
  float* const transposed = tensor.mutable_flat<float>().data();
  TransposeTaps(context.scheduler(), c, filter, transposed);
  const Convolution reversed = c.Reversed();
  return WinogradForward(reversed, context.scheduler().num_compute_threads())
      .Run(context, gradients,
           {.first = transposed + (taps - 1) * tap,
            .row = -c.columns.size * tap,
            .column = -tap},
           output);
}

// Returns whether sizes are small enough not to overflow, and each row of
// windows covers a part of the image.
bool SizesFit(const Convolution& c) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  for (const WindowDim* dim : {&c.rows, &c.columns}) {
    if (dim->stride != 1 || dim->dilation != 1) return false;
    if (dim->in > kMax || dim->out > kMax || dim->size > kMax) return false;
    if (dim->pad < 0 || dim->pad >= dim->size) return false;
    if (dim->At(dim->out - 1, 0) >= dim->in) return false;
  }
  return c.channels <= kMax && c.filters <= kMax && c.batch <= kMax;
}

// The number of taps of a row of windows inside the image. REQUIRES: SizesFit.
int64_t TapsOfRow(const WindowDim& columns) {
  const int64_t after =
      columns.At(columns.out - 1, columns.size - 1) + 1 - columns.in;
  const auto missing = [](int64_t pad) {
    return pad > 0 ? pad * (pad + 1) / 2 : 0;
  };
  return columns.out * columns.size - missing(columns.pad) - missing(after);
}

// Returns whether there are enough products for the transforms to pay off: the
// gain depends on the filter's rows and both numbers of channels, the cost on
// their sum, and more for tiles of two. The break-even point was measured with
// vectors of 4, 8 and 16.
bool AreTransformsWorthIt(const Convolution& c) {
  const int64_t products = 2 * c.rows.size * c.channels * c.filters;
  const int64_t transforms = BestConvLoops().vector * (c.channels + c.filters);
  return products >= (c.columns.size == 3 ? 3 : 4) * transforms;
}

bool IsBestForward(const Convolution& c) {
  if (!SizesFit(c)) return false;
  if (c.columns.size != 3 && c.columns.size != 5) return false;
  if (c.channels < BestConvLoops().vector) return false;
  if (c.filters < BestConvLoops().vector) return false;
  if (c.batch * c.rows.out < CeilOfRatio(kLeastWindows, c.columns.out)) {
    return false;
  }
  const int64_t tiles = WinogradTiles::OfRow(c.columns);
  if (tiles * kPoints * 5 > TapsOfRow(c.columns) * 4) return false;
  const int64_t numbers = c.channels + c.filters;
  constexpr int64_t kMaxNumbers = kMaxNumbersOfBlock / kPoints;
  if (kTilesOfSummedBlock * numbers > kMaxNumbers) return false;
  if (c.rows.size > kMaxNumbers / numbers / tiles) return false;
  if (c.rows.size * c.channels > kMaxNumbersOfFilter / kPoints / c.filters) {
    return false;
  }
  return AreTransformsWorthIt(c);
}

// Returns whether a filter is small enough: the sums of a large one are in main
// memory, and take longer than the gain. REQUIRES: IsBestForward.
bool IsFilterWorthSumming(const Convolution& c) {
  constexpr int64_t kNumbersOfTile = 1 << 16;
  const int64_t tiles = c.batch * c.rows.out * WinogradTiles::OfRow(c.columns);
  return kPoints * c.rows.size * c.channels * c.filters / kNumbersOfTile <=
         tiles;
}

}  // namespace

bool WinogradIsWanted() {
  const char* const wanted = std::getenv("WEFT_WINOGRAD");
  return wanted == nullptr || absl::string_view(wanted) != "off";
}

bool IsBestWinograd(const Convolution& c, ConvolutionPass pass) {
  if (c.groups != 1) return false;
  if (pass == ConvolutionPass::kForward) return IsBestForward(c);
  if (pass == ConvolutionPass::kFilter) {
    return IsBestForward(c) && IsFilterWorthSumming(c);
  }
  return c.rows.stride == 1 && c.columns.stride == 1 &&
         IsBestForward(c.Reversed());
}

absl::StatusOr<bool> WinogradConvolution(OpKernelContext& context,
                                         const Convolution& c,
                                         ConvolutionPass pass,
                                         const float* first,
                                         const float* second, float* output) {
  switch (pass) {
    case ConvolutionPass::kForward:
      return WinogradForward(c, context.scheduler().num_compute_threads())
          .Run(context, first,
               {.first = second,
                .row = c.columns.size * c.channels * c.filters,
                .column = c.channels * c.filters},
               output);
    case ConvolutionPass::kInput:
      return InputGradient(context, c, first, second, output);
    case ConvolutionPass::kFilter:
      break;
  }
  return WinogradFilterGradient(c).Run(context, first, second, output);
}

}  // namespace weft
