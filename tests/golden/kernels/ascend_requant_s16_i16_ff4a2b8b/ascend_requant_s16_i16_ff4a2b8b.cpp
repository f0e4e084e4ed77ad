// ascend_requant_s16_i16_ff4a2b8b: AscendRequantS16 on sim.
// The sum of two int16 tensors, and that sum requantised to int8.
//   x0: int16 NCHW
//   req_scale: uint64 ND
//   x1: int16 NCHW
//   y0: int8 NCHW
//   y1: int16 NCHW

#include "kernel_operator.h"

#include "ascend_requant_s16_i16_ff4a2b8b_tiling.h"

namespace ascend_requant_s16_i16_ff4a2b8b_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
constexpr bool kDualOutput = true;
constexpr bool kReluFlag = false;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x0, GM_ADDR req_scale, GM_ADDR x1, GM_ADDR y0, GM_ADDR y1, const Tiling* row) {
    row_ = row;
    x0Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ int16_t*>(x0));
    req_scaleGm_.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(req_scale));
    x1Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ int16_t*>(x1));
    y0Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(y0));
    y1Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ int16_t*>(y1));
    pipe_.InitBuffer(x0Queue_, kBuffers, row_->bufferLength * sizeof(int16_t));
    pipe_.InitBuffer(factorQueue_, kBuffers, row_->bufferLength * sizeof(float));
    pipe_.InitBuffer(offsetQueue_, kBuffers, row_->bufferLength * sizeof(float));
    pipe_.InitBuffer(x1Queue_, kBuffers, row_->bufferLength * sizeof(int16_t));
    pipe_.InitBuffer(y0Queue_, kBuffers, row_->bufferLength * sizeof(int8_t));
    pipe_.InitBuffer(y1Queue_, kBuffers, row_->bufferLength * sizeof(int16_t));
    pipe_.InitBuffer(values_, row_->bufferLength * 4);
    pipe_.InitBuffer(addend_, row_->bufferLength * 4);
    pipe_.InitBuffer(shorts_, row_->bufferLength * 2);
    pipe_.InitBuffer(halves_, row_->bufferLength * 2);
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
    LocalTensor<int16_t> x0 = x0Queue_.AllocTensor<int16_t>();
    Load(x0, x0Gm_, 0, tile);
    x0Queue_.EnQue(x0);
    LocalTensor<float> factor = factorQueue_.AllocTensor<float>();
    LoadFactor(factor, req_scaleGm_, 1, tile);
    factorQueue_.EnQue(factor);
    LocalTensor<float> offset = offsetQueue_.AllocTensor<float>();
    LoadOffset(offset, req_scaleGm_, 2, tile);
    offsetQueue_.EnQue(offset);
    LocalTensor<int16_t> x1 = x1Queue_.AllocTensor<int16_t>();
    Load(x1, x1Gm_, 3, tile);
    x1Queue_.EnQue(x1);
  }

  __aicore__ inline void Compute(const Tile& tile) {
    const uint32_t count = tile.count;
    LocalTensor<int16_t> x0 = x0Queue_.DeQue<int16_t>();
    LocalTensor<float> factor = factorQueue_.DeQue<float>();
    LocalTensor<float> offset = offsetQueue_.DeQue<float>();
    LocalTensor<int16_t> x1 = x1Queue_.DeQue<int16_t>();
    LocalTensor<int8_t> y0 = y0Queue_.AllocTensor<int8_t>();
    LocalTensor<int16_t> y1 = y1Queue_.AllocTensor<int16_t>();
    LocalTensor<float> values = values_.Get<float>();
    LocalTensor<float> addend = addend_.Get<float>();
    LocalTensor<int16_t> shorts = shorts_.Get<int16_t>();
    LocalTensor<half> halves = halves_.Get<half>();
    // saturate(round((x0 + x1) * factor) + offset)
    Cast(values, x0, RoundMode::CAST_NONE, count);
    Cast(addend, x1, RoundMode::CAST_NONE, count);
    Add(values, values, addend, count);
    Maxs(values, values, -32768.0f, count);
    Mins(values, values, 32767.0f, count);
    Cast(y1, values, RoundMode::CAST_RINT, count);
    Mul(values, values, factor, count);
    Cast(values, values, RoundMode::CAST_RINT, count);
    Add(values, values, offset, count);
    Cast(shorts, values, RoundMode::CAST_RINT, count);
    Cast(halves, shorts, RoundMode::CAST_NONE, count);
    Cast(y0, halves, RoundMode::CAST_RINT, count);
    y0Queue_.EnQue(y0);
    y1Queue_.EnQue(y1);
    x0Queue_.FreeTensor(x0);
    factorQueue_.FreeTensor(factor);
    offsetQueue_.FreeTensor(offset);
    x1Queue_.FreeTensor(x1);
  }

  __aicore__ inline void CopyOut(const Tile& tile) {
    LocalTensor<int8_t> y0 = y0Queue_.DeQue<int8_t>();
    Store(y0Gm_, y0, tile);
    y0Queue_.FreeTensor(y0);
    LocalTensor<int16_t> y1 = y1Queue_.DeQue<int16_t>();
    Store(y1Gm_, y1, tile);
    y1Queue_.FreeTensor(y1);
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

  // Words of an operand, taken apart: the factor is a float32 of 19 bits.
  __aicore__ inline void LoadFactor(const LocalTensor<float>& to, const GlobalTensor<uint64_t>& from,
                              uint32_t operand, const Tile& tile) {
    for (uint32_t row = 0; row < tile.rows; ++row) {
      const uint64_t source = Source(operand, tile.first + row) + (row_->moves[operand] ? tile.start : 0);
      for (uint32_t at = 0; at < tile.length; ++at) {
        const uint64_t word = from.GetValue(row_->moves[operand] ? source + at : source);
        const uint32_t bits = static_cast<uint32_t>(word & 0xffffe000u);
        to.ReinterpretCast<uint32_t>().SetValue(row * row_->pitch + at, bits);
      }
    }
  }
  __aicore__ inline void LoadOffset(const LocalTensor<float>& to, const GlobalTensor<uint64_t>& from,
                              uint32_t operand, const Tile& tile) {
    for (uint32_t row = 0; row < tile.rows; ++row) {
      const uint64_t source = Source(operand, tile.first + row) + (row_->moves[operand] ? tile.start : 0);
      for (uint32_t at = 0; at < tile.length; ++at) {
        const uint64_t word = from.GetValue(row_->moves[operand] ? source + at : source);
        const int32_t bits = static_cast<int32_t>(word >> 37 & 0x1ff);
        to.SetValue(row * row_->pitch + at, static_cast<float>(bits < 256 ? bits : bits - 512));
      }
    }
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<int16_t> x0Gm_;
  GlobalTensor<uint64_t> req_scaleGm_;
  GlobalTensor<int16_t> x1Gm_;
  GlobalTensor<int8_t> y0Gm_;
  GlobalTensor<int16_t> y1Gm_;
  TQue<QuePosition::VECIN, kBuffers> x0Queue_;
  TQue<QuePosition::VECIN, kBuffers> factorQueue_;
  TQue<QuePosition::VECIN, kBuffers> offsetQueue_;
  TQue<QuePosition::VECIN, kBuffers> x1Queue_;
  TQue<QuePosition::VECOUT, kBuffers> y0Queue_;
  TQue<QuePosition::VECOUT, kBuffers> y1Queue_;
  TBuf<QuePosition::VECCALC> values_;
  TBuf<QuePosition::VECCALC> addend_;
  TBuf<QuePosition::VECCALC> shorts_;
  TBuf<QuePosition::VECCALC> halves_;
};

}  // namespace ascend_requant_s16_i16_ff4a2b8b_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void ascend_requant_s16_i16_ff4a2b8b(
    GM_ADDR x0, GM_ADDR req_scale, GM_ADDR x1, GM_ADDR y0, GM_ADDR y1, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  ascend_requant_s16_i16_ff4a2b8b_impl::Kernel kernel;
  kernel.Init(x0, req_scale, x1, y0, y1, &ascend_requant_s16_i16_ff4a2b8b_impl::kRows[row]);
  kernel.Process();
}
