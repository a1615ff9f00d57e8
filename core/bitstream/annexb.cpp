// SPDX-License-Identifier: Apache-2.0
#include "bitstream/annexb.h"

#include <cstring>

#include "bitstream/nal.h"
#include "ffmpeg/stream_info.h"
#include "io/bit_reader.h"
#include "tricodec/base/log.h"

namespace tricodec {
namespace {

/// avcC and hvcC records start with version 1; Annex B extradata starts with zeros.
bool has_length_prefixes(const AVCodecParameters& parameters) noexcept {
    return parameters.extradata_size > 6 && parameters.extradata[0] == 1;
}

const char* filter_name(const AVCodecParameters& parameters) noexcept {
    if (parameters.codec_id == AV_CODEC_ID_H264 && has_length_prefixes(parameters)) return "h264_mp4toannexb";
    if (parameters.codec_id == AV_CODEC_ID_HEVC && has_length_prefixes(parameters)) return "hevc_mp4toannexb";
    return nullptr;
}

/// True if libavcodec would split the packet. Its decoders drop a packet with lengths that do not add up, and the
/// filter does not. The stream must decode to the same frames with the filter as without it.
bool splits(Bytes packet, std::size_t length_size) noexcept {
    while (packet.size() >= 4) {
        if (packet.size() <= length_size) return false;
        const auto length = static_cast<std::size_t>(big_endian(packet.first(length_size)));
        packet = packet.subspan(length_size);
        if (length == 0 || length > packet.size()) return false;
        packet = packet.subspan(length);
    }
    return true;
}

bool needs_header(const AVCodecParameters& parameters) noexcept {
    const auto id = parameters.codec_id;
    return (id == AV_CODEC_ID_MPEG4 || id == AV_CODEC_ID_VC1) && parameters.extradata_size > 0;
}

bool starts_with(const AVPacket& packet, const AVPacket& header) noexcept {
    return packet.size >= header.size &&
           std::memcmp(packet.data, header.data, static_cast<std::size_t>(header.size)) == 0;
}

}  // namespace

ElementaryStreamFilter::ElementaryStreamFilter(const AVCodecParameters& parameters, AVRational time_base) {
    if (const char* name = filter_name(parameters)) {
        const AVBitStreamFilter* filter = av_bsf_get_by_name(name);
        TRICODEC_EXPECT(filter != nullptr, unsupported, std::string("this FFmpeg has no bitstream filter ") + name);
        AVBSFContext* context = nullptr;
        ff::check(av_bsf_alloc(filter, &context), std::string("opening ") + name);
        bsf_.reset(context);
        ff::check_media(avcodec_parameters_copy(bsf_->par_in, &parameters), std::string("opening ") + name);
        bsf_->time_base_in = time_base;
        ff::check_media(av_bsf_init(bsf_.get()), std::string("opening ") + name);
        length_size_ = nal_length_size(to_codec(parameters.codec_id), extradata_of(&parameters));
    } else if (needs_header(parameters)) {
        kept_header_ = ff::make_packet();
        ff::check(av_new_packet(kept_header_.get(), parameters.extradata_size), "allocating codec headers");
        std::memcpy(kept_header_->data, parameters.extradata, static_cast<std::size_t>(parameters.extradata_size));
        reset();
    }
}

void ElementaryStreamFilter::push(ff::PacketPtr packet) {
    if (bsf_) {
        const Bytes data(reinterpret_cast<const std::byte*>(packet->data), static_cast<std::size_t>(packet->size));
        if (length_size_ > 0 && !splits(data, static_cast<std::size_t>(length_size_))) {
            log(LogLevel::warning, "a packet of " + std::to_string(packet->size) +
                                       " bytes is dropped: its NAL units' lengths do not add up to it");
            return;
        }
        ff::check_media(av_bsf_send_packet(bsf_.get(), packet.get()), "rewriting a packet to Annex B");
        drain();
        return;
    }
    if (header_) {
        auto header = std::move(header_);
        if (!starts_with(*packet, *header)) {
            auto joined = ff::make_packet();
            ff::check(av_new_packet(joined.get(), header->size + packet->size), "allocating a packet");
            std::memcpy(joined->data, header->data, static_cast<std::size_t>(header->size));
            std::memcpy(joined->data + header->size, packet->data, static_cast<std::size_t>(packet->size));
            ff::check(av_packet_copy_props(joined.get(), packet.get()), "copying a packet's properties");
            packet = std::move(joined);
        }
    }
    ready_.push_back(std::move(packet));
}

void ElementaryStreamFilter::push_end() {
    if (!bsf_) return;
    ff::check_media(av_bsf_send_packet(bsf_.get(), nullptr), "ending the Annex B rewriting");
    drain();
}

void ElementaryStreamFilter::drain() {
    for (;;) {
        auto packet = ff::make_packet();
        const int code = av_bsf_receive_packet(bsf_.get(), packet.get());
        if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
        // The filter drops a packet that it cannot split into NAL units; the stream continues.
        if (code == AVERROR_INVALIDDATA) continue;
        ff::check_media(code, "rewriting a packet to Annex B");
        ready_.push_back(std::move(packet));
    }
}

std::shared_ptr<const AVCodecParameters> ElementaryStreamFilter::parameters() const {
    if (!bsf_) return nullptr;
    ff::ParametersPtr copy(avcodec_parameters_alloc());
    TRICODEC_EXPECT(copy != nullptr, out_of_memory, "could not allocate codec parameters");
    ff::check_media(avcodec_parameters_copy(copy.get(), bsf_->par_out), "copying codec parameters");
    return copy;
}

ff::PacketPtr ElementaryStreamFilter::pop() {
    if (ready_.empty()) return nullptr;
    auto packet = std::move(ready_.front());
    ready_.pop_front();
    return packet;
}

void ElementaryStreamFilter::reset() {
    ready_.clear();
    if (bsf_) av_bsf_flush(bsf_.get());
    if (kept_header_) header_.reset(av_packet_clone(kept_header_.get()));
}

}  // namespace tricodec
