// Tiling of dynamic_rnn_f16_11ef5575 (DynamicRNN) on sim; sizes are elements.
#ifndef DYNAMIC_RNN_F16_11EF5575_TILING_H_
#define DYNAMIC_RNN_F16_11EF5575_TILING_H_

#include <cstdint>

namespace dynamic_rnn_f16_11ef5575_impl {

constexpr uint32_t kOperands = 6;
constexpr uint32_t kRank = 3;

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
    // x 5x2x16, w 48x128, b 128, y 5x2x32, output_h 5x2x32, output_c 5x2x32
    //   DynamicRNN:out.4
    {960, 8, 128, 128, 1, 128, 1, 64,
     {{5, 2, 16}, {1, 48, 128}, {1, 1, 128}, {5, 2, 32}, {5, 2, 32}, {5, 2, 32}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace dynamic_rnn_f16_11ef5575_impl

#endif  // DYNAMIC_RNN_F16_11EF5575_TILING_H_
