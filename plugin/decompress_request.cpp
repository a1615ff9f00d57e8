// SPDX-License-Identifier: Apache-2.0
#include "decompress_request.h"

#include <string>
#include <utility>

#include "codec_arguments.h"
#include "tricodec/error.h"

namespace tricodec::plugin {
namespace {

std::string extents_text(const std::vector<std::int64_t>& extents) {
    std::string text;
    for (const std::int64_t extent : extents) text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return "[" + text + "]";
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

DecompressRequest::DecompressRequest(const ::dali::OpSpec& spec)
    : type_(DALI_UINT8),
      shape_(IntArgument::list("shape", spec)),
      header_(spec.GetArgument<bool>("header")),
      trusted_(spec.GetArgument<bool>("trusted")) {
    if (spec.HasArgument("dtype")) {
        type_ = spec.GetArgument<::dali::DALIDataType>("dtype");
        translate_errors("", [&] { static_cast<void>(typestr_of(type_)); });
    }
    if (header_ && (spec.HasArgument("dtype") || spec.HasArgument("shape") || shape_.differs_by_sample())) {
        throw ::dali::DaliValueError("header=True takes dtype and shape from the data; leave those arguments out");
    }
}

CodecOptions DecompressRequest::codec_options(const ::dali::OpSpec& spec, int num_threads) const {
    CodecOptions options = read_codec_options(spec, num_threads);
    options.trusted = trusted_;
    return options;
}

::dali::OutputDesc DecompressRequest::output(const ::dali::ArgumentWorkspace& workspace,
                                             std::span<const std::size_t> sizes) const {
    const auto wanted = shape_.values(workspace, static_cast<int>(sizes.size()));
    std::vector<std::vector<std::int64_t>> shapes;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        try {
            shapes.push_back(shape_of(wanted[i], sizes[i]));
        } catch (const Error& error) {
            throw BatchError(error, "sample", i, sizes.size());
        }
    }
    return describe_output(shapes, type_);
}

::dali::OutputDesc DecompressRequest::output(std::span<const NpyHeader> headers) {
    std::vector<std::vector<std::int64_t>> shapes;
    ::dali::DALIDataType type = DALI_UINT8;
    for (std::size_t i = 0; i < headers.size(); ++i) {
        try {
            if (i == 0) type = type_of(headers[i].typestr);
            TRICODEC_EXPECT(type_of(headers[i].typestr) == type, invalid_argument,
                            "its elements are '" + headers[i].typestr + "', and those of sample 0 are '" +
                                headers[0].typestr +
                                "'; samples of a batch have one type: put such arrays in batches of their own");
        } catch (const Error& error) {
            throw BatchError(error, "sample", i, headers.size());
        }
        shapes.push_back(headers[i].shape);
    }
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
        mismatch("which is no multiple of the " + std::to_string(item) + " of dtype " + type_name);
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

}  // namespace tricodec::plugin
