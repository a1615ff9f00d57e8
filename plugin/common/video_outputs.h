// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "common/backend.h"
#include "common/batch_decoder.h"
#include "common/transform_arguments.h"
#include "common/video_batch.h"

// How a VideoBatch becomes the outputs of an operator, on the CPU and on a GPU.
namespace tricodec::plugin {

/// A frame of the fill value.
[[nodiscard]] inline std::vector<std::byte> filled_frame(const VideoBatch& batch, const VideoSample& sample) {
    std::size_t num_elements = 1;
    for (std::size_t axis = 1; axis < sample.shape.size(); ++axis) {
        num_elements *= static_cast<std::size_t>(sample.shape[axis]);
    }
    const auto& fill = batch.fill_value();
    const bool planes = batch.arguments().transform().options().layout == Layout::chw;
    const auto filled = [&](auto converted) {
        std::vector<decltype(converted(0.0F))> values(num_elements);
        for (std::size_t i = 0; i < num_elements; ++i) {
            values[i] = converted(fill[planes ? i * fill.size() / num_elements : i % fill.size()]);
        }
        const auto bytes = std::as_bytes(std::span(values));
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    switch (batch.arguments().dtype()) {
        case DType::float32:
            return filled([](float value) { return value; });
        case DType::float16:
            return filled([](float value) { return ::dali::float16(value); });
        case DType::uint16:
            return filled([](float value) { return static_cast<std::uint16_t>(value); });
        default:
            return filled([](float value) { return static_cast<std::uint8_t>(value); });
    }
}

/// Copies host bytes, or on a GPU bytes of its memory, between memory of DALI.
template <typename Backend>
void copy_bytes(void* to, const void* from, std::size_t size, ::dali::Workspace& workspace, Device device) {
    if constexpr (kOnGpu<Backend>) {
        copy_on_device(to, from, size, device.index, workspace.output_order());
    } else if (size > 0) {
        std::memcpy(to, from, size);
    }
}

/// Shortens samples that have fewer frames than were planned, and keeps those frames. DALI refuses to resize one sample
/// of a contiguous output, and a sample that it resizes to less than half loses its data. So the frames are kept aside.
template <typename Backend>
void shorten_frames(const VideoBatch& batch, ::dali::Workspace& workspace, Device device) {
    auto& frames = workspace.Output<OutputBackend<Backend>>(0);
    const auto shape = batch.frames_shape();
    if (frames.shape() == shape) return;
    ::dali::TensorList<OutputBackend<Backend>> kept;
    if constexpr (kOnGpu<Backend>) {
        kept.set_device_id(device.index);
        kept.set_order(workspace.output_order());
    } else {
        kept.set_pinned(false);
    }
    kept.Resize(shape, frames.type());
    for (int i = 0; i < shape.num_samples(); ++i) {
        copy_bytes<Backend>(kept.raw_mutable_tensor(i), frames.raw_tensor(i), bytes_of(kept, i), workspace, device);
    }
    frames.Resize(shape, kept.type());
    frames.Copy(kept, workspace.output_order());
}

template <typename Backend>
void write_padding(const VideoBatch& batch, ::dali::Workspace& workspace, Device device) {
    auto& frames = workspace.Output<OutputBackend<Backend>>(0);
    for (int i = 0; i < frames.num_samples(); ++i) {
        const VideoSample& sample = batch.samples()[static_cast<std::size_t>(i)];
        std::vector<std::byte> filled;
        for (std::size_t place = 0; place < sample.indices.size(); ++place) {
            if (sample.indices[place] != kNoFrame) continue;
            if (filled.empty()) filled = filled_frame(batch, sample);
            auto* to = static_cast<std::byte*>(frames.raw_mutable_tensor(i)) + place * filled.size();
            if constexpr (kOnGpu<Backend>) {
                copy_to_device(to, filled, device.index, workspace.output_order());
            } else {
                std::memcpy(to, filled.data(), filled.size());
            }
        }
    }
}

template <typename T>
void fill_integers(const IntegerOutput& integers, ::dali::TensorList<::dali::CPUBackend>& output) {
    for (std::size_t i = 0; i < integers.samples.size(); ++i) {
        if (integers.samples[i].empty()) continue;
        std::ranges::transform(integers.samples[i], output.mutable_tensor<T>(static_cast<int>(i)),
                               [](std::int64_t value) { return static_cast<T>(value); });
    }
}

/// Writes the outputs other than the frames.
template <typename Backend>
void write_numbers(const VideoBatch& batch, ::dali::Workspace& workspace) {
    const int times = batch.times_output();
    const auto write_times = [&](auto& output) {
        for (int i = 0; i < output.num_samples(); ++i) {
            const auto& seconds = batch.samples()[static_cast<std::size_t>(i)].pts_seconds;
            if (!seconds.empty()) std::ranges::copy(seconds, output.template mutable_tensor<double>(i));
        }
    };
    if (times > 0) write_output<Backend>(workspace, times, batch.pts_shape(), DALI_FLOAT64, write_times);
    int index = 1;
    for (const IntegerOutput& integers : batch.integers()) {
        if (index == times) ++index;
        write_output<Backend>(workspace, index++, integers.shape(), integers.type, [&](auto& output) {
            if (integers.type == DALI_INT64) return fill_integers<std::int64_t>(integers, output);
            fill_integers<std::int32_t>(integers, output);
        });
    }
}

/// Decodes a batch with settled shapes into the outputs of an operator, and clears it: on the CPU on DALI's threads, on
/// a GPU in the order of DALI's stream, without waiting for it. `num_threads` decode what a GPU cannot. `write_more`
/// writes the outputs after those of the batch, if there are any: then no shape is known before.
template <typename Backend>
void decode_to_outputs(VideoBatch& batch, ::dali::Workspace& workspace, Device device, int num_threads,
                       const std::function<void()>& write_more = {}) {
    auto& frames = workspace.Output<OutputBackend<Backend>>(0);
    if (batch.arguments().empty_on_error() || write_more)
        frames.Resize(batch.frames_shape(), to_dali(batch.arguments().dtype()));
    Destination destination{.data = [&](int sample) { return frames.raw_mutable_tensor(sample); },
                            .device = device,
                            .num_cores = num_threads};
    if constexpr (kOnGpu<Backend>) {
        destination.stream = stream_of(workspace);
    } else {
        destination.num_cores = workspace.GetThreadPool().NumThreads();
    }
    BatchDecoder decoder(batch, destination);
    auto tasks = decoder.tasks();
    run_tasks<Backend>(std::move(tasks), workspace, decoder.num_threads());
    decoder.finish();
    batch.settle_errors();
    shorten_frames<Backend>(batch, workspace, device);
    write_padding<Backend>(batch, workspace, device);
    write_numbers<Backend>(batch, workspace);
    if (write_more) write_more();
    for (int output = 0; output < workspace.NumOutput(); ++output) {
        auto& list = workspace.Output<OutputBackend<Backend>>(output);
        for (int i = 0; i < list.num_samples(); ++i) {
            list.SetSourceInfo(i, batch.video_of(batch.samples()[static_cast<std::size_t>(i)]).name);
        }
    }
    workspace.Output<OutputBackend<Backend>>(0).SetLayout(batch.arguments().layout());
    if (const int times = batch.times_output(); times > 0) {
        workspace.Output<OutputBackend<Backend>>(times).SetLayout("F");
    }
    batch.clear();
}

}  // namespace tricodec::plugin
