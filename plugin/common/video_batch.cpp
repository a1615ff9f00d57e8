// SPDX-License-Identifier: Apache-2.0
#include "common/video_batch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/errors.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"
#include "tricodec/tensor/raw_frames.h"

namespace tricodec::plugin {
namespace {

void expect_fits(float fill_value, DType dtype) {
    if (dtype != DType::uint8 && dtype != DType::uint16) return;
    const float most = dtype == DType::uint8 ? 255.0F : 65535.0F;
    TRICODEC_EXPECT(fill_value >= 0 && fill_value <= most && std::trunc(fill_value) == fill_value, invalid_argument,
                    "fill_value is " + ::dali::make_string(fill_value) + "; frames of " +
                        std::string(to_string(dtype)) + " hold integers from 0 to " +
                        std::to_string(static_cast<int>(most)));
}

std::vector<float> read_fill_value(const ::dali::OpSpec& spec, const DecodingArguments& arguments) {
    const auto values = spec.GetRepeatedArgument<float>("fill_value");
    for (const float value : values) expect_fits(value, arguments.dtype());
    const auto layout = arguments.transform().options().layout;
    const bool by_channel = !arguments.format() && (layout == Layout::hwc || layout == Layout::chw);
    const auto num_channels = by_channel ? Transform(arguments.transform().options()).num_channels() : 1;
    TRICODEC_EXPECT(values.size() == 1 || values.size() == static_cast<std::size_t>(num_channels), invalid_argument,
                    "fill_value has " + std::to_string(values.size()) + " numbers; it takes one" +
                        (num_channels > 1 ? ", or one for each of " + std::to_string(num_channels) + " channels"
                                          : std::string(" for these frames")));
    return values;
}

}  // namespace

bool VideoSample::has_frames() const {
    return std::ranges::any_of(indices, [](std::int64_t frame) { return frame != kNoFrame; });
}

::dali::TensorListShape<> IntegerOutput::shape() const {
    return flat_shape(samples, [](const auto& sample) { return sample.size(); });
}

VideoBatch::VideoBatch(const ::dali::OpSpec& spec, std::string operation)
    : operation_(std::move(operation)),
      arguments_(spec),
      fill_value_(translate_errors("", [&] { return read_fill_value(spec, arguments_); })) {}

std::vector<Task> VideoBatch::begin(const ::dali::ArgumentWorkspace& workspace, std::vector<VideoSource> videos,
                                    std::vector<SampleRequest> requests, std::vector<IntegerOutput> integers) {
    videos_ = std::move(videos);
    integers_ = std::move(integers);
    samples_ = std::vector<VideoSample>(requests.size());
    for (std::size_t i = 0; i < samples_.size(); ++i) samples_[i].request = std::move(requests[i]);
    if (!arguments_.format()) {
        const auto transforms = arguments_.transform().for_samples(workspace, static_cast<int>(samples_.size()));
        for (std::size_t i = 0; i < samples_.size(); ++i) {
            samples_[i].transform = transforms[i].transform;
            samples_[i].error = transforms[i].error;
        }
        const auto sizes = arguments_.resize().for_samples(workspace, static_cast<int>(samples_.size()));
        for (std::size_t i = 0; i < sizes.size(); ++i) samples_[i].resize = sizes[i];
    }
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < videos_.size(); ++i) tasks.push_back({[this, i] { open_video(i); }, videos_[i].cost});
    return tasks;
}

void VideoBatch::open_video(std::size_t number) {
    std::shared_ptr<OpenVideo> video;
    std::exception_ptr error;
    try {
        video = videos_[number].open(false);
    } catch (...) {
        error = std::current_exception();
    }
    for (VideoSample& sample : samples_) {
        if (sample.request.video != number || sample.error) continue;
        sample.error = error;
        sample.video = video;
        if (!error) select_frames(sample);
    }
}

void VideoBatch::select_frames(VideoSample& sample) {
    try {
        auto& reader = sample.video->reader();
        set_frames(sample, sample.request.select(reader));
        const auto first = sample.indices.empty() ? 0 : std::max<std::int64_t>(0, sample.indices.front());
        const Frame geometry = reader.geometry(first);
        sample.width = geometry.width;
        sample.height = geometry.height;
        if (sample.resize) {
            const auto cropped = sample.transform->output_size(geometry.width, geometry.height, geometry.orientation);
            sample.transform = sized_.get(sample.transform, resized_size(*sample.resize, cropped));
            sample.resize.reset();
        }
        sample.shape = arguments_.format()
                           ? picture_shape(*arguments_.format(), geometry.width, geometry.height)
                           : sample.transform->output_shape(geometry.width, geometry.height, geometry.orientation);
        sample.shape.insert(sample.shape.begin(), static_cast<std::int64_t>(sample.indices.size()));
        check_output_bytes(sample.shape, arguments_.dtype());
    } catch (...) {
        sample.error = std::current_exception();
    }
}

void VideoBatch::set_frames(VideoSample& sample, std::vector<std::int64_t> numbers) const {
    const auto& pts = sample.video->reader().pts_seconds();
    const double missing = arguments_.times() == TimesOutput::second ? std::nan("") : -1;
    sample.indices = std::move(numbers);
    sample.pts_seconds.clear();
    for (const std::int64_t frame : sample.indices) {
        sample.pts_seconds.push_back(frame == kNoFrame ? missing : pts.at(static_cast<std::size_t>(frame)));
    }
    if (!sample.shape.empty()) sample.shape[0] = std::ssize(sample.indices);
}

bool VideoBatch::settle_shapes(std::vector<::dali::OutputDesc>& outputs) {
    settle_errors();
    try {
        check_batch_bytes(frames_shape(), arguments_.dtype());
    } catch (const Error& error) {
        clear();
        throw_dali(error.code(), error.what());
    }
    if (arguments_.empty_on_error()) return false;
    outputs.clear();
    outputs.push_back({frames_shape(), to_dali(arguments_.dtype())});
    for (const IntegerOutput& output : integers()) outputs.push_back({output.shape(), output.type});
    if (const auto times = times_output(); times > 0) {
        outputs.insert(outputs.begin() + times, {pts_shape(), DALI_FLOAT64});
    }
    return true;
}

void VideoBatch::settle_errors() {
    const auto num_failed =
        std::ranges::count_if(samples_, [](const VideoSample& sample) { return sample.error != nullptr; });
    if (num_failed == 0) return;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        if (!samples_[i].error) continue;
        const Failure failure = describe_failure(samples_[i].error);
        std::string message = "Sample " + std::to_string(i) + " of the batch of " + std::to_string(samples_.size());
        if (!video_of(samples_[i]).name.empty()) message += " (" + video_of(samples_[i]).name + ")";
        message += ": " + failure.message;
        if (!arguments_.empty_on_error() || !is_fault_of_sample(failure.code)) {
            if (num_failed > 1) message += " [" + std::to_string(num_failed - 1) + " more of this batch failed]";
            clear();
            throw_dali(failure.code, message);
        }
        log(LogLevel::warning, operation_ + ": " + message + "; the sample is returned empty");
        make_empty(i);
    }
}

void VideoBatch::make_empty(std::size_t number) {
    VideoSample& sample = samples_[number];
    sample.shape = empty_shape(sample);
    sample.indices.clear();
    sample.pts_seconds.clear();
    sample.error = nullptr;
    for (IntegerOutput& output : integers_) {
        if (output.one_a_frame) output.samples[number].clear();
    }
}

std::vector<std::int64_t> VideoBatch::empty_shape(const VideoSample& sample) const {
    auto shape = sample.shape;
    const std::string letters = arguments_.layout();
    if (shape.empty() && !arguments_.format()) {
        // The size of the picture is not known: it is the requested one, or 0.
        const bool known = sample.transform && sample.transform->options().size;
        const Size size = known ? *sample.transform->options().size : Size{1, 1};
        TransformOptions whole;
        whole.color = arguments_.transform().options().color;
        whole.layout = arguments_.transform().options().layout;
        shape = Transform(whole).output_shape(size.width, size.height, {});
        shape.insert(shape.begin(), 0);
        for (std::size_t axis = 0; axis < letters.size() && !known; ++axis) {
            if (letters[axis] == 'H' || letters[axis] == 'W') shape[axis] = 0;
        }
    }
    shape.resize(letters.size());
    shape[0] = 0;
    return shape;
}

void VideoBatch::clear() {
    samples_.clear();
    videos_.clear();
    integers_.clear();
}

::dali::TensorListShape<> VideoBatch::frames_shape() const {
    ::dali::TensorListShape<> shape(static_cast<int>(samples_.size()), static_cast<int>(arguments_.layout().size()));
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        shape.set_tensor_shape(static_cast<int>(i), ::dali::TensorShape<>(samples_[i].shape));
    }
    return shape;
}

::dali::TensorListShape<> VideoBatch::pts_shape() const {
    return flat_shape(samples_, [](const VideoSample& sample) { return sample.pts_seconds.size(); });
}

int VideoBatch::times_output() const noexcept {
    if (arguments_.times() == TimesOutput::none) return -1;
    return arguments_.times() == TimesOutput::second ? 1 : 1 + static_cast<int>(integers_.size());
}

std::vector<IntegerOutput> VideoBatch::integers() const {
    auto outputs = integers_;
    if (!arguments_.gives_damage()) return outputs;
    outputs.push_back({.type = DALI_INT64});
    for (const VideoSample& sample : samples_) outputs.back().samples.push_back({sample.num_damaged_packets});
    return outputs;
}

}  // namespace tricodec::plugin
