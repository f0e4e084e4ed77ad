// resize_f16_bd903159: Resize on sim.
// Other extents, each element taken or interpolated from its neighbourhood in x; axes of scale 1 are left alone but for tf_crop_and_resize.
//   x: float16 NCHW
//   scales: float32 ND
//   y: float16 NCHW

#include "kernel_operator.h"

#include "resize_f16_bd903159_tiling.h"

namespace resize_f16_bd903159_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
constexpr char const* kCoordinateTransformationMode = "half_pixel";
constexpr float kCubicCoeffA = -0.75f;
constexpr int64_t kExcludeOutside = 0;
constexpr float kExtrapolationValue = 0.0f;
constexpr char const* kMode = "nearest";
constexpr char const* kNearestMode = "round_prefer_floor";

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR scales, GM_ADDR y, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    scalesGm_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(scales));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    pipe_.InitBuffer(xQueue_, kBuffers, row_->tileRows * row_->loadPitch * sizeof(half));
    pipe_.InitBuffer(yQueue_, kBuffers, row_->tileRows * row_->outPitch * sizeof(half));
    pipe_.InitBuffer(offsets_, row_->tileRows * row_->outPitch * sizeof(uint32_t));
  }

  // Columns are taken in turn; core c takes blocks of rows c, c + coreNum ... of them.
  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum || core * row_->tileRows >= row_->rows) {
      return;
    }
    for (uint64_t start = 0; start < row_->width; start += row_->tileColumns) {
      const uint64_t right = row_->width - start;
      const uint32_t columns = right < row_->tileColumns ? right : row_->tileColumns;
      MakeOffsets(start, columns);
      for (uint64_t row = core * row_->tileRows; row < row_->rows; row += row_->coreNum * row_->tileRows) {
        const uint64_t below = row_->rows - row;
        const uint32_t rows = below < row_->tileRows ? below : row_->tileRows;
        CopyIn(row, rows, start, columns);
        Compute();
        CopyOut(row, rows, start, columns);
      }
    }
  }

 private:
  // Columns [start, start + columns) of rows [row, row + rows) of the result, and what is in them.
  __aicore__ inline void CopyIn(uint64_t row, uint32_t rows, uint64_t start, uint32_t columns) {
    LocalTensor<half> x = xQueue_.AllocTensor<half>();
    const uint64_t first = Column(start);
    const uint32_t bytes = (Column(start + columns - 1) - first + 1) * sizeof(half);
    for (uint32_t at = 0; at < rows; ++at) {
      DataCopyPad(x[at * row_->loadPitch], xGm_[Source(row + at) + first], {1, bytes, 0, 0, 0},
                  {false, 0, 0, half(0)});
    }
    xQueue_.EnQue(x);
  }

  __aicore__ inline void Compute() {
    LocalTensor<half> x = xQueue_.DeQue<half>();
    LocalTensor<half> y = yQueue_.AllocTensor<half>();
    Gather(y.ReinterpretCast<uint16_t>(), x.ReinterpretCast<uint16_t>(), offsets_.Get<uint32_t>(), 0u,
           row_->tileRows * row_->outPitch);
    yQueue_.EnQue(y);
    xQueue_.FreeTensor(x);
  }

  __aicore__ inline void CopyOut(uint64_t row, uint32_t rows, uint64_t start, uint32_t columns) {
    LocalTensor<half> y = yQueue_.DeQue<half>();
    const uint32_t bytes = columns * sizeof(half);
    const uint32_t gap = (row_->outPitch * sizeof(half) - (bytes + 31) / 32 * 32) / 32;
    const uint32_t between = (row_->width - columns) * sizeof(half);
    DataCopyPad(yGm_[row * row_->width + start], y, {static_cast<uint16_t>(rows), bytes, gap, between, 0});
    yQueue_.FreeTensor(y);
  }

  // Where the columns of a tile lie among those that are loaded.
  __aicore__ inline void MakeOffsets(uint64_t start, uint32_t columns) {
    const LocalTensor<uint32_t> offsets = offsets_.Get<uint32_t>();
    Duplicate(offsets, 0u, row_->tileRows * row_->outPitch);
    const uint64_t first = Column(start);
    for (uint64_t column = 0; column < columns; ++column) {
      const uint64_t place = Column(start + column) - first;
      for (uint64_t row = 0; row < row_->tileRows; ++row) {
        offsets.SetValue(row * row_->outPitch + column, (row * row_->loadPitch + place) * sizeof(uint16_t));
      }
    }
  }

  __aicore__ inline uint64_t Column(uint64_t column) const {
    return Nearest(column, row_->outer, row_->sourceWidth, row_->width);
  }

  // Where the row of x starts that row `row` of the result is taken from.
  __aicore__ inline uint64_t Source(uint64_t row) const {
    uint64_t source = 0;
    for (uint64_t at = row_->outer; at-- > 0;) {
      const uint64_t axis = kArray - row_->outer + at;
      const uint64_t place = row % row_->extents[axis];
      source += Nearest(place, at, row_->lengths[axis], row_->extents[axis]) * row_->steps[axis];
      row /= row_->extents[axis];
    }
    return source;
  }

  // The element of an axis of x that lies nearest to element `place` of the result.
  __aicore__ inline uint64_t Nearest(uint64_t place, uint64_t axis, uint64_t length,
                                     uint64_t resized) const {
    const float ratio = scalesGm_.GetValue(axis);
    if (ratio == 1.0f) {
      return place;
    }
    (void)resized;
    const float at = (static_cast<float>(place) + 0.5f) / ratio - 0.5f;
    if (at <= 0.0f) {
      return 0;
    }
    const uint64_t below = at;
    const float rest = at - static_cast<float>(below);
    const uint64_t nearest = below + (rest > 0.5f ? 1 : 0);
    return nearest < length ? nearest : length - 1;
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<float> scalesGm_;
  GlobalTensor<half> yGm_;
  TQue<QuePosition::VECIN, kBuffers> xQueue_;
  TQue<QuePosition::VECOUT, kBuffers> yQueue_;
  TBuf<QuePosition::VECCALC> offsets_;
};

}  // namespace resize_f16_bd903159_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void resize_f16_bd903159(
    GM_ADDR x, GM_ADDR scales, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  resize_f16_bd903159_impl::Kernel kernel;
  kernel.Init(x, scales, y, &resize_f16_bd903159_impl::kRows[row]);
  kernel.Process();
}
