// Tiling of roi_align_f16_e75d8366 (ROIAlign) on sim; sizes are elements.
#ifndef ROI_ALIGN_F16_E75D8366_TILING_H_
#define ROI_ALIGN_F16_E75D8366_TILING_H_

#include <cstdint>

namespace roi_align_f16_e75d8366_impl {

constexpr uint32_t kOperands = 3;
constexpr uint32_t kRank = 4;

struct Tiling {
  uint64_t totalLength;  // elements of the result
  uint32_t coreNum;  // cores that have work
  uint64_t coreLength;  // elements of every core but the last, whole blocks
  uint32_t tileLength;  // elements of a tile, whole blocks
  uint64_t tileCount;  // tiles of every core but the last
  uint32_t tailLength;  // elements of the last tile of such a core
  uint64_t lastTileCount;  // tiles of the last core
  uint32_t lastTailLength;  // elements of the last core's last tile
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // features 2x32x10x12, rois 6x5, y 6x32x7x7
    //   ROIAlign:out.23
    {9408, 8, 1184, 1184, 1, 1184, 1, 1120,
     {{2, 32, 10, 12}, {1, 1, 6, 5}, {6, 32, 7, 7}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace roi_align_f16_e75d8366_impl

#endif  // ROI_ALIGN_F16_E75D8366_TILING_H_
