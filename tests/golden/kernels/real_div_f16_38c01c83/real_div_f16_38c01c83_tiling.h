// Tiling of real_div_f16_38c01c83 (RealDiv) on sim; sizes are elements.
#ifndef REAL_DIV_F16_38C01C83_TILING_H_
#define REAL_DIV_F16_38C01C83_TILING_H_

#include <cstdint>

namespace real_div_f16_38c01c83_impl {

constexpr uint32_t kOperands = 3;
constexpr uint32_t kRank = 4;
constexpr uint32_t kArray = 2;  // length of the arrays below

struct Tiling {
  uint64_t rows;  // rows of the result
  uint64_t inner;  // elements of a row
  uint32_t tileRows;  // rows of a tile; 1 where a row is cut into chunks
  uint32_t chunkLength;  // elements of a row in a tile
  uint64_t chunkCount;  // chunks of a row
  uint64_t tileCount;  // tiles of the result
  uint32_t coreNum;  // cores that have work; core c takes tiles c, c + core_num ...
  uint32_t pitch;  // elements from row to row in the buffer, whole blocks
  uint32_t bufferLength;  // elements of a buffer
  uint64_t extents[kArray];  // extents of the axes that count the rows
  uint64_t strides[3][kArray];  // elements from row to row along these axes, by operand
  uint64_t moves[3];  // whether an operand moves along a row
  uint64_t planes;  // planes of an image or a matrix
  uint64_t planeRows;  // rows of a plane
  uint64_t valid;  // elements of a row that are not padding below the last row of a matrix
  uint32_t tail;  // channels in the last plane's blocks; 0 where they are full
  uint64_t channels;  // channels of an image, or columns of a matrix
  uint64_t blockStep[3];  // elements from plane to plane in the operand's storage
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x1 2x32x10x12, x2 32x1x1, y 2x32x10x12
    //   RealDiv:out.27
    {4, 1920, 1, 960, 2, 8, 8, 960, 1024, {2, 2}, {{3840, 1920}, {0, 16}, {3840, 1920}}, {1, 2, 1}, 2, 1, 1920, 0, 32, {1920, 0, 1920},
     {{2, 32, 10, 12}, {1, 32, 1, 1}, {2, 32, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace real_div_f16_38c01c83_impl

#endif  // REAL_DIV_F16_38C01C83_TILING_H_
