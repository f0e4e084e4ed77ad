// Tiling of reduce_mean_d_f16_4d5d1189 (ReduceMeanD) on sim; sizes are elements.
#ifndef REDUCE_MEAN_D_F16_4D5D1189_TILING_H_
#define REDUCE_MEAN_D_F16_4D5D1189_TILING_H_

#include <cstdint>

namespace reduce_mean_d_f16_4d5d1189_impl {

constexpr uint32_t kOperands = 2;
constexpr uint32_t kRank = 4;
constexpr uint32_t kArray = 1;  // length of the arrays below

struct Tiling {
  uint64_t groups;  // groups of lanes
  uint64_t lanes;  // extent of the last axis where it is kept, 1 where it is run along
  uint64_t length;  // extent of the last axis where it is run along, 1 where it is kept
  uint64_t runs;  // steps along the other axes that are run along
  uint64_t count;  // elements that are run along for each lane
  uint32_t chunkLength;  // elements of a piece
  uint64_t chunkCount;  // chunks of a row, or of the lanes
  uint32_t bufferLength;  // elements of a buffer, whole repeats
  uint32_t coreNum;  // cores that have work; core c takes groups c, c + core_num ...
  uint64_t keptExtents[kArray];  // extents of the axes that count the groups
  uint64_t keptStrides[kArray];  // elements between neighbors along them
  uint64_t runExtents[kArray];  // extents of the axes that count the runs
  uint64_t runStrides[kArray];  // elements between neighbors along them
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, y 2x32
    //   ReduceMeanD:out.7
    {64, 1, 120, 1, 120, 120, 1, 256, 8, {64}, {120}, {1}, {0},
     {{2, 32, 10, 12}, {1, 1, 2, 32}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace reduce_mean_d_f16_4d5d1189_impl

#endif  // REDUCE_MEAN_D_F16_4D5D1189_TILING_H_
