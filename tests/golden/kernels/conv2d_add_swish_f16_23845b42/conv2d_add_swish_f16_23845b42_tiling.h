// Tiling of conv2d_add_swish_f16_23845b42 (Conv2D+Add+Swish) on sim; sizes are elements.
#ifndef CONV2D_ADD_SWISH_F16_23845B42_TILING_H_
#define CONV2D_ADD_SWISH_F16_23845B42_TILING_H_

#include <cstdint>

namespace conv2d_add_swish_f16_23845b42_impl {

constexpr uint32_t kOperands = 5;
constexpr uint32_t kRank = 4;

struct Tiling {
  uint64_t batch;  // independent products
  uint64_t m;  // rows of the result
  uint64_t n;  // columns of the result
  uint64_t k;  // extent summed over
  uint32_t tileM;  // rows of a tile, whole squares
  uint32_t tileN;  // columns of a tile, whole squares
  uint32_t tileK;  // summed extent of a tile in L0, whole squares
  uint32_t l1K;  // summed extent of a tile in L1, whole tiles of L0
  uint64_t mCount;  // tiles along the rows
  uint64_t nCount;  // tiles along the columns
  uint64_t l1Count;  // tiles of L1 along the summed extent
  uint64_t tileCount;  // tiles of the result, all products together
  uint32_t coreNum;  // cores that have work; core c takes tiles c, c + core_num ...
  uint64_t groups;  // groups of channels
  uint64_t channels;  // input channels of a group
  uint64_t height;  // rows of an input map
  uint64_t width;  // columns of an input map
  uint64_t outHeight;  // rows of a result map
  uint64_t outWidth;  // columns of a result map
  uint64_t windowHeight;  // rows of the window
  uint64_t windowWidth;  // columns of the window
  uint32_t tileRows;  // rows of the result's map in a tile
  uint32_t tileColumns;  // columns of the result's map in a tile; less than all for one row
  uint64_t columnCount;  // tiles along a row of the result's map
  uint32_t patchLength;  // elements of what a tap sees of a channel, and of its padding
  uint32_t rowLength;  // elements of a row of the product
  uint32_t wideLength;  // elements that are widened at once, of int8 alone
  uint32_t filterRows;  // result channels whose filters are turned at once, if at all
  uint32_t filterLength;  // elements of one line of their windows, of one channel
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, filter 48x32x3x3, bias 48, then1_x2 2x48x10x12, y 2x48x10x12
    //   Conv2D:out.11
    //   Add:sum
    //   Swish:out.12
    {2, 48, 120, 288, 48, 32, 288, 288, 1, 5, 1, 10, 8, 1, 32, 10, 12, 10, 12, 3, 3, 2, 12, 1, 48, 32, 0, 0, 0,
     {{2, 32, 10, 12}, {48, 32, 3, 3}, {1, 1, 1, 48}, {2, 48, 10, 12}, {2, 48, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace conv2d_add_swish_f16_23845b42_impl

#endif  // CONV2D_ADD_SWISH_F16_23845B42_TILING_H_
