// Tiling of cumsum_d_f16_7e6f4991 (CumsumD) on sim; sizes are elements.
#ifndef CUMSUM_D_F16_7E6F4991_TILING_H_
#define CUMSUM_D_F16_7E6F4991_TILING_H_

#include <cstdint>

namespace cumsum_d_f16_7e6f4991_impl {

constexpr uint32_t kOperands = 2;
constexpr uint32_t kRank = 4;

struct Tiling {
  uint64_t outer;  // rows
  uint64_t axis;  // extent that the operator runs along
  uint64_t inner;  // elements that stand side by side at each step of the axis
  uint32_t coreNum;  // cores that have work
  uint64_t coreRows;  // rows of every core but the last
  uint64_t lastCoreRows;  // rows of the last core
  uint32_t tileRows;  // rows in the buffer at once; 1 where a row is cut into chunks
  uint32_t chunkLength;  // elements of a chunk of a row
  uint64_t chunkCount;  // chunks of a row
  uint32_t tailLength;  // elements of a row's last chunk
  uint32_t bufferLength;  // elements of one buffer, each row padded to whole blocks
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, y 2x32x10x12
    //   CumsumD:out.16
    {2, 32, 120, 2, 1, 1, 1, 3840, 1, 3840, 3840,
     {{2, 32, 10, 12}, {2, 32, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace cumsum_d_f16_7e6f4991_impl

#endif  // CUMSUM_D_F16_7E6F4991_TILING_H_
