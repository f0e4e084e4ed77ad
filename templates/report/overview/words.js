// Words of the page in English and Chinese.
const WORDS = {
  skip: ["Skip to the verdict", "跳到结论"], parts: ["Parts", "各部分"], model: ["Model", "模型"],
  light: ["Light", "浅色"], dark: ["Dark", "深色"], theme: ["Dark", "深色"],
  verdict: ["Verdict", "结论"], graph: ["Graph", "图"], findings: ["Findings", "检查结果"],
  precision: ["Precision", "精度"], time: ["Time", "时间"],
  compiles: ["Compiles", "可编译"], refused: ["Does not compile", "不可编译"], undecided: ["Not decided", "无法判定"],
  by_list: ["operator list %1", "算子清单 %1"],
  first: ["What to do first", "首先要做"], nothing: ["Nothing needs to be done.", "无需处理。"],
  copy: ["Copy", "复制"], copied: ["Copied", "已复制"], show_it: ["Show", "查看"],
  size: ["Compiled size", "编译后大小"], file_size: ["File size", "文件大小"], est_time: ["Estimated time", "预估时间"],
  between: ["between %1 and %2", "介于 %1 与 %2 之间"],
  worst_output: ["Worst output error", "输出最大误差"], memory: ["Device memory", "设备内存"], launches: ["Kernel launches", "核启动次数"],
  nodes_of: ["for %1 nodes of the model", "对应模型的 %1 个节点"], no_output_fails: ["no layer fails", "没有不合格的层"],
  layers_fail: ["%1 of %2 layers fail", "%2 层中 %1 层不合格"], weights: ["weights %1", "权重 %1"],
  facts: ["The model", "模型信息"], file: ["File", "文件"], producer: ["Producer", "导出工具"], opsets: ["Opsets", "算子集版本"],
  inputs: ["Inputs", "输入"], outputs: ["Outputs", "输出"], parameters: ["Parameters", "参数量"], digest: ["SHA-256", "SHA-256"],
  made: ["Made", "生成时间"], options: ["Options", "选项"], mode: ["Precision mode", "精度模式"], soc: ["SoC", "SoC"],
  nodes: ["Nodes", "节点"], assumed: ["Note", "说明"],
  show: ["Show", "显示"], fold: ["Fold", "折叠"], color: ["Color", "着色"], search: ["Search", "搜索"],
  source: ["ONNX file", "ONNX 文件"], compiled: ["Compiled", "编译后"], both: ["Both", "两者"],
  fold_none: ["nothing", "不折叠"], fold_blocks: ["by block", "按模块"], fold_launch: ["by launch", "按核启动"], fold_prefix: ["by name, depth %1", "按名称，%1 层"],
  c_engine: ["engine", "执行单元"], c_time: ["time", "时间"], c_error: ["error", "误差"], c_dtype: ["Dtype", "数据类型"],
  c_finding: ["finding", "检查结果"], c_kind: ["operator", "算子"],
  zoom_in: ["Zoom in", "放大"], zoom_out: ["Zoom out", "缩小"], fit: ["Fit", "适应"], refold: ["Fold again", "重新折叠"],
  keys: ["Drag to pan, wheel or pinch to zoom, double-click a folded box to open it. Keys: arrows go along the graph, Enter opens, + and - zoom, 0 fits, / searches, Esc clears; in charts, arrows go from mark to mark and Enter selects.",
    "拖动平移，滚轮或双指缩放，双击折叠框展开。按键：方向键沿图移动，Enter 展开，+ 和 - 缩放，0 适应，/ 搜索，Esc 取消；在图表中，方向键逐点移动，Enter 选择。"],
  canvas: ["%1 graph: %2 boxes for %3 nodes", "%1图：%2 个框，共 %3 个节点"],
  hits: ["%1 found", "找到 %1 个"], no_hits: ["nothing found", "未找到"], input: ["Input", "输入"], output: ["Output", "输出"],
  pick: ["Select a node to see everything known about it.", "选择节点可查看其全部信息。"],
  node: ["Node", "节点"], name: ["Name", "名称"], operator: ["Operator", "算子"], attributes: ["Attributes", "属性"], reads: ["Reads", "读取"], makes: ["Writes", "写出"],
  became: ["Compiled to", "编译为"], origin: ["Computes nodes of the file", "对应文件中的节点"], none_linked: ["folded away: no node computes it", "已折叠：无对应节点"],
  error: ["Error", "误差"], errors: ["Error against the original", "与原模型的误差"], histogram: ["Magnitudes", "数值分布"], estimate: ["Estimate", "预估"], kernel: ["Kernel", "核"],
  storage: ["Storage", "存储"], stub: ["Kernel stub", "核代码"], dtype_reason: ["Dtype", "数据类型依据"], engine: ["Engine", "执行单元"],
  group: ["%1 nodes folded", "折叠了 %1 个节点"], open: ["Open", "展开"], constant: ["constant", "常量"], clear: ["Clear", "取消选择"],
  share: ["Share", "占比"], bound: ["Bound by", "受限于"], use: ["Use of peak", "峰值利用率"], moved: ["Bytes", "字节"], launch: ["launch", "启动"],
  read: ["Read", "读"], written: ["Written", "写"], range: ["Range", "范围"], original: ["original", "原模型"], device: ["device", "设备"],
  level: ["Level", "级别"], all: ["all", "全部"], rule: ["Rule", "规则"], taken_by: ["Taken by", "可用清单"], fixed_by: ["Fixed by", "可改写"],
  grounds: ["Grounds", "依据"], cann: ["CANN", "CANN"], known: ["known", "已知"], no_findings: ["No findings.", "未发现问题。"], op_table: ["Operators", "算子"], not_listed: ["not listed", "不在清单中"],
  find_in: ["Filter", "筛选"], shown_of: ["%1 of %2 shown", "显示 %1 / %2"], supported: ["supported", "支持"], unsupported: ["Errors", "错误"],
  along: ["Error along the network", "沿网络的误差"], layer: ["Layer", "层"], rel_error: ["Relative error", "相对误差"], limit: ["failing above %1", "超过 %1 为不合格"],
  k_failing: ["failing", "不合格"], k_born: ["error introduced", "引入误差"], k_ok: ["layers", "各层"], k_over: ["overflow", "上溢"], k_under: ["underflow", "下溢"],
  outputs_head: ["Outputs", "输出"], layers_head: ["Layers", "各层"], cosine: ["Cosine", "余弦"], distance: ["Distance", "距离"], snr: ["SNR dB", "信噪比 dB"],
  max_abs: ["Max abs", "最大绝对误差"], max_rel: ["Max rel", "最大相对误差"], lost: ["NaN/Inf", "NaN/Inf"], overflow: ["Overflow", "上溢"], underflow: ["Underflow", "下溢"],
  lowest: ["Lowest", "最小值"], highest: ["Highest", "最大值"], from: ["Where the error comes from", "误差来源"], why: ["Why it fails", "不合格的原因"],
  dtype: ["Dtype", "数据类型"], dims: ["Dims", "形状"], target: ["target", "目标"], verdict_col: ["Verdict", "结论"], passes: ["passes", "通过"], fails: ["fails", "不合格"],
  failing_only: ["failing only", "仅不合格"], choose: ["Columns", "列"], more: ["Show %1 more", "再显示 %1 行"], met: ["met by every output", "全部输出达标"], missed: ["missed", "未达标"],
  targets: ["Targets", "目标"], no_target: ["No target was given: --fail-under cosine=0.99 sets one.", "未给目标：可用 --fail-under cosine=0.99 设定。"],
  alone: ["Without a counterpart", "无对应结果"], side: ["Side", "所在"], reason: ["Reason", "原因"], not_compared: ["Not compared", "未比较"], how: ["How it was compared", "比较方式"],
  samples_head: ["Over %1 samples", "%1 个样本的分布"], samples_note: ["As bad as this or worse in %1 of the samples.", "其中 %1 的样本与此同样差或更差。"], samples_about: ["These are within 1 % of the error.", "这些值的误差在 1 % 以内。"],
  mean: ["Mean", "平均"], worst: ["Worst", "最差"], worst_sample: ["Worst sample", "最差的样本"], figure: ["Figure", "指标"],
  suggestion: ["Nodes to keep in float32", "应保持 float32 的节点"], classes: ["Same best class", "最优类别一致"],
  wins: ["The biggest wins", "最大的改进空间"], no_wins: ["No single place stands out.", "没有突出的位置。"], socs: ["SoCs side by side", "各 SoC 对比"],
  roofline: ["Roofline", "屋顶线"], intensity: ["operations per byte", "每字节运算数"], rate: ["operations per second", "每秒运算数"],
  roof_cube: ["cube peak", "Cube 峰值"], roof_vector: ["vector peak", "Vector 峰值"], roof_memory: ["device memory", "设备内存"], roof_l2: ["L2 cache", "L2 缓存"],
  timeline: ["Timeline by pipe", "流水线时间轴"], over_time: ["Memory over time", "内存随时间变化"], expected_time: ["expected time", "预估时间"], bytes: ["bytes of results", "结果字节数"],
  kernels: ["Kernels", "核"], computes: ["Computes", "计算"], low: ["Low", "下限"], high: ["High", "上限"], fits: ["fits", "可容纳"],
  estimates: ["Estimates, not measurements: each with its range. ", "均为预估而非实测，各有范围。"], assumes: ["Assumptions", "假设"],
  p_cube: ["cube", "Cube"], p_vector: ["vector", "Vector"], p_mte1: ["L1 to L0", "L1 到 L0"], p_mte2: ["into the core", "读入核"], p_mte3: ["out of the core", "写出核"], p_fixp: ["L0C out", "L0C 写出"],
  b_cube: ["cube", "Cube"], b_vector: ["vector unit", "Vector"], b_memory: ["memory", "内存"], b_onchip: ["on-chip moves", "片上搬运"], b_launch: ["launch", "启动"], b_aicpu: ["AI CPU", "AI CPU"],
  position: ["Position", "位置"], gears: ["Gears", "档位"], unknown: ["not known", "未知"], wins_soc: ["of %1", "%1"], why_not: ["Why it is not compiled", "未编译的原因"],
  no_data: ["no data", "无数据"], run_time: ["run time", "运行时分配"],
  outputs_fail: ["%1 of %2 outputs fail", "%2 个输出中 %1 个不合格"], outputs_miss: ["%1 of %2 outputs miss %3", "%2 个输出中 %1 个未达到 %3"],
  outputs_pass: ["Outputs pass", "输出通过"], device_stopped: ["The device stopped", "设备已停止"],
  batch: ["Batch", "批大小"], batches: ["Batches side by side", "各批大小对比"], throughput: ["Samples a second", "每秒样本数"], best: ["best", "最佳"],
  gear: ["Gear", "档位"], gears_side: ["Gears side by side", "各档位对比"], models_side: ["Models side by side", "各模型对比"], no_time: ["not estimated", "未预估"],
  fusions: ["Why not fused: what each pass found", "为何未融合：各 Pass 的结果"], pass: ["Pass", "Pass"], atc_name: ["ATC's name", "ATC 名称"], matched: ["Matched", "匹配"], rewritten: ["Rewritten", "改写"], near: ["Nearest miss", "最接近的未命中"],
  line: ["Line", "行"], l_error: ["error", "错误"], l_unknown: ["unknown", "待定"], l_parser: ["parser", "解析器"], l_list: ["list", "清单"], l_rewrite: ["rewrite", "改写"], l_aicpu: ["AI CPU", "AI CPU"], l_accuracy: ["accuracy", "精度"],
  e_aicore: ["AI Core", "AI Core"], e_aicpu: ["AI CPU", "AI CPU"], e_local: ["no kernel", "无需核"],
  largest: ["largest", "最大数"], "least normal": ["least normal", "最小正规数"], least: ["least", "最小数"], in_weights: ["in the weights", "在权重中"], on_chip: ["on chip", "片上"], bind: ["input", "输入"],
};
let language = 0;

function t(key, ...values) {
  const text = (WORDS[key] || [key, key])[language];
  return values.reduce((all, value, at) => all.replace(`%${at + 1}`, () => String(value)), text);
}

// A sentence that the document has in both languages.
const said = (pair) => (Array.isArray(pair) ? pair[language] : pair || "");

// The word for a level of findings, and for an engine.
const levelWord = (level) => t(`l_${level}`);
const engineWord = (engine) => (engine ? t(`e_${engine}`) : "");
