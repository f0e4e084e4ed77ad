// cumsum_d_f16_7e6f4991: CumsumD on sim.
// Running sums along an axis, from the front or back, with or without the element itself.
//   x: float16 NCHW
//   y: float16 NCHW

#include "kernel_operator.h"

#include "cumsum_d_f16_7e6f4991_tiling.h"

namespace cumsum_d_f16_7e6f4991_impl {

using namespace AscendC;

constexpr int32_t kDepth = 2;
constexpr int64_t kAxis = 1;
constexpr bool kExclusive = false;
constexpr bool kReverse = false;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    pipe_.InitBuffer(xQueue_, kDepth, row_->bufferLength * sizeof(half));
    pipe_.InitBuffer(yQueue_, kDepth, row_->bufferLength * sizeof(half));
    pipe_.InitBuffer(scratch_, row_->bufferLength * kScratchBytes);
  }

  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum) {
      return;
    }
    const uint64_t rows = core + 1 == row_->coreNum ? row_->lastCoreRows : row_->coreRows;
    for (uint64_t done = 0; done < rows; done += row_->tileRows) {
      const uint64_t first = core * row_->coreRows + done;
      const uint64_t left = rows - done;
      const uint32_t count = left < row_->tileRows ? left : row_->tileRows;
      for (uint64_t chunk = 0; chunk < row_->chunkCount; ++chunk) {
        const bool last = chunk + 1 == row_->chunkCount;
        const uint64_t start = chunk * row_->chunkLength;
        const uint32_t length = last ? row_->tailLength : row_->chunkLength;
        CopyIn(first, count, start, length);
        Compute(first, count, start, length);
        CopyOut(first, count, start, length);
      }
    }
  }

 private:
  // Elements [start, start + length) of rows [first, first + count); each row ends on a block.
  __aicore__ inline void CopyIn(uint64_t first, uint32_t count, uint64_t start, uint32_t length) {
    LocalTensor<half> x = xQueue_.AllocTensor<half>();
    const uint64_t row = row_->axis * row_->inner;
    const uint32_t gap = (row - length) * sizeof(half);
    const DataCopyExtParams bytes{static_cast<uint16_t>(count),
                                  static_cast<uint32_t>(length * sizeof(half)), gap, 0, 0};
    const DataCopyPadExtParams<half> pad{false, 0, 0, 0};
    DataCopyPad(x, xGm_[first * row + start], bytes, pad);
    xQueue_.EnQue(x);
  }

  __aicore__ inline void Compute(uint64_t first, uint32_t count, uint64_t start, uint32_t length) {
    LocalTensor<half> x = xQueue_.DeQue<half>();
    LocalTensor<half> y = yQueue_.AllocTensor<half>();
    // to write: Running sums along an axis, from the front or back, with or without the element itself.
    yQueue_.EnQue(y);
    xQueue_.FreeTensor(x);
  }

  __aicore__ inline void CopyOut(uint64_t first, uint32_t count, uint64_t start, uint32_t length) {
    LocalTensor<half> y = yQueue_.DeQue<half>();
    const uint64_t row = row_->axis * row_->inner;
    const uint32_t gap = (row - length) * sizeof(half);
    const DataCopyExtParams bytes{static_cast<uint16_t>(count),
                                  static_cast<uint32_t>(length * sizeof(half)), 0, gap, 0};
    DataCopyPad(yGm_[first * row + start], y, bytes);
    yQueue_.FreeTensor(y);
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<half> yGm_;
  TQue<QuePosition::VECIN, kDepth> xQueue_;
  TQue<QuePosition::VECOUT, kDepth> yQueue_;
  static constexpr uint32_t kScratchBytes = 8;
  TBuf<QuePosition::VECCALC> scratch_;
};

}  // namespace cumsum_d_f16_7e6f4991_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void cumsum_d_f16_7e6f4991(
    GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  cumsum_d_f16_7e6f4991_impl::Kernel kernel;
  kernel.Init(x, y, &cumsum_d_f16_7e6f4991_impl::kRows[row]);
  kernel.Process();
}
