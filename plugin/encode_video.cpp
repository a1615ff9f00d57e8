// SPDX-License-Identifier: Apache-2.0
#include "encode_video.h"

#include <dali/pipeline/operator/error_reporting.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "errors.h"

namespace tricodec::plugin {

void EncodeBatch::begin(const ::dali::Workspace& workspace, const ::dali::TensorListShape<>& shape,
                        ::dali::DALIDataType type, const std::string& layout) {
    if (type != DALI_UINT8 && type != DALI_UINT16) {
        throw ::dali::DaliTypeError(::dali::make_string(
            "the input \"frames\" holds ", type,
            "; frames to encode are uint8, 0 to 255 (undo a normalization, then fn.cast), and raw planes of more than "
            "8 bits uint16"));
    }
    shape_ = shape;
    dtype_ = type == DALI_UINT8 ? DType::uint8 : DType::uint16;
    layout_ = arguments_.pictures(layout);
    options_ = arguments_.for_samples(workspace, shape.num_samples());
    files_.assign(options_.size(), nullptr);
    errors_.assign(options_.size(), nullptr);
}

void EncodeBatch::encode(int sample, const void* data, Device device, std::shared_ptr<Buffer> buffer,
                         std::span<const double> pts_seconds) noexcept {
    const auto n = static_cast<std::size_t>(sample);
    try {
        const auto extents = shape_.tensor_shape_span(sample);
        Tensor pixels;
        pixels.view.data = const_cast<void*>(data);  // the pixels are only read, but a Frame has no other pointer
        pixels.view.dtype = dtype_;
        pixels.view.device = device;
        pixels.view.shape = {extents.begin(), extents.end()};
        pixels.view.strides_bytes = contiguous_strides(pixels.view.shape, dtype_);
        pixels.buffer = std::move(buffer);
        files_[n] = encode_video(PictureArray(std::move(pixels), layout_), pts_seconds, options_[n]);
    } catch (...) {
        errors_[n] = std::current_exception();
    }
}

void EncodeBatch::settle_errors() {
    const auto failed = std::ranges::find_if(errors_, [](const auto& error) { return error != nullptr; });
    if (failed == errors_.end()) return;
    const auto num_failed = std::ranges::count_if(errors_, [](const auto& error) { return error != nullptr; });
    const Failure failure = describe_failure(*failed);
    std::string message = "Sample " + std::to_string(failed - errors_.begin()) + " of the batch of " +
                          std::to_string(errors_.size()) + ": " + failure.message;
    if (num_failed > 1) message += " [" + std::to_string(num_failed - 1) + " more of this batch failed]";
    clear();
    throw_dali(failure.code, message);
}

std::size_t EncodeBatch::input_bytes(int sample) const {
    return static_cast<std::size_t>(shape_.tensor_size(sample)) * size_of(dtype_);
}

::dali::TensorListShape<> EncodeBatch::file_shapes() const {
    ::dali::TensorListShape<> shapes(size(), 1);
    for (int i = 0; i < size(); ++i) {
        shapes.set_tensor_shape(i, ::dali::TensorShape<>{static_cast<std::int64_t>(file(i).size())});
    }
    return shapes;
}

void EncodeBatch::clear() {
    files_.clear();
    errors_.clear();
    options_.clear();
}

std::vector<std::vector<double>> read_pts(const ::dali::Workspace& workspace) {
    if (workspace.NumInput() < 2) return {};
    const auto& list = workspace.Input<::dali::CPUBackend>(1);
    if ((list.type() != DALI_FLOAT64 && list.type() != DALI_FLOAT) || list.sample_dim() != 1) {
        throw ::dali::DaliTypeError(::dali::make_string("the input \"pts\" holds ", list.type(), " of ",
                                                        list.sample_dim(),
                                                        " dimensions; it takes the frames' times in seconds, float64 "
                                                        "[F], as fn.tricodec.decode_video gives them"));
    }
    std::vector<std::vector<double>> times(static_cast<std::size_t>(list.num_samples()));
    for (int i = 0; i < list.num_samples(); ++i) {
        auto& sample = times[static_cast<std::size_t>(i)];
        const auto count = list.tensor_shape(i).num_elements();
        if (list.type() == DALI_FLOAT64) {
            const auto* data = list.tensor<double>(i);
            sample.assign(data, data + count);
        } else {
            const auto* data = list.tensor<float>(i);
            sample.assign(data, data + count);
        }
        if (sample.empty()) throw_dali(ErrorCode::invalid_argument, "Sample " + std::to_string(i) + " has no times");
    }
    return times;
}

EncodeVideo::EncodeVideo(const ::dali::OpSpec& spec) : StatelessOperator(spec), batch_(spec, "cpu") {}

void EncodeVideo::RunImpl(::dali::Workspace& workspace) {
    const auto& frames = workspace.Input<::dali::CPUBackend>(0);
    auto& files = workspace.Output<::dali::CPUBackend>(0);
    batch_.begin(workspace, frames.shape(), frames.type(), frames.GetLayout().str());
    const auto times = read_pts(workspace);
    auto& pool = workspace.GetThreadPool();
    for (int i = 0; i < batch_.size(); ++i) {
        const std::span<const double> pts =
            times.empty() ? std::span<const double>{} : times[static_cast<std::size_t>(i)];
        pool.AddWork([this, &frames, i, pts](int /*thread*/) { batch_.encode(i, frames.raw_tensor(i), {}, {}, pts); },
                     batch_.cost(i));
    }
    pool.RunAll();
    batch_.settle_errors();
    files.Resize(batch_.file_shapes(), DALI_UINT8);
    for (int i = 0; i < batch_.size(); ++i) {
        const auto file = batch_.file(i);
        std::memcpy(files.mutable_tensor<std::uint8_t>(i), file.data(), file.size());
        files.SetSourceInfo(i, frames.GetMeta(i).GetSourceInfo());
    }
    batch_.clear();
}

}  // namespace tricodec::plugin
