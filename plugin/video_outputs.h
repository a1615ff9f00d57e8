// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/util/thread_pool.h>
#include <dali/pipeline/workspace/workspace.h>

#include <vector>

#include "tricodec/device.h"
#include "video_batch.h"

namespace tricodec::plugin {

/// Runs a batch's work on DALI's threads.
void run_all(const std::vector<VideoBatch::Task>& tasks, ::dali::ThreadPool& pool);
/// On the library's: DALI gives operators that write to a GPU none, and those that feed engines only wait for them.
void run_all(std::vector<VideoBatch::Task> tasks, int num_threads);

/// Decodes a batch whose shapes are settled into the outputs of an operator on the CPU, on DALI's threads, and clears
/// it.
void decode_on_cpu(VideoBatch& batch, ::dali::Workspace& workspace);
/// Into outputs on a GPU, in the order of DALI's stream, which the host does not wait for. `num_threads` decode what
/// the GPU cannot.
void decode_on_gpu(VideoBatch& batch, ::dali::Workspace& workspace, Device device, int num_threads);

}  // namespace tricodec::plugin
