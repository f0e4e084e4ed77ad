// Tiling of ascend_quant_f16_0737015a (AscendQuant) on sim; sizes are elements.
#ifndef ASCEND_QUANT_F16_0737015A_TILING_H_
#define ASCEND_QUANT_F16_0737015A_TILING_H_

#include <cstdint>

namespace ascend_quant_f16_0737015a_impl {

constexpr uint32_t kOperands = 2;
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
  uint64_t planes;  // planes of an image or a matrix
  uint64_t planeRows;  // rows of a plane
  uint64_t valid;  // elements of a row that are not padding below the last row of a matrix
  uint32_t tail;  // channels in the last plane's blocks; 0 where they are full
  uint64_t channels;  // channels of an image, or columns of a matrix
  uint64_t blockStep[2];  // elements from plane to plane in the operand's storage
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, y 2x32x10x12
    //   AscendQuant:out.31
    {2, 3840, 1, 960, 4, 8, 8, 960, 1024, {2}, {{3840}, {3840}}, {1, 1}, 1, 1, 3840, 0, 32, {1920, 3840},
     {{2, 32, 10, 12}, {2, 32, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace ascend_quant_f16_0737015a_impl

#endif  // ASCEND_QUANT_F16_0737015A_TILING_H_
