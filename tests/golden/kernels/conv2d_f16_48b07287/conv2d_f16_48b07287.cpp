// conv2d_f16_48b07287: Conv2D on sim.
// 2-D convolution of NCHW data with an OIHW filter, accumulated in float32 or int32.
//   x: float16 NC1HWC0
//   filter: float16 FRACTAL_Z
//   bias: float16 ND
//   y: float16 NC1HWC0

#include "kernel_operator.h"

#include "conv2d_f16_48b07287_tiling.h"

namespace conv2d_f16_48b07287_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
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
    pipe_.InitBuffer(a1Queue_, kBuffers, row_->tileM * row_->l1K * sizeof(half));
    pipe_.InitBuffer(b1Queue_, kBuffers, row_->tileN * row_->l1K * sizeof(half));
    pipe_.InitBuffer(a2Queue_, kBuffers, row_->tileM * row_->tileK * sizeof(half));
    pipe_.InitBuffer(b2Queue_, kBuffers, row_->tileN * row_->tileK * sizeof(half));
    pipe_.InitBuffer(c1Queue_, 1, row_->tileM * row_->tileN * sizeof(float));
    pipe_.InitBuffer(sums_, row_->tileM * row_->tileN * sizeof(float));
    pipe_.InitBuffer(c2Queue_, 1, row_->tileM * row_->tileN * sizeof(half));
    pipe_.InitBuffer(biasQueue_, 1, row_->tileN * sizeof(half));
    pipe_.InitBuffer(biasWide_, row_->tileN * sizeof(float));
    pipe_.InitBuffer(pattern_, 256);
    MakePattern<half>(pattern_.Get<uint16_t>(), kSide, row_->outChannels % kSide);
    PipeBarrier<PIPE_ALL>();
    pipe_.InitBuffer(padding_, row_->paddingLength * 32);
    Duplicate(padding_.Get<uint16_t>(), static_cast<uint16_t>(0), row_->paddingLength * 16);
    PipeBarrier<PIPE_ALL>();
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

  __aicore__ inline uint32_t Whole(uint32_t length) const {
    return Blocks(length, kSquare) * kSquare;
  }

  // A tile's rows are some whole rows of the result's map, or a part of one row.
  __aicore__ inline void Place(uint64_t tile) {
    const uint64_t patch = tile % row_->mCount;
    batch_ = tile / row_->mCount / row_->nCount;
    const uint64_t left = row_->outChannels - batch_ % row_->products * row_->n;
    n_ = Span(tile / row_->mCount % row_->nCount, row_->tileN, left < row_->n ? left : row_->n);
    lines_ = Span(patch / row_->columnCount, row_->tileRows, row_->outHeight);
    columns_ = Span(patch % row_->columnCount, row_->tileColumns, row_->outWidth);
    m_ = {lines_.start * row_->outWidth + columns_.start, lines_.length * columns_.length};
  }

  // The first channel of the tile among those of all products of an image.
  __aicore__ inline uint64_t FirstChannel() const {
    return batch_ % row_->products * row_->n + n_.start;
  }

  // Rows of a tile, rows of a plane of the result, and where the tile starts in what lies like it.
  __aicore__ inline uint32_t StoredRows() const { return m_.length; }
  __aicore__ inline uint64_t StoredPitch() const { return row_->outHeight * row_->outWidth; }
  __aicore__ inline uint64_t StoredPlace(uint64_t batch) const {
    const uint64_t block = batch / row_->products * row_->outBlocks + FirstChannel() / kSide;
    return (block * StoredPitch() + m_.start) * kSide;
  }

  // Adds the product over part `k1` of the summed extent to `c1`.
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

  // Rows and columns from a position that a tap meets to the next one, and of what it sees there.
  static constexpr uint32_t kApart[] = {1, 1};
  static constexpr uint32_t kStep[] = {kStrides[2], kStrides[3]};

  // Plane k / C0 of the product is tap k / C0 % taps of block k / C0 / taps of the channels.
  __aicore__ inline void CopyIn(Part k1) {
    LocalTensor<half> a1 = a1Queue_.AllocTensor<half>();
    LocalTensor<half> b1 = b1Queue_.AllocTensor<half>();
    padded_ = false;
    const uint64_t first = k1.start / kStored;
    const uint32_t planes = k1.length / kStored;
    for (uint32_t plane = 0; plane < planes; ++plane) {
      Unroll(a1[plane * kStored * Whole(m_.length)], first + plane);
    }
    const uint64_t product = batch_ % row_->products * row_->k / kStored;
    LoadPlanes(b1, filterGm_[((product + first) * row_->filterRows + n_.start) * kStored], planes,
               Blocks(n_.length, kSide) * kSide, row_->filterRows, Whole(n_.length));
    if (padded_) {
      PipeBarrier<PIPE_ALL>();  // padding comes from the unified buffer, for which no queue waits
    }
    a1Queue_.EnQue(a1);
    b1Queue_.EnQue(b1);
  }

  // Positions of a part whose windows have an element under a tap: `count` of them from `low` on,
  // side by side; that of the first is number `source` of x.
  struct Met {
    uint32_t low = 0;
    uint32_t count = 0;
    uint64_t source = 0;
  };

  __aicore__ inline Met Meet(uint32_t axis, Part part, uint64_t tap, int64_t extent) const {
    const int64_t stride = kStrides[2 + axis];
    const int64_t reach = static_cast<int64_t>(tap) * kDilations[2 + axis];
    const int64_t first = static_cast<int64_t>(part.start) * stride + reach - kPads[2 * axis];
    const int64_t low = first < 0 ? (-first + stride - 1) / stride : 0;
    const int64_t source = first + low * stride;
    const int64_t past = (extent - first + stride - 1) / stride;
    const int64_t count = (past < part.length ? past : part.length) - low;
    if (count <= 0 || low >= part.length) {
      return {};
    }
    return {static_cast<uint32_t>(low), static_cast<uint32_t>(count), static_cast<uint64_t>(source)};
  }

  // What a tap sees of a block of channels from all positions of the tile, padding where it sees none.
  __aicore__ inline void Unroll(const LocalTensor<half>& to, uint64_t plane) {
    const uint64_t taps = row_->windowHeight * row_->windowWidth;
    const uint64_t line = plane % taps / row_->windowWidth;
    const uint64_t column = plane % row_->windowWidth;
    const uint64_t block = batch_ / row_->products * row_->blocks +
                           batch_ % row_->products * row_->productBlocks + plane / taps;
    const Met rows = Meet(0, lines_, line, row_->height);
    const Met across = Meet(1, columns_, column, row_->width);
    const uint32_t width = columns_.length;
    if (rows.count == 0 || across.count == 0) {
      Pad(to, 0, m_.length);
      return;
    }
    const uint32_t below = rows.low + (rows.count - 1) * kApart[0] + 1;
    const uint32_t behind = across.low + (across.count - 1) * kApart[1] + 1;
    Pad(to, 0, rows.low * width);
    Pad(to, below * width, (lines_.length - below) * width);
    for (uint32_t row = rows.low; row < below; ++row) {
      Pad(to, row * width, across.low);
      Pad(to, row * width + behind, width - behind);
    }
    const uint64_t from = (block * row_->height + rows.source) * row_->width + across.source;
    Copy(to[(rows.low * width + across.low) * kC0], from * kStored, rows.count, across.count);
  }

  // `rows` rows of `count` positions of x to the tile's rows.
  __aicore__ inline void Copy(const LocalTensor<half>& to, uint64_t from, uint32_t rows,
                              uint32_t count) {
    const uint64_t pitch = kStep[0] * row_->width;
    DataCopyParams runs;
    constexpr uint64_t kWidestGap = 65535;
    if (kStep[1] == 1 && kApart[0] == 1 && kApart[1] == 1 && pitch - count <= kWidestGap) {
      runs.blockCount = rows;
      runs.blockLen = count;
      runs.srcStride = pitch - count;
      runs.dstStride = columns_.length - count;
      DataCopy(to, xGm_[from], runs);
      return;
    }
    runs.blockCount = count;
    runs.blockLen = 1;
    runs.srcStride = kParts * kStep[1] - 1;
    runs.dstStride = kApart[1] - 1;
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t part = 0; part < kParts; ++part) {
        const uint32_t place = part * Whole(m_.length) + row * kApart[0] * columns_.length;
        DataCopy(to[place * kC0], xGm_[from + row * pitch * kStored + part * kC0], runs);
      }
    }
  }

  // Padding for `count` positions from `first` on.
  __aicore__ inline void Pad(const LocalTensor<half>& to, uint32_t first, uint32_t count) {
    padded_ = padded_ || count != 0;
    for (uint32_t part = 0; part < kParts; ++part) {
      for (uint32_t at = 0; at < count; at += row_->paddingLength) {
        const uint32_t left = count - at;
        DataCopyParams run;
        run.blockLen = left < row_->paddingLength ? left : row_->paddingLength;
        DataCopy(to[(part * Whole(m_.length) + first + at) * kC0], padding_.Get<half>(), run);
      }
    }
  }

  // Fractals of L0A follow one another along the summed extent, then down the lines.
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

  // Fractals of L0B follow one another along the columns, then along the summed extent.
  __aicore__ inline void SplitRight(const LocalTensor<half>& b1, Part k0) {
    LocalTensor<half> b2 = b2Queue_.AllocTensor<half>();
    const uint32_t columns = Whole(n_.length) / kSide;
    const uint32_t steps = Blocks(k0.length, kC0);
    const uint32_t skip = k0.start / kC0 * columns;
    LoadData2DParams load;
    load.ifTranspose = false;
    load.repeatTimes = columns;
    load.srcStride = 1;
    for (uint32_t step = 0; step < steps; ++step) {
      LoadData(b2[step * columns * kFractal], b1[(skip + step * columns) * kFractal], load);
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
    ClearPadding(c2);
    c2Queue_.EnQue(c2);
  }

  __aicore__ inline void AddBias(const LocalTensor<float>& sums) {
    const uint32_t channels = n_.length;
    LocalTensor<half> loaded = biasQueue_.AllocTensor<half>();
    const DataCopyExtParams run{1, static_cast<uint32_t>(channels * sizeof(half)), 0, 0, 0};
    DataCopyPad(loaded, biasGm_[FirstChannel()], run, {});
    biasQueue_.EnQue(loaded);
    LocalTensor<half> bias = biasQueue_.DeQue<half>();
    const LocalTensor<float> wide = biasWide_.Get<float>();
    Cast(wide, bias, RoundMode::CAST_NONE, channels);
    AddChannels(sums, wide);
    biasQueue_.FreeTensor(bias);
  }

  // A channel is a column: its block of 16 sums repeats down the rows while the bias stands still.
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

  // Ones for the first `kept` of the elements of each block, `lanes` wide, and zeros behind them.
  template <typename T>
  __aicore__ inline void MakePattern(const LocalTensor<uint16_t>& pattern, uint32_t lanes,
                                     uint32_t kept) {
    constexpr uint32_t kSize = sizeof(T);
    for (uint32_t at = 0; at < 256 / 2; ++at) {
      const uint16_t low = 2 * at / kSize % lanes < kept ? 0xff : 0;
      const uint16_t high = (2 * at + 1) / kSize % lanes < kept ? 0xff00 : 0;
      pattern.SetValue(at, low | high);
    }
  }

  // Words where the pattern has ones, zeros elsewhere: of any dtype, also where they are NaN.
  __aicore__ inline void Keep(const LocalTensor<uint16_t>& of, const LocalTensor<uint16_t>& pattern,
                              uint32_t count) {
    constexpr uint32_t kRepeat = 256 / 2;
    constexpr uint32_t kMostRepeats = 255;
    BinaryRepeatParams repeat;
    repeat.src1RepStride = 0;
    uint32_t at = 0;
    while (at < count) {
      const uint32_t left = (count - at) / kRepeat;
      const uint8_t repeats = left == 0 ? 1 : (left < kMostRepeats ? left : kMostRepeats);
      const uint64_t mask = left == 0 ? count - at : kRepeat;
      And(of[at], of[at], pattern, mask, repeats, repeat);
      at += left == 0 ? count - at : repeats * kRepeat;
    }
  }

  // Padding is zero: columns behind the last one, and rows that fill up the last fractal.
  __aicore__ inline void ClearPadding(const LocalTensor<half>& c2) {
    const uint32_t height = Whole(m_.length);
    const uint32_t last = n_.length / kSide * kSide;
    if (last != n_.length) {
      Keep(c2[last * height].template ReinterpretCast<uint16_t>(), pattern_.Get<uint16_t>(),
           height * kSide * sizeof(half) / 2);
    }
    const uint32_t below = StoredRows() - m_.length;
    for (uint32_t at = 0; at < n_.length && below != 0; at += kSide) {
      Duplicate(c2[at * height + m_.length * kSide], half(0), below * kSide);
    }
  }

  // The tile lies as columns of fractals 16 wide, and so does the result.
  __aicore__ inline void CopyOut() {
    LocalTensor<half> c2 = c2Queue_.DeQue<half>();
    const uint32_t bytes = StoredRows() * kSide * sizeof(half);
    const uint32_t gap = (Whole(m_.length) - StoredRows()) * kSide * sizeof(half) / 32;
    const uint32_t pitch = StoredPitch() * kSide * sizeof(half) - bytes;
    const DataCopyExtParams runs{static_cast<uint16_t>(Blocks(n_.length, kSide)), bytes, gap, pitch, 0};
    DataCopyPad(yGm_[StoredPlace(batch_)], c2, runs);
    c2Queue_.FreeTensor(c2);
  }
static constexpr uint32_t kStored = 16;
  static constexpr uint32_t kParts = kStored / kC0;

  // `rows` rows of planes that are `pitch` rows apart, as columns of fractals `height` rows high.
  template <typename T>
  __aicore__ inline void LoadPlanes(const LocalTensor<T>& to, const GlobalTensor<T>& from,
                                    uint32_t planes, uint32_t rows, uint64_t pitch,
                                    uint32_t height) {
    constexpr uint64_t kWidestGap = 65535;
    const bool together = pitch - rows <= kWidestGap;
    DataCopyParams runs;
    runs.blockCount = together ? planes : 1;
    runs.blockLen = rows;
    runs.srcStride = together ? pitch - rows : 0;
    runs.dstStride = together ? height - rows : 0;
    for (uint32_t plane = 0; plane < planes; plane += runs.blockCount) {
      DataCopy(to[plane * height * kC0], from[plane * pitch * kC0], runs);
    }
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
  TQue<QuePosition::A1, kBuffers> a1Queue_;
  TQue<QuePosition::B1, kBuffers> b1Queue_;
  TQue<QuePosition::A2, kBuffers> a2Queue_;
  TQue<QuePosition::B2, kBuffers> b2Queue_;
  TQue<QuePosition::CO1, 1> c1Queue_;
  TBuf<QuePosition::VECCALC> sums_;
  TQue<QuePosition::CO2, 1> c2Queue_;
  TQue<QuePosition::VECIN, 1> biasQueue_;
  TBuf<QuePosition::VECCALC> biasWide_;
  TBuf<QuePosition::VECCALC> pattern_;
  Part lines_;
  Part columns_;
  bool padded_ = false;
  TBuf<QuePosition::VECCALC> padding_;
};

}  // namespace conv2d_f16_48b07287_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void conv2d_f16_48b07287(
    GM_ADDR x, GM_ADDR filter, GM_ADDR bias, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  conv2d_f16_48b07287_impl::Kernel kernel;
  kernel.Init(x, filter, bias, y, &conv2d_f16_48b07287_impl::kRows[row]);
  kernel.Process();
}
