// Tiling of dynamic_rnn_f16_11ef5575 (DynamicRNN) on sim; sizes are elements.
#ifndef DYNAMIC_RNN_F16_11EF5575_TILING_H_
#define DYNAMIC_RNN_F16_11EF5575_TILING_H_

#include <cstdint>

namespace dynamic_rnn_f16_11ef5575_impl {

constexpr uint32_t kOperands = 6;
constexpr uint32_t kRank = 3;

struct Tiling {
  uint32_t coreNum;  // cores that have work; core c takes sequences c, c + core_num ...
  uint64_t steps;  // steps of the longest sequence
  uint64_t batch;  // sequences
  uint64_t width;  // elements of a step
  uint64_t hidden;  // units
  uint32_t pitch;  // units that are worked on at once, and elements from gate to gate
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 5x2x16, w 48x128, b 128, y 5x2x32, output_h 5x2x32, output_c 5x2x32
    //   DynamicRNN:out.4
    {2, 5, 2, 16, 32, 32,
     {{5, 2, 16}, {1, 48, 128}, {1, 1, 128}, {5, 2, 32}, {5, 2, 32}, {5, 2, 32}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace dynamic_rnn_f16_11ef5575_impl

#endif  // DYNAMIC_RNN_F16_11EF5575_TILING_H_
