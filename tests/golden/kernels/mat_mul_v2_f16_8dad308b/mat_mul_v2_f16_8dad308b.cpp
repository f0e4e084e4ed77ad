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

constexpr int32_t kBuffers = 2;
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
    pipe_.InitBuffer(a1Queue_, kBuffers, row_->tileM * row_->l1K * sizeof(half));
    pipe_.InitBuffer(b1Queue_, kBuffers, row_->tileN * row_->l1K * sizeof(half));
    pipe_.InitBuffer(a2Queue_, kBuffers, row_->tileM * row_->tileK * sizeof(half));
    pipe_.InitBuffer(b2Queue_, kBuffers, row_->tileN * row_->tileK * sizeof(half));
    pipe_.InitBuffer(c1Queue_, 1, row_->tileM * row_->tileN * sizeof(float));
    pipe_.InitBuffer(sums_, row_->tileM * row_->tileN * sizeof(float));
    pipe_.InitBuffer(c2Queue_, 1, row_->tileM * row_->tileN * sizeof(half));
    pipe_.InitBuffer(biasQueue_, 1, row_->tileN * sizeof(half));
    pipe_.InitBuffer(biasWide_, row_->tileN * sizeof(float));
  }

  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum) {
      return;
    }
    for (uint64_t tile = core; tile < row_->tileCount; tile += row_->coreNum) {
      Place(tile);
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
  static constexpr uint32_t kSide = 16;
  static constexpr uint32_t kC0 = 32 / sizeof(half);
  static constexpr uint32_t kSquare = kC0 > kSide ? kC0 : kSide;
  static constexpr uint32_t kFractal = kSide * kC0;

  // Part `start`, `length` of an axis; the last part may be short.
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

  __aicore__ inline uint32_t Whole(uint32_t length) const {
    return Blocks(length, kSquare) * kSquare;
  }

  __aicore__ inline void Place(uint64_t tile) {
    n_ = Span(tile % row_->nCount, row_->tileN, row_->n);
    m_ = Span(tile / row_->nCount % row_->mCount, row_->tileM, row_->m);
    batch_ = tile / row_->nCount / row_->mCount;
  }

  // The matrix of an operand that stands for matrix `batch_` of the result.
  __aicore__ inline uint64_t Matrix(uint32_t operand) const {
    uint64_t matrix = 0;
    uint64_t left = batch_;
    for (uint32_t axis = kArray; axis-- > 0;) {
      matrix += left % row_->extents[axis] * row_->steps[operand][axis];
      left /= row_->extents[axis];
    }
    return matrix;
  }

  // Adds the product over part `k1` of the summed axis to `c1`.
  __aicore__ inline void Multiply(const LocalTensor<float>& c1, Part k1) {
    CopyIn(k1);
    LocalTensor<half> a1 = a1Queue_.DeQue<half>();
    LocalTensor<half> b1 = b1Queue_.DeQue<half>();
    for (uint32_t at = 0; at < k1.length; at += row_->tileK) {
      const uint32_t left = k1.length - at;
      const Part k0{at, left < row_->tileK ? left : row_->tileK};
      SplitLeft(a1, k0);
      SplitRight(b1, k0);
      Compute(c1, k0, k1.start + at == 0);
    }
    a1Queue_.FreeTensor(a1);
    b1Queue_.FreeTensor(b1);
  }

  __aicore__ inline void CopyIn(Part k1) {
    LocalTensor<half> a1 = a1Queue_.AllocTensor<half>();
    LocalTensor<half> b1 = b1Queue_.AllocTensor<half>();
    const auto a = x1Gm_[Matrix(0) * row_->m * row_->k];
    LoadFractals(a1, a[m_.start * row_->k + k1.start], m_.length, k1.length, row_->k,
                 Whole(m_.length));
    const auto b = x2Gm_[Matrix(1) * row_->k * row_->n];
    LoadSquares(b1, b[k1.start * row_->n + n_.start], k1.length, n_.length, row_->n);
    a1Queue_.EnQue(a1);
    b1Queue_.EnQue(b1);
  }

  // Fractals of L0A follow one another along the summed axis, then down the lines.
  __aicore__ inline uint32_t Depth(Part k0) const {
    return Blocks(k0.length, kC0);
  }

  __aicore__ inline void SplitLeft(const LocalTensor<half>& a1, Part k0) {
    LocalTensor<half> a2 = a2Queue_.AllocTensor<half>();
    const uint32_t depth = Depth(k0);
    const uint32_t lines = Whole(m_.length) / kSide;
    const uint32_t skip = k0.start / kC0 * lines;
    LoadData2DParams load;
    load.ifTranspose = false;
    load.repeatTimes = depth;
    load.srcStride = lines;
    for (uint32_t line = 0; line < lines; ++line) {
      LoadData(a2[line * depth * kFractal], a1[(skip + line) * kFractal], load);
    }
    a2Queue_.EnQue(a2);
  }

  // Fractals of L0B follow one another along the columns, then along the summed axis.
  __aicore__ inline void SplitRight(const LocalTensor<half>& b1, Part k0) {
    LocalTensor<half> b2 = b2Queue_.AllocTensor<half>();
    const uint32_t columns = Whole(n_.length) / kSquare;
    const uint32_t steps = Blocks(k0.length, kSquare);
    const uint32_t skip = k0.start / kSquare * columns;
    LoadData2DParams load;
    load.ifTranspose = true;
    load.repeatTimes = columns;
    load.srcStride = 1;
    for (uint32_t step = 0; step < steps; ++step) {
      const uint32_t square = step * columns * kSquare * kSquare;
      LoadData(b2[square], b1[skip * kSquare * kSquare + square], load);
    }
    b2Queue_.EnQue(b2);
  }

  // Rows and columns count as whole squares: what is beyond the tile lands beside the result.
  __aicore__ inline void Compute(const LocalTensor<float>& c1, Part k0, bool first) {
    LocalTensor<half> a2 = a2Queue_.DeQue<half>();
    LocalTensor<half> b2 = b2Queue_.DeQue<half>();
    MmadParams product;
    product.m = Whole(m_.length);
    product.n = Whole(n_.length);
    product.k = k0.length;
    product.cmatrixInitVal = first;
    Mmad(c1, a2, b2, product);
    a2Queue_.FreeTensor(a2);
    b2Queue_.FreeTensor(b2);
  }

  // Sums come out of L0C, get their bias and are rounded once.
  __aicore__ inline void Aggregate() {
    const uint32_t count = Whole(m_.length) * Whole(n_.length);
    LocalTensor<float> c1 = c1Queue_.DeQue<float>();
    LocalTensor<half> c2 = c2Queue_.AllocTensor<half>();
    const LocalTensor<float> sums = sums_.Get<float>();
    if (row_->k == 0) {
      Duplicate(sums, float(0), count);
    } else {
      DataCopyParams fractals;
      fractals.blockLen = count / (kSide * kSide);
      DataCopyEnhancedParams matrix;
      matrix.blockMode = BlockMode::BLOCK_MODE_MATRIX;
      DataCopy(sums, c1, fractals, matrix);
    }
    c1Queue_.FreeTensor(c1);
    AddBias(sums);
    Cast(c2, sums, RoundMode::CAST_RINT, count);
    c2Queue_.EnQue(c2);
  }

  __aicore__ inline void AddBias(const LocalTensor<float>& sums) {
    const uint32_t channels = n_.length;
    LocalTensor<half> loaded = biasQueue_.AllocTensor<half>();
    const DataCopyExtParams run{1, static_cast<uint32_t>(channels * sizeof(half)), 0, 0, 0};
    DataCopyPad(loaded, biasGm_[n_.start], run, {});
    biasQueue_.EnQue(loaded);
    LocalTensor<half> bias = biasQueue_.DeQue<half>();
    const LocalTensor<float> wide = biasWide_.Get<float>();
    Cast(wide, bias, RoundMode::CAST_NONE, channels);
    AddChannels(sums, wide);
    biasQueue_.FreeTensor(bias);
  }

  // A channel is a column: its block of 16 sums repeats down the rows while the bias stays the same.
  __aicore__ inline void AddChannels(const LocalTensor<float>& sums,
                                     const LocalTensor<float>& bias) {
    constexpr uint32_t kMostRepeats = 255;
    const uint32_t height = Whole(m_.length);
    BinaryRepeatParams repeat;
    repeat.dstRepStride = kSide * sizeof(float) / 32;
    repeat.src0RepStride = repeat.dstRepStride;
    repeat.src1RepStride = 0;
    for (uint32_t column = 0; column < n_.length; column += kSide) {
      for (uint32_t row = 0; row < m_.length; row += kMostRepeats) {
        const uint32_t left = m_.length - row;
        const auto part = sums[column * height + row * kSide];
        const uint8_t repeats = left < kMostRepeats ? left : kMostRepeats;
        Add(part, part, bias[column], static_cast<uint64_t>(kSide), repeats, repeat);
      }
    }
  }

  // The tile is stored as columns of fractals 16 wide; each goes to 16 columns of the result.
  __aicore__ inline void CopyOut() {
    LocalTensor<half> c2 = c2Queue_.DeQue<half>();
    const uint32_t height = Whole(m_.length);
    for (uint32_t at = 0; at < n_.length; at += kSide) {
      const uint32_t left = n_.length - at;
      const uint32_t bytes = (left < kSide ? left : kSide) * sizeof(half);
      const uint32_t gap = kSide * sizeof(half) / 32 - Blocks(bytes, 32);
      const uint32_t pitch = row_->n * sizeof(half) - bytes;
      const DataCopyExtParams runs{static_cast<uint16_t>(m_.length), bytes, gap, pitch, 0};
      const uint64_t to = (batch_ * row_->m + m_.start) * row_->n + n_.start + at;
      DataCopyPad(yGm_[to], c2[at * height], runs);
    }
    c2Queue_.FreeTensor(c2);
  }

  // `rows` rows of a matrix, `pitch` elements apart, as columns of fractals `height` rows high.
  template <typename T>
  __aicore__ inline void LoadFractals(const LocalTensor<T>& to, const GlobalTensor<T>& from,
                                      uint32_t rows, uint32_t columns, uint64_t pitch,
                                      uint32_t height) {
    constexpr uint64_t kLongestPitch = 65535;
    const bool together = pitch <= kLongestPitch;
    Nd2NzParams fractals;
    fractals.nValue = together ? rows : 1;
    fractals.dValue = columns;
    fractals.srcDValue = together ? pitch : columns;
    fractals.dstNzC0Stride = height;
    for (uint32_t row = 0; row < rows; row += fractals.nValue) {
      DataCopy(to[row * kC0], from[row * pitch], fractals);
    }
  }

  // A matrix whose summed axis is first, as slabs of squares: each is turned whole.
  template <typename T>
  __aicore__ inline void LoadSquares(const LocalTensor<T>& to, const GlobalTensor<T>& from,
                                     uint32_t rows, uint32_t columns, uint64_t pitch) {
    const uint32_t width = Whole(columns);
    for (uint32_t row = 0; row < rows; row += kSquare) {
      const uint32_t left = rows - row;
      LoadFractals(to[row * width], from[row * pitch], left < kSquare ? left : kSquare, columns,
                   pitch, kSquare);
    }
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
  TQue<QuePosition::A1, kBuffers> a1Queue_;
  TQue<QuePosition::B1, kBuffers> b1Queue_;
  TQue<QuePosition::A2, kBuffers> a2Queue_;
  TQue<QuePosition::B2, kBuffers> b2Queue_;
  TQue<QuePosition::CO1, 1> c1Queue_;
  TBuf<QuePosition::VECCALC> sums_;
  TQue<QuePosition::CO2, 1> c2Queue_;
  TQue<QuePosition::VECIN, 1> biasQueue_;
  TBuf<QuePosition::VECCALC> biasWide_;
};

}  // namespace mat_mul_v2_f16_8dad308b_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void mat_mul_v2_f16_8dad308b(
    GM_ADDR x1, GM_ADDR x2, GM_ADDR bias, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  mat_mul_v2_f16_8dad308b_impl::Kernel kernel;
  kernel.Init(x1, x2, bias, y, &mat_mul_v2_f16_8dad308b_impl::kRows[row]);
  kernel.Process();
}
