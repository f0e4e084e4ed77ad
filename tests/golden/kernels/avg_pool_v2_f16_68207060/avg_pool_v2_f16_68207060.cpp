// avg_pool_v2_f16_68207060: AvgPoolV2 on sim.
// Mean over sliding windows; `exclusive` leaves padding out of the count.
//   x: float16 NCHW
//   y: float16 NCHW

#include "kernel_operator.h"

#include "avg_pool_v2_f16_68207060_tiling.h"

namespace avg_pool_v2_f16_68207060_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
constexpr bool kCeilMode = false;
constexpr char const* kDataFormat = "NCHW";
constexpr int64_t kDivisorOverride = 0;
constexpr bool kExclusive = true;
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
    pipe_.InitBuffer(folded_, row_->tileRows * row_->pitch * sizeof(float));
    pipe_.InitBuffer(tap_, count * sizeof(float));
    pipe_.InitBuffer(offsets_, count * sizeof(uint32_t));
    pipe_.InitBuffer(line_, row_->loadPitch * sizeof(float));
    pipe_.InitBuffer(total_, count * sizeof(float));
    pipe_.InitBuffer(divisor_, count * sizeof(float));
  }

  // Core c takes tiles c, c + coreNum ...: rows and columns of the result of one plane.
  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum || core >= row_->tileCount) {
      return;
    }
    MakeOffsets();
    if (row_->divisor != 0) {
      Duplicate(divisor_.Get<float>(), static_cast<float>(row_->divisor), row_->tileRows * row_->outPitch);
    }
    for (uint64_t number = core; number < row_->tileCount; number += row_->coreNum) {
      const Tile tile = Find(number);
      Compute(tile);
      CopyOut(tile);
    }
  }

 private:
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

  // What is under columns [tap, tap + group) of a tile's windows.
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
    const LocalTensor<float> folded = folded_.Get<float>();
    const LocalTensor<float> taken = tap_.Get<float>();
    const LocalTensor<uint32_t> offsets = offsets_.Get<uint32_t>();
    LocalTensor<half> y = yQueue_.AllocTensor<half>();
    const LocalTensor<float> total = total_.Get<float>();
    const LocalTensor<float> divisor = divisor_.Get<float>();
    for (uint64_t tap = 0; tap < row_->sizeW; ++tap) {
      const uint64_t inside = tap % row_->group;
      const Columns columns = Under(tile, tap - inside);
      if (inside == 0) {
        FoldRows(folded, tile, columns);
      }
      const uint64_t base = row_->lead - columns.ahead + inside * row_->dilationW;
      if (tap == 0) {
        Gather(total, folded, offsets, base * sizeof(float), count);
      } else {
        Gather(taken, folded, offsets, base * sizeof(float), count);
        Add(total, total, taken, count);
      }
    }
    if (row_->divisor == 0) {
      Count(tile, divisor);
    }
    Div(total, total, divisor, count);
    Cast(y, total, RoundMode::CAST_RINT, count);
    yQueue_.EnQue(y);
  }

  // The rows under each row of a tile in one, in their order; padding is 0.
  __aicore__ inline void FoldRows(const LocalTensor<float>& folded, const Tile& tile,
                                  const Columns& columns) {
    Duplicate(folded, static_cast<float>(0.0f), row_->tileRows * row_->pitch);
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
        FoldRow(folded, x[at * row_->loadPitch], tile, row + at, columns.count);
      }
      xQueue_.FreeTensor(x);
    }
  }

  __aicore__ inline void CopyIn(const Tile& tile, const Columns& columns, uint64_t row,
                                uint32_t rows) {
    LocalTensor<half> x = xQueue_.AllocTensor<half>();
    const uint64_t from = (tile.plane * row_->height + row) * row_->width + columns.first;
    const uint32_t bytes = columns.count * sizeof(half);
    const uint32_t between = (row_->width - columns.count) * sizeof(half);
    const uint32_t gap = (row_->loadPitch * sizeof(half) - (bytes + 31) / 32 * 32) / 32;
    const DataCopyExtParams runs{static_cast<uint16_t>(rows), bytes, between, gap, 0};
    DataCopyPad(x, xGm_[from], runs, {false, 0, 0, half(0)});
    xQueue_.EnQue(x);
  }

  // A row of the input goes to every row of the tile whose windows it is under.
  __aicore__ inline void FoldRow(const LocalTensor<float>& folded, const LocalTensor<half>& from,
                                 const Tile& tile, uint64_t row, uint32_t count) {
    const LocalTensor<float> line = line_.Get<float>();
    Cast(line, from, RoundMode::CAST_NONE, count);
    for (uint32_t at = 0; at < tile.rows; ++at) {
      const int64_t first = (tile.row + at) * static_cast<int64_t>(row_->strideH) - static_cast<int64_t>(row_->top);
      const int64_t below = static_cast<int64_t>(row) - first;
      if (below < 0 || below % row_->dilationH != 0 || below / row_->dilationH >= row_->sizeH) {
        continue;
      }
      const LocalTensor<float> to = folded[at * row_->pitch + row_->lead];
      Add(to, to, line, count);
    }
  }

  // Elements that count under each window of a tile: those of the input.
  __aicore__ inline void Count(const Tile& tile, const LocalTensor<float>& divisor) const {
    Duplicate(divisor, 1.0f, row_->tileRows * row_->outPitch);
    for (uint32_t row = 0; row < tile.rows; ++row) {
      const int64_t top = (tile.row + row) * static_cast<int64_t>(row_->strideH) - static_cast<int64_t>(row_->top);
      const int64_t rows = Inside(top, row_->dilationH, row_->sizeH, 0, row_->height);
      for (uint32_t column = 0; column < tile.columns; ++column) {
        const int64_t left = (tile.column + column) * static_cast<int64_t>(row_->strideW) - static_cast<int64_t>(row_->left);
        const int64_t columns = Inside(left, row_->dilationW, row_->sizeW, 0, row_->width);
        divisor.SetValue(row * row_->outPitch + column, static_cast<float>(rows * columns));
      }
    }
  }

  // How many of first, first + step ... (`count` of them) are in [low, high).
  __aicore__ inline int64_t Inside(int64_t first, int64_t step, int64_t count, int64_t low,
                                   int64_t high) const {
    const int64_t before = first < low ? (low - first + step - 1) / step : 0;
    const int64_t room = first < high ? (high - first + step - 1) / step : 0;
    const int64_t past = room < count ? room : count;
    return past > before ? past - before : 0;
  }

  // Where column 0 of each window is among the folded rows.
  __aicore__ inline void MakeOffsets() {
    const LocalTensor<uint32_t> offsets = offsets_.Get<uint32_t>();
    Duplicate(offsets, 0u, row_->tileRows * row_->outPitch);
    for (uint64_t row = 0; row < row_->tileRows; ++row) {
      for (uint64_t column = 0; column < row_->tileColumns; ++column) {
        const uint64_t place = row * row_->pitch + column * row_->strideW;
        offsets.SetValue(row * row_->outPitch + column, place * sizeof(float));
      }
    }
  }

  __aicore__ inline void CopyOut(const Tile& tile) {
    LocalTensor<half> y = yQueue_.DeQue<half>();
    const uint32_t bytes = tile.columns * sizeof(half);
    const uint32_t gap = (row_->outPitch * sizeof(half) - (bytes + 31) / 32 * 32) / 32;
    const uint32_t between = (row_->outWidth - tile.columns) * sizeof(half);
    const uint64_t to = (tile.plane * row_->outHeight + tile.row) * row_->outWidth + tile.column;
    DataCopyPad(yGm_[to], y, {static_cast<uint16_t>(tile.rows), bytes, gap, between, 0});
    yQueue_.FreeTensor(y);
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<half> yGm_;
  TQue<QuePosition::VECIN, kBuffers> xQueue_;
  TQue<QuePosition::VECOUT, kBuffers> yQueue_;
  TBuf<QuePosition::VECCALC> folded_;
  TBuf<QuePosition::VECCALC> tap_;
  TBuf<QuePosition::VECCALC> offsets_;
  TBuf<QuePosition::VECCALC> line_;
  TBuf<QuePosition::VECCALC> total_;
  TBuf<QuePosition::VECCALC> divisor_;
};

}  // namespace avg_pool_v2_f16_68207060_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void avg_pool_v2_f16_68207060(
    GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  avg_pool_v2_f16_68207060_impl::Kernel kernel;
  kernel.Init(x, y, &avg_pool_v2_f16_68207060_impl::kRows[row]);
  kernel.Process();
}
