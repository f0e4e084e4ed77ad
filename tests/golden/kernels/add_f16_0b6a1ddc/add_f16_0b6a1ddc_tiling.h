// Tiling of add_f16_0b6a1ddc (Add) on sim; sizes are elements.
#ifndef ADD_F16_0B6A1DDC_TILING_H_
#define ADD_F16_0B6A1DDC_TILING_H_

#include <cstdint>

namespace add_f16_0b6a1ddc_impl {

constexpr uint32_t kOperands = 3;
constexpr uint32_t kRank = 2;

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
    // x1 7x7, x2 7x7, y 7x7
    //   Add:out.20
    {49, 4, 16, 16, 1, 16, 1, 1,
     {{7, 7}, {7, 7}, {7, 7}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace add_f16_0b6a1ddc_impl

#endif  // ADD_F16_0B6A1DDC_TILING_H_
