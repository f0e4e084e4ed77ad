// mat_mul_v2_f16_8dad308b: MatMulV2 on sim.
// Product of two matrices, with a bias per column, accumulated in float32 or int32.
//   x1: float16 ND
//   x2: float16 ND
//   bias: float16 ND
//   y: float16 ND

#include "kernel_operator.h"

#include "mat_mul_v2_f16_8dad308b_tiling.h"

namespace mat_mul_v2_f16_8dad308b_impl {

using namespace AscendC;

constexpr int32_t kDepth = 2;
constexpr int64_t kOffsetX = 0;
constexpr bool kTransposeX1 = false;
constexpr bool kTransposeX2 = false;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x1, GM_ADDR x2, GM_ADDR bias, GM_ADDR y, const Tiling* row) {
    row_ = row;
    x1Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x1));
    x2Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x2));
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
    const auto a = x1Gm_[batch_ * row_->m * row_->k];
    const auto b = x2Gm_[batch_ * row_->k * row_->n];
    if (kTransposeX1) {
      LoadFractals(a1, a, k1, m_, row_->m);
    } else {
      LoadFractals(a1, a, m_, k1, row_->k);
    }
    if (kTransposeX2) {
      LoadFractals(b1, b, n_, k1, row_->k);
    } else {
      LoadFractals(b1, b, k1, n_, row_->n);
    }
    a1Queue_.EnQue(a1);
    b1Queue_.EnQue(b1);
  }

  // Part `lines` x `columns` of a matrix with rows of `pitch`, as columns of fractals.
  template <typename T>
  __aicore__ inline void LoadFractals(const LocalTensor<T>& to, const GlobalTensor<T>& from,
                                      Part lines, Part columns, uint64_t pitch) {
    Nd2NzParams fractals;
    fractals.ndNum = 1;
    fractals.nValue = lines.length;
    fractals.dValue = columns.length;
    fractals.srcNdMatrixStride = 0;
    fractals.srcDValue = pitch;
    fractals.dstNzC0Stride = Blocks(lines.length, row_->blockM) * row_->blockM;
    fractals.dstNzNStride = 1;
    fractals.dstNzMatrixStride = 0;
    DataCopy(to, from[lines.start * pitch + columns.start], fractals);
  }

  __aicore__ inline void Split(const LocalTensor<half>& a1, const LocalTensor<half>& b1,
                               Part k1, Part k0) {
    LocalTensor<half> a2 = a2Queue_.AllocTensor<half>();
    LocalTensor<half> b2 = b2Queue_.AllocTensor<half>();
    const uint32_t fractal = row_->blockM * row_->blockK;
    const uint32_t lines = Blocks(m_.length, row_->blockM);
    const uint32_t columns = Blocks(n_.length, row_->blockN);
    const uint32_t depth = Blocks(k0.length, row_->blockK);
    const uint32_t depth1 = Blocks(k1.length, row_->blockK);
    const uint32_t skip = k0.start / row_->blockK;
    LoadData2DParams load;
    // L0A: fractals line by line.
    load.repeatTimes = depth;
    load.srcStride = kTransposeX1 ? 1 : lines;
    load.ifTranspose = kTransposeX1;
    for (uint32_t line = 0; line < lines; ++line) {
      const uint32_t from = kTransposeX1 ? line * depth1 + skip : skip * lines + line;
      LoadData(a2[line * depth * fractal], a1[from * fractal], load);
    }
    // L0B: fractals step by step of the summed extent.
    load.repeatTimes = columns;
    load.srcStride = kTransposeX2 ? 1 : depth1;
    load.ifTranspose = !kTransposeX2;
    for (uint32_t step = 0; step < depth; ++step) {
      const uint32_t from = kTransposeX2 ? (skip + step) * columns : skip + step;
      LoadData(b2[step * columns * fractal], b1[from * fractal], load);
    }
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
    // to write: c2[i, j] += bias[n_.start + j] for every row i of the tile.
    c2Queue_.EnQue(c2);
    c1Queue_.FreeTensor(c1);
  }

  // The tile lies as columns of fractals 16 wide; each goes to 16 columns of the result.
  __aicore__ inline void CopyOut() {
    LocalTensor<half> c2 = c2Queue_.DeQue<half>();
    const uint32_t height = Blocks(m_.length, row_->blockM) * row_->blockM;
    for (uint32_t at = 0; at < n_.length; at += row_->blockN) {
      const uint32_t left = n_.length - at;
      const uint32_t width = left < row_->blockN ? left : row_->blockN;
      const uint32_t gap = (row_->n - width) * sizeof(half);
      const DataCopyExtParams bytes{static_cast<uint16_t>(m_.length),
                                    static_cast<uint32_t>(width * sizeof(half)), 0, gap, 0};
      const uint64_t to = (batch_ * row_->m + m_.start) * row_->n + n_.start + at;
      DataCopyPad(yGm_[to], c2[at * height], bytes);
    }
    c2Queue_.FreeTensor(c2);
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> x1Gm_;
  GlobalTensor<half> x2Gm_;
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

}  // namespace mat_mul_v2_f16_8dad308b_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void mat_mul_v2_f16_8dad308b(
    GM_ADDR x1, GM_ADDR x2, GM_ADDR bias, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  mat_mul_v2_f16_8dad308b_impl::Kernel kernel;
  kernel.Init(x1, x2, bias, y, &mat_mul_v2_f16_8dad308b_impl::kRows[row]);
  kernel.Process();
}
