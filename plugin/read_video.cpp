// SPDX-License-Identifier: Apache-2.0
#include "read_video.h"

#include <memory>
#include <type_traits>

#include "errors.h"
#include "gpu_stream.h"
#include "video_outputs.h"

namespace tricodec::plugin {
namespace {

template <typename Backend>
constexpr bool kOnGpu = std::is_same_v<Backend, ::dali::GPUBackend>;

}  // namespace

template <typename Backend>
ReadVideo<Backend>::ReadVideo(const ::dali::OpSpec& spec)
    : ::dali::Operator<Backend>(spec),
      device_(kOnGpu<Backend> ? usable_gpu(spec, "read_video") : Device{}),
      batch_(spec, "read_video", spec.GetArgument<float>("fill_value")),
      reader_(std::make_unique<SequenceReader>(spec, kOnGpu<Backend> ? "auto:" + std::to_string(device_.index) : "cpu",
                                               this->num_threads_)) {}

template <typename Backend>
bool ReadVideo<Backend>::SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) {
    const auto tasks = reader_->begin(batch_, workspace, workspace.GetRequestedBatchSize(0));
    if constexpr (kOnGpu<Backend>) {
        run_all(tasks, this->num_threads_);
    } else {
        run_all(tasks, workspace.GetThreadPool());
    }
    return batch_.settle_shapes(outputs);
}

template <typename Backend>
void ReadVideo<Backend>::RunImpl(::dali::Workspace& workspace) {
    if constexpr (kOnGpu<Backend>) {
        decode_on_gpu(batch_, workspace, device_, this->num_threads_);
    } else {
        decode_on_cpu(batch_, workspace);
    }
}

template <typename Backend>
void ReadVideo<Backend>::SaveState(::dali::OpCheckpoint& checkpoint, ::dali::AccessOrder /*order*/) {
    checkpoint.MutableCheckpointState() = reader_->state();
}

template <typename Backend>
void ReadVideo<Backend>::RestoreState(const ::dali::OpCheckpoint& checkpoint) {
    reader_->restore(checkpoint.CheckpointState<EpochOrder::State>());
}

template <typename Backend>
std::string ReadVideo<Backend>::SerializeCheckpoint(const ::dali::OpCheckpoint& checkpoint) const {
    return checkpoint.CheckpointState<EpochOrder::State>().to_text();
}

template <typename Backend>
void ReadVideo<Backend>::DeserializeCheckpoint(::dali::OpCheckpoint& checkpoint, const std::string& data) const {
    checkpoint.MutableCheckpointState() = translate_errors("", [&] { return EpochOrder::State::from_text(data); });
}

template class ReadVideo<::dali::CPUBackend>;
template class ReadVideo<::dali::GPUBackend>;

}  // namespace tricodec::plugin
