// SPDX-License-Identifier: Apache-2.0
#include "compress_request.h"

#include "codec_arguments.h"
#include "tricodec/error.h"

namespace tricodec::plugin {
CompressRequest::CompressRequest(const ::dali::OpSpec& spec, int num_threads)
    : options_(read_codec_options(spec, num_threads)), header_(spec.GetArgument<bool>("header")) {
    if (!options_.algorithm) static_cast<void>(parse_compression(""));  // names the algorithms
    for (const CodecInteger& integer : codec_integers()) {
        if (spec.HasTensorArgument(integer.name)) varying_.push_back({integer, IntArgument(integer.name, spec)});
    }
}

std::vector<CompressRequest::Settings> CompressRequest::settings(const ::dali::ArgumentWorkspace& workspace,
                                                                 int num_samples) const {
    std::vector<Settings> result(static_cast<std::size_t>(num_samples));
    for (const Varying& varying : varying_) {
        const auto values = varying.argument.values(workspace, num_samples);
        for (std::size_t i = 0; i < result.size(); ++i) result[i].push_back(values[i].front());
    }
    return result;
}

CodecOptions CompressRequest::options_with(const Settings& settings) const {
    CodecOptions options = options_;
    for (std::size_t i = 0; i < varying_.size(); ++i) varying_[i].integer.set(options, settings[i]);
    return options;
}

}  // namespace tricodec::plugin
