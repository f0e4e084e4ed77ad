// Tiling of add_f16_89802f31 (Add) on sim; sizes are elements.
#ifndef ADD_F16_89802F31_TILING_H_
#define ADD_F16_89802F31_TILING_H_

#include <cstdint>

namespace add_f16_89802f31_impl {

constexpr uint32_t kOperands = 3;
constexpr uint32_t kRank = 4;
constexpr uint32_t kArray = 1;  // length of the arrays below

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
  uint64_t strides[2][kArray];  // elements from row to row along these axes, by operand
  uint64_t moves[2];  // whether an operand moves along a row
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x1 2x32x10x12, x2 2x32x10x12, y 2x32x10x12
    //   Add:out
    //   Add:out.9
    {1, 7680, 1, 960, 8, 8, 8, 960, 1024, {1}, {{0}, {0}}, {1, 1},
     {{2, 32, 10, 12}, {2, 32, 10, 12}, {2, 32, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace add_f16_89802f31_impl

#endif  // ADD_F16_89802F31_TILING_H_
