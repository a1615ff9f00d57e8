// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/builtin/input_operator.h>
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/arguments.h"
#include "common/encoded_input.h"
#include "common/errors.h"
#include "common/video_batch.h"
#include "common/video_outputs.h"
#include "tricodec/base/error.h"

namespace tricodec::plugin {

/// fn.tricodec.input_video: videos that feed_input() brings, each in batches of consecutive sequences. A video stays
/// open until its last batch, so it is decoded once, and only the frames of a batch take memory.
class InputVideo : public ::dali::InputOperator<::dali::CPUBackend> {
public:
    explicit InputVideo(const ::dali::OpSpec& spec)
        : ::dali::InputOperator<::dali::CPUBackend>(spec),
          batch_(spec, "input_video"),
          length_(int_argument(spec, "sequence_length")),
          most_sequences_(spec.GetArgument<int>("max_batch_size")) {
        translate_errors("", [&] {
            TRICODEC_EXPECT(length_ >= 1, invalid_argument,
                            "sequence_length is " + std::to_string(length_) + "; it must be at least 1 frame");
            pads_ = word_argument(spec, "last_sequence_policy", {"partial", "pad"}) == "pad";
        });
    }

    int NextBatchSize() override { return most_sequences_; }
    void Advance() override {}
    const ::dali::TensorLayout& in_layout() const override { return in_layout_; }
    int in_ndim() const override { return 1; }
    ::dali::DALIDataType in_dtype() const override { return DALI_UINT8; }
    bool HasContiguousOutputs() const override { return !batch_.arguments().empty_on_error(); }

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override {
        if (!encoded_) {
            HandleDataAvailability();
            load(workspace);
        }
        try {
            open();
            run_on_pool(begin(workspace), workspace.GetThreadPool());
            return batch_.settle_shapes(outputs);
        } catch (...) {
            unload();  // the next run begins with the next video
            throw;
        }
    }

    void RunImpl(::dali::Workspace& workspace) override {
        const auto num_sequences = static_cast<int>(batch_.samples().size());
        try {
            decode_to_outputs<::dali::CPUBackend>(batch_, workspace, Device{}, 0);
        } catch (...) {
            unload();
            throw;
        }
        workspace.SetBatchSizes(num_sequences);
        first_ += std::int64_t{num_sequences} * length_;
        if (first_ >= num_frames_) unload();
        if (!encoded_ && HasDataInQueue()) load(workspace);
        if (!workspace.GetIterationData()) return;
        // What Triton's DALI backend knows the end of a request by.
        if (data_id_) workspace.SetOperatorTrace("next_output_data_id", *data_id_);
        SetDepletedOperatorTrace(workspace, !encoded_);
    }

private:
    void load(const ::dali::Workspace& workspace) {
        encoded_.emplace();
        encoded_->set_pinned(false);
        ForwardCurrentData(*encoded_, data_id_, workspace.GetThreadPool());
        first_ = 0;
        num_frames_ = 0;
    }

    void unload() {
        video_.reset();
        failure_ = nullptr;
        encoded_.reset();
        data_id_.reset();
    }

    /// Opens the video if it is not open. A failure is that of the batch's one sample.
    void open() {
        if (video_ || failure_) return;
        EncodedInput::expect_files(*encoded_);
        translate_errors("", [&] {
            TRICODEC_EXPECT(encoded_->num_samples() == 1, invalid_argument,
                            std::to_string(encoded_->num_samples()) +
                                " videos are fed at once; input_video takes one for each feed_input()");
        });
        try {
            video_ = make();
            video_->reader().expect_frames();
            num_frames_ = video_->reader().num_frames();
        } catch (...) {
            failure_ = std::current_exception();
        }
    }

    [[nodiscard]] std::shared_ptr<OpenVideo> make() const {
        return std::make_shared<OpenVideo>(
            EncodedInput::whole_file(*encoded_, 0),
            FrameReaderOptions{.device = "cpu", .stream_index = batch_.arguments().stream_index(), .num_workers = 1});
    }

    [[nodiscard]] std::vector<Task> begin(const ::dali::Workspace& workspace) {
        const VideoSource source{.name = encoded_->GetMeta(0).GetSourceInfo(),
                                 .open =
                                     [this](bool fresh) {
                                         if (failure_) std::rethrow_exception(failure_);
                                         return fresh ? make() : video_;
                                     },
                                 .kept = true,
                                 .continues = true};
        std::vector<SampleRequest> requests;
        for (int i = 0; i < most_sequences_; ++i) {
            const auto start = first_ + std::int64_t{i} * length_;
            if (start >= num_frames_ && !requests.empty()) break;
            requests.push_back({.video = 0, .select = [this, start](FrameReader&) { return frames_from(start); }});
        }
        return batch_.begin(workspace, {source}, std::move(requests));
    }

    [[nodiscard]] std::vector<std::int64_t> frames_from(std::int64_t start) const {
        std::vector<std::int64_t> frames;
        for (std::int64_t i = 0; i < length_; ++i) {
            if (start + i < num_frames_) {
                frames.push_back(start + i);
            } else if (pads_) {
                frames.push_back(kNoFrame);
            }
        }
        return frames;
    }

    VideoBatch batch_;
    std::int64_t length_;
    int most_sequences_;
    bool pads_ = false;
    ::dali::TensorLayout in_layout_ = "B";
    std::optional<::dali::TensorList<::dali::CPUBackend>> encoded_;  ///< the video that is being read
    std::optional<std::string> data_id_;
    std::shared_ptr<OpenVideo> video_;
    std::exception_ptr failure_;  ///< of opening it
    std::int64_t first_ = 0;      ///< frame of the next batch
    std::int64_t num_frames_ = 0;
};

namespace {

constexpr const char* kInputVideoDoc = R"(Decodes videos that the program feeds while the pipeline runs.

``pipeline.feed_input(name, [data])`` brings the bytes of one video, as uint8; several may wait. Each run gives the next
sequences of the video, ``max_batch_size`` of them, fewer at its end. A video that is long takes the memory of a batch of
frames only. A live stream comes in segments that can be decoded by themselves, each fed as a video.

It takes every codec and container of ``fn.tricodec.decode_video``, and has its arguments for cropping, resizing, color
conversion, normalization, data type and layout, the same for all sequences.

Outputs:

* frames: ``FHWC`` or ``FCHW`` by ``layout``, of type ``dtype``. With ``format``: raw planes.
* pts: the frames' presentation times in seconds, 1-D float64; NaN for places without a frame.
* with ``num_damaged_packets=True``: how many packets could not be decoded whole, int64 of one element.

The traces ``depleted`` and ``next_output_data_id`` are those of DALI's ``experimental.inputs.video``, so that Triton's DALI
backend knows when a request is complete. A run without data is an error, or waits with ``blocking=True``.

Example::

    @pipeline_def(batch_size=4, num_threads=8, device_id=None)
    def live():
        frames, pts = fn.tricodec.input_video(name="camera", sequence_length=16, size=(224, 224))
        return frames, pts

    pipe = live()
    pipe.feed_input("camera", [np.frombuffer(segment, np.uint8)])
    frames, pts = pipe.run()
)";

}  // namespace
}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__InputVideo)
    .DocStr(tricodec::plugin::kInputVideoDoc)
    .AddParent("tricodec__DecodingArguments")
    .AddParent("InputOperatorBase")
    .NumInput(0)
    .NumOutput(1)
#if TRICODEC_DALI_VERSION >= 202  // 2.2 is the first that asks for them
    .OutputDType(0, tricodec::plugin::frames_dtype)
    .OutputNDim(0, tricodec::plugin::frames_ndim)
    .OutputLayout(0, tricodec::plugin::frames_layout)
    .OutputDType(1, tricodec::plugin::second_dtype)
    .OutputNDim(1, 1)
    .OutputLayout(1, tricodec::plugin::second_layout)
#endif
    .AdditionalOutputsFn([](const ::dali::OpSpec& spec) {
        return tricodec::plugin::num_times_outputs(spec) + (spec.GetArgument<bool>("num_damaged_packets") ? 1 : 0);
    })
    .AddArg("sequence_length", "Number of frames in a sequence.", DALI_INT32)
    .AddOptionalArg(
        "last_sequence_policy",
        "How the last sequence of a video is handled if frames are missing. ``\"partial\"``: it is shorter. "
        "``\"pad\"``: ``fill_value`` fills it up.",
        "partial")
    .AddOptionalArg("fill_value", "The value of the output in places without a frame: one number, or one a channel.",
                    std::vector<float>{0.0f})
    .MakeStateful();

DALI_REGISTER_OPERATOR(tricodec__InputVideo, tricodec::plugin::InputVideo, ::dali::CPU);
