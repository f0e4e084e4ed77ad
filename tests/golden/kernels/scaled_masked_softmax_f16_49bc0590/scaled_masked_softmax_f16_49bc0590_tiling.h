// Tiling of scaled_masked_softmax_f16_49bc0590 (ScaledMaskedSoftmax) on sim; sizes are elements.
#ifndef SCALED_MASKED_SOFTMAX_F16_49BC0590_TILING_H_
#define SCALED_MASKED_SOFTMAX_F16_49BC0590_TILING_H_

#include <cstdint>

namespace scaled_masked_softmax_f16_49bc0590_impl {

constexpr uint32_t kOperands = 3;
constexpr uint32_t kRank = 4;
constexpr uint32_t kArray = 3;  // length of the arrays below

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
  uint64_t keptStrides[kArray];  // elements between neighbours along them
  uint64_t runExtents[kArray];  // extents of the axes that count the runs
  uint64_t runStrides[kArray];  // elements between neighbours along them
  uint64_t maskStrides[kArray];  // elements between neighbours in the mask
  uint64_t maskLength;  // elements of the mask for each row; 1 where all of a row share one
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, mask 2x1x10x12, y 2x32x10x12
    //   ScaledMaskedSoftmax:out.6
    {640, 1, 12, 1, 12, 12, 1, 256, 8, {2, 32, 10}, {3840, 120, 12}, {1, 1, 1}, {0, 0, 0}, {120, 0, 12}, 12,
     {{2, 32, 10, 12}, {2, 1, 10, 12}, {2, 32, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace scaled_masked_softmax_f16_49bc0590_impl

#endif  // SCALED_MASKED_SOFTMAX_F16_49BC0590_TILING_H_
