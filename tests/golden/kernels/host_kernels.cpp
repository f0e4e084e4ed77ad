// Runs the kernels on the host; `host/runner.h` says how it is called.
#include "runner.h"

extern "C" void add_f16_89802f31(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void mat_mul_v2_f16_8dad308b(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void transpose_d_f16_2c0288fb(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void avg_pool_v2_f16_68207060(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void dynamic_rnn_f16_11ef5575(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void reduce_mean_d_f16_4d5d1189(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void add_f16_57b430ce(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void conv2d_add_swish_f16_23845b42(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);

int main(int argc, char** argv) {
  using AscendC::host::Call;
  const AscendC::host::Entry entries[] = {
      {"add_f16_89802f31", Call<add_f16_89802f31>},
      {"mat_mul_v2_f16_8dad308b", Call<mat_mul_v2_f16_8dad308b>},
      {"transpose_d_f16_2c0288fb", Call<transpose_d_f16_2c0288fb>},
      {"avg_pool_v2_f16_68207060", Call<avg_pool_v2_f16_68207060>},
      {"dynamic_rnn_f16_11ef5575", Call<dynamic_rnn_f16_11ef5575>},
      {"reduce_mean_d_f16_4d5d1189", Call<reduce_mean_d_f16_4d5d1189>},
      {"add_f16_57b430ce", Call<add_f16_57b430ce>},
      {"conv2d_add_swish_f16_23845b42", Call<conv2d_add_swish_f16_23845b42>},
      {"", nullptr},
  };
  const AscendC::host::BufferSizes sizes{262144, 1048576, 65536, 65536, 262144};
  return AscendC::host::Main(argc, argv, entries, 8, sizes);
}
