// Tiling of mat_mul_v2_f16_8dad308b (MatMulV2) on sim; sizes are elements.
#ifndef MAT_MUL_V2_F16_8DAD308B_TILING_H_
#define MAT_MUL_V2_F16_8DAD308B_TILING_H_

#include <cstdint>

namespace mat_mul_v2_f16_8dad308b_impl {

constexpr uint32_t kOperands = 4;
constexpr uint32_t kRank = 2;
constexpr uint32_t kArray = 1;  // length of the arrays below

struct Tiling {
  uint64_t batch;  // independent products
  uint64_t m;  // rows of the result
  uint64_t n;  // columns of the result
  uint64_t k;  // extent summed over
  uint32_t tileM;  // rows of a tile, whole squares
  uint32_t tileN;  // columns of a tile, whole squares
  uint32_t tileK;  // summed extent of a tile in L0, whole squares
  uint32_t l1K;  // summed extent of a tile in L1, whole tiles of L0
  uint64_t mCount;  // tiles along the rows
  uint64_t nCount;  // tiles along the columns
  uint64_t l1Count;  // tiles of L1 along the summed extent
  uint64_t tileCount;  // tiles of the result, all products together
  uint32_t coreNum;  // cores that have work; core c takes tiles c, c + core_num ...
  uint64_t extents[kArray];  // extents of the stack of results
  uint64_t steps[2][kArray];  // matrices from neighbor to neighbor along them, of both operands and what links read
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x1 48x80, x2 80x100, bias 100, y 48x100
    //   MatMulV2:out.1
    {1, 48, 100, 80, 32, 32, 80, 80, 2, 4, 1, 8, 8, {1}, {{0}, {0}},
     {{48, 80}, {80, 100}, {1, 100}, {48, 100}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace mat_mul_v2_f16_8dad308b_impl

#endif  // MAT_MUL_V2_F16_8DAD308B_TILING_H_
