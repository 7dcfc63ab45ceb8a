// WinogradTiles divides the windows of a convolution into tiles (see
// isa/winograd_isa.h) and tiles into blocks, and gathers the pixels of a block.
//
// Threads: immutable.
#ifndef WEFT_LIBS_KERNELS_NN_WINOGRAD_TILES_H_
#define WEFT_LIBS_KERNELS_NN_WINOGRAD_TILES_H_

#include <cstdint>

#include "libs/kernels/isa/winograd_isa.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/nn/convolution_parts.h"

namespace weft {

// Rows of windows: all rows of some images, or some rows of one image.
struct WinogradBlock {
  int64_t image, images;
  int64_t begin, end;  // of each image
  int64_t rows() const { return end - begin; }
};

class WinogradTiles {
 public:
  // The number of tiles in a row of windows.
  static int64_t OfRow(const WindowDim& columns) {
    return CeilOfRatio(columns.out, kWinogradPoints + 1 - columns.size);
  }

  // Divides the tiles into blocks of at least `least` tiles, and into `parts`
  // blocks unless these would have less than a few dozen tiles. No block is so
  // low that most of its pixels are shared with other blocks. `convolution`
  // must outlive this object. REQUIRES: it is three or five columns wide, has
  // strides of 1, and no size is 0.
  WinogradTiles(const Convolution& convolution, int64_t least, int64_t parts);

  const WinogradTransforms& transforms() const { return transforms_; }
  int64_t of_row() const { return of_row_; }
  // The number of tiles in one row of all images of a block.
  int64_t of_rows(const WinogradBlock& block) const {
    return block.images * of_row_;
  }

  int64_t num_blocks() const {
    return CeilOfRatio(c_.batch, images_) * blocks_of_image_;
  }
  WinogradBlock block(int64_t i) const;

  // The rows of one image that a block covers: [first, last).
  int64_t first_row(const WinogradBlock& block) const;
  int64_t last_row(const WinogradBlock& block) const;

  // The buffer sizes for one point: of the windows of any block with `numbers`
  // elements per tile, and of the pixels they cover.
  int64_t windows_size(int64_t numbers) const {
    return images_ * rows_of_block() * of_row_ * numbers;
  }
  int64_t pixels_size() const;

  // Writes the transformed pixels of a block: for each point, pixels_size()
  // apart, and each row, the tiles of all images. `zeros` holds a zero for each
  // channel.
  void Spread(const WinogradBlock& block, const float* images,
              const float* zeros, float* pixels) const;

 private:
  int64_t rows_of_block() const {
    return CeilOfRatio(c_.rows.out, blocks_of_image_);
  }
  void SpreadTile(const float* row, int64_t tile, const float* zeros,
                  float* to) const;

  const Convolution& c_;
  const WinogradTransforms transforms_;
  const int64_t of_row_;
  int64_t blocks_of_image_;  // 1 if a block has several images
  int64_t images_;           // of a block
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_WINOGRAD_TILES_H_
