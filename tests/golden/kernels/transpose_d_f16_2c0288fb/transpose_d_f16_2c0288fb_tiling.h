// Tiling of transpose_d_f16_2c0288fb (TransposeD) on sim; sizes are elements.
#ifndef TRANSPOSE_D_F16_2C0288FB_TILING_H_
#define TRANSPOSE_D_F16_2C0288FB_TILING_H_

#include <cstdint>

namespace transpose_d_f16_2c0288fb_impl {

constexpr uint32_t kOperands = 2;
constexpr uint32_t kRank = 4;
constexpr uint32_t kArray = 3;  // length of the arrays below

struct Tiling {
  uint32_t coreNum;  // cores that have work; tiles are dealt out in turn
  uint32_t straightLength;  // elements of a buffer of straight tiles
  uint32_t loadedLength;  // elements of a buffer that runs are loaded to
  uint32_t orderedLength;  // elements of a buffer in the target's order
  uint32_t filledLength;  // elements of a buffer of constants
  uint64_t tiles[1];  // tiles of each box
  uint64_t way[1];  // 0 straight, 1 ordered by a gather, 2 filled
  uint64_t rows[1];  // rows of a tile
  uint64_t columns[1];  // columns of a tile
  uint64_t rowStep[1];  // elements from row to row in the target
  uint64_t rowPitch[1];  // elements from row to row in the buffer
  uint64_t runs[1];  // runs that a tile is loaded in
  uint64_t runLength[1];  // elements of a run
  int64_t runStep[1];  // elements from run to run in the source
  uint64_t runPitch[1];  // elements from run to run in the buffer
  uint64_t first[1];  // where the buffer has element (0, 0) of a tile
  uint64_t nextRow[1];  // elements from there to the next row's
  int64_t nextColumn[1];  // elements from there to the next column's
  int64_t sourceStart[1];  // where the first tile is loaded from
  uint64_t targetStart[1];  // where the first tile goes
  uint64_t counts[1][kArray];  // tiles along each axis
  uint64_t lengths[1][kArray];  // elements of a tile along each axis
  uint64_t last[1][kArray];  // where the last tile of an axis starts
  int64_t source[1][kArray];  // elements along each axis of the source
  uint64_t target[1][kArray];  // elements along each axis of the target
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, y 2x10x12x32
    //   TransposeD:out.2
    {8, 0, 1024, 960, 0, {8}, {1}, {30}, {32}, {32}, {32}, {32}, {30}, {120}, {32}, {0}, {1}, {32}, {0}, {0}, {{2, 4, 1}}, {{1, 30, 32}}, {{1, 90, 0}}, {{3840, 1, 120}}, {{3840, 32, 1}},
     {{2, 32, 10, 12}, {2, 10, 12, 32}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace transpose_d_f16_2c0288fb_impl

#endif  // TRANSPOSE_D_F16_2C0288FB_TILING_H_
