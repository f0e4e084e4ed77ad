// conv2d_add_swish_f16_23845b42: Conv2D+Add+Swish on sim.
// 2-D convolution of NCHW data with an OIHW filter, accumulated in float32 or int32.
//   x: float16 NCHW
//   filter: float16 NCHW
//   bias: float16 ND
//   then1_x2: float16 NCHW
//   y: float16 NCHW

#include "kernel_operator.h"

#include "conv2d_add_swish_f16_23845b42_tiling.h"

namespace conv2d_add_swish_f16_23845b42_impl {

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
constexpr float kThen2Scale = 1.0f;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR filter, GM_ADDR bias, GM_ADDR then1_x2, GM_ADDR y, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    filterGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(filter));
    biasGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(bias));
    then1_x2Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(then1_x2));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    pipe_.InitBuffer(a1Queue_, kBuffers, row_->tileM * row_->l1K * sizeof(half));
    pipe_.InitBuffer(b1Queue_, kBuffers, row_->tileN * row_->l1K * sizeof(half));
    pipe_.InitBuffer(a2Queue_, kBuffers, row_->tileM * row_->tileK * sizeof(half));
    pipe_.InitBuffer(b2Queue_, kBuffers, row_->tileN * row_->tileK * sizeof(half));
    pipe_.InitBuffer(c1Queue_, 1, row_->tileM * row_->tileN * sizeof(float));
    pipe_.InitBuffer(sums_, row_->tileM * row_->tileN * sizeof(float));
    pipe_.InitBuffer(c2Queue_, 1, row_->tileM * row_->tileN * sizeof(half));
    pipe_.InitBuffer(biasQueue_, 1, row_->tileM * sizeof(half));
    pipe_.InitBuffer(biasWide_, row_->tileM * sizeof(float));
    pipe_.InitBuffer(then1_x2Queue_, 1, row_->tileM * row_->tileN * sizeof(half));
    pipe_.InitBuffer(low_, row_->tileM * row_->tileN * sizeof(float));
    pipe_.InitBuffer(patchQueue_, kBuffers, row_->patchLength * sizeof(half));
    pipe_.InitBuffer(rowQueue_, kBuffers, row_->rowLength * sizeof(half));
    pipe_.InitBuffer(places_, row_->tileN * sizeof(uint32_t));
    pipe_.InitBuffer(biasRows_, row_->tileM * kSide * sizeof(float));
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

  // A tile's columns are some whole rows of the result's map, or a part of one row.
  __aicore__ inline void Place(uint64_t tile) {
    const uint64_t patch = tile % row_->nCount;
    m_ = Span(tile / row_->nCount % row_->mCount, row_->tileM, row_->m);
    batch_ = tile / row_->nCount / row_->mCount;
    lines_ = Span(patch / row_->columnCount, row_->tileRows, row_->outHeight);
    columns_ = Span(patch % row_->columnCount, row_->tileColumns, row_->outWidth);
    n_ = {lines_.start * row_->outWidth + columns_.start, lines_.length * columns_.length};
  }

  // The first result channel of the tile among those of all groups.
  __aicore__ inline uint64_t FirstChannel() const {
    return batch_ % row_->groups * row_->m + m_.start;
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

  // Row k of the product is tap k % taps of channel k / taps.
  __aicore__ inline void CopyIn(Part k1) {
    LocalTensor<half> a1 = a1Queue_.AllocTensor<half>();
    LocalTensor<half> b1 = b1Queue_.AllocTensor<half>();
    const uint64_t taps = row_->windowHeight * row_->windowWidth;
    LoadFractals(a1, filterGm_[FirstChannel() * row_->k + k1.start], m_.length, k1.length,
                 row_->k, Whole(m_.length));
    const uint64_t end = k1.start + k1.length;
    for (uint64_t tap = 0; tap < taps; ++tap) {
      const uint64_t before = k1.start > tap ? k1.start - tap : 0;
      uint64_t channel = (before + taps - 1) / taps;
      if (channel * taps + tap >= end) {
        continue;
      }
      const Patch patch = Locate(tap);
      for (; channel * taps + tap < end; ++channel) {
        LoadPatch(patch, channel);
        FetchRow();
        PutRow(b1, channel * taps + tap - k1.start, Whole(n_.length));
      }
    }
    a1Queue_.EnQue(a1);
    b1Queue_.EnQue(b1);
  }

  // What one tap sees of a channel: rows and columns of x, none where it sees padding alone.
  struct Patch {
    uint64_t row = 0;
    uint64_t column = 0;
    uint32_t rows = 0;
    uint32_t columns = 0;
    uint32_t pitch = 0;
  };

  // Position of tap `tap` of the window of result position `at` on an axis; -1 if it has none.
  __aicore__ inline int64_t Source(uint32_t axis, uint64_t at, uint64_t tap) const {
    const int64_t extent = axis == 0 ? row_->height : row_->width;
    const int64_t stride = kStrides[2 + axis];
    const int64_t reach = static_cast<int64_t>(tap) * kDilations[2 + axis];
    const int64_t place = static_cast<int64_t>(at) * stride + reach - kPads[2 * axis];
    return place < 0 || place >= extent ? -1 : place;
  }

  // The first and the last element that a tap meets along an axis; -1 where it meets none.
  __aicore__ inline void Bounds(uint32_t axis, Part part, uint64_t tap, int64_t& low,
                                int64_t& high) const {
    low = -1;
    high = -1;
    for (uint64_t at = part.start; at < part.start + part.length; ++at) {
      const int64_t source = Source(axis, at, tap);
      if (source >= 0) {
        low = low < 0 ? source : low;
        high = source;
      }
    }
  }

  // Finds the patch of a tap, and for each position of the tile the byte of its element there.
  // Element 0 stands for the padding; the patch's rows start a block after it.
  __aicore__ inline Patch Locate(uint64_t tap) {
    constexpr int64_t kStep = kStrides[2];
    const uint64_t line = tap / row_->windowWidth;
    const uint64_t column = tap % row_->windowWidth;
    int64_t low[2];
    int64_t high[2];
    Bounds(0, lines_, line, low[0], high[0]);
    Bounds(1, columns_, column, low[1], high[1]);
    Patch patch;
    if (low[0] >= 0 && low[1] >= 0) {
      patch.row = low[0];
      patch.column = low[1];
      patch.rows = (high[0] - low[0]) / kStep + 1;
      patch.columns = high[1] - low[1] + 1;
      patch.pitch = Blocks(patch.columns, kC0) * kC0;
    }
    LocalTensor<uint32_t> places = places_.Get<uint32_t>();
    for (uint32_t at = 0; at < n_.length; ++at) {
      const int64_t y = Source(0, lines_.start + at / columns_.length, line);
      const int64_t x = Source(1, columns_.start + at % columns_.length, column);
      const bool padding = y < 0 || x < 0;
      const uint32_t inside = (y - low[0]) / kStep * patch.pitch + (x - low[1]);
      const uint32_t element = padding ? 0 : kC0 + inside;
      places.SetValue(at, element * sizeof(half));
    }
    return patch;
  }

  __aicore__ inline void LoadPatch(const Patch& patch, uint64_t channel) {
    LocalTensor<half> to = patchQueue_.AllocTensor<half>();
    to.SetValue(0, static_cast<half>(0.0f));
    if (patch.rows > 0) {
      constexpr uint64_t kStep = kStrides[2];
      const uint32_t bytes = patch.columns * sizeof(half);
      const uint32_t gap = kStep * row_->width * sizeof(half) - bytes;
      const DataCopyExtParams runs{static_cast<uint16_t>(patch.rows), bytes, gap, 0, 0};
      const uint64_t map = batch_ * row_->channels + channel;
      const uint64_t from = (map * row_->height + patch.row) * row_->width + patch.column;
      DataCopyPad(to[kC0], xGm_[from], runs, {});
    }
    patchQueue_.EnQue(to);
  }

  __aicore__ inline void FetchRow() {
    LocalTensor<half> from = patchQueue_.DeQue<half>();
    Fetch(from, places_.Get<uint32_t>(), 0, n_.length);
    patchQueue_.FreeTensor(from);
  }

  // Elements of `from` at the bytes base + places: a row for `PutRow`.
  __aicore__ inline void Fetch(const LocalTensor<half>& from,
                               const LocalTensor<uint32_t>& places, uint32_t base, uint32_t count) {
    LocalTensor<half> row = rowQueue_.AllocTensor<half>();
    Gather(row, from, places, base, count);
    rowQueue_.EnQue(row);
  }

  // Row `k` of an operand in L1 whose summed axis is first, `width` elements wide.
  __aicore__ inline void PutRow(const LocalTensor<half>& to, uint32_t k, uint32_t width,
                                uint32_t start = 0, uint32_t count = 0) {
    LocalTensor<half> row = rowQueue_.DeQue<half>();
    DataCopyParams blocks;
    blocks.blockCount = Blocks(count == 0 ? width : count, kC0);
    blocks.blockLen = 1;
    blocks.dstStride = kSquare - 1;
    DataCopy(to[k / kSquare * kSquare * width + start * kSquare + k % kSquare * kC0], row, blocks);
    rowQueue_.FreeTensor(row);
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
    Apply(c2, sums, count);
    c2Queue_.EnQue(c2);
  }

  // What follows the product in the same launch works on the tile, each step rounded once.
  __aicore__ inline void Apply(const LocalTensor<half>& c2, const LocalTensor<float>& sums,
                               uint32_t count) {
    const LocalTensor<float> low = low_.Get<float>();
    LoadTile(then1_x2Queue_, then1_x2Gm_, batch_);
    LocalTensor<half> then1_x2 = then1_x2Queue_.DeQue<half>();
    // Then Add.
    Add(c2, c2, then1_x2, count);
    // Then Swish.
    Cast(sums, c2, RoundMode::CAST_NONE, count);
    // x / (1 + exp(-scale * x))
    Muls(low, sums, -kThen2Scale, count);
    Exp(low, low, count);
    Adds(low, low, 1.0f, count);
    Div(sums, sums, low, count);
    Cast(c2, sums, RoundMode::CAST_RINT, count);
    then1_x2Queue_.FreeTensor(then1_x2);
  }

  // The tile of a matrix that has the result's dims, as columns of fractals 16 wide.
  template <typename Queue>
  __aicore__ inline void LoadTile(Queue& queue, const GlobalTensor<half>& from,
                                  uint64_t matrix) {
    LocalTensor<half> to = queue.template AllocTensor<half>();
    const uint32_t height = Whole(m_.length);
    for (uint32_t at = 0; at < n_.length; at += kSide) {
      const uint32_t left = n_.length - at;
      const uint32_t bytes = (left < kSide ? left : kSide) * sizeof(half);
      const uint32_t gap = kSide * sizeof(half) / 32 - Blocks(bytes, 32);
      const uint32_t pitch = row_->n * sizeof(half) - bytes;
      const DataCopyExtParams runs{static_cast<uint16_t>(m_.length), bytes, pitch, gap, 0};
      const uint64_t first = (matrix * row_->m + m_.start) * row_->n + n_.start + at;
      DataCopyPad(to[at * height], from[first], runs, {});
    }
    queue.EnQue(to);
  }

  __aicore__ inline void AddBias(const LocalTensor<float>& sums) {
    const uint32_t channels = m_.length;
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

  // A channel is a row: its bias is repeated 16 times, and the block serves every 16 columns.
  __aicore__ inline void AddChannels(const LocalTensor<float>& sums,
                                     const LocalTensor<float>& bias) {
    const uint32_t height = Whole(m_.length);
    const LocalTensor<float> rows = biasRows_.Get<float>();
    for (uint32_t row = 0; row < m_.length; ++row) {
      Duplicate(rows[row * kSide], bias.GetValue(row), kSide);
    }
    for (uint32_t column = 0; column < n_.length; column += kSide) {
      Add(sums[column * height], sums[column * height], rows, m_.length * kSide);
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

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<half> filterGm_;
  GlobalTensor<half> biasGm_;
  GlobalTensor<half> then1_x2Gm_;
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
  TQue<QuePosition::VECIN, 1> then1_x2Queue_;
  TBuf<QuePosition::VECCALC> low_;
  Part lines_;
  Part columns_;
  TQue<QuePosition::VECIN, kBuffers> patchQueue_;
  TQue<QuePosition::VECOUT, kBuffers> rowQueue_;
  TBuf<QuePosition::VECCALC> places_;
  TBuf<QuePosition::VECCALC> biasRows_;
};

}  // namespace conv2d_add_swish_f16_23845b42_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void conv2d_add_swish_f16_23845b42(
    GM_ADDR x, GM_ADDR filter, GM_ADDR bias, GM_ADDR then1_x2, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  conv2d_add_swish_f16_23845b42_impl::Kernel kernel;
  kernel.Init(x, filter, bias, then1_x2, y, &conv2d_add_swish_f16_23845b42_impl::kRows[row]);
  kernel.Process();
}
