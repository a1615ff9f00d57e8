// SPDX-License-Identifier: Apache-2.0
/// Which of the ways to make a DEFLATE stream beats zlib's level 1, told from a sample.
#pragma once

#include "tricodec/compress.h"

namespace tricodec::compress {

enum class DeflateWay {
    usual,     ///< matches of four bytes and more are worth what they take
    literals,  ///< there are no matches worth their bits
    weighing,  ///< many matches of three bytes, each to be weighed against its literals
};

/// Reads an eighth of `input`, all of it where that looks like literals. Note [Three ways].
[[nodiscard]] DeflateWay choose_deflate_way(ByteView input);

}  // namespace tricodec::compress
