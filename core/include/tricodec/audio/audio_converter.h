// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tricodec/tensor/tensor.h"

namespace tricodec {

/// Samples of one stream to float32 (-1 to 1), in parts: resampled and mixed by libswresample with its default options.
/// The filter remembers samples, so that the parts join without a seam.
/// Thread safety: one object from one thread at a time.
class AudioConverter {
public:
    /// 0 keeps the rate or the channels of what is converted. Throws Error(invalid_argument) for negative values.
    [[nodiscard]] static std::unique_ptr<AudioConverter> create(int sample_rate = 0, int num_channels = 0);
    virtual ~AudioConverter() = default;

    /// The samples that are ready, [channels, samples]. `samples` is [channels, samples] of uint8, int16, int32, int64,
    /// float32 or float64, contiguous in host memory. Throws Error(invalid_argument) for other arrays, and for another
    /// type, rate or number of channels than the parts before, Error(unsupported) for a conversion that libswresample
    /// does not have.
    [[nodiscard]] virtual Tensor convert(const TensorView& samples, int sample_rate) = 0;
    /// What the filter still holds. Throws Error(invalid_argument) before the first convert().
    [[nodiscard]] virtual Tensor drain() = 0;
    /// Forgets the stream: for another one, after a seek, and after drain().
    virtual void reset() = 0;
};

}  // namespace tricodec
