// SPDX-License-Identifier: Apache-2.0
#include "tricodec/compress.h"

#include <dali/pipeline/operator/checkpointing/stateless_operator.h>
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <cstring>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/arguments.h"
#include "common/backend.h"
#include "common/codec_arguments.h"
#include "tricodec/error.h"
#include "tricodec/gpu_codec.h"
#include "tricodec/npy_header.h"

namespace tricodec::plugin {

/// The codec of each sample: settings may be constants or one tensor a sample. Codecs are made when their settings
/// first occur and are kept for the batches that follow.
template <typename Codec>
class SampleCodecs {
public:
    /// Checks the settings that are the same for all samples. Throws tricodec::Error(invalid_argument).
    SampleCodecs(const ::dali::OpSpec& spec, int num_threads, Device device)
        : options_(read_codec_options(spec, num_threads)), device_(device), common_(make(options_)) {
        for (const CodecInteger& integer : codec_integers()) {
            if (spec.HasTensorArgument(integer.name)) varying_.push_back({integer, IntArgument(integer.name, spec)});
        }
    }

    /// By sample; they live until the next call. Throws BatchError for settings that are not accepted, and DALI's
    /// errors for tensors that do not hold one integer a sample.
    [[nodiscard]] std::vector<const Codec*> of(const ::dali::ArgumentWorkspace& workspace, int num_samples) {
        const auto count = static_cast<std::size_t>(num_samples);
        if (varying_.empty()) return {count, common_.get()};
        std::vector<Settings> settings(count);
        for (const Varying& varying : varying_) {
            const auto values = varying.argument.values(workspace, num_samples);
            for (std::size_t i = 0; i < count; ++i) settings[i].push_back(values[i].front());
        }
        if (codecs_.size() > kMostKept) codecs_.clear();
        std::vector<const Codec*> found;
        for_each_sample(count, [&](std::size_t i) {
            auto& codec = codecs_[settings[i]];
            if (!codec) codec = make(options_with(settings[i]));
            found.push_back(codec.get());
        });
        return found;
    }

private:
    /// A sample's values of the settings that differ by sample.
    using Settings = std::vector<std::int64_t>;
    struct Varying {
        CodecInteger integer;
        IntArgument argument;
    };
    // A codec keeps memory for each thread, up to megabytes, and chunks may be of any size.
    static constexpr std::size_t kMostKept = 32;

    [[nodiscard]] std::unique_ptr<Codec> make(const CodecOptions& options) const {
        if (!options.algorithm) static_cast<void>(parse_compression(""));  // fails, and names the algorithms
        if constexpr (std::is_same_v<Codec, GpuCodec>) {
            return std::make_unique<GpuCodec>(options, device_);
        } else {
            return std::make_unique<Codec>(options);
        }
    }
    [[nodiscard]] CodecOptions options_with(const Settings& settings) const {
        CodecOptions options = options_;
        for (std::size_t i = 0; i < varying_.size(); ++i) varying_[i].integer.set(options, settings[i]);
        return options;
    }

    CodecOptions options_;
    Device device_;
    std::vector<Varying> varying_;
    std::unique_ptr<Codec> common_;
    std::map<Settings, std::unique_ptr<Codec>> codecs_;
};

/// fn.tricodec.compress: arrays of any type and shape in, compressed bytes out. On the CPU DALI's threads work on the
/// chunks of all samples side by side; a GPU takes all samples with the same settings in one call, on DALI's stream.
template <typename Backend>
class Compress : public ::dali::StatelessOperator<Backend> {
public:
    explicit Compress(const ::dali::OpSpec& spec)
        : ::dali::StatelessOperator<Backend>(spec),
          device_(device_of<Backend>(spec, "compress")),
          header_(spec.GetArgument<bool>("header")) {
        translate_errors("", [&] {
            TRICODEC_EXPECT(!kOnGpu<Backend> || !spec.ArgumentDefined("level"), invalid_argument,
                            "level is an option of the CPU's compressors; leave it out, or pass device=\"cpu\"");
            codecs_ = std::make_unique<SampleCodecs<Codec>>(spec, kOnGpu<Backend> ? 0 : this->num_threads_, device_);
        });
    }

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/, const ::dali::Workspace& /*workspace*/) override {
        return false;  // sizes are known after compression
    }
    void RunImpl(::dali::Workspace& workspace) override {
        const auto& input = workspace.Input<Backend>(0);
        name_samples(input.num_samples(), [&] { compress(codecs_->of(workspace, input.num_samples()), workspace); });
        copy_source_info(input, workspace.Output<Backend>(0));
    }

private:
    using Codec = std::conditional_t<kOnGpu<Backend>, GpuCodec, Compressor>;
    void compress(const std::vector<const Codec*>& codecs, ::dali::Workspace& workspace) const;

    Device device_;
    bool header_;
    std::unique_ptr<SampleCodecs<Codec>> codecs_;
};

namespace {

template <typename Backend>
std::vector<std::byte> header_of(const ::dali::TensorList<Backend>& input, int sample) {
    const auto extents = input.shape().tensor_shape_span(sample);
    return make_npy_header(typestr_of(input.type()), std::vector<std::int64_t>(extents.begin(), extents.end()));
}

/// The samples' bytes, each after its header, in new memory.
std::vector<std::shared_ptr<Buffer>> with_headers(const ::dali::TensorList<::dali::CPUBackend>& input,
                                                  const TaskRunner& runner) {
    std::vector<std::shared_ptr<Buffer>> files;
    std::vector<std::function<void()>> tasks;
    for (int i = 0; i < input.num_samples(); ++i) {
        const auto header = header_of(input, i);
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

}  // namespace

template <>
void Compress<::dali::CPUBackend>::compress(const std::vector<const Compressor*>& codecs,
                                            ::dali::Workspace& workspace) const {
    const auto& input = workspace.Input<::dali::CPUBackend>(0);
    auto& output = workspace.Output<::dali::CPUBackend>(0);
    const TaskRunner runner = task_runner<::dali::CPUBackend>(workspace, num_threads_);
    std::vector<ByteView> views = views_of(input);
    std::vector<std::shared_ptr<Buffer>> files;
    if (header_) {
        files = with_headers(input, runner);
        for (std::size_t i = 0; i < files.size(); ++i) views[i] = files[i]->bytes();
    }
    std::vector<Compressor::Job> jobs;
    for (std::size_t i = 0; i < views.size(); ++i) jobs.push_back({codecs[i], views[i]});
    const auto place = [&](std::span<const std::size_t> sizes) {
        output.Resize(flat_shape(sizes), DALI_UINT8);
        return places_of(output);
    };
    Compressor::compress_each(jobs, place, runner);
}

template <>
void Compress<::dali::GPUBackend>::compress(const std::vector<const GpuCodec*>& codecs,
                                            ::dali::Workspace& workspace) const {
    const auto& input = workspace.Input<::dali::GPUBackend>(0);
    auto& output = workspace.Output<::dali::GPUBackend>(0);
    const StreamView stream = stream_of(workspace);
    const auto order = workspace.output_order();
    std::vector<DeviceBytes> views = device_views(input);
    std::vector<std::shared_ptr<Buffer>> files;
    for (std::size_t i = 0; header_ && i < views.size(); ++i) {
        const auto header = header_of(input, static_cast<int>(i));
        const auto file = Buffer::allocate(header.size() + views[i].size, device_, stream);
        copy_to_device(file->data(), header, device_.index, order);
        copy_on_device(file->data() + header.size(), views[i].data, views[i].size, device_.index, order);
        views[i] = {file->data(), file->size_bytes()};
        files.push_back(file);
    }
    const auto place = [&](std::span<const std::size_t> sizes) {
        output.Resize(flat_shape(sizes), DALI_UINT8);
        return device_views(output);
    };
    std::map<const GpuCodec*, std::vector<std::size_t>> samples_of;
    for (std::size_t i = 0; i < codecs.size(); ++i) samples_of[codecs[i]].push_back(i);
    if (samples_of.size() == 1) {
        codecs.front()->compress(views, place, stream);
    } else {
        // DALI's memory is available once all sizes are known: each call writes to memory of its own.
        std::vector<std::shared_ptr<Buffer>> results(views.size());
        std::vector<std::size_t> sizes(views.size());
        for (const auto& [codec, samples] : samples_of) {
            std::vector<DeviceBytes> chosen;
            for (const std::size_t sample : samples) chosen.push_back(views[sample]);
            const auto keep = [&, &samples = samples](std::size_t i, std::size_t size) {
                const std::size_t sample = samples[i];
                sizes[sample] = size;
                results[sample] = Buffer::allocate(size, device_, stream);
                return DeviceBytes{results[sample]->data(), size};
            };
            try {
                codec->compress(chosen, keep, stream);
            } catch (const BatchError& error) {
                throw BatchError(Error(error.code(), error.reason()), "sample", samples[error.index()], views.size());
            }
        }
        const std::vector<DeviceBytes> places = place(sizes);
        for (std::size_t i = 0; i < places.size(); ++i) {
            copy_on_device(places[i].data, results[i]->data(), sizes[i], device_.index, order);
            results[i]->used_on(stream);
        }
    }
    for (const auto& file : files) file->used_on(stream);
}

namespace {

constexpr const char* kCompressDoc =
    R"(Compresses arrays of any type and shape without loss, in nvCOMP's formats.

The bytes are those of ``tricodec.Codec(...).encode`` in Python for the same settings. Device ``"cpu"`` needs no GPU and no
NVIDIA software. ``"gpu"`` works on arrays on the GPU with NVIDIA's libnvcomp. Each reads what the other wrote.

With ``header=True`` each array is compressed with the header of a ``.npy`` file before its elements, which keeps its type and
shape. ``fn.tricodec.decompress(header=True)`` and ``tricodec.Codec.decode_npy`` give the array back; any other decompressor of
the stream gives a file for ``numpy.load``.

``uncomp_chunk_size``, ``algorithm_type``, ``level``, ``num_rles`` and ``num_deltas`` may differ by sample.

Example::

    import nvidia.dali.fn as fn
    import tricodec.dali  # registers the operator
    from nvidia.dali import pipeline_def

    @pipeline_def(batch_size=4, num_threads=8, device_id=None)
    def packed(files):
        arrays = fn.readers.numpy(files=files)
        return fn.tricodec.compress(arrays, algorithm="Zstd", header=True)
)";

}  // namespace
}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__Compress)
    .DocStr(tricodec::plugin::kCompressDoc)
    .AddParent("tricodec__CodecArguments")
    .NumInput(1)
    .NumOutput(1)
    .InputDox(0, "arrays", "TensorList", "Arrays of any type and shape.")
#if TRICODEC_DALI_VERSION >= 202  // 2.2 is the first that asks for them
    .OutputDType(0, DALI_UINT8)
    .OutputNDim(0, 1)
#endif
    .AddOptionalArg("header", "Put the header of a ``.npy`` file before the elements, which keeps type and shape.",
                    false)
    .MakeStateless();

DALI_REGISTER_OPERATOR(tricodec__Compress, tricodec::plugin::Compress<::dali::CPUBackend>, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__Compress, tricodec::plugin::Compress<::dali::GPUBackend>, ::dali::GPU);
