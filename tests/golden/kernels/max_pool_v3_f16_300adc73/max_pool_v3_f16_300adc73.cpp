// max_pool_v3_f16_300adc73: MaxPoolV3 on sim.
// Largest value of sliding windows; padding never wins.
//   x: float16 NC1HWC0
//   y: float16 NC1HWC0

#include "kernel_operator.h"

#include "max_pool_v3_f16_300adc73_tiling.h"

namespace max_pool_v3_f16_300adc73_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
constexpr bool kCeilMode = false;
constexpr char const* kDataFormat = "NCHW";
constexpr int64_t kDilations[] = {1, 1, 1, 1};
constexpr uint32_t kDilationsCount = 4;
constexpr bool kGlobalPooling = false;
constexpr int64_t kKsize[] = {1, 1, 3, 3};
constexpr uint32_t kKsizeCount = 4;
constexpr char const* kPaddingMode = "CALCULATED";
constexpr int64_t kPads[] = {1, 1, 1, 1};
constexpr uint32_t kPadsCount = 4;
constexpr int64_t kStrides[] = {1, 1, 2, 2};
constexpr uint32_t kStridesCount = 4;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    const uint32_t count = row_->tileRows * row_->outPitch;
    pipe_.InitBuffer(xQueue_, kBuffers, row_->loadRows * row_->loadPitch * sizeof(half));
    pipe_.InitBuffer(yQueue_, kBuffers, count * sizeof(half));
    pipe_.InitBuffer(folded_, row_->tileRows * row_->pitch * sizeof(half));
    pipe_.InitBuffer(pattern_, 256);
    MakePattern<half>(pattern_.Get<uint16_t>(), kLanes, row_->tail);
    PipeBarrier<PIPE_ALL>();
  }

  // Core c takes tiles c, c + coreNum ...: rows and columns of the result of one plane.
  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum || core >= row_->tileCount) {
      return;
    }
    for (uint64_t number = core; number < row_->tileCount; number += row_->coreNum) {
      const Tile tile = Find(number);
      Compute(tile);
      CopyOut(tile);
    }
  }

 private:
  static constexpr uint32_t kLanes = 16;

  // Rows [row, row + rows) and columns [column, column + columns) of the result.
  struct Tile {
    uint64_t plane;
    int64_t row;
    int64_t column;
    uint32_t rows;
    uint32_t columns;
  };

  __aicore__ inline Tile Find(uint64_t number) const {
    const uint64_t column = number % row_->columnTiles * row_->tileColumns;
    number /= row_->columnTiles;
    const uint64_t row = number % row_->rowTiles * row_->tileRows;
    const uint64_t below = row_->outHeight - row;
    const uint64_t right = row_->outWidth - column;
    return {number / row_->rowTiles, static_cast<int64_t>(row), static_cast<int64_t>(column),
            static_cast<uint32_t>(below < row_->tileRows ? below : row_->tileRows),
            static_cast<uint32_t>(right < row_->tileColumns ? right : row_->tileColumns)};
  }

  // Columns [first, first + count) of the input; column 0 of the first window is `ahead` before.
  struct Columns {
    uint64_t first;
    uint64_t ahead;
    uint32_t count;
  };

  // What lies under columns [tap, tap + group) of a tile's windows.
  __aicore__ inline Columns Under(const Tile& tile, uint64_t tap) const {
    const int64_t width = row_->width;
    const uint64_t taps = row_->sizeW - tap < row_->group ? row_->sizeW - tap : row_->group;
    const int64_t start = tile.column * static_cast<int64_t>(row_->strideW) +
                          static_cast<int64_t>(tap * row_->dilationW) - static_cast<int64_t>(row_->left);
    const int64_t end = start + static_cast<int64_t>((tile.columns - 1) * row_->strideW +
                                                     (taps - 1) * row_->dilationW) + 1;
    const int64_t first = start < 0 ? 0 : start;
    const int64_t past = end < width ? end : width;
    return {static_cast<uint64_t>(first), static_cast<uint64_t>(first - start),
            static_cast<uint32_t>(past > first ? past - first : 0)};
  }

  __aicore__ inline void Compute(const Tile& tile) {
    const uint32_t count = row_->tileRows * row_->outPitch;
    const LocalTensor<half> folded = folded_.Get<half>();
    LocalTensor<half> y = yQueue_.AllocTensor<half>();
    for (uint64_t tap = 0; tap < row_->sizeW; ++tap) {
      const uint64_t inside = tap % row_->group;
      const Columns columns = Under(tile, tap - inside);
      if (inside == 0) {
        FoldRows(folded, tile, columns);
      }
      const uint64_t base = row_->lead - columns.ahead * kLanes + inside * row_->dilationW * kLanes;
      FoldColumn(y, folded[base], tile, tap == 0);
    }
    if (row_->tail != 0 && (tile.plane + 1) % row_->blocks == 0) {
      Keep(y.template ReinterpretCast<uint16_t>(), pattern_.Get<uint16_t>(), count);
    }
    yQueue_.EnQue(y);
  }

  // One column of the windows of each row of a tile: blocks of channels, strideW apart.
  __aicore__ inline void FoldColumn(const LocalTensor<half>& total, const LocalTensor<half>& from,
                                    const Tile& tile, bool first) {
    constexpr uint32_t kMostRepeats = 255;
    constexpr uint32_t kBlocks = kLanes * sizeof(half) / 32;
    BinaryRepeatParams repeat;
    repeat.dstRepStride = kBlocks;
    repeat.src0RepStride = kBlocks;
    repeat.src1RepStride = kBlocks * row_->strideW;
    if (first) {
      Duplicate(total, static_cast<half>(-__builtin_inff()), row_->tileRows * row_->outPitch);
    }
    for (uint32_t row = 0; row < tile.rows; ++row) {
      const LocalTensor<half> windows = total[row * row_->outPitch];
      const LocalTensor<half> taken = from[row * row_->pitch];
      for (uint32_t at = 0; at < tile.columns; at += kMostRepeats) {
        const uint32_t left = tile.columns - at;
        const uint8_t repeats = left < kMostRepeats ? left : kMostRepeats;
        const LocalTensor<half> part = windows[at * kLanes];
        Max(part, part, taken[at * row_->strideW * kLanes], static_cast<uint64_t>(kLanes), repeats, repeat);
      }
    }
  }

  // Ones for the first `kept` of the elements of each block, `lanes` wide, and zeros behind them.
  template <typename T>
  __aicore__ inline void MakePattern(const LocalTensor<uint16_t>& pattern, uint32_t lanes,
                                     uint32_t kept) {
    constexpr uint32_t kSize = sizeof(T);
    for (uint32_t at = 0; at < 256 / 2; ++at) {
      const uint16_t low = 2 * at / kSize % lanes < kept ? 0xff : 0;
      const uint16_t high = (2 * at + 1) / kSize % lanes < kept ? 0xff00 : 0;
      pattern.SetValue(at, low | high);
    }
  }

  // Words where the pattern has ones, zeros elsewhere: of any dtype, also where they are NaN.
  __aicore__ inline void Keep(const LocalTensor<uint16_t>& of, const LocalTensor<uint16_t>& pattern,
                              uint32_t count) {
    constexpr uint32_t kRepeat = 256 / 2;
    constexpr uint32_t kMostRepeats = 255;
    BinaryRepeatParams repeat;
    repeat.src1RepStride = 0;
    uint32_t at = 0;
    while (at < count) {
      const uint32_t left = (count - at) / kRepeat;
      const uint8_t repeats = left == 0 ? 1 : (left < kMostRepeats ? left : kMostRepeats);
      const uint64_t mask = left == 0 ? count - at : kRepeat;
      And(of[at], of[at], pattern, mask, repeats, repeat);
      at += left == 0 ? count - at : repeats * kRepeat;
    }
  }

  // The rows under each row of a tile in one, in their order; padding is less than anything.
  __aicore__ inline void FoldRows(const LocalTensor<half>& folded, const Tile& tile,
                                  const Columns& columns) {
    Duplicate(folded, static_cast<half>(-__builtin_inff()), row_->tileRows * row_->pitch);
    const int64_t start = tile.row * static_cast<int64_t>(row_->strideH) - static_cast<int64_t>(row_->top);
    const int64_t end = start + static_cast<int64_t>((tile.rows - 1) * row_->strideH +
                                                     (row_->sizeH - 1) * row_->dilationH) + 1;
    const uint64_t past = end < 0 || columns.count == 0 ? 0 : end;
    const uint64_t rows = past < row_->height ? past : row_->height;
    for (uint64_t row = start < 0 ? 0 : start; row < rows; row += row_->loadRows) {
      const uint64_t left = rows - row;
      const uint32_t loaded = left < row_->loadRows ? left : row_->loadRows;
      CopyIn(tile, columns, row, loaded);
      LocalTensor<half> x = xQueue_.DeQue<half>();
      for (uint32_t at = 0; at < loaded; ++at) {
        FoldRow(folded, x[at * row_->loadPitch], tile, row + at, columns.count * kLanes);
      }
      xQueue_.FreeTensor(x);
    }
  }

  __aicore__ inline void CopyIn(const Tile& tile, const Columns& columns, uint64_t row,
                                uint32_t rows) {
    LocalTensor<half> x = xQueue_.AllocTensor<half>();
    const uint64_t from = (tile.plane * row_->height + row) * row_->width + columns.first;
    const uint32_t bytes = columns.count * sizeof(half) * kLanes;
    const uint32_t between = (row_->width - columns.count) * sizeof(half) * kLanes;
    const uint32_t gap = (row_->loadPitch * sizeof(half) - (bytes + 31) / 32 * 32) / 32;
    const DataCopyExtParams runs{static_cast<uint16_t>(rows), bytes, between, gap, 0};
    DataCopyPad(x, xGm_[from * kLanes], runs, {false, 0, 0, half(0)});
    xQueue_.EnQue(x);
  }

  // A row of the input goes to every row of the tile whose windows it lies under.
  __aicore__ inline void FoldRow(const LocalTensor<half>& folded, const LocalTensor<half>& from,
                                 const Tile& tile, uint64_t row, uint32_t count) {
    for (uint32_t at = 0; at < tile.rows; ++at) {
      const int64_t first = (tile.row + at) * static_cast<int64_t>(row_->strideH) - static_cast<int64_t>(row_->top);
      const int64_t below = static_cast<int64_t>(row) - first;
      if (below < 0 || below % row_->dilationH != 0 || below / row_->dilationH >= row_->sizeH) {
        continue;
      }
      const LocalTensor<half> to = folded[at * row_->pitch + row_->lead];
      Max(to, to, from, count);
    }
  }

  __aicore__ inline void CopyOut(const Tile& tile) {
    LocalTensor<half> y = yQueue_.DeQue<half>();
    const uint32_t bytes = tile.columns * sizeof(half) * kLanes;
    const uint32_t gap = (row_->outPitch * sizeof(half) - (bytes + 31) / 32 * 32) / 32;
    const uint32_t between = (row_->outWidth - tile.columns) * sizeof(half) * kLanes;
    const uint64_t to = (tile.plane * row_->outHeight + tile.row) * row_->outWidth + tile.column;
    DataCopyPad(yGm_[to * kLanes], y, {static_cast<uint16_t>(tile.rows), bytes, gap, between, 0});
    yQueue_.FreeTensor(y);
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<half> yGm_;
  TQue<QuePosition::VECIN, kBuffers> xQueue_;
  TQue<QuePosition::VECOUT, kBuffers> yQueue_;
  TBuf<QuePosition::VECCALC> folded_;
  TBuf<QuePosition::VECCALC> pattern_;
};

}  // namespace max_pool_v3_f16_300adc73_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void max_pool_v3_f16_300adc73(
    GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  max_pool_v3_f16_300adc73_impl::Kernel kernel;
  kernel.Init(x, y, &max_pool_v3_f16_300adc73_impl::kRows[row]);
  kernel.Process();
}
