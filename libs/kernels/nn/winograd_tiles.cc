#include "libs/kernels/nn/winograd_tiles.h"

#include <algorithm>

#include "libs/kernels/isa/winograd_loops.h"

namespace weft {
namespace {

// The usual number of elements in a block at all points, which fit into the
// second-level cache.
constexpr int64_t kNumbersOfBlock = 3 << 15;
// The minimum number of tiles in a block for any number of parts, so that the
// filter is not read for few tiles.
constexpr int64_t kTilesOfBlock = 32;

}  // namespace

WinogradTiles::WinogradTiles(const Convolution& c, int64_t least, int64_t parts)
    : c_(c),
      transforms_(WinogradTransformsFor(BestInstructionSet(), c.columns.size)),
      of_row_(OfRow(c.columns)) {
  const int64_t row = of_row_ * (c.channels + c.filters) * kWinogradPoints;
  const int64_t all = c.batch * c.rows.out * of_row_;
  const int64_t most =
      std::max(kTilesOfBlock, CeilOfRatio(all, parts)) / of_row_;
  const int64_t wanted =
      std::max({kNumbersOfBlock / row, CeilOfRatio(least, of_row_),
                CeilOfRatio(kTilesOfBlock, of_row_)});
  const int64_t rows =
      std::max(std::min(wanted, most), std::max<int64_t>(1, c.rows.size - 1));
  blocks_of_image_ = CeilOfRatio(c.rows.out, std::min(rows, c.rows.out));
  const int64_t images = std::clamp<int64_t>(rows / c.rows.out, 1, c.batch);
  images_ = CeilOfRatio(c.batch, CeilOfRatio(c.batch, images));
}

WinogradBlock WinogradTiles::block(int64_t i) const {
  const int64_t image = i / blocks_of_image_ * images_;
  const int64_t part = i % blocks_of_image_;
  return {image, std::min(images_, c_.batch - image),
          c_.rows.out * part / blocks_of_image_,
          c_.rows.out * (part + 1) / blocks_of_image_};
}

int64_t WinogradTiles::first_row(const WinogradBlock& block) const {
  return std::clamp<int64_t>(c_.rows.At(block.begin, 0), 0, c_.rows.in);
}

int64_t WinogradTiles::last_row(const WinogradBlock& block) const {
  return std::clamp<int64_t>(c_.rows.At(block.end - 1, c_.rows.size),
                             first_row(block), c_.rows.in);
}

int64_t WinogradTiles::pixels_size() const {
  const int64_t rows = rows_of_block() + c_.rows.size - 1;
  return images_ * std::min(rows, c_.rows.in) * of_row_ * c_.channels;
}

void WinogradTiles::Spread(const WinogradBlock& block, const float* images,
                           const float* zeros, float* pixels) const {
  float* to = pixels;
  for (int64_t y = first_row(block); y < last_row(block); ++y) {
    for (int64_t n = block.image; n < block.image + block.images; ++n) {
      const float* const row =
          images + n * c_.image_size() + y * c_.columns.in * c_.channels;
      for (int64_t t = 0; t < of_row_; ++t, to += c_.channels) {
        SpreadTile(row, t, zeros, to);
      }
    }
  }
}

void WinogradTiles::SpreadTile(const float* row, int64_t tile,
                               const float* zeros, float* to) const {
  const float* from[kWinogradPoints];
  float* points[kWinogradPoints];
  const int64_t size = pixels_size();
  for (int64_t p = 0; p < kWinogradPoints; ++p) {
    const int64_t x = c_.columns.At(tile * transforms_.windows, p);
    from[p] = c_.columns.IsInside(x) ? row + x * c_.channels : zeros;
    points[p] = to + p * size;
  }
  transforms_.pixels(from, c_.channels, points);
}

}  // namespace weft
