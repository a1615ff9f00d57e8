// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstdint>

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

}  // namespace tricodec::plugin
