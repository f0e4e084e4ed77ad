// Tiling of avg_pool_v2_f16_68207060 (AvgPoolV2) on sim; sizes are elements.
#ifndef AVG_POOL_V2_F16_68207060_TILING_H_
#define AVG_POOL_V2_F16_68207060_TILING_H_

#include <cstdint>

namespace avg_pool_v2_f16_68207060_impl {

constexpr uint32_t kOperands = 2;
constexpr uint32_t kRank = 4;

struct Tiling {
  uint32_t coreNum;  // cores that have work; core c takes tiles c, c + core_num ...
  uint64_t tileCount;  // tiles of the result
  uint64_t rowTiles;  // tiles along the rows of a plane
  uint64_t columnTiles;  // tiles along the columns of a plane
  uint32_t tileRows;  // rows of a tile
  uint32_t tileColumns;  // columns of a tile
  uint32_t loadRows;  // rows of the input that are loaded at once
  uint32_t loadPitch;  // elements from row to row of what is loaded, whole blocks
  uint32_t group;  // columns of a window that are worked on at once
  uint32_t lead;  // elements before the input's first column in a folded row, whole blocks
  uint32_t pitch;  // elements from one folded row to the next, whole blocks
  uint32_t outPitch;  // elements from row to row of the result in the buffer, whole blocks
  uint64_t height;  // rows of the input
  uint64_t width;  // columns of the input
  uint64_t outHeight;  // rows of the result
  uint64_t outWidth;  // columns of the result
  uint64_t sizeH;  // rows of a window
  uint64_t sizeW;  // columns of a window
  uint64_t strideH;  // rows between windows
  uint64_t strideW;  // columns between windows
  uint64_t dilationH;  // rows between elements of a window
  uint64_t dilationW;  // columns between elements of a window
  uint64_t top;  // rows of padding above
  uint64_t bottom;  // rows of padding below
  uint64_t left;  // columns of padding in front
  uint64_t right;  // columns of padding behind
  uint64_t divisor;  // what every sum is divided by; 0 where windows differ
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, y 2x32x5x6
    //   AvgPoolV2:out.3
    {8, 64, 1, 1, 5, 6, 10, 16, 3, 16, 32, 16, 10, 12, 5, 6, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 0,
     {{2, 32, 10, 12}, {2, 32, 5, 6}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace avg_pool_v2_f16_68207060_impl

#endif  // AVG_POOL_V2_F16_68207060_TILING_H_
