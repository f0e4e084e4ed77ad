// Tiling of resize_f16_bd903159 (Resize) on sim; sizes are elements.
#ifndef RESIZE_F16_BD903159_TILING_H_
#define RESIZE_F16_BD903159_TILING_H_

#include <cstdint>

namespace resize_f16_bd903159_impl {

constexpr uint32_t kOperands = 3;
constexpr uint32_t kRank = 4;
constexpr uint32_t kArray = 3;  // length of the arrays below

struct Tiling {
  uint32_t coreNum;  // cores that have work; core c takes blocks of rows c, c + core_num ...
  uint64_t rows;  // rows of the result
  uint64_t width;  // elements of a row of the result
  uint64_t sourceWidth;  // elements of a row of x
  uint32_t tileRows;  // rows of a tile
  uint32_t tileColumns;  // columns of a tile
  uint32_t loadPitch;  // elements from row to row of what is loaded, whole blocks
  uint32_t outPitch;  // elements from row to row of the result in the buffer, whole blocks
  uint32_t outer;  // axes before the last
  uint64_t extents[kArray];  // extents of these axes in the result
  uint64_t lengths[kArray];  // extents of these axes in x
  uint64_t steps[kArray];  // elements between neighbours along them in x
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, scales 4, y 2x32x20x24
    //   Resize:out.11
    {8, 1280, 24, 12, 64, 24, 16, 32, 3, {2, 32, 20}, {2, 32, 10}, {3840, 120, 12},
     {{2, 32, 10, 12}, {1, 1, 1, 4}, {2, 32, 20, 24}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace resize_f16_bd903159_impl

#endif  // RESIZE_F16_BD903159_TILING_H_
