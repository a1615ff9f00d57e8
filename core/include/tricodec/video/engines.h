// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tricodec {

class FrameReader;

/// How many decoders of the reader's stream the hardware has: what callers that spread reads over threads of their own
/// (FrameReader::plan_batch) should keep at work. 0 where the CPU decodes it.
[[nodiscard]] int num_engines(const FrameReader& reader) noexcept;

}  // namespace tricodec
