// conv2d_f16_6f1fae33: Conv2D on sim.
// 2-D convolution of NCHW data with an OIHW filter, accumulated in float32 or int32.
//   x: float16 NCHW
//   filter: float16 NCHW
//   bias: float16 ND
//   y: float16 NCHW

#include "kernel_operator.h"

#include "conv2d_f16_6f1fae33_tiling.h"

namespace conv2d_f16_6f1fae33_impl {

using namespace AscendC;

constexpr int32_t kDepth = 2;
constexpr char const* kDataFormat = "NCHW";
constexpr int64_t kDilations[] = {1, 1, 1, 1};
constexpr uint32_t kDilationsCount = 4;
constexpr int64_t kGroups = 1;
constexpr int64_t kOffsetX = 0;
constexpr int64_t kPads[] = {1, 1, 1, 1};
constexpr uint32_t kPadsCount = 4;
constexpr int64_t kStrides[] = {1, 1, 1, 1};
constexpr uint32_t kStridesCount = 4;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR filter, GM_ADDR bias, GM_ADDR y, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    filterGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(filter));
    biasGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(bias));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    pipe_.InitBuffer(a1Queue_, kDepth, row_->tileM * row_->l1K * sizeof(half));
    pipe_.InitBuffer(b1Queue_, kDepth, row_->tileN * row_->l1K * sizeof(half));
    pipe_.InitBuffer(a2Queue_, kDepth, row_->tileM * row_->tileK * sizeof(half));
    pipe_.InitBuffer(b2Queue_, kDepth, row_->tileN * row_->tileK * sizeof(half));
    pipe_.InitBuffer(c1Queue_, 1, row_->tileM * row_->tileN * sizeof(float));
    pipe_.InitBuffer(c2Queue_, 1, row_->tileM * row_->tileN * sizeof(half));
  }

  __aicore__ inline void Process() {
    for (uint64_t tile = GetBlockIdx(); tile < row_->tileCount; tile += row_->coreNum) {
      const uint64_t column = tile % row_->nCount;
      const uint64_t line = tile / row_->nCount % row_->mCount;
      batch_ = tile / row_->nCount / row_->mCount;
      m_ = Span(line, row_->tileM, row_->m);
      n_ = Span(column, row_->tileN, row_->n);
      LocalTensor<float> c1 = c1Queue_.AllocTensor<float>();
      for (uint64_t step = 0; step < row_->l1Count; ++step) {
        Multiply(c1, Span(step, row_->l1K, row_->k));
      }
      c1Queue_.EnQue(c1);
      Aggregate();
      CopyOut();
    }
  }

 private:
  // Part `start`, `length` of an extent; the last part may be short.
  struct Part {
    uint64_t start = 0;
    uint32_t length = 0;
  };

  __aicore__ inline Part Span(uint64_t number, uint32_t tile, uint64_t extent) const {
    const uint64_t start = number * tile;
    const uint64_t left = extent - start;
    return {start, left < tile ? static_cast<uint32_t>(left) : tile};
  }

  __aicore__ inline uint32_t Blocks(uint32_t length, uint32_t block) const {
    return (length + block - 1) / block;
  }

  // Adds the product over part `k1` of the summed extent to `c1`.
  __aicore__ inline void Multiply(const LocalTensor<float>& c1, Part k1) {
    CopyIn(k1);
    LocalTensor<half> a1 = a1Queue_.DeQue<half>();
    LocalTensor<half> b1 = b1Queue_.DeQue<half>();
    for (uint32_t at = 0; at < k1.length; at += row_->tileK) {
      const uint32_t left = k1.length - at;
      const Part k0{at, left < row_->tileK ? left : row_->tileK};
      Split(a1, b1, k1, k0);
      Compute(c1, k0, k1.start + at == 0);
    }
    a1Queue_.FreeTensor(a1);
    b1Queue_.FreeTensor(b1);
  }

  __aicore__ inline void CopyIn(Part k1) {
    LocalTensor<half> a1 = a1Queue_.AllocTensor<half>();
    LocalTensor<half> b1 = b1Queue_.AllocTensor<half>();
    // to write: 2-D convolution of NCHW data with an OIHW filter, accumulated in float32 or int32.
    // a1: the rows of x that positions [m_.start, m_.start + m_.length) see, channels of k1.
    // b1: filter[n_, k1] as fractals.
    a1Queue_.EnQue(a1);
    b1Queue_.EnQue(b1);
  }

  __aicore__ inline void Split(const LocalTensor<half>& a1, const LocalTensor<half>& b1,
                               Part k1, Part k0) {
    LocalTensor<half> a2 = a2Queue_.AllocTensor<half>();
    LocalTensor<half> b2 = b2Queue_.AllocTensor<half>();
    // to write: a2 by LoadData with LoadData3DParamsV2 (kernel, strides, pads, dilations; mStartPt
    // m_.start, kStartPt k0.start), b2 by LoadData with LoadData2DParams.
    a2Queue_.EnQue(a2);
    b2Queue_.EnQue(b2);
  }

  __aicore__ inline void Compute(const LocalTensor<float>& c1, Part k0, bool first) {
    LocalTensor<half> a2 = a2Queue_.DeQue<half>();
    LocalTensor<half> b2 = b2Queue_.DeQue<half>();
    MmadParams product;
    product.m = m_.length;
    product.n = n_.length;
    product.k = k0.length;
    product.cmatrixInitVal = first;
    Mmad(c1, a2, b2, product);
    a2Queue_.FreeTensor(a2);
    b2Queue_.FreeTensor(b2);
  }

  __aicore__ inline void Aggregate() {
    LocalTensor<float> c1 = c1Queue_.DeQue<float>();
    LocalTensor<half> c2 = c2Queue_.AllocTensor<half>();
    DataCopyParams blocks;
    blocks.blockCount = 1;
    blocks.blockLen = Blocks(m_.length, row_->blockM) * Blocks(n_.length, row_->blockN);
    DataCopyEnhancedParams matrix;
    matrix.blockMode = BlockMode::BLOCK_MODE_MATRIX;
    DataCopy(c2, c1, blocks, matrix);
    // to write: c2[i, j] += bias[channel of n_.start + j] for every row i of the tile.
    c2Queue_.EnQue(c2);
    c1Queue_.FreeTensor(c1);
  }

  __aicore__ inline void CopyOut() {
    LocalTensor<half> c2 = c2Queue_.DeQue<half>();
    // to write: c2[i, j] goes to position m_.start + i of result channel n_.start + j of its group.
    c2Queue_.FreeTensor(c2);
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<half> filterGm_;
  GlobalTensor<half> biasGm_;
  GlobalTensor<half> yGm_;
  uint64_t batch_ = 0;
  Part m_;
  Part n_;
  TQue<QuePosition::A1, kDepth> a1Queue_;
  TQue<QuePosition::B1, kDepth> b1Queue_;
  TQue<QuePosition::A2, kDepth> a2Queue_;
  TQue<QuePosition::B2, kDepth> b2Queue_;
  TQue<QuePosition::CO1, 1> c1Queue_;
  TQue<QuePosition::CO2, 1> c2Queue_;
};

}  // namespace conv2d_f16_6f1fae33_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void conv2d_f16_6f1fae33(
    GM_ADDR x, GM_ADDR filter, GM_ADDR bias, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  conv2d_f16_6f1fae33_impl::Kernel kernel;
  kernel.Init(x, filter, bias, y, &conv2d_f16_6f1fae33_impl::kRows[row]);
  kernel.Process();
}
