// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/checkpointing/stateless_operator.h>
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "common/arguments.h"
#include "common/backend.h"
#include "common/encoded_input.h"
#include "common/errors.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"
#include "tricodec/image/transform.h"
#include "tricodec/video/frame_reader.h"

namespace tricodec::plugin {
namespace {

/// What fn.tricodec.probe gives of a video.
struct VideoFacts {
    std::int64_t num_frames = 0;
    Size size{};
    double frame_rate = 0;
    double duration_seconds = 0;
};

VideoFacts facts_of(const MediaSource& source, int stream_index) {
    const auto reader = FrameReader::open(source, {.device = "cpu", .stream_index = stream_index, .num_workers = 1});
    reader->expect_frames();
    const Frame geometry = reader->geometry();
    const auto& rate = reader->stream().average_frame_rate;
    VideoFacts facts{.num_frames = reader->num_frames(),
                     .size = Transform().output_size(geometry.width, geometry.height, geometry.orientation),
                     .frame_rate = rate.num > 0 ? rate.to_double() : 0,
                     .duration_seconds = reader->stream().duration_seconds()};
    if (facts.duration_seconds == 0) facts.duration_seconds = reader->info().duration_seconds;
    return facts;
}

}  // namespace

/// fn.tricodec.probe: encoded files in, facts of their videos out. Packets are read, nothing is decoded.
class Probe : public ::dali::StatelessOperator<::dali::CPUBackend> {
public:
    explicit Probe(const ::dali::OpSpec& spec)
        : ::dali::StatelessOperator<::dali::CPUBackend>(spec), stream_index_(spec.GetArgument<int>("stream_index")) {
        const auto on_error = spec.GetArgument<std::string>("on_error");
        translate_errors("", [&] {
            TRICODEC_EXPECT(on_error == "raise" || on_error == "empty", invalid_argument,
                            "on_error '" + on_error + "' is not one of raise, empty");
        });
        empty_on_error_ = on_error == "empty";
    }

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) override {
        const auto& encoded = workspace.Input<::dali::CPUBackend>(0);
        EncodedInput::expect_bytes(encoded);
        const int count = encoded.num_samples();
        const auto shape = [count](std::int64_t size) {
            return ::dali::uniform_list_shape(count, ::dali::TensorShape<>{size});
        };
        outputs = {{shape(1), DALI_INT64}, {shape(2), DALI_INT64}, {shape(1), DALI_FLOAT64}, {shape(1), DALI_FLOAT64}};
        return true;
    }

    void RunImpl(::dali::Workspace& workspace) override {
        const auto& encoded = workspace.Input<::dali::CPUBackend>(0);
        std::vector<Task> tasks;
        for (int i = 0; i < encoded.num_samples(); ++i) {
            tasks.push_back({[this, i, &workspace] { write(i, facts(i, workspace), workspace); },
                             encoded.tensor_shape(i).num_elements()});
        }
        run_on_pool(std::move(tasks), workspace.GetThreadPool());
        for (int output = 0; output < workspace.NumOutput(); ++output) {
            copy_source_info(encoded, workspace.Output<::dali::CPUBackend>(output));
        }
    }

private:
    [[nodiscard]] VideoFacts facts(int sample, const ::dali::Workspace& workspace) const {
        const auto& encoded = workspace.Input<::dali::CPUBackend>(0);
        try {
            return facts_of(EncodedInput::whole_file(encoded, sample), stream_index_);
        } catch (...) {
            const auto failure = describe_failure(std::current_exception());
            const auto& name = encoded.GetMeta(sample).GetSourceInfo();
            const auto message =
                context_of(sample, encoded.num_samples()) + (name.empty() ? "" : name + ": ") + failure.message;
            if (!empty_on_error_ || !is_fault_of_sample(failure.code)) throw_dali(failure.code, message);
            log(LogLevel::warning, "probe: " + message + "; the sample has 0 frames");
            return {};
        }
    }

    static void write(int sample, const VideoFacts& facts, ::dali::Workspace& workspace) {
        const auto at = [&](int output) -> auto& { return workspace.Output<::dali::CPUBackend>(output); };
        *at(0).mutable_tensor<std::int64_t>(sample) = facts.num_frames;
        at(1).mutable_tensor<std::int64_t>(sample)[0] = facts.size.height;
        at(1).mutable_tensor<std::int64_t>(sample)[1] = facts.size.width;
        *at(2).mutable_tensor<double>(sample) = facts.frame_rate;
        *at(3).mutable_tensor<double>(sample) = facts.duration_seconds;
    }

    int stream_index_;
    bool empty_on_error_ = false;
};

namespace {

constexpr const char* kProbeDoc = R"(Says how many frames videos have, how large they are and how long.

It takes what ``fn.tricodec.decode_video`` takes, and decodes nothing: it reads the headers, and counts frames by the packets.

Outputs:

* num_frames: the number of frames, int64 of one element.
* size: (height, width) of the upright picture, which is the size of decoded frames, int64 of two elements.
* frame_rate: frames in a second as the file states or implies it, 0 if it does not, float64 of one element.
* duration: seconds, 0 if the file does not say, float64 of one element.

Example::

    encoded, _ = fn.readers.file(files=files)
    num_frames, size, frame_rate, duration = fn.tricodec.probe(encoded)
    middle = fn.tricodec.decode_video(encoded, start=num_frames // 2, count=1)
)";

}  // namespace
}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__Probe)
    .DocStr(tricodec::plugin::kProbeDoc)
    .NumInput(1)
    .NumOutput(4)
    .InputDox(0, "encoded", "1D TensorList of uint8", "The bytes of whole video files, one a sample.")
#if TRICODEC_DALI_VERSION >= 202  // 2.2 is the first that asks for them
    .OutputDType(0, DALI_INT64)
    .OutputNDim(0, 1)
    .OutputDType(1, DALI_INT64)
    .OutputNDim(1, 1)
    .OutputDType(2, DALI_FLOAT64)
    .OutputNDim(2, 1)
    .OutputDType(3, DALI_FLOAT64)
    .OutputNDim(3, 1)
#endif
    .AddOptionalArg("stream_index", "Number of the stream in the file; -1 is the best video stream.", -1)
    .AddOptionalArg("on_error",
                    "How a sample that cannot be read is handled. ``\"raise\"``: the batch fails with an error that "
                    "names the sample. ``\"empty\"``: all of its numbers are 0, and a warning is logged.",
                    "raise")
    .MakeStateless();

DALI_REGISTER_OPERATOR(tricodec__Probe, tricodec::plugin::Probe, ::dali::CPU);
