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

constexpr int32_t kDepth = 2;
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
    pipe_.InitBuffer(x0Queue_, kDepth, row_->tileLength * sizeof(int16_t));
    pipe_.InitBuffer(x1Queue_, kDepth, row_->tileLength * sizeof(int16_t));
    pipe_.InitBuffer(y0Queue_, kDepth, row_->tileLength * sizeof(int8_t));
    pipe_.InitBuffer(y1Queue_, kDepth, row_->tileLength * sizeof(int16_t));
  }

  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum) {
      return;
    }
    const bool last = core + 1 == row_->coreNum;
    const uint64_t tiles = last ? row_->lastTileCount : row_->tileCount;
    const uint32_t tail = last ? row_->lastTailLength : row_->tailLength;
    for (uint64_t tile = 0; tile < tiles; ++tile) {
      const uint64_t start = core * row_->coreLength + tile * row_->tileLength;
      const uint32_t count = tile + 1 == tiles ? tail : row_->tileLength;
      CopyIn(start, count);
      Compute(count);
      CopyOut(start, count);
    }
  }

 private:
  __aicore__ inline void CopyIn(uint64_t start, uint32_t count) {
    LocalTensor<int16_t> x0 = x0Queue_.AllocTensor<int16_t>();
    Load(x0, x0Gm_, start, count);
    x0Queue_.EnQue(x0);
    LocalTensor<int16_t> x1 = x1Queue_.AllocTensor<int16_t>();
    Load(x1, x1Gm_, start, count);
    x1Queue_.EnQue(x1);
  }

  __aicore__ inline void Compute(uint32_t count) {
    LocalTensor<int16_t> x0 = x0Queue_.DeQue<int16_t>();
    LocalTensor<int16_t> x1 = x1Queue_.DeQue<int16_t>();
    LocalTensor<int8_t> y0 = y0Queue_.AllocTensor<int8_t>();
    LocalTensor<int16_t> y1 = y1Queue_.AllocTensor<int16_t>();
    // to write: The sum of two int16 tensors, and that sum requantised to int8.
    //   y1 = relu(x0 + x1); y0 = saturate(round(y1 * req_scale[c]) + bits 45:37 of req_scale[c])
    // The channel c of an element follows from its place; what is per channel is read by GetValue(c),
    // or by GetValue(0) where there is one element.
    y0Queue_.EnQue(y0);
    y1Queue_.EnQue(y1);
    x0Queue_.FreeTensor(x0);
    x1Queue_.FreeTensor(x1);
  }

  __aicore__ inline void CopyOut(uint64_t start, uint32_t count) {
    LocalTensor<int8_t> y0 = y0Queue_.DeQue<int8_t>();
    const DataCopyExtParams y0Bytes{1, static_cast<uint32_t>(count * sizeof(int8_t)), 0, 0, 0};
    DataCopyPad(y0Gm_[start], y0, y0Bytes);
    y0Queue_.FreeTensor(y0);
    LocalTensor<int16_t> y1 = y1Queue_.DeQue<int16_t>();
    const DataCopyExtParams y1Bytes{1, static_cast<uint32_t>(count * sizeof(int16_t)), 0, 0, 0};
    DataCopyPad(y1Gm_[start], y1, y1Bytes);
    y1Queue_.FreeTensor(y1);
  }

  // A tail ends between blocks, so the copy counts bytes, not blocks.
  template <typename T>
  __aicore__ inline void Load(const LocalTensor<T>& to, const GlobalTensor<T>& from,
                              uint64_t start, uint32_t count) {
    const DataCopyExtParams bytes{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    const DataCopyPadExtParams<T> pad{false, 0, 0, 0};
    DataCopyPad(to, from[start], bytes, pad);
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<int16_t> x0Gm_;
  GlobalTensor<uint64_t> req_scaleGm_;
  GlobalTensor<int16_t> x1Gm_;
  GlobalTensor<int8_t> y0Gm_;
  GlobalTensor<int16_t> y1Gm_;
  TQue<QuePosition::VECIN, kDepth> x0Queue_;
  TQue<QuePosition::VECIN, kDepth> x1Queue_;
  TQue<QuePosition::VECOUT, kDepth> y0Queue_;
  TQue<QuePosition::VECOUT, kDepth> y1Queue_;
};

}  // namespace ascend_requant_s16_i16_ff4a2b8b_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void ascend_requant_s16_i16_ff4a2b8b(
    GM_ADDR x0, GM_ADDR req_scale, GM_ADDR x1, GM_ADDR y0, GM_ADDR y1, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  ascend_requant_s16_i16_ff4a2b8b_impl::Kernel kernel;
  kernel.Init(x0, req_scale, x1, y0, y1, &ascend_requant_s16_i16_ff4a2b8b_impl::kRows[row]);
  kernel.Process();
}
