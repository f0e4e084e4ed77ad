// roi_align_f16_e75d8366: ROIAlign on sim.
// Regions of interest pooled to one size, with bilinear samples.
//   features: float16 NCHW
//   rois: float16 ND
//   y: float16 NCHW

#include "kernel_operator.h"

#include "roi_align_f16_e75d8366_tiling.h"

namespace roi_align_f16_e75d8366_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
constexpr char const* kPoolMode = "avg";
constexpr int64_t kPooledHeight = 7;
constexpr int64_t kPooledWidth = 7;
constexpr int64_t kRoiEndMode = 1;
constexpr int64_t kSampleNum = 2;
constexpr float kSpatialScale = 0.25f;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR features, GM_ADDR rois, GM_ADDR y, const Tiling* row) {
    row_ = row;
    featuresGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(features));
    roisGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(rois));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    pipe_.InitBuffer(yQueue_, kBuffers, row_->tileLength * sizeof(half));
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
      Compute(start, count);
      CopyOut(start, count);
    }
  }

 private:
  // Elements [start, start + count) of the results, counted one result after the other.
  __aicore__ inline void Compute(uint64_t start, uint32_t count) {
    LocalTensor<half> y = yQueue_.AllocTensor<half>();
    // to write: y[r, c, i, j] = mean or largest (pool_mode) of bilinear samples in cell (i, j) of region r
    //   regions are scaled by spatial_scale and are at least one pixel high and wide
    // The operands are featuresGm_, roisGm_; row_->dims has the shapes.
    (void)start;
    (void)count;
    yQueue_.EnQue(y);
  }

  __aicore__ inline void CopyOut(uint64_t start, uint32_t count) {
    LocalTensor<half> y = yQueue_.DeQue<half>();
    const DataCopyExtParams bytes{1, static_cast<uint32_t>(count * sizeof(half)), 0, 0, 0};
    DataCopyPad(yGm_[start], y, bytes);
    yQueue_.FreeTensor(y);
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> featuresGm_;
  GlobalTensor<half> roisGm_;
  GlobalTensor<half> yGm_;
  TQue<QuePosition::VECOUT, kBuffers> yQueue_;
};

}  // namespace roi_align_f16_e75d8366_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void roi_align_f16_e75d8366(
    GM_ADDR features, GM_ADDR rois, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  roi_align_f16_e75d8366_impl::Kernel kernel;
  kernel.Init(features, rois, y, &roi_align_f16_e75d8366_impl::kRows[row]);
  kernel.Process();
}
