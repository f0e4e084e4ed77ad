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
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR w, GM_ADDR b, GM_ADDR y, GM_ADDR output_h, GM_ADDR output_c, const Tiling* row) {
    row_ = row;
    xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));
    wGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(w));
    bGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b));
    yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));
    output_hGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(output_h));
    output_cGm_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(output_c));
  }

  // Steps run one after the other, and the units of a step are shared out over the cores; a core
  // without units waits with the others at every step.
  __aicore__ inline void Process() {
    const bool works = GetBlockIdx() < row_->coreNum;
    const uint64_t steps = row_->dims[0][kRank - 3];
    if (works) {
      MultiplyInput();
    }
    SyncAll();
    for (uint64_t step = 0; step < steps; ++step) {
      if (works) {
        Step(step);
      }
      SyncAll();
    }
  }

 private:
  // x W of all steps as one product, into the workspace.
  __aicore__ inline void MultiplyInput() {
    // to write: the product of x and w, steps times batch rows high.
  }

  // One step t; f, g and h are activations: sigmoid, tanh and tanh where nothing else is said.
  __aicore__ inline void Step(uint64_t step) {
    (void)step;
    // to write: i = f(x[t] Wi + h Ri + bi), fg = f(x[t] Wf + h Rf + bf), j = g(x[t] Wc + h Rc + bc)
    //   c = fg * c + i * j, o = f(x[t] Wo + h Ro + bo), h = o * h(c)
    //   y[t] = h while the sequence runs, 0 after its end, where the state stays
  }

  const Tiling* row_ = nullptr;
  TPipe pipe_;
  GlobalTensor<half> xGm_;
  GlobalTensor<half> wGm_;
  GlobalTensor<half> bGm_;
  GlobalTensor<half> yGm_;
  GlobalTensor<half> output_hGm_;
  GlobalTensor<half> output_cGm_;
};

}  // namespace dynamic_rnn_f16_11ef5575_impl

// `tiling` holds the number of the table's row that fits the node's shapes.
extern "C" __global__ __aicore__ void dynamic_rnn_f16_11ef5575(
    GM_ADDR x, GM_ADDR w, GM_ADDR b, GM_ADDR y, GM_ADDR output_h, GM_ADDR output_c, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t row = *reinterpret_cast<__gm__ const uint32_t*>(tiling);
  (void)workspace;
  dynamic_rnn_f16_11ef5575_impl::Kernel kernel;
  kernel.Init(x, w, b, y, output_h, output_c, &dynamic_rnn_f16_11ef5575_impl::kRows[row]);
  kernel.Process();
}
