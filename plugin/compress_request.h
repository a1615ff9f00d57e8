// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "arguments.h"
#include "codec_arguments.h"
#include "tricodec/compress.h"
#include "tricodec/device.h"

namespace tricodec::plugin {

/// How fn.tricodec.compress treats each sample, alike on every backend: the settings of the operator, some of which may
/// be given as one tensor a sample.
class CompressRequest {
public:
    /// A sample's values of the settings that differ by sample.
    using Settings = std::vector<std::int64_t>;

    /// Throws tricodec::Error(invalid_argument) for words that are not accepted.
    CompressRequest(const ::dali::OpSpec& spec, int num_threads);

    /// With the settings that are alike for all samples.
    [[nodiscard]] const CodecOptions& options() const noexcept { return options_; }
    [[nodiscard]] bool has_header() const noexcept { return header_; }
    [[nodiscard]] bool differs_by_sample() const noexcept { return !varying_.empty(); }
    /// By sample. Raises DaliTypeError on other than integers, DaliValueError on other shapes than a scalar's.
    [[nodiscard]] std::vector<Settings> settings(const ::dali::ArgumentWorkspace& workspace, int num_samples) const;
    [[nodiscard]] CodecOptions options_with(const Settings& settings) const;

private:
    struct Varying {
        CodecInteger integer;
        IntArgument argument;
    };

    CodecOptions options_;
    std::vector<Varying> varying_;
    bool header_;
};

/// The codec of each sample's settings. Codecs are made as settings come up and kept for the batches that follow.
class SampleCodecs {
public:
    /// Settings that are alike for all samples are checked here. Throws as the constructor of Codec does.
    SampleCodecs(const ::dali::OpSpec& spec, int num_threads, Device device)
        : request_(spec, num_threads), device_(device), common_(make(request_.options())) {}

    [[nodiscard]] const CompressRequest& request() const noexcept { return request_; }

    /// By sample; they live until the next call. Throws BatchError for settings that are not accepted.
    [[nodiscard]] std::vector<const compress::Codec*> of(const ::dali::ArgumentWorkspace& workspace, int num_samples) {
        const auto count = static_cast<std::size_t>(num_samples);
        if (!request_.differs_by_sample()) return {count, common_.get()};
        const std::vector<CompressRequest::Settings> settings = request_.settings(workspace, num_samples);
        if (codecs_.size() > kMostKept) codecs_.clear();
        std::vector<const compress::Codec*> found;
        for (std::size_t i = 0; i < count; ++i) {
            auto place = codecs_.find(settings[i]);
            try {
                if (place == codecs_.end()) {
                    place = codecs_.emplace(settings[i], make(request_.options_with(settings[i]))).first;
                }
            } catch (const Error& error) {
                throw BatchError(error, "sample", i, count);
            }
            found.push_back(place->second.get());
        }
        return found;
    }

private:
    // A codec keeps memory for each thread, up to megabytes, and chunk sizes could be any.
    static constexpr std::size_t kMostKept = 32;

    [[nodiscard]] std::unique_ptr<compress::Codec> make(const CodecOptions& options) const {
        return std::make_unique<compress::Codec>(options, device_);
    }

    CompressRequest request_;
    Device device_;
    std::unique_ptr<compress::Codec> common_;
    std::map<CompressRequest::Settings, std::unique_ptr<compress::Codec>> codecs_;
};

}  // namespace tricodec::plugin
