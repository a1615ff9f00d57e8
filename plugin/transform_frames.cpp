// SPDX-License-Identifier: Apache-2.0
#include "transform_frames.h"

#include <dali/pipeline/operator/error_reporting.h>

#include <algorithm>
#include <string>
#include <utility>

#include "errors.h"
#include "options.h"
#include "tricodec/error.h"

namespace tricodec::plugin {
namespace {

void expect_samples(PixelFormat format, ::dali::DALIDataType type) {
    const bool words = sample_dtype(format) == DType::uint16;
    if (type == (words ? DALI_UINT16 : DALI_UINT8)) return;
    throw ::dali::DaliTypeError(
        ::dali::make_string("the input \"frames\" holds ", type, "; the samples of ", std::string(to_string(format)),
                            " are ", words ? "uint16 (of bytes: fn.reinterpret(x, dtype=types.UINT16))" : "uint8"));
}

std::int64_t pixels_of(const RawFrames& raw) {
    return std::int64_t{raw.width} * raw.height;
}

/// In how many bands a frame is transformed, so that a batch of few large frames keeps all threads at work.
int parts_of_frame(const RawFrames& raw, std::int64_t num_frames, int num_threads) {
    constexpr std::int64_t kLeastPixels = 1 << 17;  // less than some 50 us of work is not worth a task
    const std::int64_t wanted = (num_threads + num_frames - 1) / std::max<std::int64_t>(1, num_frames);
    return static_cast<int>(std::clamp<std::int64_t>(pixels_of(raw) / kLeastPixels, 1, wanted));
}

}  // namespace

TransformRequest::TransformRequest(const ::dali::OpSpec& spec)
    : arguments_(translate_errors("", [&] { return TransformArguments(spec, true); })),
      width_("width", spec),
      height_("height", spec),
      rotation_("rotation", spec),
      mirrored_(spec.GetArgument<bool>("mirrored")) {
    translate_errors("", [&] {
        format_ = parse_pixel_format(spec.GetArgument<std::string>("format"));
        color_.chroma_location = parse_chroma_location(spec.GetArgument<std::string>("chroma_location"));
    });
}

std::vector<TransformRequest::Sample> TransformRequest::read(const ::dali::ArgumentWorkspace& workspace,
                                                             const ::dali::TensorListShape<>& input,
                                                             ::dali::DALIDataType type) const {
    expect_samples(format_, type);
    const int num_samples = input.num_samples();
    const auto width = width_.values(workspace, num_samples);
    const auto height = height_.values(workspace, num_samples);
    const auto rotation = rotation_.values(workspace, num_samples);
    const auto arguments = arguments_.for_samples(workspace, num_samples);
    std::vector<Sample> samples;
    for (int i = 0; i < num_samples; ++i) {
        const auto n = static_cast<std::size_t>(i);
        const auto extents = input.tensor_shape_span(i);
        const std::vector<std::int64_t> shape(extents.begin(), extents.end());
        samples.push_back(translate_errors(context_of(i, num_samples), [&] {
            return read_sample(shape, width[n][0], height[n][0], rotation[n][0], arguments[n]);
        }));
    }
    return samples;
}

TransformRequest::Sample TransformRequest::read_sample(std::span<const std::int64_t> shape, std::int64_t width,
                                                       std::int64_t height, std::int64_t rotation,
                                                       const TransformArguments::Sample& arguments) const {
    if (arguments.error) std::rethrow_exception(arguments.error);
    TRICODEC_EXPECT(rotation == 0 || rotation == 90 || rotation == 180 || rotation == 270, invalid_argument,
                    "rotation is " + std::to_string(rotation) + "; it must be 0, 90, 180 or 270");
    Sample sample;
    sample.transform = arguments.transform;
    sample.raw = read_raw_shape(format_, shape, width, height);
    sample.orientation = {static_cast<int>(rotation), mirrored_};
    sample.frame_shape = sample.transform->output_shape(sample.raw.width, sample.raw.height, sample.orientation);
    auto whole = sample.frame_shape;
    whole.insert(whole.begin(), sample.raw.num_frames);
    check_output_bytes(whole, options().dtype);
    return sample;
}

Frame TransformRequest::frame(const Sample& sample, std::byte* data, std::int64_t index) const {
    const std::int64_t size = info(format_).packed_bytes(sample.raw.width, sample.raw.height);
    Frame result = frame_over(format_, sample.raw.width, sample.raw.height, data + index * size);
    result.color = color_;
    result.orientation = sample.orientation;
    return result;
}

::dali::OutputDesc TransformRequest::output(const std::vector<Sample>& samples, int input_ndim) const {
    const bool sequences = has_sequences(input_ndim);
    const int ndim = layout_ndim(options().layout) + (sequences ? 1 : 0);
    ::dali::TensorListShape<> shape(static_cast<int>(samples.size()), ndim);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        auto extents = samples[i].frame_shape;
        if (sequences) extents.insert(extents.begin(), samples[i].raw.num_frames);
        shape.set_tensor_shape(static_cast<int>(i), ::dali::TensorShape<>(extents));
    }
    translate_errors("", [&] { check_batch_bytes(shape, options().dtype); });
    return {std::move(shape), to_dali(options().dtype)};
}

std::string TransformRequest::output_layout(int input_ndim) const {
    return (has_sequences(input_ndim) ? "F" : "") + layout_name(options().layout);
}

std::int64_t TransformRequest::frame_bytes(const Sample& sample) const {
    std::int64_t size = static_cast<std::int64_t>(size_of(options().dtype));
    for (const std::int64_t extent : sample.frame_shape) size *= extent;
    return size;
}

TransformFrames::TransformFrames(const ::dali::OpSpec& spec) : StatelessOperator(spec), request_(spec) {}

bool TransformFrames::SetupImpl(std::vector<::dali::OutputDesc>& outputs, const ::dali::Workspace& workspace) {
    const auto& input = workspace.Input<::dali::CPUBackend>(0);
    samples_ = request_.read(workspace, input.shape(), input.type());
    outputs.resize(1);
    outputs[0] = request_.output(samples_, input.sample_dim());
    return true;
}

void TransformFrames::RunImpl(::dali::Workspace& workspace) {
    const auto& input = workspace.Input<::dali::CPUBackend>(0);
    auto& output = workspace.Output<::dali::CPUBackend>(0);
    auto& pool = workspace.GetThreadPool();
    const int num_samples = input.num_samples();
    const DType dtype = request_.options().dtype;
    std::int64_t num_frames = 0;
    for (const auto& sample : samples_) num_frames += sample.raw.num_frames;
    for (int i = 0; i < num_samples; ++i) {
        const auto& sample = samples_[static_cast<std::size_t>(i)];
        // The pixels are only read, but a Frame has no other kind of pointer.
        auto* from = const_cast<std::byte*>(static_cast<const std::byte*>(input.raw_tensor(i)));
        auto* to = static_cast<std::byte*>(output.raw_mutable_tensor(i));
        const std::int64_t size = request_.frame_bytes(sample);
        const int num_parts = parts_of_frame(sample.raw, num_frames, pool.NumThreads());
        for (std::int64_t task = 0; task < sample.raw.num_frames * num_parts; ++task) {
            const auto run = [=, this, &sample](int /*thread*/) {
                const std::int64_t index = task / num_parts;
                const TensorView view{.data = to + index * size,
                                      .dtype = dtype,
                                      .device = {},
                                      .shape = sample.frame_shape,
                                      .strides_bytes = contiguous_strides(sample.frame_shape, dtype)};
                translate_errors(context_of(i, num_samples), [&] {
                    sample.transform->run_part(request_.frame(sample, from, index), view,
                                               static_cast<int>(task % num_parts), num_parts);
                });
            };
            pool.AddWork(run, pixels_of(sample.raw) / num_parts);
        }
        output.SetSourceInfo(i, input.GetMeta(i).GetSourceInfo());
    }
    pool.RunAll();
    output.SetLayout(request_.output_layout(input.sample_dim()));
    samples_.clear();
}

}  // namespace tricodec::plugin
