// dynamic_rnn_f16_11ef5575: DynamicRNN on sim.
// A layer of long short-term memory in one direction.
//   x: float16 ND
//   w: float16 ND
//   b: float16 ND
//   y: float16 ND
//   output_h: float16 ND
//   output_c: float16 ND

#include "kernel_operator.h"

#include "dynamic_rnn_f16_11ef5575_tiling.h"

namespace dynamic_rnn_f16_11ef5575_impl {

using namespace AscendC;

constexpr int32_t kBuffers = 2;
constexpr char const* kActivation = "tanh";
constexpr float kCellClip = -1.0f;
constexpr int64_t kCellDepth = 1;
constexpr char const* kCellType = "LSTM";
constexpr char const* kDirection = "UNIDIRECTIONAL";
constexpr float kForgetBias = 0.0f;
constexpr char const* kGateOrder = "ijfo";
constexpr bool kIsTraining = false;
constexpr float kKeepProb = 1.0f;
constexpr int64_t kNumProj = 0;
constexpr bool kTimeMajor = true;
constexpr bool kUsePeephole = false;

class Kernel {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR w, GM_ADDR b, GM_ADDR y, GM_ADDR output_h, GM_ADDR output_c, GM_ADDR workspace, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    wGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(w));
    bGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    output_hGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(output_h));
    output_cGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(output_c));
    states_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    pipe_.InitBuffer(inQueue_, kBuffers, kGates * row_->pitch * sizeof(half));
    pipe_.InitBuffer(stateQueue_, kBuffers, kGates * row_->pitch * sizeof(float));
    pipe_.InitBuffer(outQueue_, kBuffers, row_->pitch * sizeof(half));
    pipe_.InitBuffer(keepQueue_, kBuffers, row_->pitch * sizeof(float));
    pipe_.InitBuffer(source_, kGates * row_->pitch * sizeof(float));
    pipe_.InitBuffer(weight_, kGates * row_->pitch * sizeof(float));
    pipe_.InitBuffer(part_, kGates * row_->pitch * sizeof(float));
    pipe_.InitBuffer(gates_, kGates * row_->pitch * sizeof(float));
    pipe_.InitBuffer(state_, row_->pitch * sizeof(float));
    pipe_.InitBuffer(result_, row_->pitch * sizeof(float));
  }

  // Core c has the sequences c, c + coreNum ...
  __aicore__ inline void Process() {
    const uint64_t core = GetBlockIdx();
    if (core >= row_->coreNum) {
      return;
    }
    for (sequence_ = core; sequence_ < row_->batch; sequence_ += row_->coreNum) {
      Run(row_->steps);
    }
  }

 private:
  static constexpr uint32_t kGates = 4;
  static constexpr uint64_t kParts = 3;

  // All steps of a sequence, whose states stay as they are after its end.
  __aicore__ inline void Run(uint64_t length) {
    now_ = 0;
    Begin(length != 0);
    PipeBarrier<PIPE_ALL>();
    for (uint64_t number = 0; number < row_->steps; ++number) {
      const uint64_t step = number;
      if (step < length) {
        Step(step);
        now_ = 1 - now_;
      } else {
        Rest(step);
      }
      PipeBarrier<PIPE_ALL>();  // states are read again from the workspace
    }
  }

  // The states before the first step: those given; 0 where none are, or where nothing runs.
  __aicore__ inline void Begin(bool runs) {
    (void)runs;
    for (uint64_t unit = 0; unit < row_->hidden; unit += row_->pitch) {
      Enter(unit);
      Duplicate(state_.Get<float>(), 0.0f, units_);
      Keep(0, state_.Get<float>());
      Duplicate(state_.Get<float>(), 0.0f, units_);
      Keep(2, state_.Get<float>());
    }
  }

  // i = f(x Wi + h Ri + bi), fg = f(x Wf + h Rf + bf), o = f(x Wo + h Ro + bo),
  // c = fg * c + i * tanh(x Wj + h Rj + bj), h = o * tanh(c); f is the sigmoid.
  __aicore__ inline void Step(uint64_t step) {
    const LocalTensor<float> gates = gates_.Get<float>();
    const LocalTensor<float> cells = state_.Get<float>();
    const LocalTensor<float> result = result_.Get<float>();
    for (uint64_t unit = 0; unit < row_->hidden; unit += row_->pitch) {
      Enter(unit);
      Load(gates, inQueue_, bGm_, unit_, kGates);
      AddProduct(gates, inQueue_, xGm_, (step * row_->batch + sequence_) * row_->width, row_->width,
                 wGm_, 0, 0, kGates);
      AddProduct(gates, stateQueue_, states_, Place(now_) - unit_, row_->hidden, wGm_, row_->width, 0,
                 kGates);
      Adds(Gate(gates, 2), Gate(gates, 2), kForgetBias, units_);
      Sigmoid(Gate(gates, 0));
      Tanh(Gate(gates, 1), Gate(gates, 1), units_);
      Sigmoid(Gate(gates, 2));
      Sigmoid(Gate(gates, 3));
      Load(cells, stateQueue_, states_, Place(2), 1);
      Mul(cells, cells, Gate(gates, 2), units_);
      Mul(result, Gate(gates, 0), Gate(gates, 1), units_);
      Add(cells, cells, result, units_);
      Keep(2, cells);
      Tanh(result, cells, units_);
      Mul(result, result, Gate(gates, 3), units_);
      Keep(1 - now_, result);
      Store(yGm_, step, result);
      Store(output_hGm_, step, result);
      Store(output_cGm_, step, cells);
    }
  }

  // A step after a sequence's end: y is 0.
  __aicore__ inline void Rest(uint64_t step) {
    for (uint64_t unit = 0; unit < row_->hidden; unit += row_->pitch) {
      Enter(unit);
      Duplicate(result_.Get<float>(), 0.0f, units_);
      Store(yGm_, step, result_.Get<float>());
      Load(state_.Get<float>(), stateQueue_, states_, Place(now_), 1);
      Store(output_hGm_, step, state_.Get<float>());
      Load(state_.Get<float>(), stateQueue_, states_, Place(2), 1);
      Store(output_cGm_, step, state_.Get<float>());
    }
  }

  // Units [unit, unit + units_) are worked on.
  __aicore__ inline void Enter(uint64_t unit) {
    const uint64_t left = row_->hidden - unit;
    unit_ = unit;
    units_ = left < row_->pitch ? left : row_->pitch;
  }

  // Where the units' part of a state of the sequence is in the workspace.
  __aicore__ inline uint64_t Place(uint64_t part) const {
    return (sequence_ * kParts + part) * row_->hidden + unit_;
  }

  // What the units have in each of `gates` gates, which are `hidden` elements apart, in float32.
  template <typename T, typename Queue>
  __aicore__ inline void Load(const LocalTensor<float>& to, Queue& queue, const GlobalTensor<T>& from,
                              uint64_t place, uint16_t gates) {
    const uint32_t bytes = units_ * sizeof(T);
    const uint32_t gap = (row_->pitch * sizeof(T) - (bytes + 31) / 32 * 32) / 32;
    const uint32_t apart = (row_->hidden - units_) * sizeof(T);
    Load(to, queue, from[place], {gates, bytes, gates > 1 ? apart : 0, gates > 1 ? gap : 0, 0},
         gates > 1 ? gates * row_->pitch : units_);
  }

  template <typename T, typename Queue>
  __aicore__ inline void Load(const LocalTensor<float>& to, Queue& queue, const GlobalTensor<T>& from,
                              const DataCopyExtParams& runs, uint32_t count) {
    LocalTensor<T> fresh = queue.template AllocTensor<T>();
    DataCopyPad(fresh, from, runs, {false, 0, 0, T(0)});
    queue.EnQue(fresh);
    LocalTensor<T> loaded = queue.template DeQue<T>();
    if constexpr (sizeof(T) == sizeof(float)) {
      DataCopy(to, loaded, (count + 7) / 8 * 8);
    } else {
      Cast(to, loaded, RoundMode::CAST_NONE, count);
    }
    queue.FreeTensor(loaded);
  }

  // Adds to gates what `length` elements from `place` on, times as many rows of the weights from
  // `row` on, bring them; `gate` is the first of `gates` gates. Some rows are summed up apart, so
  // that a long sum loses less.
  template <typename T, typename Queue>
  __aicore__ inline void AddProduct(const LocalTensor<float>& sums, Queue& queue,
                                    const GlobalTensor<T>& from, uint64_t place, uint64_t length,
                                    const GlobalTensor<half>& weights, uint64_t row, uint32_t gate,
                                    uint16_t gates) {
    constexpr uint32_t kRows = 32;
    const LocalTensor<float> source = source_.Get<float>();
    const LocalTensor<float> weight = weight_.Get<float>();
    const LocalTensor<float> part = part_.Get<float>();
    const uint32_t most = kGates * row_->pitch;
    const uint32_t width = gates > 1 ? gates * row_->pitch : units_;
    for (uint64_t start = 0; start < length; start += most) {
      const uint32_t count = length - start < most ? length - start : most;
      const DataCopyExtParams run{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
      Load(source, queue, from[place + start], run, count);
      for (uint32_t at = 0; at < count; ++at) {
        if (at % kRows == 0) {
          Duplicate(part, 0.0f, width);
        }
        const uint64_t line = (row + start + at) * kGates + gate;
        Load(weight, inQueue_, weights, line * row_->hidden + unit_, gates);
        Axpy(part, weight, source.GetValue(at), width);
        if (at % kRows == kRows - 1 || at + 1 == count) {
          Add(sums, sums, part, width);
        }
      }
    }
  }

  // Each gate's part of a tensor of gates.
  __aicore__ inline LocalTensor<float> Gate(const LocalTensor<float>& gates, uint32_t gate) const {
    return gates[gate * row_->pitch];
  }

  __aicore__ inline void Sigmoid(const LocalTensor<float>& of) const {
    Muls(of, of, -1.0f, units_);
    Exp(of, of, units_);
    Adds(of, of, 1.0f, units_);
    Reciprocal(of, of, units_);
  }

  // The units' part of a state, into the workspace.
  __aicore__ inline void Keep(uint64_t part, const LocalTensor<float>& state) {
    LocalTensor<float> fresh = keepQueue_.template AllocTensor<float>();
    DataCopy(fresh, state, (units_ + 7) / 8 * 8);
    keepQueue_.EnQue(fresh);
    LocalTensor<float> kept = keepQueue_.template DeQue<float>();
    DataCopyPad(states_[Place(part)], kept, {1, static_cast<uint32_t>(units_ * sizeof(float)), 0, 0, 0});
    keepQueue_.FreeTensor(kept);
  }

  // The units' part of a result of a step, rounded.
  __aicore__ inline void Store(const GlobalTensor<half>& to, uint64_t step, const LocalTensor<float>& from) {
    LocalTensor<half> fresh = outQueue_.AllocTensor<half>();
    Cast(fresh, from, RoundMode::CAST_RINT, units_);
    outQueue_.EnQue(fresh);
    LocalTensor<half> rounded = outQueue_.DeQue<half>();
    const DataCopyExtParams run{1, static_cast<uint32_t>(units_ * sizeof(half)), 0, 0, 0};
    DataCopyPad(to[(step * row_->batch + sequence_) * row_->hidden + unit_], rounded, run);
    outQueue_.FreeTensor(rounded);
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<half> wGm_;
  GlobalTensor<half> bGm_;
  GlobalTensor<half> yGm_;
  GlobalTensor<half> output_hGm_;
  GlobalTensor<half> output_cGm_;
  GlobalTensor<float> states_;
  TQue<QuePosition::VECIN, kBuffers> inQueue_;
  TQue<QuePosition::VECIN, kBuffers> stateQueue_;
  TQue<QuePosition::VECOUT, kBuffers> outQueue_;
  TQue<QuePosition::VECOUT, kBuffers> keepQueue_;
  TBuf<QuePosition::VECCALC> source_;
  TBuf<QuePosition::VECCALC> weight_;
  TBuf<QuePosition::VECCALC> part_;
  TBuf<QuePosition::VECCALC> gates_;
  TBuf<QuePosition::VECCALC> state_;
  TBuf<QuePosition::VECCALC> result_;
  uint64_t sequence_ = 0;
  uint64_t unit_ = 0;
  uint32_t units_ = 0;
  uint32_t now_ = 0;
};

}  // namespace dynamic_rnn_f16_11ef5575_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void dynamic_rnn_f16_11ef5575(
    GM_ADDR x, GM_ADDR w, GM_ADDR b, GM_ADDR y, GM_ADDR output_h, GM_ADDR output_c, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  dynamic_rnn_f16_11ef5575_impl::Kernel kernel;
  kernel.Init(x, w, b, y, output_h, output_c, workspace, &dynamic_rnn_f16_11ef5575_impl::kRows[row]);
  kernel.Process();
}
