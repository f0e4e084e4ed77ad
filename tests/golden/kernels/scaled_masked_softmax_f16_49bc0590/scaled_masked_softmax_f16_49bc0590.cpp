// scaled_masked_softmax_f16_49bc0590: ScaledMaskedSoftmax on sim.
// Softmax along the last axis of x times scale, without the elements that a mask hides.
//   x: float16 NCHW
//   mask: bool NCHW
//   y: float16 NCHW

#include "kernel_operator.h"

#include "scaled_masked_softmax_f16_49bc0590_tiling.h"

namespace scaled_masked_softmax_f16_49bc0590_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
constexpr bool kFixedTriuMask = false;
constexpr float kScale = 0.125f;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR mask, GM_ADDR y, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    maskGm_.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(mask));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    pipe_.InitBuffer(xQueue_, kBuffers, row_->bufferLength * sizeof(half));
    pipe_.InitBuffer(maskQueue_, kBuffers, row_->bufferLength * sizeof(uint8_t));
    pipe_.InitBuffer(yQueue_, kBuffers, row_->bufferLength * sizeof(half));
    pipe_.InitBuffer(value_, row_->bufferLength * sizeof(float));
    pipe_.InitBuffer(other_, row_->bufferLength * sizeof(float));
    pipe_.InitBuffer(first_, row_->bufferLength * sizeof(float));
    pipe_.InitBuffer(second_, row_->bufferLength * sizeof(float));
    pipe_.InitBuffer(shown_, row_->bufferLength * sizeof(float));
    pipe_.InitBuffer(work_, (row_->bufferLength / 64 + 8) * sizeof(float));
  }

  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum) {
      return;
    }
    for (uint64_t number = core; number < row_->groups; number += row_->coreNum) {
      Enter(number);
      Group();
    }
  }

 private:
  enum class Combine { kSum, kMax, kMin };

  // Finds the group's place: its pieces, and how wide its statistics are.
  __aicore__ inline void Enter(uint64_t number) {
    const bool across = row_->lanes != 1;
    const uint64_t kept = across ? number / row_->chunkCount : number;
    const uint64_t start = across ? number % row_->chunkCount * row_->chunkLength : 0;
    const uint64_t extent = across ? row_->lanes : row_->length;
    const uint64_t left = extent - start;
    base_ = Offset(kept, row_->keptExtents, row_->keptStrides) + start;
    result_ = across ? kept * row_->lanes + start : kept;
    width_ = left < row_->chunkLength ? left : row_->chunkLength;
    width_ = width_ == 0 ? 1 : width_;
    pieces_ = across ? row_->runs : row_->runs * row_->chunkCount;
    loaded_ = false;
  }

  __aicore__ inline uint64_t Offset(uint64_t number, const uint64_t (&extents)[kArray],
                                    const uint64_t (&strides)[kArray]) const {
    uint64_t offset = 0;
    for (uint32_t axis = kArray; axis-- > 0;) {
      offset += number % extents[axis] * strides[axis];
      number /= extents[axis];
    }
    return offset;
  }

  // Where piece `piece` of the group starts; sets `start_`, its place in its row, and `count_`.
  __aicore__ inline uint64_t Place(uint64_t piece) {
    if (row_->lanes != 1) {
      start_ = 0;
      count_ = width_;
      return base_ + Offset(piece, row_->runExtents, row_->runStrides);
    }
    start_ = piece % row_->chunkCount * row_->chunkLength;
    const uint64_t left = row_->length - start_;
    count_ = left < row_->chunkLength ? left : row_->chunkLength;
    return base_ + Offset(piece / row_->chunkCount, row_->runExtents, row_->runStrides) + start_;
  }

  // Brings a piece into `value_`; the only piece of a group is brought once.
  __aicore__ inline void Load(uint64_t piece) {
    const uint64_t from = Place(piece);
    if (!loaded_) {
      Fetch(value_, xQueue_, xGm_, from);
    }
    loaded_ = pieces_ == 1;
  }

  // `count_` elements from `from` on, in the type that is computed in.
  template <typename T, typename Queue>
  __aicore__ inline void Fetch(TBuf<QuePosition::VECCALC>& into, Queue& queue,
                               const GlobalTensor<T>& tensor, uint64_t from) {
    LocalTensor<T> fresh = queue.template AllocTensor<T>();
    const DataCopyExtParams run{1, static_cast<uint32_t>(count_ * sizeof(T)), 0, 0, 0};
    const DataCopyPadExtParams<T> pad{false, 0, 0, T(0)};
    DataCopyPad(fresh, tensor[from], run, pad);
    queue.EnQue(fresh);
    LocalTensor<T> x = queue.template DeQue<T>();
    const LocalTensor<float> to = into.Get<float>();
    Cast(to, x, RoundMode::CAST_NONE, count_);
    queue.FreeTensor(x);
  }

  // Softmax along the last axis of x times scale, without the elements that a mask hides.
  __aicore__ inline void Group() {
    const LocalTensor<float> value = value_.Get<float>();
    const LocalTensor<float> other = other_.Get<float>();
    const LocalTensor<float> first = first_.Get<float>();
    const LocalTensor<float> second = second_.Get<float>();
    // The largest element.
    Duplicate(first, -__builtin_inff(), width_);
    for (uint64_t piece = 0; piece < pieces_; ++piece) {
      LoadMasked(piece);
      Max(first, first, value, count_);
    }
    Fold(first, Combine::kMax);
    // The sum of exponentials.
    Duplicate(second, 0.0f, width_);
    for (uint64_t piece = 0; piece < pieces_; ++piece) {
      LoadMasked(piece);
      Sub(other, value, first, count_);
      Exp(other, other, count_);
      Add(second, second, other, count_);
    }
    Fold(second, Combine::kSum);
    for (uint64_t piece = 0; piece < pieces_; ++piece) {
      LoadMasked(piece);
      Sub(other, value, first, count_);
      Exp(other, other, count_);
      Div(other, other, second, count_);
      Store(other, Place(piece), count_);
    }
  }

  // One number of a statistic's lanes, and that number in all of them.
  __aicore__ inline void Fold(const LocalTensor<float>& lanes, Combine combine) {
    if (row_->lanes == 1) {
      FoldRow(lanes, combine, width_);
    }
  }

  __aicore__ inline void FoldRow(const LocalTensor<float>& lanes, Combine combine, uint32_t count) {
    const LocalTensor<float> work = work_.Get<float>();
    if (combine == Combine::kSum) {
      ReduceSum(lanes, lanes, work, count);
    } else if (combine == Combine::kMax) {
      ReduceMax(lanes, lanes, work, count);
    } else {
      ReduceMin(lanes, lanes, work, count);
    }
    Duplicate(lanes, lanes.GetValue(0), count);
  }

  // Brings a piece of x, scaled, with what the mask hides replaced.
  __aicore__ inline void LoadMasked(uint64_t piece) {
    const bool fresh = !loaded_;
    Load(piece);
    if (fresh) {
      const LocalTensor<float> value = value_.Get<float>();
      Muls(value, value, kScale, count_);
      Hide(value, Offset(result_, row_->keptExtents, row_->maskStrides));
    }
  }

  // The mask of the group's row starts at `from`, or is one element for all of it.
  __aicore__ inline void Hide(const LocalTensor<float>& value, uint64_t from) {
    constexpr float kLowest = -3.402823466e+38f;
    if (row_->maskLength == 1) {
      if (maskGm_.GetValue(from) != 0) {
        Duplicate(value, kLowest, count_);
      }
      return;
    }
    LocalTensor<uint8_t> fresh = maskQueue_.AllocTensor<uint8_t>();
    const DataCopyExtParams run{1, static_cast<uint32_t>(count_ * sizeof(uint8_t)), 0, 0, 0};
    DataCopyPad(fresh, maskGm_[from + start_], run, {false, 0, 0, uint8_t(0)});
    maskQueue_.EnQue(fresh);
    LocalTensor<uint8_t> mask = maskQueue_.DeQue<uint8_t>();
    const LocalTensor<half> words = other_.Get<half>();
    const LocalTensor<uint8_t> shown = shown_.Get<uint8_t>();
    Cast(words, mask, RoundMode::CAST_NONE, count_);
    maskQueue_.FreeTensor(mask);
    CompareScalar(shown, words, static_cast<half>(0), CMPMODE::EQ, (count_ + 127) / 128 * 128);
    Select(value, shown, value, kLowest, SELMODE::VSEL_TENSOR_SCALAR_MODE, count_);
  }

  // `count` results from `results`, rounded to the dtype of y, to place `to`.
  __aicore__ inline void Store(const LocalTensor<float>& results, uint64_t to, uint32_t count) {
    LocalTensor<half> fresh = yQueue_.AllocTensor<half>();
    Cast(fresh, results, RoundMode::CAST_RINT, count);
    yQueue_.EnQue(fresh);
    LocalTensor<half> y = yQueue_.DeQue<half>();
    const DataCopyExtParams run{1, static_cast<uint32_t>(count * sizeof(half)), 0, 0, 0};
    DataCopyPad(yGm_[to], y, run);
    yQueue_.FreeTensor(y);
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<uint8_t> maskGm_;
  GlobalTensor<half> yGm_;
  TQue<QuePosition::VECIN, kBuffers> xQueue_;
  TQue<QuePosition::VECIN, kBuffers> maskQueue_;
  TQue<QuePosition::VECOUT, kBuffers> yQueue_;
  TBuf<QuePosition::VECCALC> value_;
  TBuf<QuePosition::VECCALC> other_;
  TBuf<QuePosition::VECCALC> first_;
  TBuf<QuePosition::VECCALC> second_;
  TBuf<QuePosition::VECCALC> shown_;
  TBuf<QuePosition::VECCALC> work_;
  uint64_t base_ = 0;
  uint64_t result_ = 0;
  uint64_t pieces_ = 0;
  uint64_t start_ = 0;
  uint32_t width_ = 0;
  uint32_t count_ = 0;
  bool loaded_ = false;
};

}  // namespace scaled_masked_softmax_f16_49bc0590_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void scaled_masked_softmax_f16_49bc0590(
    GM_ADDR x, GM_ADDR mask, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  scaled_masked_softmax_f16_49bc0590_impl::Kernel kernel;
  kernel.Init(x, mask, y, &scaled_masked_softmax_f16_49bc0590_impl::kRows[row]);
  kernel.Process();
}
