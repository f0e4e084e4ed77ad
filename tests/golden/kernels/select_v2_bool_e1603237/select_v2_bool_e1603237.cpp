// select_v2_bool_e1603237: SelectV2 on sim.
// Elements of `then` where the condition is true, else of `else`, with broadcasting.
//   condition: bool NCHW
//   then: float16 NCHW
//   else_: float16 ND
//   result: float16 NCHW

#include "kernel_operator.h"

#include "select_v2_bool_e1603237_tiling.h"

namespace select_v2_bool_e1603237_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR condition, GM_ADDR then, GM_ADDR else_, GM_ADDR result, const Tiling* row) {
    row_ = row;
    conditionGm_.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(condition));
    thenGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(then));
    else_Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(else_));
    resultGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(result));
    pipe_.InitBuffer(conditionQueue_, kBuffers, row_->bufferLength * sizeof(uint8_t));
    pipe_.InitBuffer(thenQueue_, kBuffers, row_->bufferLength * sizeof(half));
    pipe_.InitBuffer(else_Queue_, kBuffers, row_->bufferLength * sizeof(half));
    pipe_.InitBuffer(resultQueue_, kBuffers, row_->bufferLength * sizeof(half));
    pipe_.InitBuffer(words_, row_->bufferLength * 2);
    pipe_.InitBuffer(mask_, row_->bufferLength / 8);
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
    LocalTensor<uint8_t> condition = conditionQueue_.AllocTensor<uint8_t>();
    Load(condition, conditionGm_, 0, tile);
    conditionQueue_.EnQue(condition);
    LocalTensor<half> then = thenQueue_.AllocTensor<half>();
    Load(then, thenGm_, 1, tile);
    thenQueue_.EnQue(then);
    LocalTensor<half> else_ = else_Queue_.AllocTensor<half>();
    Load(else_, else_Gm_, 2, tile);
    else_Queue_.EnQue(else_);
  }

  __aicore__ inline void Compute(const Tile& tile) {
    const uint32_t count = tile.count;
    LocalTensor<uint8_t> condition = conditionQueue_.DeQue<uint8_t>();
    LocalTensor<half> then = thenQueue_.DeQue<half>();
    LocalTensor<half> else_ = else_Queue_.DeQue<half>();
    LocalTensor<half> result = resultQueue_.AllocTensor<half>();
    LocalTensor<half> words = words_.Get<half>();
    LocalTensor<uint8_t> mask = mask_.Get<uint8_t>();
    Cast(words, condition, RoundMode::CAST_NONE, count);
    CompareScalar(mask, words, static_cast<half>(0), CMPMODE::NE, (count + 127) / 128 * 128);
    Select(result, mask, then, else_, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
    resultQueue_.EnQue(result);
    conditionQueue_.FreeTensor(condition);
    thenQueue_.FreeTensor(then);
    else_Queue_.FreeTensor(else_);
  }

  __aicore__ inline void CopyOut(const Tile& tile) {
    LocalTensor<half> result = resultQueue_.DeQue<half>();
    Store(resultGm_, result, tile);
    resultQueue_.FreeTensor(result);
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
  GlobalTensor<uint8_t> conditionGm_;
  GlobalTensor<half> thenGm_;
  GlobalTensor<half> else_Gm_;
  GlobalTensor<half> resultGm_;
  TQue<QuePosition::VECIN, kBuffers> conditionQueue_;
  TQue<QuePosition::VECIN, kBuffers> thenQueue_;
  TQue<QuePosition::VECIN, kBuffers> else_Queue_;
  TQue<QuePosition::VECOUT, kBuffers> resultQueue_;
  TBuf<QuePosition::VECCALC> words_;
  TBuf<QuePosition::VECCALC> mask_;
};

}  // namespace select_v2_bool_e1603237_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void select_v2_bool_e1603237(
    GM_ADDR condition, GM_ADDR then, GM_ADDR else_, GM_ADDR result, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  select_v2_bool_e1603237_impl::Kernel kernel;
  kernel.Init(condition, then, else_, result, &select_v2_bool_e1603237_impl::kRows[row]);
  kernel.Process();
}
