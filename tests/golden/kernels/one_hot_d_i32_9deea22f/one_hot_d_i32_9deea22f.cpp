// one_hot_d_i32_9deea22f: OneHotD on sim.
// on_value where a new axis runs over an index, off_value elsewhere; negative indices count from depth, and one outside [-depth, depth - 1] marks nothing.
//   x: int32 ND
//   on_value: float16 ND
//   off_value: float16 ND
//   y: float16 ND

#include "kernel_operator.h"

#include "one_hot_d_i32_9deea22f_tiling.h"

namespace one_hot_d_i32_9deea22f_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
constexpr int64_t kAxis = -1;
constexpr int64_t kDepth = 9;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR on_value, GM_ADDR off_value, GM_ADDR y, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(x));
    on_valueGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(on_value));
    off_valueGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(off_value));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    pipe_.InitBuffer(yQueue_, kBuffers, row_->tileLength * sizeof(half));
  }

  // Core c takes tiles c, c + coreNum ...
  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum) {
      return;
    }
    for (uint64_t tile = core; tile < row_->tileCount; tile += row_->coreNum) {
      const uint64_t start = tile * row_->tileLength;
      const uint64_t left = row_->total - start;
      const uint32_t count = left < row_->tileLength ? left : row_->tileLength;
      Compute(start, count);
      CopyOut(start, count);
    }
  }

 private:
  // Elements [start, start + count) of the result.
  __aicore__ inline void Compute(uint64_t start, uint32_t count) {
    LocalTensor<half> y = yQueue_.AllocTensor<half>();
    Duplicate(y, off_valueGm_.GetValue(0), count);
    const half value = on_valueGm_.GetValue(0);
    const uint64_t image = row_->depth * row_->inner;
    for (uint64_t number = start / image; number * image < start + count; ++number) {
      for (uint64_t at = 0; at < row_->inner; ++at) {
        const int64_t depth = row_->depth;
        int64_t index = xGm_.GetValue(number * row_->inner + at);
        index += index < 0 ? depth : 0;
        if (index < 0 || index >= depth) {
          continue;
        }
        const uint64_t place = number * image + index * row_->inner + at;
        if (place >= start && place < start + count) {
          y.SetValue(place - start, value);
        }
      }
    }
    yQueue_.EnQue(y);
  }

  __aicore__ inline void CopyOut(uint64_t start, uint32_t count) {
    LocalTensor<half> y = yQueue_.DeQue<half>();
    const DataCopyExtParams run{1, static_cast<uint32_t>(count * sizeof(half)), 0, 0, 0};
    DataCopyPad(yGm_[start], y, run);
    yQueue_.FreeTensor(y);
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<int32_t> xGm_;
  GlobalTensor<half> on_valueGm_;
  GlobalTensor<half> off_valueGm_;
  GlobalTensor<half> yGm_;
  TQue<QuePosition::VECOUT, kBuffers> yQueue_;
};

}  // namespace one_hot_d_i32_9deea22f_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void one_hot_d_i32_9deea22f(
    GM_ADDR x, GM_ADDR on_value, GM_ADDR off_value, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  one_hot_d_i32_9deea22f_impl::Kernel kernel;
  kernel.Init(x, on_value, off_value, y, &one_hot_d_i32_9deea22f_impl::kRows[row]);
  kernel.Process();
}
