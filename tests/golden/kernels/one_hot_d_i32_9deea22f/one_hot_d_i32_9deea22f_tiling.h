// Tiling of one_hot_d_i32_9deea22f (OneHotD) on sim; sizes are elements.
#ifndef ONE_HOT_D_I32_9DEEA22F_TILING_H_
#define ONE_HOT_D_I32_9DEEA22F_TILING_H_

#include <cstdint>

namespace one_hot_d_i32_9deea22f_impl {

constexpr uint32_t kOperands = 4;
constexpr uint32_t kRank = 3;

struct Tiling {
  uint64_t total;  // elements of the result
  uint32_t tileLength;  // elements of a tile, whole blocks
  uint64_t tileCount;  // tiles
  uint32_t coreNum;  // cores that have work; core c takes tiles c, c + core_num ...
  uint64_t depth;  // extent of the new axis
  uint64_t inner;  // indices behind the new axis
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x6, on_value 1, off_value 1, y 2x6x9
    //   OneHotD:out.5
    {108, 16, 7, 7, 9, 1,
     {{1, 2, 6}, {1, 1, 1}, {1, 1, 1}, {2, 6, 9}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace one_hot_d_i32_9deea22f_impl

#endif  // ONE_HOT_D_I32_9DEEA22F_TILING_H_
