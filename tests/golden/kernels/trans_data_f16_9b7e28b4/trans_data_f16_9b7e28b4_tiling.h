// Tiling of trans_data_f16_9b7e28b4 (TransData) on sim; sizes are elements.
#ifndef TRANS_DATA_F16_9B7E28B4_TILING_H_
#define TRANS_DATA_F16_9B7E28B4_TILING_H_

#include <cstdint>

namespace trans_data_f16_9b7e28b4_impl {

constexpr uint32_t kOperands = 2;
constexpr uint32_t kRank = 4;
constexpr uint32_t kArray = 3;  // length of the arrays below

struct Tiling {
  uint32_t coreNum;  // cores that have work; tiles are dealt out in turn
  uint32_t straightLength;  // elements of a buffer of straight tiles
  uint32_t loadedLength;  // elements of a buffer that runs are loaded to
  uint32_t orderedLength;  // elements of a buffer in the target's order
  uint32_t filledLength;  // elements of a buffer of constants
  uint64_t tiles[3];  // tiles of each box
  uint64_t way[3];  // 0 straight, 1 ordered by a gather, 2 filled
  uint64_t rows[3];  // rows of a tile
  uint64_t columns[3];  // columns of a tile
  uint64_t rowStep[3];  // elements from row to row in the target
  uint64_t rowPitch[3];  // elements from row to row in the buffer
  uint64_t runs[3];  // runs that a tile is loaded in
  uint64_t runLength[3];  // elements of a run
  int64_t runStep[3];  // elements from run to run in the source
  uint64_t runPitch[3];  // elements from run to run in the buffer
  uint64_t first[3];  // where the buffer has element (0, 0) of a tile
  uint64_t nextRow[3];  // elements from there to the next row's
  int64_t nextColumn[3];  // elements from there to the next column's
  int64_t sourceStart[3];  // where the first tile is loaded from
  uint64_t targetStart[3];  // where the first tile goes
  uint64_t counts[3][kArray];  // tiles along each axis
  uint64_t lengths[3][kArray];  // elements of a tile along each axis
  uint64_t last[3][kArray];  // where the last tile of an axis starts
  int64_t source[3][kArray];  // elements along each axis of the source
  uint64_t target[3][kArray];  // elements along each axis of the target
  uint64_t dims[kOperands][kRank];  // shapes of inputs and outputs, 1 on the left of short ones
};

constexpr Tiling kRows[] = {
    // src 2x32x10x12, dst 2x32x10x12
    //   TransData:out.25
    {8, 1920, 1024, 960, 1920, {8, 0, 0}, {1, 0, 2}, {60, 120, 120}, {16, 1, 1}, {16, 16, 16}, {16, 16, 16}, {16, 120, 120}, {60, 1, 1}, {120, 1, 0}, {64, 16, 16}, {0, 0, 0}, {1, 16, 0}, {64, 120, 0}, {0, 3840, 0}, {0, 3840, 3840}, {{4, 2, 1}, {2, 1, 0}, {2, 1, 0}}, {{1, 60, 16}, {1, 120, 1}, {1, 120, 1}}, {{3, 60, 0}, {1, 0, 0}, {1, 0, 0}}, {{1920, 1, 120}, {3840, 1, 120}, {0, 0, 0}}, {{1920, 16, 1}, {3840, 16, 1}, {3840, 16, 1}},
     {{2, 32, 10, 12}, {2, 32, 10, 12}}},
};

constexpr uint32_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

}  // namespace trans_data_f16_9b7e28b4_impl

#endif  // TRANS_DATA_F16_9B7E28B4_TILING_H_
