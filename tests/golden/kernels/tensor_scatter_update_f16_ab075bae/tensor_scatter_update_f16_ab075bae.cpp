// tensor_scatter_update_f16_ab075bae: TensorScatterUpdate on sim.
// A copy of x with the slices at tuples of indices replaced by updates; negative indices count from the end of their axis.
//   x: float16 NCHW
//   indices: int32 ND
//   updates: float16 ND
//   y: float16 NCHW

#include "kernel_operator.h"

#include "tensor_scatter_update_f16_ab075bae_tiling.h"

namespace tensor_scatter_update_f16_ab075bae_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR indices, GM_ADDR updates, GM_ADDR y, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    indicesGm_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(indices));
    updatesGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(updates));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    pipe_.InitBuffer(through_, kBuffers, row_->chunkLength * sizeof(half));
  }

  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum) {
      return;
    }
    const uint64_t first = core * row_->coreRows;
    const uint64_t left = row_->rows - first;
    const uint64_t past = first + (left < row_->coreRows ? left : row_->coreRows);
    Move(xGm_, first * row_->inner, first * row_->inner, (past - first) * row_->inner);
    // Of updates to one row the last one stays: all of them leave the core in their order.
    for (uint64_t update = 0; update < row_->count; ++update) {
      const uint64_t row = Find(update);
      if (row >= first && row < past) {
        Move(updatesGm_, update * row_->inner, row * row_->inner, row_->inner);
      }
    }
  }

 private:
  // `count` elements to the result, as much at once as the buffer takes.
  __aicore__ inline void Move(const GlobalTensor<half>& from, uint64_t source, uint64_t target,
                              uint64_t count) {
    for (uint64_t done = 0; done < count; done += row_->chunkLength) {
      const uint64_t left = count - done;
      const uint32_t length = left < row_->chunkLength ? left : row_->chunkLength;
      const DataCopyExtParams run{1, static_cast<uint32_t>(length * sizeof(half)), 0, 0, 0};
      LocalTensor<half> tile = through_.AllocTensor<half>();
      DataCopyPad(tile, from[source + done], run, {false, 0, 0, half(0)});
      through_.EnQue(tile);
      tile = through_.DeQue<half>();
      DataCopyPad(yGm_[target + done], tile, run);
      through_.FreeTensor(tile);
    }
  }

  // The row that an update goes to; negative indices count from the end of their axis.
  __aicore__ inline uint64_t Find(uint64_t update) const {
    uint64_t row = 0;
    for (uint64_t at = 0; at < row_->length; ++at) {
      const uint64_t axis = kArray - row_->length + at;
      int64_t index = indicesGm_.GetValue(update * row_->length + at);
      index += index < 0 ? static_cast<int64_t>(row_->reached[axis]) : 0;
      row += static_cast<uint64_t>(index) * row_->steps[axis];
    }
    return row;
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<int32_t> indicesGm_;
  GlobalTensor<half> updatesGm_;
  GlobalTensor<half> yGm_;
  TQueBind<QuePosition::VECIN, QuePosition::VECOUT, kBuffers> through_;
};

}  // namespace tensor_scatter_update_f16_ab075bae_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void tensor_scatter_update_f16_ab075bae(
    GM_ADDR x, GM_ADDR indices, GM_ADDR updates, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  tensor_scatter_update_f16_ab075bae_impl::Kernel kernel;
  kernel.Init(x, indices, updates, y, &tensor_scatter_update_f16_ab075bae_impl::kRows[row]);
  kernel.Process();
}
