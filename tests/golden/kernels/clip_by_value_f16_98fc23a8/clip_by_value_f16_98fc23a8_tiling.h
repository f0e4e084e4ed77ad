// Tiling of clip_by_value_f16_98fc23a8 (ClipByValue) on sim; sizes are elements.
#ifndef CLIP_BY_VALUE_F16_98FC23A8_TILING_H_
#define CLIP_BY_VALUE_F16_98FC23A8_TILING_H_

#include <cstdint>

namespace clip_by_value_f16_98fc23a8_impl {

constexpr uint32_t kOperands = 4;
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
    // x 2x32x10x12, clip_value_min scalar, clip_value_max scalar, y 2x32x10x12
    //   ClipByValue:out.18
    {7680, 8, 960, 960, 1, 960, 1, 960,
     {{2, 32, 10, 12}, {1, 1, 1, 1}, {1, 1, 1, 1}, {2, 32, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace clip_by_value_f16_98fc23a8_impl

#endif  // CLIP_BY_VALUE_F16_98FC23A8_TILING_H_
