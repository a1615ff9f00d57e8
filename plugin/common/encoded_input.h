// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/data/tensor_list.h>
#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <optional>
#include <string>
#include <vector>

#include "common/arguments.h"
#include "tricodec/io/media_source.h"
#include "tricodec/io/stream_info.h"

namespace tricodec::plugin {

/// The input of operators that take encoded videos (the schema tricodec__PacketArguments): whole files, or with
/// `packet_sizes` the packets of a stream.
class EncodedInput {
public:
    /// Throws DALI's errors for arguments that are not accepted.
    explicit EncodedInput(const ::dali::OpSpec& spec);

    /// Throws DALI's errors for an input that holds no bytes of files.
    static void expect_files(const ::dali::TensorList<::dali::CPUBackend>& encoded);
    /// Begins a batch: reads the arguments of its samples.
    void acquire(const ::dali::ArgumentWorkspace& workspace, const ::dali::TensorList<::dali::CPUBackend>& encoded);
    /// A sample that is a whole file, not copied. Throws tricodec::Error for one that is empty.
    [[nodiscard]] static MediaSource whole_file(const ::dali::TensorList<::dali::CPUBackend>& encoded, int sample);
    /// A sample of the batch. Whole files are not copied: the input must outlive the source. Throws tricodec::Error.
    [[nodiscard]] MediaSource source(const ::dali::TensorList<::dali::CPUBackend>& encoded, int sample) const;

private:
    std::optional<CodecId> codec_;
    std::optional<IntArgument> sizes_;
    std::optional<TimesArgument> pts_;
    std::vector<std::vector<std::int64_t>> sizes_of_;
    std::vector<std::vector<double>> pts_of_;
};

}  // namespace tricodec::plugin
