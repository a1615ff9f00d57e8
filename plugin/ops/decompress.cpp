// SPDX-License-Identifier: Apache-2.0
#include <dali/pipeline/operator/checkpointing/stateless_operator.h>
#include <dali/pipeline/operator/error_reporting.h>
#include <dali/pipeline/operator/op_schema.h>
#include <dali/pipeline/operator/operator_factory.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/arguments.h"
#include "common/backend.h"
#include "common/codec_arguments.h"
#include "common/errors.h"
#include "tricodec/base/buffer.h"
#include "tricodec/base/error.h"
#include "tricodec/base/text.h"
#include "tricodec/compress/compress.h"
#include "tricodec/tensor/npy_header.h"
#include "tricodec/tensor/tensor.h"

namespace tricodec::plugin {

/// The type and the shapes of the results of fn.tricodec.decompress: from the arguments, or from the .npy header before
/// the elements.
class DecompressRequest {
public:
    explicit DecompressRequest(const ::dali::OpSpec& spec)
        : type_(DALI_UINT8), shape_(IntArgument::list("shape", spec)), has_header_(spec.GetArgument<bool>("header")) {
        if (spec.HasArgument("dtype")) {
            type_ = spec.GetArgument<::dali::DALIDataType>("dtype");
            translate_errors("", [&] { static_cast<void>(typestr_of(type_)); });
        }
        if (has_header_ && (spec.HasArgument("dtype") || spec.HasArgument("shape") || shape_.differs_by_sample())) {
            throw ::dali::DaliValueError("header=True takes dtype and shape from the data; leave those arguments out");
        }
    }

    [[nodiscard]] bool has_header() const noexcept { return has_header_; }
    /// The output for samples of so many bytes without headers. Throws BatchError for the one that does not fit.
    [[nodiscard]] ::dali::OutputDesc output(const ::dali::ArgumentWorkspace& workspace,
                                            std::span<const std::size_t> sizes) const;
    /// The output for samples with these headers, which must agree in type and number of dimensions.
    [[nodiscard]] static ::dali::OutputDesc output(std::span<const NpyHeader> headers);

private:
    [[nodiscard]] std::vector<std::int64_t> shape_of(const std::vector<std::int64_t>& wanted, std::size_t size) const;

    ::dali::DALIDataType type_;
    IntArgument shape_;
    bool has_header_;
};

namespace {

std::string extents_text(const std::vector<std::int64_t>& extents) {
    return "[" + listed_numbers(extents) + "]";
}

::dali::OutputDesc describe_output(const std::vector<std::vector<std::int64_t>>& shapes, ::dali::DALIDataType type) {
    const std::size_t ndim = shapes.empty() ? 1 : shapes[0].size();
    ::dali::TensorListShape<> shape(static_cast<int>(shapes.size()), static_cast<int>(ndim));
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (shapes[i].size() != ndim) {
            const Error error(ErrorCode::invalid_argument,
                              "it has the shape " + extents_text(shapes[i]) + ", and sample 0 has " +
                                  extents_text(shapes[0]) +
                                  "; samples of a batch have one number of dimensions: put such arrays in batches of "
                                  "their own, or reshape them before they are compressed");
            throw BatchError(error, "sample", i, shapes.size());
        }
        shape.set_tensor_shape(static_cast<int>(i), ::dali::TensorShape<>(shapes[i]));
    }
    return {std::move(shape), type};
}

}  // namespace

::dali::OutputDesc DecompressRequest::output(const ::dali::ArgumentWorkspace& workspace,
                                             std::span<const std::size_t> sizes) const {
    const auto wanted = shape_.values(workspace, static_cast<int>(sizes.size()));
    std::vector<std::vector<std::int64_t>> shapes;
    for_each_sample(sizes.size(), [&](std::size_t i) { shapes.push_back(shape_of(wanted[i], sizes[i])); });
    return describe_output(shapes, type_);
}

::dali::OutputDesc DecompressRequest::output(std::span<const NpyHeader> headers) {
    std::vector<std::vector<std::int64_t>> shapes;
    ::dali::DALIDataType type = DALI_UINT8;
    for_each_sample(headers.size(), [&](std::size_t i) {
        if (i == 0) type = type_of(headers[i].typestr);
        TRICODEC_EXPECT(type_of(headers[i].typestr) == type, invalid_argument,
                        "its elements are '" + headers[i].typestr + "', and those of sample 0 are '" +
                            headers[0].typestr +
                            "'; all samples of a batch must have one type; use a separate batch for each type");
        shapes.push_back(headers[i].shape);
    });
    return describe_output(shapes, type);
}

std::vector<std::int64_t> DecompressRequest::shape_of(const std::vector<std::int64_t>& wanted, std::size_t size) const {
    const auto item = static_cast<std::int64_t>(::dali::TypeTable::GetTypeInfo(type_).size());
    const auto bytes = static_cast<std::int64_t>(size);
    const auto mismatch = [&](const std::string& why) {
        fail(ErrorCode::invalid_argument, "the data expand to " + std::to_string(bytes) + " bytes, " + why);
    };
    const auto type_name = ::dali::make_string(type_);
    if (bytes % item != 0) {
        mismatch("which is not a multiple of the " + std::to_string(item) + " of dtype " + type_name);
    }
    std::vector<std::int64_t> shape = wanted.empty() ? std::vector<std::int64_t>{-1} : wanted;
    std::int64_t* open = nullptr;
    std::int64_t given = 1;
    for (std::int64_t& extent : shape) {
        TRICODEC_EXPECT(extent >= 0 || (extent == -1 && open == nullptr), invalid_argument,
                        "shape is " + extents_text(shape) + "; its extents are 0 or more, and one may be -1");
        if (extent == -1) {
            open = &extent;
        } else if (__builtin_mul_overflow(given, extent, &given)) {
            mismatch("fewer than shape " + extents_text(shape) + " holds");
        }
    }
    const std::int64_t elements = bytes / item;
    if (open != nullptr && given > 0 && elements % given == 0) {
        *open = elements / given;
    } else if (open != nullptr || given != elements) {
        mismatch("which are " + std::to_string(elements) + " elements of dtype " + type_name +
                 "; they do not fill shape " + extents_text(shape));
    }
    return shape;
}

/// fn.tricodec.decompress, for compressed bytes and arrays on the CPU, for both on a GPU, and ("mixed") from the CPU to
/// a GPU. A GPU decompresses trusted data only, in one call a batch and to DALI's memory; all other data the CPU
/// decompresses.
template <typename Backend>
class Decompress : public ::dali::StatelessOperator<Backend> {
public:
    explicit Decompress(const ::dali::OpSpec& spec)
        : ::dali::StatelessOperator<Backend>(spec), device_(device_of<Backend>(spec, "decompress")), request_(spec) {
        translate_errors("", [&] {
            const bool trusted = spec.GetArgument<bool>("trusted");
            CodecOptions options = read_codec_options(spec, this->num_threads_);
            options.trusted = trusted;
            if (kOnGpu<Backend> && trusted) {
                options.num_threads = 0;
                on_device_ = std::make_unique<compress::Codec>(options, device_);
            } else {
                on_host_ = std::make_unique<compress::Codec>(options);
            }
        });
    }

protected:
    bool SetupImpl(std::vector<::dali::OutputDesc>& /*outputs*/, const ::dali::Workspace& /*workspace*/) override {
        return false;  // the streams, or the headers in them, state what they expand to
    }
    void RunImpl(::dali::Workspace& workspace) override {
        using InputBackend =
            std::conditional_t<std::is_same_v<Backend, ::dali::GPUBackend>, ::dali::GPUBackend, ::dali::CPUBackend>;
        const auto& input = workspace.Input<InputBackend>(0);
        expect_bytes(input.type(), input.sample_dim(), "compressed", "compressed bytes", "compressed bytes");
        name_samples(input.num_samples(), [&] {
            if (on_host_) {
                decompress_on_host(workspace, input);
            } else if constexpr (kOnGpu<Backend>) {
                decompress_on_device(workspace, input);
            }
        });
        copy_source_info(input, workspace.Output<OutputBackend<Backend>>(0));
    }

private:
    void decompress_on_host(::dali::Workspace& workspace, const ::dali::TensorList<::dali::CPUBackend>& streams);
    void decompress_on_host(::dali::Workspace& workspace, const ::dali::TensorList<::dali::GPUBackend>& streams);
    void decompress_on_device(::dali::Workspace& workspace, const ::dali::TensorList<::dali::CPUBackend>& streams);
    void decompress_on_device(::dali::Workspace& workspace, const ::dali::TensorList<::dali::GPUBackend>& streams);
    void decompress_files(::dali::Workspace& workspace, std::span<const ByteView> streams);

    Device device_;
    DecompressRequest request_;
    std::unique_ptr<compress::Codec> on_device_;
    std::unique_ptr<compress::Codec> on_host_;
};

template <typename Backend>
void Decompress<Backend>::decompress_on_host(::dali::Workspace& workspace,
                                             const ::dali::TensorList<::dali::CPUBackend>& streams) {
    const TaskRunner runner = task_runner<Backend>(workspace, this->num_threads_);
    const std::vector<ByteView> views = views_of(streams);
    const std::vector<std::size_t> sizes = on_host_->decompressed_sizes(views);
    if (!request_.has_header()) {
        const ::dali::OutputDesc described = request_.output(workspace, sizes);
        write_output<Backend>(workspace, 0, described.shape, described.type,
                              [&](auto& output) { on_host_->decompress(views, places_of(output), runner); });
        return;
    }
    std::vector<std::shared_ptr<Buffer>> files;  // header and elements
    std::vector<std::span<std::byte>> places;
    for (const std::size_t size : sizes) {
        files.push_back(Buffer::allocate(size));
        places.push_back(files.back()->bytes());
    }
    on_host_->decompress(views, places, runner);
    std::vector<NpyHeader> headers;
    for_each_sample(files.size(), [&](std::size_t i) {
        const std::span<const std::byte> bytes = files[i]->bytes();
        headers.push_back(read_npy_header(bytes.first(std::min(bytes.size(), kLargestNpyHeader)), sizes[i]));
    });
    const ::dali::OutputDesc described = DecompressRequest::output(headers);
    write_output<Backend>(workspace, 0, described.shape, described.type, [&](auto& output) {
        std::vector<std::function<void()>> tasks;
        for (int i = 0; i < output.num_samples(); ++i) {
            const auto n = static_cast<std::size_t>(i);
            tasks.emplace_back([to = output.raw_mutable_tensor(i), from = files[n]->data() + headers[n].header_bytes,
                                size = bytes_of(output, i)] {
                if (size > 0) std::memcpy(to, from, size);
            });
        }
        runner(tasks);
    });
}

template <typename Backend>
void Decompress<Backend>::decompress_on_host(::dali::Workspace& workspace,
                                             const ::dali::TensorList<::dali::GPUBackend>& streams) {
    ::dali::TensorList<::dali::CPUBackend> moved;
    moved.set_pinned(false);
    moved.Copy(streams, workspace.output_order());  // ordered by the host, which waits for the copy
    decompress_on_host(workspace, moved);
}

template <typename Backend>
void Decompress<Backend>::decompress_on_device(::dali::Workspace& workspace,
                                               const ::dali::TensorList<::dali::CPUBackend>& streams) {
    ::dali::TensorList<::dali::GPUBackend> moved;
    moved.set_device_id(device_.index);
    moved.set_order(workspace.output_order());
    moved.Copy(streams, workspace.output_order());
    decompress_on_device(workspace, moved);
}

template <typename Backend>
void Decompress<Backend>::decompress_on_device(::dali::Workspace& workspace,
                                               const ::dali::TensorList<::dali::GPUBackend>& streams) {
    const std::vector<ByteView> views = views_of(streams);
    if (request_.has_header()) return decompress_files(workspace, views);
    auto& output = workspace.Output<::dali::GPUBackend>(0);
    const auto place = [&](std::span<const std::size_t> sizes) {
        const ::dali::OutputDesc described = request_.output(workspace, sizes);
        output.Resize(described.shape, described.type);
        return places_of(output);
    };
    on_device_->decompress(views, BatchPlacer(place), stream_of(workspace));
}

namespace {

/// The header of an array on a GPU; the host waits for the file.
NpyHeader read_device_header(const std::shared_ptr<Buffer>& file) {
    const auto size = static_cast<std::int64_t>(std::min(file->size_bytes(), kLargestNpyHeader));
    const TensorView start{
        .data = file->data(), .dtype = DType::uint8, .device = file->device(), .shape = {size}, .strides_bytes = {1}};
    const Tensor host = to_host(start, file.get());
    return read_npy_header({static_cast<const std::byte*>(host.view.data), static_cast<std::size_t>(size)},
                           file->size_bytes());
}

}  // namespace

template <typename Backend>
void Decompress<Backend>::decompress_files(::dali::Workspace& workspace, std::span<const ByteView> streams) {
    auto& output = workspace.Output<::dali::GPUBackend>(0);
    const StreamView stream = stream_of(workspace);
    std::vector<std::shared_ptr<Buffer>> files(streams.size());
    const auto place = [&](std::size_t i, std::size_t size) {
        files[i] = Buffer::allocate(size, device_, stream);
        return MutableBytes(files[i]->data(), size);
    };
    on_device_->decompress(streams, Placer(place), stream);
    std::vector<NpyHeader> headers;
    for_each_sample(files.size(), [&](std::size_t i) {
        files[i]->written_on(stream);
        headers.push_back(read_device_header(files[i]));
    });
    const ::dali::OutputDesc described = DecompressRequest::output(headers);
    output.Resize(described.shape, described.type);
    for (std::size_t i = 0; i < files.size(); ++i) {
        const int sample = static_cast<int>(i);
        copy_on_device(output.raw_mutable_tensor(sample), files[i]->data() + headers[i].header_bytes,
                       bytes_of(output, sample), device_.index, workspace.output_order());
        files[i]->used_on(stream);
    }
}

namespace {

constexpr const char* kDecompressDoc =
    R"(Decompresses arrays in nvCOMP's formats, and raw streams of LZ4, Snappy, Zstd, Deflate, Gzip and others.

``dtype`` and ``shape`` give the type and the shape of the results. With ``header=True`` the header of a ``.npy`` file before the
elements gives them: this is what ``fn.tricodec.compress(header=True)`` and ``tricodec compress`` write, and any compressed
``.npy`` file.

Devices: ``"cpu"``; ``"mixed"``, from compressed bytes on the CPU to arrays on the GPU; ``"gpu"``. Data from an untrusted source
can end the use of the GPU in the process. So a GPU decompresses only with ``trusted=True``; without it the CPU decompresses,
and the results are copied to the GPU.

Example::

    import nvidia.dali.fn as fn
    import nvidia.dali.types as types
    import tricodec.dali  # registers the operator
    from nvidia.dali import pipeline_def

    @pipeline_def(batch_size=4, num_threads=8, device_id=None)
    def arrays(files):
        compressed, _ = fn.readers.file(files=files)
        return fn.tricodec.decompress(compressed, dtype=types.FLOAT, shape=[-1, 3, 224, 224])
)";

#if TRICODEC_DALI_VERSION >= 202
std::optional<::dali::DALIDataType> decompressed_dtype(const ::dali::OpSpec& spec) {
    if (spec.GetArgument<bool>("header")) return std::nullopt;
    return spec.GetArgument<::dali::DALIDataType>("dtype");
}

std::optional<int> decompressed_ndim(const ::dali::OpSpec& spec) {
    if (spec.GetArgument<bool>("header") || spec.HasTensorArgument("shape")) return std::nullopt;
    if (!spec.HasArgument("shape")) return 1;
    return static_cast<int>(spec.GetRepeatedArgument<int>("shape").size());
}
#endif

}  // namespace
}  // namespace tricodec::plugin

DALI_SCHEMA(tricodec__Decompress)
    .DocStr(tricodec::plugin::kDecompressDoc)
    .AddParent("tricodec__CodecArguments")
    .NumInput(1)
    .NumOutput(1)
    .InputDox(0, "compressed", "1D TensorList of uint8", "Compressed bytes, one stream a sample.")
#if TRICODEC_DALI_VERSION >= 202
    .OutputDType(0, tricodec::plugin::decompressed_dtype)
    .OutputNDim(0, tricodec::plugin::decompressed_ndim)
#endif
    .AddOptionalTypeArg("dtype", "Type of the elements.", DALI_UINT8)
    .AddOptionalArg<std::vector<int>>("shape",
                                      "Shape of the results; one extent may be -1, which follows from the size. The "
                                      "default is one dimension.",
                                      nullptr, true)
    .AddOptionalArg("header", "Take type and shape from the header of a ``.npy`` file before the elements.", false)
    .AddOptionalArg("trusted",
                    "The data are whole and come from a trusted source: a GPU may decompress them. Without it the CPU "
                    "does, and refuses Bitcomp, on which NVIDIA's decoder might fault.",
                    false)
    .MakeStateless();

DALI_REGISTER_OPERATOR(tricodec__Decompress, tricodec::plugin::Decompress<::dali::CPUBackend>, ::dali::CPU);
DALI_REGISTER_OPERATOR(tricodec__Decompress, tricodec::plugin::Decompress<::dali::MixedBackend>, ::dali::Mixed);
DALI_REGISTER_OPERATOR(tricodec__Decompress, tricodec::plugin::Decompress<::dali::GPUBackend>, ::dali::GPU);
