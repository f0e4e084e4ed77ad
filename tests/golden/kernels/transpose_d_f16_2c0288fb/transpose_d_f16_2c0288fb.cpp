// transpose_d_f16_2c0288fb: TransposeD on sim.
// Axes in another order.
//   x: float16 NCHW
//   y: float16 NCHW

#include "kernel_operator.h"

#include "transpose_d_f16_2c0288fb_tiling.h"

namespace transpose_d_f16_2c0288fb_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
constexpr int64_t kPerm[] = {0, 2, 3, 1};
constexpr uint32_t kPermCount = 4;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    if (row_->straightLength != 0) {
      pipe_.InitBuffer(through_, kBuffers, row_->straightLength * sizeof(half));
    }
    if (row_->orderedLength != 0) {
      pipe_.InitBuffer(loadedQueue_, kBuffers, row_->loadedLength * sizeof(half));
      pipe_.InitBuffer(orderedQueue_, kBuffers, row_->orderedLength * sizeof(half));
      pipe_.InitBuffer(offsets_, row_->orderedLength * 4);
    }
  }

  __aicore__ inline void Process() {
    if (GetBlockIdx() >= row_->coreNum) {
      return;
    }
    for (uint32_t box = 0; box < sizeof(row_->tiles) / sizeof(row_->tiles[0]); ++box) {
      Move(box, xGm_, yGm_);
    }
  }

 private:
  // Tiles are dealt out to the cores in turn, from one box to the next.
  __aicore__ inline void Move(uint32_t box, const GlobalTensor<half>& from,
                              const GlobalTensor<half>& to) {
    const uint64_t cores = row_->coreNum;
    const uint64_t first = (GetBlockIdx() + cores - dealt_ % cores) % cores;
    dealt_ += row_->tiles[box];
    if (row_->way[box] == kOrdered && first < row_->tiles[box]) {
      MakeOffsets(box);
    }
    for (uint64_t number = first; number < row_->tiles[box]; number += cores) {
      const Place place = Find(box, number);
      if (row_->way[box] == kOrdered) {
        CopyIn(box, from, place.source);
        Compute(box);
        CopyOut(box, to, place.target);
        continue;
      }
      Through(box, from, to, place);
    }
  }

  // Where a tile is loaded from, and where it goes.
  struct Place {
    int64_t source;
    uint64_t target;
  };

  // The last tile along an axis starts early enough to be whole.
  __aicore__ inline Place Find(uint32_t box, uint64_t number) const {
    Place place{row_->sourceStart[box], row_->targetStart[box]};
    for (uint32_t axis = kArray; axis-- > 0;) {
      const uint64_t at = number % row_->counts[box][axis] * row_->lengths[box][axis];
      const uint64_t start = at < row_->last[box][axis] ? at : row_->last[box][axis];
      place.source += static_cast<int64_t>(start) * row_->source[box][axis];
      place.target += start * row_->target[box][axis];
      number /= row_->counts[box][axis];
    }
    return place;
  }

  // Rows that are stored in the source as in the target.
  __aicore__ inline void Through(uint32_t box, const GlobalTensor<half>& from,
                                 const GlobalTensor<half>& to, const Place& place) {
    LocalTensor<half> tile = through_.AllocTensor<half>();
    Load(box, tile, from, place.source);
    through_.EnQue(tile);
    tile = through_.DeQue<half>();
    Store(box, to, tile, place.target);
    through_.FreeTensor(tile);
  }

  __aicore__ inline void CopyIn(uint32_t box, const GlobalTensor<half>& from, int64_t source) {
    LocalTensor<half> loaded = loadedQueue_.AllocTensor<half>();
    Load(box, loaded, from, source);
    loadedQueue_.EnQue(loaded);
  }

  __aicore__ inline void Compute(uint32_t box) {
    const uint32_t count = row_->rows[box] * row_->rowPitch[box];
    const LocalTensor<uint32_t> offsets = offsets_.Get<uint32_t>();
    LocalTensor<half> loaded = loadedQueue_.DeQue<half>();
    LocalTensor<half> ordered = orderedQueue_.AllocTensor<half>();
    Gather(ordered.ReinterpretCast<uint16_t>(), loaded.ReinterpretCast<uint16_t>(), offsets, 0u,
           count);
    orderedQueue_.EnQue(ordered);
    loadedQueue_.FreeTensor(loaded);
  }

  __aicore__ inline void CopyOut(uint32_t box, const GlobalTensor<half>& to, uint64_t target) {
    LocalTensor<half> ordered = orderedQueue_.DeQue<half>();
    Store(box, to, ordered, target);
    orderedQueue_.FreeTensor(ordered);
  }

  // Where each element of a tile is among the loaded ones; one table serves all tiles of a box.
  __aicore__ inline void MakeOffsets(uint32_t box) {
    constexpr uint32_t kWords = 1;
    const LocalTensor<uint32_t> offsets = offsets_.Get<uint32_t>();
    Duplicate(offsets, 0u, row_->rows[box] * row_->rowPitch[box] * kWords);
    for (uint64_t row = 0; row < row_->rows[box]; ++row) {
      int64_t place = row_->first[box] + row * row_->nextRow[box];
      for (uint64_t column = 0; column < row_->columns[box]; ++column) {
        const uint64_t at = (row * row_->rowPitch[box] + column) * kWords;
        for (uint32_t part = 0; part < kWords; ++part) {
          offsets.SetValue(at + part, (place * kWords + part) * sizeof(uint16_t));
        }
        place += row_->nextColumn[box];
      }
    }
  }

  // The runs of a tile: one copy where they are in order and near enough, else one by one.
  __aicore__ inline void Load(uint32_t box, const LocalTensor<half>& to,
                              const GlobalTensor<half>& from, int64_t source) {
    const uint64_t runs = row_->runs[box];
    const uint32_t bytes = row_->runLength[box] * sizeof(half);
    const int64_t step = row_->runStep[box];
    const int64_t gap = step * static_cast<int64_t>(sizeof(half)) - bytes;
    const DataCopyPadExtParams<half> pad{false, 0, 0, half(0)};
    if (runs > 1 && gap >= 0 && gap <= kWidestGap) {
      const DataCopyExtParams all{static_cast<uint16_t>(runs), bytes, static_cast<uint32_t>(gap), 0, 0};
      DataCopyPad(to, from[source], all, pad);
      return;
    }
    const DataCopyExtParams one{1, bytes, 0, 0, 0};
    for (uint64_t run = 0; run < runs; ++run) {
      const int64_t at = source + static_cast<int64_t>(run) * step;
      DataCopyPad(to[run * row_->runPitch[box]], from[at], one, pad);
    }
  }

  // The rows of a tile; where they follow one another on both sides they are one run.
  __aicore__ inline void Store(uint32_t box, const GlobalTensor<half>& to,
                               const LocalTensor<half>& from, uint64_t target) {
    const uint64_t rows = row_->rows[box];
    const uint64_t columns = row_->columns[box];
    const uint64_t gap = (row_->rowStep[box] - columns) * sizeof(half);
    const uint32_t bytes = columns * sizeof(half);
    if (gap == 0 && row_->rowPitch[box] == columns) {
      DataCopyPad(to[target], from, {1, static_cast<uint32_t>(rows * bytes), 0, 0, 0});
    } else if (gap <= kWidestGap) {
      DataCopyPad(to[target], from, {static_cast<uint16_t>(rows), bytes, 0, static_cast<uint32_t>(gap), 0});
    } else {
      for (uint64_t row = 0; row < rows; ++row) {
        DataCopyPad(to[target + row * row_->rowStep[box]], from[row * row_->rowPitch[box]], {1, bytes, 0, 0, 0});
      }
    }
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<half> yGm_;
  static constexpr uint64_t kOrdered = 1;
  static constexpr uint32_t kWidestGap = 0xffffffffu;  // bytes between the runs of one copy

  uint64_t dealt_ = 0;  // tiles of the boxes so far
  TQueBind<QuePosition::VECIN, QuePosition::VECOUT, kBuffers> through_;
  TQue<QuePosition::VECIN, kBuffers> loadedQueue_;
  TQue<QuePosition::VECOUT, kBuffers> orderedQueue_;
  TBuf<QuePosition::VECCALC> offsets_;
};

}  // namespace transpose_d_f16_2c0288fb_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void transpose_d_f16_2c0288fb(
    GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  transpose_d_f16_2c0288fb_impl::Kernel kernel;
  kernel.Init(x, y, &transpose_d_f16_2c0288fb_impl::kRows[row]);
  kernel.Process();
}
