// The part of Ascend C's interface that atc-py's kernels use, on plain C++17.
//
// A kernel that includes this file runs on the host, core after core, in one thread. What the
// hardware would punish is reported with the kernel's file and line: copies that are not whole
// blocks, reads and writes past a buffer, tensors that are used before EnQue or after FreeTensor,
// queues that leak, buffers that do not fit. On the device the toolkit's header of this name takes
// its place.
#ifndef ATC_PY_HOST_KERNEL_OPERATOR_H_
#define ATC_PY_HOST_KERNEL_OPERATOR_H_

#include "ascendc/report.h"
#include "ascendc/numbers.h"
#include "ascendc/memory.h"
#include "ascendc/queue.h"
#include "ascendc/copy.h"
#include "ascendc/arithmetic.h"
#include "ascendc/functions.h"
#include "ascendc/cast.h"
#include "ascendc/select.h"
#include "ascendc/reduce.h"
#include "ascendc/gather.h"
#include "ascendc/repeat.h"
#include "ascendc/cube.h"
#include "ascendc/fixpipe.h"

#endif  // ATC_PY_HOST_KERNEL_OPERATOR_H_
