// SPDX-License-Identifier: Apache-2.0
// The tests of this program compare bytes that the host reads, so no GPU is visible to them. gpu/ has those of a GPU.
#include <cstdlib>

namespace {

[[maybe_unused]] const bool hidden = setenv("CUDA_VISIBLE_DEVICES", "", 1) == 0 && unsetenv("TRICODEC_DEVICE") == 0;

}  // namespace
