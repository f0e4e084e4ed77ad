// Runs the kernels on the host; `host/runner.h` says how it is called.
#include "runner.h"

extern "C" void p_relu_f16_e19fd9e9(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void add_f16_89802f31(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void cast_f16_43f56c87(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void less_f16_6b843833(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void conv2d_f16_6f1fae33(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void one_hot_d_i32_9deea22f(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void scaled_masked_softmax_f16_49bc0590(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void mat_mul_v2_f16_8dad308b(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void split_vd_f16_6283369f(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void transpose_d_f16_2c0288fb(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void resize_f16_bd903159(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void softmax_v2_f16_bd821673(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void pad_v3d_f16_ec8a0846(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void gather_nd_f16_dc71ac6b(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void tensor_scatter_update_f16_ab075bae(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void avg_pool_v2_f16_68207060(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void ascend_requant_s16_i16_ff4a2b8b(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void dynamic_rnn_f16_11ef5575(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void reduce_mean_d_f16_4d5d1189(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void roi_align_f16_e75d8366(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void select_v2_bool_e1603237(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void trans_data_f16_9b7e28b4(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void clip_by_value_f16_98fc23a8(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void real_div_f16_38c01c83(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void conv2d_f16_48b07287(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void mat_mul_v2_f16_df871fe7(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void max_pool_v3_f16_300adc73(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void ascend_quant_f16_0737015a(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void add_f16_57b430ce(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);
extern "C" void conv2d_add_swish_f16_23845b42(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR);

int main(int argc, char** argv) {
  using AscendC::host::Call;
  const AscendC::host::Entry entries[] = {
      {"p_relu_f16_e19fd9e9", Call<p_relu_f16_e19fd9e9>},
      {"add_f16_89802f31", Call<add_f16_89802f31>},
      {"cast_f16_43f56c87", Call<cast_f16_43f56c87>},
      {"less_f16_6b843833", Call<less_f16_6b843833>},
      {"conv2d_f16_6f1fae33", Call<conv2d_f16_6f1fae33>},
      {"one_hot_d_i32_9deea22f", Call<one_hot_d_i32_9deea22f>},
      {"scaled_masked_softmax_f16_49bc0590", Call<scaled_masked_softmax_f16_49bc0590>},
      {"mat_mul_v2_f16_8dad308b", Call<mat_mul_v2_f16_8dad308b>},
      {"split_vd_f16_6283369f", Call<split_vd_f16_6283369f>},
      {"transpose_d_f16_2c0288fb", Call<transpose_d_f16_2c0288fb>},
      {"resize_f16_bd903159", Call<resize_f16_bd903159>},
      {"softmax_v2_f16_bd821673", Call<softmax_v2_f16_bd821673>},
      {"pad_v3d_f16_ec8a0846", Call<pad_v3d_f16_ec8a0846>},
      {"gather_nd_f16_dc71ac6b", Call<gather_nd_f16_dc71ac6b>},
      {"tensor_scatter_update_f16_ab075bae", Call<tensor_scatter_update_f16_ab075bae>},
      {"avg_pool_v2_f16_68207060", Call<avg_pool_v2_f16_68207060>},
      {"ascend_requant_s16_i16_ff4a2b8b", Call<ascend_requant_s16_i16_ff4a2b8b>},
      {"dynamic_rnn_f16_11ef5575", Call<dynamic_rnn_f16_11ef5575>},
      {"reduce_mean_d_f16_4d5d1189", Call<reduce_mean_d_f16_4d5d1189>},
      {"roi_align_f16_e75d8366", Call<roi_align_f16_e75d8366>},
      {"select_v2_bool_e1603237", Call<select_v2_bool_e1603237>},
      {"trans_data_f16_9b7e28b4", Call<trans_data_f16_9b7e28b4>},
      {"clip_by_value_f16_98fc23a8", Call<clip_by_value_f16_98fc23a8>},
      {"real_div_f16_38c01c83", Call<real_div_f16_38c01c83>},
      {"conv2d_f16_48b07287", Call<conv2d_f16_48b07287>},
      {"mat_mul_v2_f16_df871fe7", Call<mat_mul_v2_f16_df871fe7>},
      {"max_pool_v3_f16_300adc73", Call<max_pool_v3_f16_300adc73>},
      {"ascend_quant_f16_0737015a", Call<ascend_quant_f16_0737015a>},
      {"add_f16_57b430ce", Call<add_f16_57b430ce>},
      {"conv2d_add_swish_f16_23845b42", Call<conv2d_add_swish_f16_23845b42>},
      {"", nullptr},
  };
  const AscendC::host::BufferSizes sizes{262144, 1048576, 65536, 65536, 262144};
  return AscendC::host::Main(argc, argv, entries, 30, sizes);
}
