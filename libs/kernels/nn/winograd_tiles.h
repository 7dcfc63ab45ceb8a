// WinogradTiles: how the windows of a convolution lie in tiles (see
// isa/winograd_isa.h), tiles in blocks, and what a block sees.
//
// Threads: immutable.
#ifndef WEFT_LIBS_KERNELS_NN_WINOGRAD_TILES_H_
#define WEFT_LIBS_KERNELS_NN_WINOGRAD_TILES_H_

#include <cstdint>

#include "libs/kernels/isa/winograd_isa.h"
#include "libs/kernels/nn/convolution.h"
#include "libs/kernels/nn/convolution_parts.h"

namespace weft {

// Rows of windows: whole ones of some images, or some of one.
struct WinogradBlock {
  int64_t image, images;
  int64_t begin, end;  // of each image
  int64_t rows() const { return end - begin; }
};

class WinogradTiles {
 public:
  // Of a row of windows.
  static int64_t OfRow(const WindowDim& columns) {
    return CeilOfRatio(columns.out, kWinogradPoints + 1 - columns.size);
  }

  // In blocks that should have `least` tiles, and of which there should be
  // `parts`, unless they had less than a few dozens then. None is so low that
  // most of what it sees is what others see, too.
  // `convolution` stays. REQUIRES: it is three or five columns wide, has
  // strides of 1, and no size of it is 0.
  WinogradTiles(const Convolution& convolution, int64_t least, int64_t parts);

  const WinogradTransforms& transforms() const { return transforms_; }
  int64_t of_row() const { return of_row_; }
  // Of one row of all of a block's images.
  int64_t of_rows(const WinogradBlock& block) const {
    return block.images * of_row_;
  }

  int64_t num_blocks() const {
    return CeilOfRatio(c_.batch, images_) * blocks_of_image_;
  }
  WinogradBlock block(int64_t i) const;

  // Rows of one image that a block sees: [first, last).
  int64_t first_row(const WinogradBlock& block) const;
  int64_t last_row(const WinogradBlock& block) const;

  // Numbers at one point, of the windows of any block with so many in each
  // tile, and of what they see.
  int64_t windows_room(int64_t numbers) const {
    return images_ * rows_of_block() * of_row_ * numbers;
  }
  int64_t pixels_room() const;

  // What a block sees: for each point, pixels_room() apart, and each row, all
  // images' tiles. `zeros` are as many as there are channels.
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
  int64_t blocks_of_image_;  // 1 where a block has several images
  int64_t images_;           // of a block
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_WINOGRAD_TILES_H_
