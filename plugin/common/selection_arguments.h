// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/option_arguments.h"
#include "tricodec/selection/frame_selection.h"

namespace tricodec::plugin {

/// The options that select frames, besides start, stride and count, as arguments of an operator (the schema
/// tricodec__SelectionArguments).
class SelectionArguments : public OptionArguments<FrameSelection> {
public:
    /// A reader has no start and count, and takes constants. Its selection then has its stride. Throws DALI's errors
    /// for values that are not accepted.
    explicit SelectionArguments(const ::dali::OpSpec& spec, bool of_reader = false);
};

}  // namespace tricodec::plugin
