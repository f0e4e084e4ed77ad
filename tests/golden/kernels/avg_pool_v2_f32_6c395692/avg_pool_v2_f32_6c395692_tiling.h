// Tiling of avg_pool_v2_f32_6c395692 (AvgPoolV2) on sim; sizes are elements.
#ifndef AVG_POOL_V2_F32_6C395692_TILING_H_
#define AVG_POOL_V2_F32_6C395692_TILING_H_

#include <cstdint>

namespace avg_pool_v2_f32_6c395692_impl {

constexpr uint32_t kOperands = 2;
constexpr uint32_t kRank = 4;

struct Tiling {
  uint64_t totalLength;  // elements of all results
  uint32_t shardCount;  // shards that have work
  uint64_t shardLength;  // elements of every shard but the last
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, y 2x32x10x12
    //   AvgPoolV2:out.10
    {7680, 8, 960,
     {{2, 32, 10, 12}, {2, 32, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace avg_pool_v2_f32_6c395692_impl

#endif  // AVG_POOL_V2_F32_6C395692_TILING_H_
