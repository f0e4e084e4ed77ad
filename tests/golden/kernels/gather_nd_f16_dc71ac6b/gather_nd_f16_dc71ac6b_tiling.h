// Tiling of gather_nd_f16_dc71ac6b (GatherNd) on sim; sizes are elements.
#ifndef GATHER_ND_F16_DC71AC6B_TILING_H_
#define GATHER_ND_F16_DC71AC6B_TILING_H_

#include <cstdint>

namespace gather_nd_f16_dc71ac6b_impl {

constexpr uint32_t kOperands = 3;
constexpr uint32_t kRank = 4;
constexpr uint32_t kArray = 2;  // length of the arrays below

struct Tiling {
  uint32_t coreNum;  // cores that have work; core c takes tiles c, c + core_num ...
  uint64_t tileCount;  // tiles of the result
  uint64_t rows;  // rows of the result
  uint64_t inner;  // elements of a row
  uint32_t tileRows;  // rows of a tile; 1 where a row is cut into chunks
  uint32_t chunkLength;  // elements of a row in a tile
  uint64_t chunkCount;  // chunks of a row
  uint32_t pitch;  // elements from row to row in the buffer, whole blocks
  uint64_t count;  // rows picked of each image
  uint64_t imageStep;  // elements from image to image in x
  uint64_t indexStep;  // indices from image to image, 0 where all have the same
  uint64_t length;  // indices that pick one row
  uint64_t reached[kArray];  // extents of the axes that indices reach into
  uint64_t steps[kArray];  // elements from index to index along these axes
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, indices 6x2, y 6x10x12
    //   GatherNd:out.14
    {6, 6, 6, 120, 1, 120, 1, 128, 6, 7680, 12, 2, {2, 32}, {3840, 120},
     {{2, 32, 10, 12}, {1, 1, 6, 2}, {1, 6, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace gather_nd_f16_dc71ac6b_impl

#endif  // GATHER_ND_F16_DC71AC6B_TILING_H_
