// SPDX-License-Identifier: Apache-2.0
#include "tricodec/compress/compress.h"

#include <dali/pipeline/operator/checkpointing/stateless_operator.h>
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/arguments.h"
#include "common/backend.h"
#include "common/codec_arguments.h"
#include "tricodec/base/buffer.h"
#include "tricodec/base/error.h"
#include "tricodec/tensor/npy_header.h"

namespace tricodec::plugin {

/// The codec of each sample: settings may be constants or one tensor a sample. Codecs are made when their settings
/// first occur and are kept for the batches that follow.
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
    [[nodiscard]] std::vector<const compress::Codec*> of(const ::dali::ArgumentWorkspace& workspace, int num_samples) {
        const auto count = static_cast<std::size_t>(num_samples);
        if (varying_.empty()) return {count, common_.get()};
        std::vector<Settings> settings(count);
        for (const Varying& varying : varying_) {
            const auto values = varying.argument.values(workspace, num_samples);
            for (std::size_t i = 0; i < count; ++i) settings[i].push_back(values[i].front());
        }
        if (codecs_.size() > kMostKept) codecs_.clear();
        std::vector<const compress::Codec*> found;
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

    [[nodiscard]] std::unique_ptr<compress::Codec> make(const CodecOptions& options) const {
        if (!options.algorithm) static_cast<void>(parse_compression(""));  // fails, and names the algorithms
        return std::make_unique<compress::Codec>(options, device_);
    }
    [[nodiscard]] CodecOptions options_with(const Settings& settings) const {
        CodecOptions options = options_;
        for (std::size_t i = 0; i < varying_.size(); ++i) varying_[i].integer.set(options, settings[i]);
        return options;
    }

    CodecOptions options_;
    Device device_;
    std::vector<Varying> varying_;
    std::unique_ptr<compress::Codec> common_;
    std::map<Settings, std::unique_ptr<compress::Codec>> codecs_;
};

/// fn.tricodec.compress: arrays of any type and shape in, compressed bytes out. On the CPU DALI's threads work on the
/// chunks of all samples side by side; a GPU takes the batch in one call, on DALI's stream.
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
            codecs_ = std::make_unique<SampleCodecs>(spec, kOnGpu<Backend> ? 0 : this->num_threads_, device_);
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
    void compress(const std::vector<const compress::Codec*>& codecs, ::dali::Workspace& workspace) const;
    [[nodiscard]] compress::Execution execution(const ::dali::Workspace& workspace) const {
        if constexpr (kOnGpu<Backend>) {
            return stream_of(workspace);
        } else {
            return task_runner<Backend>(workspace, this->num_threads_);
        }
    }
    /// The samples' bytes, each after its header, in new memory.
    [[nodiscard]] std::vector<std::shared_ptr<Buffer>> with_headers(const ::dali::TensorList<Backend>& input,
                                                                    const ::dali::Workspace& workspace,
                                                                    const compress::Execution& on) const;

    Device device_;
    bool header_;
    std::unique_ptr<SampleCodecs> codecs_;
};

namespace {

template <typename Backend>
std::vector<std::byte> header_of(const ::dali::TensorList<Backend>& input, int sample) {
    const auto extents = input.shape().tensor_shape_span(sample);
    return make_npy_header(typestr_of(input.type()), std::vector<std::int64_t>(extents.begin(), extents.end()));
}

}  // namespace

template <typename Backend>
std::vector<std::shared_ptr<Buffer>> Compress<Backend>::with_headers(const ::dali::TensorList<Backend>& input,
                                                                     const ::dali::Workspace& workspace,
                                                                     const compress::Execution& on) const {
    std::vector<std::shared_ptr<Buffer>> files;
    std::vector<std::function<void()>> copies;
    for (int i = 0; i < input.num_samples(); ++i) {
        const auto header = header_of(input, i);
        const std::size_t size = bytes_of(input, i);
        files.push_back(Buffer::allocate(header.size() + size, device_, on.stream));
        std::byte* const to = files.back()->data();
        const auto* const from = static_cast<const std::byte*>(input.raw_tensor(i));
        if constexpr (kOnGpu<Backend>) {
            const auto order = workspace.output_order();
            copy_to_device(to, header, device_.index, order);
            copy_on_device(to + header.size(), from, size, device_.index, order);
        } else {
            std::memcpy(to, header.data(), header.size());
            if (size == 0) continue;
            copies.emplace_back([to = to + header.size(), from, size] { std::memcpy(to, from, size); });
        }
    }
    if (on.runner) on.runner(copies);
    return files;
}

template <typename Backend>
void Compress<Backend>::compress(const std::vector<const compress::Codec*>& codecs,
                                 ::dali::Workspace& workspace) const {
    const auto& input = workspace.Input<Backend>(0);
    auto& output = workspace.Output<Backend>(0);
    const compress::Execution on = execution(workspace);
    std::vector<ByteView> views = views_of(input);
    std::vector<std::shared_ptr<Buffer>> files;
    if (header_) {
        files = with_headers(input, workspace, on);
        for (std::size_t i = 0; i < files.size(); ++i) views[i] = {files[i]->data(), files[i]->size_bytes()};
    }
    std::vector<compress::Codec::Job> jobs;
    for (std::size_t i = 0; i < views.size(); ++i) jobs.push_back({codecs[i], views[i]});
    const auto place = [&](std::span<const std::size_t> sizes) {
        output.Resize(flat_shape(sizes), DALI_UINT8);
        return places_of(output);
    };
    compress::Codec::compress_each(jobs, place, on);
    if constexpr (kOnGpu<Backend>) Buffer::used_on(files, on.stream);
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
