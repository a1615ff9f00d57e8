// SPDX-License-Identifier: Apache-2.0
// The functions that libFuzzer calls, the same in each target.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzzing.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    tricodec::fuzzing::set_up();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tricodec::fuzzing::try_input(std::as_bytes(std::span(data, size)));
    return 0;
}
