// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/checkpointing/stateless_operator.h>
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/backend.h"
#include "common/encoded_input.h"
#include "common/frame_arguments.h"
#include "common/sound_output.h"
#include "common/video_batch.h"
#include "common/video_outputs.h"

namespace tricodec::plugin {

/// fn.tricodec.decode_video: encoded files on the CPU in, frames and their times out. Setup opens and indexes the
/// files, which determines the shapes. Run decodes them: on the CPU in tasks of GOP ranges on DALI's threads; with
/// device "mixed" on the GPU's engines, and on the CPU for streams that the GPU cannot decode exactly.
template <typename Backend>
class DecodeVideo : public ::dali::StatelessOperator<Backend> {
public:
    explicit DecodeVideo(const ::dali::OpSpec& spec)
        : ::dali::StatelessOperator<Backend>(spec),
          device_(device_of<Backend>(spec, "decode_video")),
          batch_(spec, "decode_video"),
          input_(spec),
          sound_(spec),
          frames_(spec) {}

    /// A sample that fails while it is decoded can only become empty if samples are allocated one by one.
    bool HasContiguousOutputs() const override { return !batch_.arguments().empty_on_error(); }

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override {
        run_tasks<Backend>(begin(workspace), workspace, this->num_threads_);
        return batch_.settle_shapes(outputs) && !sound_.is_wanted();
    }
    void RunImpl(::dali::Workspace& workspace) override {
        if (!sound_.is_wanted()) {
            return decode_to_outputs<Backend>(batch_, workspace, device_, this->num_threads_);
        }
        const auto& encoded = workspace.Input<::dali::CPUBackend>(0);
        const auto file_of = [&](std::size_t sample) { return input_.source(encoded, static_cast<int>(sample)); };
        run_tasks<Backend>(sound_.tasks(batch_, file_of), workspace, this->num_threads_);
        batch_.settle_errors();
        decode_to_outputs<Backend>(batch_, workspace, device_, this->num_threads_,
                                   [&] { sound_.write<Backend>(batch_, workspace, workspace.NumOutput() - 1); });
    }

private:
    std::vector<Task> begin(const ::dali::Workspace& workspace);
    [[nodiscard]] VideoSource source_of(const ::dali::TensorList<::dali::CPUBackend>& encoded, int sample) const;

    Device device_;
    VideoBatch batch_;
    EncodedInput input_;
    SoundOutput sound_;
    FrameArguments frames_;
};

template <typename Backend>
std::vector<Task> DecodeVideo<Backend>::begin(const ::dali::Workspace& workspace) {
    const auto& encoded = workspace.Input<::dali::CPUBackend>(0);
    input_.acquire(workspace, encoded);
    const int num_samples = encoded.num_samples();
    auto selects = frames_.for_samples(workspace, num_samples);
    std::vector<VideoSource> videos;
    std::vector<SampleRequest> requests;
    for (int i = 0; i < num_samples; ++i) {
        const auto n = static_cast<std::size_t>(i);
        videos.push_back(source_of(encoded, i));
        requests.push_back({.video = n, .select = std::move(selects[n])});
    }
    return batch_.begin(workspace, std::move(videos), std::move(requests));
}

template <typename Backend>
VideoSource DecodeVideo<Backend>::source_of(const ::dali::TensorList<::dali::CPUBackend>& encoded, int sample) const {
    const std::string name = encoded.GetMeta(sample).GetSourceInfo();
    // One worker: the tasks of the batch are what runs at the same time.
    const FrameReaderOptions options{
        .device = preferred_engine(device_), .stream_index = batch_.arguments().stream_index(), .num_workers = 1};
    // DALI keeps the input until Run returns, and the reader is destroyed before.
    const auto open = [this, sample, options, &encoded](bool /*fresh*/) {
        return std::make_shared<OpenVideo>(input_.source(encoded, sample), options);
    };
    // Indexing reads the whole file.
    return {.name = name, .open = open, .cost = encoded.tensor_shape(sample).num_elements()};
}

namespace {

constexpr const char* kDecodeVideoDoc = R"(Decodes whole video files from memory to tensors of frames.

H.264, HEVC, AV1, VP8, VP9, MPEG-1, MPEG-2, MPEG-4, MJPEG and VC-1, 8 to 12 bits, in MP4, MOV, MKV, WebM, AVI, MPEG-TS or as
bare streams. One pass selects frames, crops, resizes, converts colors, normalizes, and makes data type and layout. The
result is byte for byte what ``tricodec.decode_video`` returns in Python for the same arguments.

Frame ``i`` is the i-th frame in presentation order, exactly, however it is reached. The color matrix and range are the
stream's. The work runs on the threads of the pipeline. Each video is cut at its key frames, so a single long video uses all
threads too. With ``device="mixed"`` all decoders of the GPU work, and the outputs are on the GPU with the same bytes. The CPU
decodes what the GPU cannot decode exactly.

Outputs:

* frames: ``FHWC`` or ``FCHW`` by ``layout``, of type ``dtype``. Without ``size`` each video keeps its own size. With
  ``format``: raw planes, uint8 or, for more than 8 bits, uint16.
* pts: the frames' presentation times in seconds, 1-D float64.
* with ``num_damaged_packets=True``: how many packets of the video could not be decoded whole, int64 of one element.
* with ``audio_rate``, the last output: the sound of the time of the frames, ``CS`` (channels, samples), as
  ``tricodec.read_av`` gives it in Python. A file without sound is a sample that cannot be decoded.

A sample that cannot be decoded raises an error that names it, or becomes a sample of 0 frames with ``on_error="empty"``.

Example::

    import nvidia.dali.fn as fn
    import nvidia.dali.types as types
    import tricodec.dali  # registers the operator
    from nvidia.dali import pipeline_def

    @pipeline_def(batch_size=4, num_threads=8, device_id=None)
    def clips(files):
        encoded, _ = fn.readers.file(files=files)
        frames, pts = fn.tricodec.decode_video(
            encoded, start=30, stride=2, count=16, size=(224, 224), dtype=types.FLOAT, layout="CHW",
            mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
        return frames, pts
)";

}  // namespace
}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__DecodeVideo)
    .DocStr(tricodec::plugin::kDecodeVideoDoc)
    .AddParent("tricodec__DecodingArguments")
    .AddParent("tricodec__FrameArguments")
    .AddParent("tricodec__PacketArguments")
    .AddParent("tricodec__SoundArguments")
    .AddParent("tricodec__SelectionArguments")
    .NumInput(1)
    .NumOutput(1)
    .InputDox(0, "encoded", "1D TensorList of uint8",
              "The bytes of whole video files, one a sample. With "
              "``packet_sizes``: the packets of a stream.")
#if TRICODEC_DALI_VERSION >= 202  // 2.2 is the first that asks for them
    .OutputDType(0, tricodec::plugin::frames_dtype)
    .OutputNDim(0, tricodec::plugin::frames_ndim)
    .OutputLayout(0, tricodec::plugin::frames_layout)
    .OutputDType(1, tricodec::plugin::second_dtype)
    .OutputNDim(1, tricodec::plugin::second_ndim)
    .OutputLayout(1, tricodec::plugin::second_layout)
    .OutputDType(2, tricodec::plugin::third_dtype)
    .OutputNDim(2, tricodec::plugin::third_ndim)
    .OutputDType(3, tricodec::plugin::sound_dtype)
    .OutputNDim(3, 2)
#endif
    .AdditionalOutputsFn([](const ::dali::OpSpec& spec) {
        return tricodec::plugin::num_times_outputs(spec) + (spec.GetArgument<bool>("num_damaged_packets") ? 1 : 0) +
               (spec.GetArgument<int>("audio_rate") > 0 ? 1 : 0);
    })
    .MakeStateless();

DALI_REGISTER_OPERATOR(tricodec__DecodeVideo, tricodec::plugin::DecodeVideo<::dali::CPUBackend>, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__DecodeVideo, tricodec::plugin::DecodeVideo<::dali::MixedBackend>, ::dali::Mixed);
