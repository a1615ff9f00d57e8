// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "tricodec/device.h"
#include "tricodec/stream.h"

namespace tricodec::plugin {

/// The GPU that an operator's pipeline is for. Throws DALI's RuntimeError, naming `operation` and the remedy, if this
/// library cannot use it.
[[nodiscard]] Device usable_gpu(const ::dali::OpSpec& spec, const char* operation);

/// The stream that DALI orders the operator's inputs and outputs by.
[[nodiscard]] inline StreamView stream_of(const ::dali::Workspace& workspace) {
    return {reinterpret_cast<std::uintptr_t>(workspace.stream())};
}

/// Copies bytes of the GPU `device_index` in the order of a stream; the host does not wait.
void copy_on_device(void* to, const void* from, std::size_t size, int device_index, ::dali::AccessOrder order);
/// The same from host memory, which is free when the call returns.
void copy_to_device(void* to, std::span<const std::byte> from, int device_index, ::dali::AccessOrder order);

}  // namespace tricodec::plugin
