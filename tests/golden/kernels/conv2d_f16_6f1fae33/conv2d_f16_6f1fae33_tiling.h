// Tiling of conv2d_f16_6f1fae33 (Conv2D) on sim; sizes are elements.
#ifndef CONV2D_F16_6F1FAE33_TILING_H_
#define CONV2D_F16_6F1FAE33_TILING_H_

#include <cstdint>

namespace conv2d_f16_6f1fae33_impl {

constexpr uint32_t kOperands = 4;
constexpr uint32_t kRank = 4;

struct Tiling {
  uint64_t batch;  // independent products: batch times groups
  uint64_t m;  // rows of the result
  uint64_t n;  // columns of the result
  uint64_t k;  // extent summed over
  uint32_t blockM;  // rows of a cube block
  uint32_t blockK;  // summed extent of a cube block: C0, 32 bytes
  uint32_t blockN;  // columns of a cube block
  uint32_t tileM;  // rows of a tile in L0
  uint32_t tileN;  // columns of a tile in L0
  uint32_t tileK;  // summed extent of a tile in L0
  uint32_t l1K;  // summed extent of a tile in L1, whole tiles of L0
  uint64_t mCount;  // tiles along the rows
  uint64_t nCount;  // tiles along the columns
  uint64_t kCount;  // tiles of L0 along the summed extent
  uint64_t l1Count;  // tiles of L1 along the summed extent
  uint64_t tileCount;  // tiles of the result, all products together
  uint32_t coreNum;  // cores that have work; core c takes tiles c, c + core_num ...
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, filter 32x32x3x3, bias 32, y 2x32x10x12
    //   Conv2D:out.22
    {2, 120, 32, 288, 16, 16, 16, 32, 32, 288, 288, 4, 1, 1, 1, 8, 8,
     {{2, 32, 10, 12}, {32, 32, 3, 3}, {1, 1, 1, 32}, {2, 32, 10, 12}}},
    // x 2x32x10x12, filter 48x32x3x3, bias 48, y 2x48x10x12
    //   Conv2D:out.4
    {2, 120, 48, 288, 16, 16, 16, 32, 48, 288, 288, 4, 1, 1, 1, 8, 8,
     {{2, 32, 10, 12}, {48, 32, 3, 3}, {1, 1, 1, 48}, {2, 48, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace conv2d_f16_6f1fae33_impl

#endif  // CONV2D_F16_6F1FAE33_TILING_H_
