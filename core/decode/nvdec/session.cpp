// SPDX-License-Identifier: Apache-2.0
#include "decode/nvdec/session.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/cuda/gpu_time.h"
#include "ffmpeg/block_statistics.h"
#include "tricodec/base/error.h"
#include "tricodec/base/log.h"
#include "tricodec/base/text.h"

namespace tricodec::nvdec {

namespace {

// Pictures that may be on their way out of the decoder at once: copies then overlap with decoding.
constexpr int kOutputSurfaces = 4;

/// The output is the whole coded picture, unscaled; what is shown of it is cut out by the copy.
template <class Info>
void set_output_area(Info& info, const Geometry& geometry) {
    info.display_area.left = 0;
    info.display_area.top = 0;
    info.display_area.right = static_cast<short>(geometry.coded_width);
    info.display_area.bottom = static_cast<short>(geometry.coded_height);
}

// Fields of SDK 13.1 that earlier headers reserve: CUVIDDECODECREATEINFO::enableDecodeFeatures, and
// CUVIDPROCPARAMS::pCuvidProcExt.
constexpr tcu_ulong kStatisticsFeature = 1;
tcu_ulong& features(CUVIDDECODECREATEINFO& info) {
    constexpr auto kPlace = offsetof(CUVIDDECODECREATEINFO, enableHistogram) + sizeof info.enableHistogram;
    return *reinterpret_cast<tcu_ulong*>(reinterpret_cast<std::byte*>(&info) + kPlace);
}
void*& extension(CUVIDPROCPARAMS& process) {
    constexpr auto kPlace = offsetof(CUVIDPROCPARAMS, histogram_dptr) + sizeof process.histogram_dptr;
    return *reinterpret_cast<void**>(reinterpret_cast<std::byte*>(&process) + kPlace);
}
/// CUVIDPROCPARAMSEXT of SDK 13.1: the driver writes the address of the statistics to `statistics`.
struct ProcessExtension {
    unsigned before[32] = {};
    unsigned long long* statistics = nullptr;
    unsigned after[64] = {};
};

}  // namespace

Session::Session(std::shared_ptr<cuda::Context> context, const Geometry& geometry)
    : context_(std::move(context)),
      stream_(context_),
      geometry_(geometry),
      max_width_(geometry.coded_width),
      max_height_(geometry.coded_height),
      num_surfaces_(geometry.num_surfaces) {
    CUVIDDECODECREATEINFO info{};
    info.CodecType = geometry.kind.codec;
    info.ChromaFormat = geometry.kind.chroma;
    info.bitDepthMinus8 = static_cast<tcu_ulong>(geometry.kind.depth - 8);
    info.OutputFormat = output_format(geometry.kind).value().surface;
    info.ulWidth = info.ulMaxWidth = static_cast<tcu_ulong>(geometry.coded_width);
    info.ulHeight = info.ulMaxHeight = static_cast<tcu_ulong>(geometry.coded_height);
    info.ulTargetWidth = static_cast<tcu_ulong>(geometry.coded_width);
    info.ulTargetHeight = static_cast<tcu_ulong>(geometry.coded_height);
    info.ulNumDecodeSurfaces = static_cast<tcu_ulong>(geometry.num_surfaces);
    info.ulNumOutputSurfaces = kOutputSurfaces;
    info.ulCreationFlags = cudaVideoCreate_PreferCUVID;
    info.DeinterlaceMode = cudaVideoDeinterlaceMode_Weave;
    set_output_area(info, geometry);
    if (geometry.block_statistics) features(info) = kStatisticsFeature;
    cuda::ContextScope scope(*context_);
    check(cuvid().create_decoder(&decoder_, &info), "making " + decoder_words(geometry));
    held_.emplace(context_, memory_bytes());
}

Session::~Session() {
    const Cuvid* library = try_cuvid();
    if (library == nullptr) return;
    try {
        settle();
        cuda::ContextScope scope(*context_);
        library->destroy_decoder(decoder_);
    } catch (const std::exception& error) {
        log(LogLevel::warning, std::string("an NVDEC decoder could not be closed: ") + error.what());
    }
}

bool Session::fits(const cuda::Context& context, const Geometry& geometry) const noexcept {
    return context.handle() == context_->handle() && geometry.kind == geometry_.kind &&
           geometry.coded_width <= max_width_ && geometry.coded_height <= max_height_ &&
           geometry.num_surfaces <= num_surfaces_ && geometry.block_statistics == geometry_.block_statistics;
}

bool Session::shows(const Geometry& geometry) const noexcept {
    return fits(*context_, geometry) && geometry.coded_width == geometry_.coded_width &&
           geometry.coded_height == geometry_.coded_height;
}

std::size_t Session::memory_bytes() const noexcept {
    return surface_bytes({geometry_.kind, max_width_, max_height_, num_surfaces_});
}

std::size_t surface_bytes(const Geometry& geometry) noexcept {
    const auto& format = info(output_format(geometry.kind).value().pixel_format);
    return static_cast<std::size_t>(format.packed_bytes(geometry.coded_width, geometry.coded_height)) *
           static_cast<std::size_t>(geometry.num_surfaces + kOutputSurfaces);
}

std::string decoder_words(const Geometry& geometry) {
    return "an NVDEC decoder for " + size_text(geometry.coded_width, geometry.coded_height) + " with " +
           std::to_string(geometry.num_surfaces) + " surfaces";
}

void Session::reconfigure(const Geometry& geometry) {
    TRICODEC_INVARIANT(fits(*context_, geometry) && mapped_.empty());
    if (geometry.coded_width != geometry_.coded_width || geometry.coded_height != geometry_.coded_height) {
        CUVIDRECONFIGUREDECODERINFO info{};
        info.ulWidth = static_cast<unsigned>(geometry.coded_width);
        info.ulHeight = static_cast<unsigned>(geometry.coded_height);
        info.ulTargetWidth = static_cast<unsigned>(geometry.coded_width);
        info.ulTargetHeight = static_cast<unsigned>(geometry.coded_height);
        info.ulNumDecodeSurfaces = static_cast<unsigned>(num_surfaces_);
        set_output_area(info, geometry);
        cuda::ContextScope scope(*context_);
        check(cuvid().reconfigure_decoder(decoder_, &info),
              "setting an NVDEC decoder to " + size_text(geometry.coded_width, geometry.coded_height));
    }
    geometry_ = geometry;
}

std::optional<std::string> Session::decode(CUVIDPICPARAMS& picture) {
    const CUresult result = cuvid().decode_picture(decoder_, &picture);
    if (result == CUDA_SUCCESS) return std::nullopt;
    expect_stream_at_fault(result);
    return "decoding a picture by NVDEC failed: " + cuda::describe(static_cast<cuda::Result>(result));
}

void Session::expect_stream_at_fault(CUresult result) const {
    const auto code = static_cast<cuda::Result>(result);
    if (code == cuda::kOutOfMemory)
        cuda::fail_out_of_memory(*context_, 0, "decoding a picture by " + decoder_words(geometry_));
    if (cuda::device_is_at_fault(code)) check(result, "decoding by NVDEC");
    // Of results that say little ("unknown error") a context that fails at everything shows that the device is at
    // fault.
    const cuda::ContextScope scope(*context_);
    const cuda::Result state = cuda::api().stream_query(cuda::handle_of(stream_));
    if (state != cuda::kNotReady) cuda::check(state, "decoding by NVDEC");
}

cuvidDecodeStatus Session::status(int picture_index) const noexcept {
    // Other codecs are not reported on.
    if (geometry_.kind.codec != cudaVideoCodec_H264 && geometry_.kind.codec != cudaVideoCodec_HEVC) {
        return cuvidDecodeStatus_Invalid;
    }
    CUVIDGETDECODESTATUS status{};
    const Cuvid* library = try_cuvid();
    if (library == nullptr || library->get_decode_status(decoder_, picture_index, &status) != CUDA_SUCCESS) {
        return cuvidDecodeStatus_Invalid;
    }
    return status.decodeStatus;
}

Frame Session::output(const CUVIDPARSERDISPINFO& display, const PictureArea& area) {
    cuda::ContextScope scope(*context_);
    // A picture that is shown again cannot be mapped twice at once.
    const auto is_mapped = [&] {
        return std::ranges::find(mapped_, display.picture_index, &Mapped::picture_index) != mapped_.end();
    };
    while (mapped_.size() >= kOutputSurfaces || (!mapped_.empty() && mapped_.front().copied.done()) || is_mapped()) {
        unmap_oldest();
    }

    Frame frame = alloc_frame(output_format(geometry_.kind).value().pixel_format, area.width, area.height,
                              context_->device(), stream_);
    CUVIDPROCPARAMS process{};
    process.progressive_frame = display.progressive_frame;
    process.top_field_first = display.top_field_first;
    process.unpaired_field = display.repeat_first_field < 0 ? 1 : 0;
    process.second_field = display.repeat_first_field + 1;
    process.output_stream = reinterpret_cast<CUstream>(stream_.view().handle);
    ProcessExtension more;
    unsigned long long statistics = 0;
    if (geometry_.block_statistics) {
        more.statistics = &statistics;
        extension(process) = &more;
    }
    unsigned long long pointer = 0;
    unsigned stride_bytes = 0;
    const cuda::GpuTime time(context_, Stage::decode, 1, stream_);  // with the wait for the picture
    const CUresult mapped = cuvid().map_frame(decoder_, display.picture_index, &pointer, &stride_bytes, &process);
    if (static_cast<cuda::Result>(mapped) == cuda::kOutOfMemory) {
        cuda::fail_out_of_memory(*context_, 0, "taking a picture out of " + decoder_words(geometry_));
    }
    if (static_cast<cuda::Result>(mapped) == cuda::kInvalidValue) {
        expect_stream_at_fault(mapped);
        fail(ErrorCode::unsupported, "taking a picture out of NVDEC failed: " + cuda::describe(cuda::kInvalidValue));
    }
    check(mapped, "taking a picture out of NVDEC");
    try {
        copy_planes(pointer, stride_bytes, area, frame);
        if (statistics != 0) frame.block_statistics = copy_statistics(statistics);
        mapped_.push_back({display.picture_index, pointer, cuda::Event::record(*context_, stream_)});
    } catch (...) {
        // Part of the copy may be under way: the picture must stay until it is done.
        cuda::api().stream_synchronize(cuda::handle_of(stream_));
        cuvid().unmap_frame(decoder_, pointer);
        throw;
    }
    frame.buffer->written_on(stream_);
    frame.interlaced = display.progressive_frame == 0;
    return frame;
}

std::shared_ptr<const std::vector<std::byte>> Session::copy_statistics(unsigned long long from) const {
    auto bytes =
        std::make_shared<std::vector<std::byte>>(block_statistics_bytes(geometry_.coded_width, geometry_.coded_height));
    const auto* data = reinterpret_cast<const void*>(from);
    cuda::check(cuda::api().copy_async(bytes->data(), data, bytes->size(), cuda::handle_of(stream_)),
                "copying decode statistics");
    cuda::check(cuda::api().stream_synchronize(cuda::handle_of(stream_)), "copying decode statistics");
    return bytes;
}

void Session::copy_planes(unsigned long long from, std::size_t stride_bytes, const PictureArea& area,
                          const Frame& frame) const {
    const auto& layout = info(frame.format);
    const auto target_height = static_cast<std::size_t>(geometry_.coded_height);
    for (int plane = 0; plane < layout.num_planes; ++plane) {
        const auto& memory = frame.planes[static_cast<std::size_t>(plane)];
        const bool chroma = layout.is_chroma(plane);
        const int left = chroma ? area.left >> layout.log2_chroma_w : area.left;
        const int top = chroma ? area.top >> layout.log2_chroma_h : area.top;
        cuda::Copy2D copy;
        copy.source_device = from + static_cast<std::size_t>(plane) * target_height * stride_bytes;
        copy.source_stride_bytes = stride_bytes;
        copy.source_x_bytes = static_cast<std::size_t>(left) *
                              static_cast<std::size_t>(layout.components_in_plane(plane)) * layout.bytes_per_sample;
        copy.source_y = static_cast<std::size_t>(top);
        copy.target_device = reinterpret_cast<cuda::DevicePointer>(memory.data);
        copy.target_stride_bytes = static_cast<std::size_t>(memory.stride_bytes);
        copy.width_bytes = static_cast<std::size_t>(layout.row_bytes(plane, frame.width));
        copy.height = static_cast<std::size_t>(layout.plane_height(plane, frame.height));
        cuda::check(cuda::api().copy_2d_async(&copy, cuda::handle_of(stream_)), "copying a decoded picture");
    }
}

void Session::unmap_oldest() {
    mapped_.front().copied.wait();
    check(cuvid().unmap_frame(decoder_, mapped_.front().pointer), "giving a picture back to NVDEC");
    mapped_.pop_front();
}

void Session::settle() {
    cuda::ContextScope scope(*context_);
    while (!mapped_.empty()) unmap_oldest();
}

SequenceColor sequence_color(const CUVIDEOFORMAT& format, SequenceColor before) noexcept {
    const auto& signal = format.video_signal_description;
    // The numbers are those of H.273 on both sides; what we have no name for passes through as its number.
    ColorDescription color;
    color.matrix = static_cast<ColorMatrix>(signal.matrix_coefficients);
    color.primaries = static_cast<ColorPrimaries>(signal.color_primaries);
    color.transfer = static_cast<ColorTransfer>(signal.transfer_characteristics);
    // Not full is also what a silent header gives; unspecified is limited in all that follows.
    color.range = signal.video_full_range_flag != 0 ? ColorRange::full : ColorRange::unspecified;
    if (!before.first) {
        before.first = color;
    } else if (color != *before.first || before.changed) {
        before.changed = color;
    }
    return before;
}

}  // namespace tricodec::nvdec
