// Tiling of pad_v3d_f16_ec8a0846 (PadV3D) on sim; sizes are elements.
#ifndef PAD_V3D_F16_EC8A0846_TILING_H_
#define PAD_V3D_F16_EC8A0846_TILING_H_

#include <cstdint>

namespace pad_v3d_f16_ec8a0846_impl {

constexpr uint32_t kOperands = 2;
constexpr uint32_t kRank = 4;
constexpr uint32_t kArray = 3;  // length of the arrays below

struct Tiling {
  uint32_t coreNum;  // cores that have work; tiles are dealt out in turn
  uint32_t straightLength;  // elements of a buffer of straight tiles
  uint32_t loadedLength;  // elements of a buffer that runs are loaded to
  uint32_t orderedLength;  // elements of a buffer in the target's order
  uint32_t filledLength;  // elements of a buffer of constants
  uint64_t tiles[5];  // tiles of each box
  uint64_t way[5];  // 0 straight, 1 ordered by a gather, 2 filled
  uint64_t rows[5];  // rows of a tile
  uint64_t columns[5];  // columns of a tile
  uint64_t rowStep[5];  // elements from row to row in the target
  uint64_t rowPitch[5];  // elements from row to row in the buffer
  uint64_t runs[5];  // runs that a tile is loaded in
  uint64_t runLength[5];  // elements of a run
  int64_t runStep[5];  // elements from run to run in the source
  uint64_t runPitch[5];  // elements from run to run in the buffer
  uint64_t first[5];  // where the buffer has element (0, 0) of a tile
  uint64_t nextRow[5];  // elements from there to the next row's
  int64_t nextColumn[5];  // elements from there to the next column's
  int64_t sourceStart[5];  // where the first tile is loaded from
  uint64_t targetStart[5];  // where the first tile goes
  uint64_t counts[5][kArray];  // tiles along each axis
  uint64_t lengths[5][kArray];  // elements of a tile along each axis
  uint64_t last[5][kArray];  // where the last tile of an axis starts
  int64_t source[5][kArray];  // elements along each axis of the source
  uint64_t target[5][kArray];  // elements along each axis of the target
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, y 2x32x12x14
    //   PadV3D:out.13
    {8, 160, 0, 0, 1024, {64, 1, 1, 64, 64}, {0, 2, 2, 2, 2}, {10, 64, 64, 10, 10}, {12, 14, 14, 1, 1}, {14, 168, 168, 14, 14}, {16, 16, 16, 16, 16}, {10, 64, 64, 10, 10}, {12, 1, 1, 1, 1}, {12, 0, 0, 0, 0}, {16, 16, 16, 16, 16}, {0, 0, 0, 0, 0}, {16, 0, 0, 0, 0}, {1, 0, 0, 1, 1}, {0, 0, 0, 0, 0}, {15, 0, 154, 14, 27}, {{64, 1, 1}, {1, 1, 1}, {1, 1, 1}, {64, 1, 1}, {64, 1, 1}}, {{1, 10, 12}, {1, 64, 14}, {1, 64, 14}, {1, 10, 1}, {1, 10, 1}}, {{63, 0, 0}, {0, 0, 0}, {0, 0, 0}, {63, 0, 0}, {63, 0, 0}}, {{120, 12, 1}, {0, 0, 0}, {0, 0, 0}, {0, 0, 1}, {0, 0, 1}}, {{168, 14, 1}, {0, 168, 1}, {0, 168, 1}, {168, 14, 1}, {168, 14, 1}},
     {{2, 32, 10, 12}, {2, 32, 12, 14}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace pad_v3d_f16_ec8a0846_impl

#endif  // PAD_V3D_F16_EC8A0846_TILING_H_
