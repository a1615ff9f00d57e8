// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dali/pipeline/operator/op_spec.h>
#include <dali/pipeline/workspace/workspace.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/backend.h"
#include "common/errors.h"
#include "common/transform_arguments.h"
#include "common/video_batch.h"
#include "tricodec/audio/audio_reader.h"
#include "tricodec/io/media_source.h"
#include "tricodec/read/frame_reader.h"

namespace tricodec::plugin {

/// The output of an operator that has the sound of each sample's frames: from the time of the first frame to the end of
/// the last one, as tricodec.read_av gives it.
class SoundOutput {
public:
    /// Reads the arguments audio_rate, audio_channels and audio_dtype. Throws DALI's errors.
    explicit SoundOutput(const ::dali::OpSpec& spec);

    [[nodiscard]] bool is_wanted() const noexcept { return options_.sample_rate > 0; }

    /// The tasks that decode the sound of a batch with selected frames. `source_of` gives the file of a sample. Errors
    /// go to the samples.
    [[nodiscard]] std::vector<Task> tasks(VideoBatch& batch, std::function<MediaSource(std::size_t)> source_of);
    /// Writes output `index`, after the frames are decoded. Samples without frames have no sound.
    template <typename Backend>
    void write(VideoBatch& batch, ::dali::Workspace& workspace, int index) {
        translate_errors("", [&] { settle(batch); });
        write_output<Backend>(workspace, index, shape(), to_dali(options_.dtype), [&](auto& output) {
            for (int i = 0; i < output.num_samples(); ++i) {
                const auto& view = sounds_[static_cast<std::size_t>(i)].samples.data.view;
                if (const auto size = bytes_of(output, i); size > 0) {
                    std::memcpy(output.raw_mutable_tensor(i), view.data, size);
                }
            }
        });
        workspace.Output<OutputBackend<Backend>>(index).SetLayout("CS");
        sounds_.clear();
    }
    void clear() { sounds_.clear(); }

private:
    struct Sound {
        std::unique_ptr<AudioReader> reader;
        FrameReader::TimeSpan span;
        AudioSamples samples;
    };
    void decode(VideoSample& sample, Sound& sound, const MediaSource& source) const;
    /// Decodes again where decoding the frames has shown others than the packets promise.
    void settle(VideoBatch& batch);
    [[nodiscard]] ::dali::TensorListShape<> shape() const;

    AudioReaderOptions options_;
    std::vector<Sound> sounds_;
};

/// The outputs after the frames, for schemas: times, damage and sound, as far as they are wanted.
[[nodiscard]] std::optional<int> second_ndim(const ::dali::OpSpec& spec);
[[nodiscard]] std::optional<::dali::DALIDataType> third_dtype(const ::dali::OpSpec& spec);
[[nodiscard]] std::optional<int> third_ndim(const ::dali::OpSpec& spec);
[[nodiscard]] std::optional<::dali::DALIDataType> sound_dtype(const ::dali::OpSpec& spec);

}  // namespace tricodec::plugin
