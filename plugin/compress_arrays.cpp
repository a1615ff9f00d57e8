// SPDX-License-Identifier: Apache-2.0
#include "compress_arrays.h"

#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "codec_arguments.h"
#include "gpu_stream.h"
#include "tricodec/error.h"
#include "tricodec/npy_header.h"

namespace tricodec::plugin {
namespace {

std::vector<std::byte> header_of(const ::dali::TensorListShape<>& shape, ::dali::DALIDataType type, int sample) {
    const auto extents = shape.tensor_shape_span(sample);
    return make_npy_header(typestr_of(type), std::vector<std::int64_t>(extents.begin(), extents.end()));
}

/// The samples' bytes, each behind its header, in memory of their own.
std::vector<std::shared_ptr<Buffer>> with_headers(const ::dali::TensorList<::dali::CPUBackend>& input,
                                                  const TaskRunner& runner) {
    std::vector<std::shared_ptr<Buffer>> files;
    std::vector<std::function<void()>> tasks;
    for (int i = 0; i < input.num_samples(); ++i) {
        const auto header = header_of(input.shape(), input.type(), i);
        const std::size_t size = bytes_of(input, i);
        files.push_back(Buffer::allocate(header.size() + size));
        std::byte* to = files.back()->data();
        std::memcpy(to, header.data(), header.size());
        if (size == 0) continue;
        tasks.emplace_back(
            [to = to + header.size(), from = input.raw_tensor(i), size] { std::memcpy(to, from, size); });
    }
    runner(tasks);
    return files;
}

/// Errors of some of a batch's samples, with the numbers that the samples have in the batch.
template <typename Function>
auto in_batch(const std::vector<std::size_t>& samples, std::size_t count, Function&& function) {
    try {
        return function();
    } catch (const BatchError& error) {
        throw BatchError(Error(error.code(), error.reason()), "sample", samples[error.index()], count);
    }
}

}  // namespace

CompressArrays::CompressArrays(const ::dali::OpSpec& spec) : StatelessOperator(spec) {
    const auto make = [](const CodecOptions& options) { return std::make_unique<Compressor>(options); };
    translate_errors("", [&] { codecs_ = std::make_unique<SampleCodecs<Compressor>>(spec, num_threads_, make); });
}

bool CompressArrays::SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/, const ::dali::Workspace& /*workspace*/) {
    return false;  // sizes are known when all is compressed
}

void CompressArrays::RunImpl(::dali::Workspace& workspace) {
    const auto& input = workspace.Input<::dali::CPUBackend>(0);
    auto& output = workspace.Output<::dali::CPUBackend>(0);
    const TaskRunner runner = runner_on(workspace.GetThreadPool());
    name_samples(input.num_samples(), [&] {
        const std::vector<const Compressor*> codecs = codecs_->of(workspace, input.num_samples());
        std::vector<ByteView> views = views_of(input);
        std::vector<std::shared_ptr<Buffer>> files;
        if (codecs_->request().has_header()) {
            files = with_headers(input, runner);
            for (std::size_t i = 0; i < files.size(); ++i) views[i] = files[i]->bytes();
        }
        std::vector<Compressor::Job> jobs;
        for (std::size_t i = 0; i < views.size(); ++i) jobs.push_back({codecs[i], views[i]});
        const auto place = [&](std::span<const std::size_t> sizes) {
            resize_to_bytes(output, sizes);
            return places_of(output);
        };
        Compressor::compress_each(jobs, place, runner);
    });
    copy_source_info(input, output);
}

CompressArraysGpu::CompressArraysGpu(const ::dali::OpSpec& spec)
    : StatelessOperator(spec), device_(usable_gpu(spec, "compress")) {
    const auto make = [this](const CodecOptions& options) { return std::make_unique<GpuCodec>(options, device_); };
    translate_errors("", [&] {
        TRICODEC_EXPECT(!spec.ArgumentDefined("level"), invalid_argument,
                        "level is an option of the CPU's compressors; leave it out, or pass device=\"cpu\"");
        codecs_ = std::make_unique<SampleCodecs<GpuCodec>>(spec, 0, make);
    });
}

bool CompressArraysGpu::SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/,
                                  const ::dali::Workspace& /*workspace*/) {
    return false;
}

void CompressArraysGpu::RunImpl(::dali::Workspace& workspace) {
    const auto& input = workspace.Input<::dali::GPUBackend>(0);
    auto& output = workspace.Output<::dali::GPUBackend>(0);
    const StreamView stream = stream_of(workspace);
    const auto order = workspace.output_order();
    name_samples(input.num_samples(), [&] {
        const std::vector<const GpuCodec*> codecs = codecs_->of(workspace, input.num_samples());
        std::vector<DeviceBytes> views = device_views(input);
        std::vector<std::shared_ptr<Buffer>> files;
        for (std::size_t i = 0; codecs_->request().has_header() && i < views.size(); ++i) {
            const auto header = header_of(input.shape(), input.type(), static_cast<int>(i));
            const auto file = Buffer::allocate(header.size() + views[i].size, device_, stream);
            copy_to_device(file->data(), header, device_.index, order);
            copy_on_device(file->data() + header.size(), views[i].data, views[i].size, device_.index, order);
            views[i] = {file->data(), file->size_bytes()};
            files.push_back(file);
        }
        const auto place = [&](std::span<const std::size_t> sizes) {
            resize_to_bytes(output, sizes);
            return device_views(output);
        };
        compress_each(codecs, views, place, stream, order);
        for (const auto& file : files) file->used_on(stream);
    });
    copy_source_info(input, output);
}

void CompressArraysGpu::compress_each(std::span<const GpuCodec* const> codecs, std::span<const DeviceBytes> views,
                                      const DeviceBatchPlacer& place, StreamView stream,
                                      ::dali::AccessOrder order) const {
    std::map<const GpuCodec*, std::vector<std::size_t>> samples_of;
    for (std::size_t i = 0; i < codecs.size(); ++i) samples_of[codecs[i]].push_back(i);
    if (samples_of.size() <= 1) {
        if (!codecs.empty()) codecs.front()->compress(views, place, stream);
        return;
    }
    // All settings are queued before the first sizes are waited for. DALI's memory can be had once all sizes are known.
    std::vector<std::pair<std::unique_ptr<GpuCompression>, const std::vector<std::size_t>*>> started;
    for (const auto& [codec, samples] : samples_of) {
        std::vector<DeviceBytes> chosen;
        for (const std::size_t sample : samples) chosen.push_back(views[sample]);
        started.emplace_back(in_batch(samples, codecs.size(), [&] { return codec->start_compress(chosen, stream); }),
                             &samples);
    }
    std::vector<std::shared_ptr<Buffer>> results(views.size());
    std::vector<std::size_t> all_sizes(views.size());
    for (const auto& [compression, samples] : started) {
        const auto keep = [&, &samples = *samples](std::span<const std::size_t> sizes) {
            std::vector<DeviceBytes> places;
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                const std::size_t sample = samples[i];
                results[sample] = Buffer::allocate(sizes[i], device_, stream);
                all_sizes[sample] = sizes[i];
                places.push_back({results[sample]->data(), sizes[i]});
            }
            return places;
        };
        in_batch(*samples, codecs.size(), [&] { compression->finish(keep); });
    }
    const std::vector<DeviceBytes> places = place(all_sizes);
    for (std::size_t i = 0; i < places.size(); ++i) {
        copy_on_device(places[i].data, results[i]->data(), all_sizes[i], device_.index, order);
        results[i]->used_on(stream);
    }
}

}  // namespace tricodec::plugin
