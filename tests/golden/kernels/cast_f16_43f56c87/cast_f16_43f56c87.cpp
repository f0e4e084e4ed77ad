// cast_f16_43f56c87: Cast on sim.
// Conversion to another dtype.
//   x: float16 NCHW
//   y: float32 NCHW

#include "kernel_operator.h"

#include "cast_f16_43f56c87_tiling.h"

namespace cast_f16_43f56c87_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
constexpr int32_t kDstType = 1;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    pipe_.InitBuffer(xQueue_, kBuffers, row_->bufferLength * sizeof(half));
    pipe_.InitBuffer(yQueue_, kBuffers, row_->bufferLength * sizeof(float));
  }

  // Core c takes tiles c, c + coreNum ...: whole rows, or a chunk of one row.
  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum) {
      return;
    }
    for (uint64_t number = core; number < row_->tileCount; number += row_->coreNum) {
      const Tile tile = Place(number);
      CopyIn(tile);
      Compute(tile);
      CopyOut(tile);
    }
  }

 private:
  // Elements [start, start + length) of rows [first, first + rows); `count` with what pads them.
  struct Tile {
    uint64_t first;
    uint64_t start;
    uint32_t rows;
    uint32_t length;
    uint32_t count;
  };

  __aicore__ inline Tile Place(uint64_t number) const {
    const uint64_t first = number / row_->chunkCount * row_->tileRows;
    const uint64_t start = number % row_->chunkCount * row_->chunkLength;
    const uint64_t below = row_->rows - first;
    const uint64_t right = row_->inner - start;
    const uint32_t rows = below < row_->tileRows ? below : row_->tileRows;
    const uint32_t length = right < row_->chunkLength ? right : row_->chunkLength;
    return {first, start, rows, length, rows == 1 ? length : rows * row_->pitch};
  }

  __aicore__ inline void CopyIn(const Tile& tile) {
    LocalTensor<half> x = xQueue_.AllocTensor<half>();
    Load(x, xGm_, 0, tile);
    xQueue_.EnQue(x);
  }

  __aicore__ inline void Compute(const Tile& tile) {
    const uint32_t count = tile.count;
    LocalTensor<half> x = xQueue_.DeQue<half>();
    LocalTensor<float> y = yQueue_.AllocTensor<float>();
    Cast(y, x, RoundMode::CAST_NONE, count);
    yQueue_.EnQue(y);
    xQueue_.FreeTensor(x);
  }

  __aicore__ inline void CopyOut(const Tile& tile) {
    LocalTensor<float> y = yQueue_.DeQue<float>();
    Store(yGm_, y, tile);
    yQueue_.FreeTensor(y);
  }

  // Blocks of 32 bytes between rows in the buffer.
  template <typename T>
  __aicore__ inline uint32_t Gap(const Tile& tile) const {
    return (row_->pitch * sizeof(T) - (tile.length * sizeof(T) + 31) / 32 * 32) / 32;
  }

  // A tile of an operand: one copy where its rows follow one another, else row by row.
  template <typename T>
  __aicore__ inline void Load(const LocalTensor<T>& to, const GlobalTensor<T>& from,
                              uint32_t operand, const Tile& tile) {
    const DataCopyPadExtParams<T> pad{false, 0, 0, T(0)};
    const uint32_t bytes = tile.length * sizeof(T);
    const uint64_t source = Source(operand, tile.first);
    const uint64_t last = Source(operand, tile.first + tile.rows - 1);
    if (row_->moves[operand] != 0 && last - source == (tile.rows - 1) * row_->inner) {
      const DataCopyExtParams runs{static_cast<uint16_t>(tile.rows), bytes, 0, Gap<T>(tile), 0};
      DataCopyPad(to, from[source + tile.start], runs, pad);
      return;
    }
    const DataCopyExtParams run{1, bytes, 0, 0, 0};
    for (uint32_t row = 0; row < tile.rows; ++row) {
      const LocalTensor<T> part = to[row * row_->pitch];
      const uint64_t at = Source(operand, tile.first + row);
      if (row_->moves[operand] != 0) {
        DataCopyPad(part, from[at + tile.start], run, pad);
      } else {
        Fill(part, from.GetValue(at), tile.length);
      }
    }
  }

  // One value for all elements; Duplicate takes no bytes and no words of 64 bits.
  template <typename T>
  __aicore__ inline void Fill(const LocalTensor<T>& to, T value, uint32_t count) {
    if constexpr (sizeof(T) == 2 || sizeof(T) == 4) {
      Duplicate(to, value, count);
    } else {
      for (uint32_t at = 0; at < count; ++at) {
        to.SetValue(at, value);
      }
    }
  }

  template <typename T>
  __aicore__ inline void Store(const GlobalTensor<T>& to, const LocalTensor<T>& from,
                               const Tile& tile) {
    const uint32_t bytes = tile.length * sizeof(T);
    const DataCopyExtParams runs{static_cast<uint16_t>(tile.rows), bytes, Gap<T>(tile), 0, 0};
    DataCopyPad(to[tile.first * row_->inner + tile.start], from, runs);
  }

  // Where row `row` of the result finds its first element in an operand.
  __aicore__ inline uint64_t Source(uint32_t operand, uint64_t row) const {
    uint64_t source = 0;
    for (uint32_t axis = kArray; axis-- > 0;) {
      source += row % row_->extents[axis] * row_->strides[operand][axis];
      row /= row_->extents[axis];
    }
    return source;
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<float> yGm_;
  TQue<QuePosition::VECIN, kBuffers> xQueue_;
  TQue<QuePosition::VECOUT, kBuffers> yQueue_;
};

}  // namespace cast_f16_43f56c87_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void cast_f16_43f56c87(
    GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  cast_f16_43f56c87_impl::Kernel kernel;
  kernel.Init(x, y, &cast_f16_43f56c87_impl::kRows[row]);
  kernel.Process();
}
