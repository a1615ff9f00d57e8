// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "image/plan.h"
#include "tricodec/frame.h"
#include "tricodec/tensor.h"

namespace tricodec::image {

struct Kernels;

/// Runs a plan: with the best kernels that the machine has and TRICODEC_DISABLE_CPU_FEATURES leaves, else with
/// image/ref. Chosen once a process.
void transform(const Plan& plan, const Frame& frame, const TensorView& out);

/// The best of `supported` (best first) that a comma-separated list of features leaves; none if it leaves none. Turning
/// a feature off turns off those that build on it. Names that no kernels have on any machine go to `unknown`.
[[nodiscard]] const Kernels* choose_kernels(std::span<const Kernels> supported, std::string_view disabled,
                                            const std::function<void(std::string_view)>& unknown);

/// What may be named there, for messages.
[[nodiscard]] std::string known_features();

}  // namespace tricodec::image
