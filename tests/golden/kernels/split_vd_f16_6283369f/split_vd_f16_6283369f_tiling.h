// Tiling of split_vd_f16_6283369f (SplitVD) on sim; sizes are elements.
#ifndef SPLIT_VD_F16_6283369F_TILING_H_
#define SPLIT_VD_F16_6283369F_TILING_H_

#include <cstdint>

namespace split_vd_f16_6283369f_impl {

constexpr uint32_t kOperands = 3;
constexpr uint32_t kRank = 4;
constexpr uint32_t kArray = 2;  // length of the arrays below

struct Tiling {
  uint32_t coreNum;  // cores that have work; tiles are dealt out in turn
  uint32_t straightLength;  // elements of a buffer of straight tiles
  uint32_t loadedLength;  // elements of a buffer that runs are loaded to
  uint32_t orderedLength;  // elements of a buffer in the target's order
  uint32_t filledLength;  // elements of a buffer of constants
  uint64_t tiles[2];  // tiles of each box
  uint64_t way[2];  // 0 straight, 1 ordered by a gather, 2 filled
  uint64_t rows[2];  // rows of a tile
  uint64_t columns[2];  // columns of a tile
  uint64_t rowStep[2];  // elements from row to row in the target
  uint64_t rowPitch[2];  // elements from row to row in the buffer
  uint64_t runs[2];  // runs that a tile is loaded in
  uint64_t runLength[2];  // elements of a run
  int64_t runStep[2];  // elements from run to run in the source
  uint64_t runPitch[2];  // elements from run to run in the buffer
  uint64_t first[2];  // where the buffer has element (0, 0) of a tile
  uint64_t nextRow[2];  // elements from there to the next row's
  int64_t nextColumn[2];  // elements from there to the next column's
  int64_t sourceStart[2];  // where the first tile is loaded from
  uint64_t targetStart[2];  // where the first tile goes
  uint64_t counts[2][kArray];  // tiles along each axis
  uint64_t lengths[2][kArray];  // elements of a tile along each axis
  uint64_t last[2][kArray];  // where the last tile of an axis starts
  int64_t source[2][kArray];  // elements along each axis of the source
  uint64_t target[2][kArray];  // elements along each axis of the target
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // x 2x32x10x12, y0 2x16x10x12, y1 2x16x10x12
    //   SplitVD:out.8
    {8, 960, 0, 0, 0, {4, 4}, {0, 0}, {1, 1}, {960, 960}, {1920, 1920}, {960, 960}, {1, 1}, {960, 960}, {3840, 3840}, {960, 960}, {0, 0}, {960, 960}, {1, 1}, {0, 1920}, {0, 0}, {{2, 2}, {2, 2}}, {{1, 960}, {1, 960}}, {{1, 960}, {1, 960}}, {{3840, 1}, {3840, 1}}, {{1920, 1}, {1920, 1}},
     {{2, 32, 10, 12}, {2, 16, 10, 12}, {2, 16, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace split_vd_f16_6283369f_impl

#endif  // SPLIT_VD_F16_6283369F_TILING_H_
