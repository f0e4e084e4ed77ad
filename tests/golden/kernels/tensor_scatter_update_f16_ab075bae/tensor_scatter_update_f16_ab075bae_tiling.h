// Tiling of tensor_scatter_update_f16_ab075bae (TensorScatterUpdate) on sim; sizes are elements.
#ifndef TENSOR_SCATTER_UPDATE_F16_AB075BAE_TILING_H_
#define TENSOR_SCATTER_UPDATE_F16_AB075BAE_TILING_H_

#include <cstdint>

namespace tensor_scatter_update_f16_ab075bae_impl {

constexpr uint32_t kOperands = 4;
constexpr uint32_t kRank = 4;
constexpr uint32_t kArray = 2;  // length of the arrays below

struct Tiling {
  uint64_t rows;  // rows of the result
  uint64_t inner;  // elements of a row
  uint32_t coreNum;  // cores that have work
  uint64_t coreRows;  // rows of every core but the last
  uint32_t chunkLength;  // elements that are moved at once, whole blocks
  uint64_t count;  // updates
  uint64_t length;  // indices of an update
  uint64_t reached[kArray];  // extents of the axes that indices reach into
  uint64_t steps[kArray];  // rows from index to index along these axes
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, indices 6x2, updates 6x10x12, y 2x32x10x12
    //   TensorScatterUpdate:out.15
    {64, 120, 8, 8, 960, 6, 2, {2, 32}, {32, 1},
     {{2, 32, 10, 12}, {1, 1, 6, 2}, {1, 6, 10, 12}, {2, 32, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace tensor_scatter_update_f16_ab075bae_impl

#endif  // TENSOR_SCATTER_UPDATE_F16_AB075BAE_TILING_H_
