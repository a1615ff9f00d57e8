// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/checkpointing/op_checkpoint.h>
#include <dali/pipeline/operator/operator.h>

#include <string>
#include <vector>

#include "sequence_reader.h"
#include "tricodec/device.h"
#include "video_batch.h"

namespace tricodec::plugin {

/// fn.tricodec.read_video: sequences of the frames of files, on the CPU or, with the GPU's decoders, in its memory.
/// Setup takes the next sequences, which settles the shapes; Run decodes them as decode_video does. A checkpoint holds
/// which sequences come next, and nothing of decoders.
template <typename Backend>
class ReadVideo : public ::dali::Operator<Backend> {
public:
    explicit ReadVideo(const ::dali::OpSpec& spec);

    bool HasContiguousOutputs() const override { return !batch_.empty_on_error(); }
    ::dali::ReaderMeta GetReaderMeta() const override { return reader_->meta(); }

    void SaveState(::dali::OpCheckpoint& checkpoint, ::dali::AccessOrder order) override;
    void RestoreState(const ::dali::OpCheckpoint& checkpoint) override;
    std::string SerializeCheckpoint(const ::dali::OpCheckpoint& checkpoint) const override;
    void DeserializeCheckpoint(::dali::OpCheckpoint& checkpoint, const std::string& data) const override;

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override;
    void RunImpl(::dali::Workspace& workspace) override;

private:
    Device device_;
    VideoBatch batch_;
    std::unique_ptr<SequenceReader> reader_;
};

using ReadVideoCpu = ReadVideo<::dali::CPUBackend>;
using ReadVideoGpu = ReadVideo<::dali::GPUBackend>;

}  // namespace tricodec::plugin
