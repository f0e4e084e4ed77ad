// Tiling of ascend_requant_s16_i16_ff4a2b8b (AscendRequantS16) on sim; sizes are elements.
#ifndef ASCEND_REQUANT_S16_I16_FF4A2B8B_TILING_H_
#define ASCEND_REQUANT_S16_I16_FF4A2B8B_TILING_H_

#include <cstdint>

namespace ascend_requant_s16_i16_ff4a2b8b_impl {

constexpr uint32_t kOperands = 5;
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
    // x0 2x32x10x12, req_scale 32, x1 2x32x10x12, y0 2x32x10x12, y1 2x32x10x12
    //   AscendRequantS16:out.9
    {7680, 8, 960, 960, 1, 960, 1, 960,
     {{2, 32, 10, 12}, {1, 1, 1, 32}, {2, 32, 10, 12}, {2, 32, 10, 12}, {2, 32, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace ascend_requant_s16_i16_ff4a2b8b_impl

#endif  // ASCEND_REQUANT_S16_I16_FF4A2B8B_TILING_H_
