// gather_nd_f16_dc71ac6b: GatherNd on sim.
// Slices picked by tuples of indices, one for each batch.
//   x: float16 NCHW
//   indices: int32 ND
//   y: float16 ND

#include "kernel_operator.h"

#include "gather_nd_f16_dc71ac6b_tiling.h"

namespace gather_nd_f16_dc71ac6b_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
constexpr int64_t kBatchDims = 0;
constexpr bool kNegativeIndexSupport = false;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR indices, GM_ADDR y, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    indicesGm_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(indices));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    pipe_.InitBuffer(through_, kBuffers, row_->tileRows * row_->pitch * sizeof(half));
  }

  // Core c takes tiles c, c + coreNum ...: whole rows, or a chunk of one row.
  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum) {
      return;
    }
    for (uint64_t number = core; number < row_->tileCount; number += row_->coreNum) {
      const uint64_t first = number / row_->chunkCount * row_->tileRows;
      const uint64_t start = number % row_->chunkCount * row_->chunkLength;
      const uint64_t below = row_->rows - first;
      const uint64_t right = row_->inner - start;
      const uint32_t rows = below < row_->tileRows ? below : row_->tileRows;
      const uint32_t length = right < row_->chunkLength ? right : row_->chunkLength;
      CopyIn(first, start, rows, length);
      CopyOut(first, start, rows, length);
    }
  }

 private:
  // Elements [start, start + length) of rows [first, first + rows) of the result.
  __aicore__ inline void CopyIn(uint64_t first, uint64_t start, uint32_t rows, uint32_t length) {
    LocalTensor<half> tile = through_.AllocTensor<half>();
    const DataCopyExtParams run{1, static_cast<uint32_t>(length * sizeof(half)), 0, 0, 0};
    for (uint32_t row = 0; row < rows; ++row) {
      DataCopyPad(tile[row * row_->pitch], xGm_[Source(first + row) + start], run, {false, 0, 0, half(0)});
    }
    through_.EnQue(tile);
  }

  // Where row `row` of the result starts in x.
  __aicore__ inline uint64_t Source(uint64_t row) const {
    const uint64_t image = row / row_->count;
    const uint64_t place = image * row_->indexStep + row % row_->count * row_->length;
    uint64_t source = image * row_->imageStep;
    for (uint64_t at = 0; at < row_->length; ++at) {
      const uint64_t axis = kArray - row_->length + at;
      int64_t index = indicesGm_.GetValue(place + at);
      source += static_cast<uint64_t>(index) * row_->steps[axis];
    }
    return source;
  }

  __aicore__ inline void CopyOut(uint64_t first, uint64_t start, uint32_t rows, uint32_t length) {
    LocalTensor<half> tile = through_.DeQue<half>();
    const uint32_t bytes = length * sizeof(half);
    DataCopyPad(yGm_[first * row_->inner + start], tile, {static_cast<uint16_t>(rows), bytes, 0, 0, 0});
    through_.FreeTensor(tile);
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<int32_t> indicesGm_;
  GlobalTensor<half> yGm_;
  TQueBind<QuePosition::VECIN, QuePosition::VECOUT, kBuffers> through_;
};

}  // namespace gather_nd_f16_dc71ac6b_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void gather_nd_f16_dc71ac6b(
    GM_ADDR x, GM_ADDR indices, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  gather_nd_f16_dc71ac6b_impl::Kernel kernel;
  kernel.Init(x, indices, y, &gather_nd_f16_dc71ac6b_impl::kRows[row]);
  kernel.Process();
}
