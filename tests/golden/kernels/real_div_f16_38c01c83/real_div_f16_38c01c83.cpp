// real_div_f16_38c01c83: RealDiv on sim.
// Elementwise quotient with broadcasting; that of integers has its fraction cut off.
//   x1: float16 NC1HWC0
//   x2: float16 ND
//   y: float16 NC1HWC0

#include "kernel_operator.h"

#include "real_div_f16_38c01c83_tiling.h"

namespace real_div_f16_38c01c83_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x1, GM_ADDR x2, GM_ADDR y, const Tiling* row) {
    row_ = row;
    x1Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x1));
    x2Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x2));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    pipe_.InitBuffer(x1Queue_, kBuffers, row_->bufferLength * sizeof(half));
    pipe_.InitBuffer(x2Queue_, kBuffers, row_->bufferLength * sizeof(half));
    pipe_.InitBuffer(yQueue_, kBuffers, row_->bufferLength * sizeof(half));
    pipe_.InitBuffer(yPattern_, 256);
    MakePattern<half>(yPattern_.Get<uint16_t>(), kLanes, row_->tail);
    PipeBarrier<PIPE_ALL>();
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
    LocalTensor<half> x1 = x1Queue_.AllocTensor<half>();
    Load<true>(x1, x1Gm_, 0, tile);
    x1Queue_.EnQue(x1);
    LocalTensor<half> x2 = x2Queue_.AllocTensor<half>();
    Load<false>(x2, x2Gm_, 1, tile);
    x2Queue_.EnQue(x2);
  }

  __aicore__ inline void Compute(const Tile& tile) {
    const uint32_t count = tile.count;
    LocalTensor<half> x1 = x1Queue_.DeQue<half>();
    LocalTensor<half> x2 = x2Queue_.DeQue<half>();
    Spread(x1, 0, tile);
    Spread(x2, 1, tile);
    LocalTensor<half> y = yQueue_.AllocTensor<half>();
    Div(y, x1, x2, count);
    Clear(y, yPattern_.Get<uint16_t>(), tile);
    yQueue_.EnQue(y);
    x1Queue_.FreeTensor(x1);
    x2Queue_.FreeTensor(x2);
  }

  __aicore__ inline void CopyOut(const Tile& tile) {
    LocalTensor<half> y = yQueue_.DeQue<half>();
    Store(yGm_, y, tile);
    yQueue_.FreeTensor(y);
  }

  // Blocks of 32 bytes between rows in the buffer.
  template <typename T>
  __aicore__ inline uint32_t Gap(const Tile& tile) const {
    return (row_->pitch * sizeof(T) - (tile.length * sizeof(T) + 31) / 32 * 32) / 32;
  }

  static constexpr uint32_t kLanes = 16;
  static constexpr uint64_t kAlong = 1;
  static constexpr uint64_t kRepeated = 2;

  // The plane that a row belongs to, of its image or matrix.
  __aicore__ inline uint64_t Plane(uint64_t row) const {
    return row / row_->planeRows % row_->planes;
  }

  // Channels in the blocks of a row; what follows is padding.
  __aicore__ inline uint32_t Filled(uint64_t row) const {
    return row_->tail != 0 && Plane(row) + 1 == row_->planes ? row_->tail : kLanes;
  }

  // A tile of an operand: its pixels, or the one block or the one value that serves all of a row.
  // One that lies row by row ends at its last channel.
  template <bool Stored, typename T>
  __aicore__ inline void Load(const LocalTensor<T>& to, const GlobalTensor<T>& from,
                              uint32_t operand, const Tile& tile) {
    const DataCopyPadExtParams<T> pad{false, 0, 0, T(0)};
    const uint32_t bytes = tile.length * sizeof(T);
    const uint64_t source = Source(operand, tile.first);
    const uint64_t last = Source(operand, tile.first + tile.rows - 1);
    if (row_->moves[operand] == kAlong && last - source == (tile.rows - 1) * row_->inner) {
      const DataCopyExtParams runs{static_cast<uint16_t>(tile.rows), bytes, 0, Gap<T>(tile), 0};
      DataCopyPad(to, from[source + tile.start], runs, pad);
      return;
    }
    const DataCopyExtParams run{1, bytes, 0, 0, 0};
    for (uint32_t row = 0; row < tile.rows; ++row) {
      const LocalTensor<T> part = to[row * row_->pitch];
      const uint64_t at = Source(operand, tile.first + row);
      if (row_->moves[operand] == kAlong) {
        DataCopyPad(part, from[at + tile.start], run, pad);
      } else if (row_->moves[operand] == kRepeated) {
        LoadBlock(part, from[at], Stored ? kLanes : Filled(tile.first + row), tile.length);
      } else {
        Fill(part, from.GetValue(at), tile.length);
      }
    }
  }

  // The block of a row's first pixel; `Spread` repeats it. What is behind its channels counts for
  // nothing: `Clear` makes it zero in the result.
  template <typename T>
  __aicore__ inline void LoadBlock(const LocalTensor<T>& to, const GlobalTensor<T>& from,
                                   uint32_t channels, uint32_t length) {
    if constexpr (kLanes * sizeof(T) % 32 != 0) {
      for (uint32_t at = 0; at < length; ++at) {
        to.SetValue(at, at % kLanes < channels ? from.GetValue(at % kLanes) : T(0));
      }
    } else {
      const DataCopyExtParams run{1, static_cast<uint32_t>(channels * sizeof(T)), 0, 0, 0};
      DataCopyPad(to, from, run, {false, 0, 0, T(0)});
    }
  }

  // Where an operand has one block for all pixels of a row: copies of it, twice as many each time.
  template <typename T>
  __aicore__ inline void Spread(const LocalTensor<T>& of, uint32_t operand, const Tile& tile) {
    if (row_->moves[operand] != kRepeated || kLanes * sizeof(T) % 32 != 0) {
      return;
    }
    for (uint32_t row = 0; row < tile.rows; ++row) {
      const LocalTensor<T> part = of[row * row_->pitch];
      for (uint32_t done = kLanes; done < tile.length; done *= 2) {
        const uint32_t left = tile.length - done;
        DataCopy(part[done], part, left < done ? left : done);
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

  // Padding of a result is zero: lanes behind the last channel, rows behind the last of a matrix.
  template <typename T>
  __aicore__ inline void Clear(const LocalTensor<T>& of, const LocalTensor<uint16_t>& pattern,
                               const Tile& tile) {
    for (uint32_t row = 0; row < tile.rows; ++row) {
      const LocalTensor<T> part = of[row * row_->pitch];
      if (Filled(tile.first + row) != kLanes) {
        Keep(part.template ReinterpretCast<uint16_t>(), pattern, tile.length * sizeof(T) / 2);
      }
      if (tile.start + tile.length > row_->valid) {
        uint32_t from = tile.start < row_->valid ? row_->valid - tile.start : 0;
        for (; from * sizeof(T) % 32 != 0; ++from) {
          part.SetValue(from, T(0));
        }
        Duplicate(part[from].template ReinterpretCast<uint16_t>(), static_cast<uint16_t>(0),
                  (tile.length - from) * sizeof(T) / 2);
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
  GlobalTensor<half> x1Gm_;
  GlobalTensor<half> x2Gm_;
  GlobalTensor<half> yGm_;
  TQue<QuePosition::VECIN, kBuffers> x1Queue_;
  TQue<QuePosition::VECIN, kBuffers> x2Queue_;
  TQue<QuePosition::VECOUT, kBuffers> yQueue_;
  TBuf<QuePosition::VECCALC> yPattern_;
};

}  // namespace real_div_f16_38c01c83_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void real_div_f16_38c01c83(
    GM_ADDR x1, GM_ADDR x2, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  real_div_f16_38c01c83_impl::Kernel kernel;
  kernel.Init(x1, x2, y, &real_div_f16_38c01c83_impl::kRows[row]);
  kernel.Process();
}
