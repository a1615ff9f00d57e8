// SPDX-License-Identifier: Apache-2.0
#include "common/sound_output.h"

#include <dali/pipeline/operator/op_schema.h>

#include <algorithm>
#include <string>
#include <utility>

#include "common/arguments.h"
#include "common/errors.h"
#include "common/transform_arguments.h"
#include "tricodec/base/error.h"

namespace tricodec::plugin {
namespace {

FrameReader::TimeSpan span_of(VideoSample& sample) {
    auto frames = sample.indices;
    std::erase(frames, kNoFrame);
    return sample.video->reader().time_span(frames);
}

}  // namespace

SoundOutput::SoundOutput(const ::dali::OpSpec& spec) {
    translate_errors("", [&] {
        options_.sample_rate = int_argument(spec, "audio_rate");
        options_.num_channels = int_argument(spec, "audio_channels");
        TRICODEC_EXPECT(options_.sample_rate >= 0 && options_.num_channels >= 0, invalid_argument,
                        "audio_rate is " + std::to_string(options_.sample_rate) + " and audio_channels " +
                            std::to_string(options_.num_channels) + "; neither can be negative");
        const auto type = spec.GetArgument<::dali::DALIDataType>("audio_dtype");
        TRICODEC_EXPECT(type == DALI_FLOAT || type == DALI_INT16, invalid_argument,
                        "audio_dtype is " + ::dali::make_string(type) + "; use FLOAT (-1 to 1) or INT16");
        options_.dtype = type == DALI_FLOAT ? DType::float32 : DType::int16;
        TRICODEC_EXPECT(is_wanted() || options_.num_channels == 0, invalid_argument,
                        "audio_channels is " + std::to_string(options_.num_channels) +
                            " without audio_rate; pass audio_rate= for an output of sound");
    });
}

std::vector<Task> SoundOutput::tasks(VideoBatch& batch, std::function<MediaSource(std::size_t)> source_of) {
    sounds_ = std::vector<Sound>(batch.samples().size());
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < sounds_.size(); ++i) {
        auto& sample = batch.samples()[i];
        if (sample.error || !sample.video) continue;
        tasks.push_back(
            {[this, &sample, i, source_of] { decode(sample, sounds_[i], source_of(i)); }, batch.video_of(sample).cost});
    }
    return tasks;
}

void SoundOutput::decode(VideoSample& sample, Sound& sound, const MediaSource& source) const {
    try {
        sound.reader = AudioReader::open(source, options_);
        sound.span = span_of(sample);
        sound.samples = sound.reader->read_padded(sound.span.begin_seconds, sound.span.end_seconds);
    } catch (...) {
        sample.error = std::current_exception();
    }
}

void SoundOutput::settle(VideoBatch& batch) {
    for (std::size_t i = 0; i < sounds_.size(); ++i) {
        auto& sample = batch.samples()[i];
        auto& sound = sounds_[i];
        if (sample.indices.empty() || !sample.video) {
            sound.samples = {};
            continue;
        }
        const auto span = span_of(sample);
        if (span.begin_seconds == sound.span.begin_seconds && span.end_seconds == sound.span.end_seconds) continue;
        sound.samples = sound.reader->read_padded(span.begin_seconds, span.end_seconds);
    }
}

::dali::TensorListShape<> SoundOutput::shape() const {
    ::dali::TensorListShape<> shape(static_cast<int>(sounds_.size()), 2);
    for (std::size_t i = 0; i < sounds_.size(); ++i) {
        const auto& view = sounds_[i].samples.data.view;
        const auto channels = options_.num_channels > 0 ? std::int64_t{options_.num_channels} : std::int64_t{0};
        const ::dali::TensorShape<> empty{channels, 0};
        shape.set_tensor_shape(static_cast<int>(i), view.shape.empty() ? empty : ::dali::TensorShape<>(view.shape));
    }
    return shape;
}

std::optional<::dali::DALIDataType> sound_dtype(const ::dali::OpSpec& spec) {
    return spec.GetArgument<::dali::DALIDataType>("audio_dtype");
}

// Without enable_timestamps the second output is what else is wanted.
std::optional<int> second_ndim(const ::dali::OpSpec& spec) {
    return spec.ArgumentDefined("enable_timestamps") ? std::nullopt : std::optional(1);
}

std::optional<::dali::DALIDataType> third_dtype(const ::dali::OpSpec& spec) {
    if (spec.ArgumentDefined("enable_timestamps")) return std::nullopt;
    return spec.GetArgument<bool>("num_damaged_packets") ? DALI_INT64 : sound_dtype(spec);
}

std::optional<int> third_ndim(const ::dali::OpSpec& spec) {
    if (spec.ArgumentDefined("enable_timestamps")) return std::nullopt;
    return spec.GetArgument<bool>("num_damaged_packets") ? 1 : 2;
}

}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__SoundArguments)
    .DocStr("Arguments of the operators that give the sound of videos.")
    .AddOptionalArg("audio_rate",
                    "Adds an output after the others: the sound of the time of the frames at this rate in Hz, "
                    "``[channels, samples]``. It begins with the first frame and ends with the last one; what lies "
                    "outside of the sound of the file is silence. 0 adds none.",
                    0)
    .AddOptionalArg("audio_channels",
                    "Channels of the sound: 1 is mono, 2 stereo; 0 is the number of the stream. Needs ``audio_rate``.",
                    0)
    .AddOptionalTypeArg("audio_dtype", "Type of the sound: ``FLOAT``, from -1 to 1, or ``INT16``.", DALI_FLOAT);
