// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "bitstream/annexb.h"
#include "bitstream/key_inspector.h"
#include "bitstream/picture_areas.h"
#include "bitstream/vp9_frames.h"
#include "decode/decoder_records.h"
#include "decode/engines.h"
#include "decode/nvdec/picture_type.h"
#include "decode/nvdec/session.h"
#include "ffmpeg/conversions.h"
#include "ffmpeg/picture_limits.h"
#include "ffmpeg/stream_info.h"

namespace tricodec {
namespace {

using namespace nvdec;

constexpr int kMostSurfaces = 32;  // more the driver does not take
/// What is known of the picture in a surface.
struct Picture {
    std::int64_t number = -1;  // of its packet
    char type = '?';
    bool stands_alone = false;
    bool failed = true;
    PictureArea area{};
};

/// A picture in its turn, and the number of the packet that shows it.
struct Shown {
    CUVIDPARSERDISPINFO display;
    std::int64_t number;
};

struct DestroyParser {
    void operator()(void* parser) const noexcept {
        if (const Cuvid* library = try_cuvid()) library->destroy_parser(parser);
    }
};

class NvDecoder final : public Decoder {
public:
    NvDecoder(const StreamInfo& stream, std::shared_ptr<cuda::Context> context, const NvDecoderTuning& tuning)
        : stream_(stream),
          codec_(to_nvdec(stream.codec).value()),
          tuning_(tuning),
          context_(std::move(context)),
          keys_(stream),
          areas_(stream) {
        num_engines_ = std::max(1, caps_of({codec_}, context_->device().index).num_engines);
        if (stream.parameters) {
            filter_.emplace(*stream.parameters, ff::to_av(stream.time_base));
            header_ = codec_header(*stream.parameters);
        }
    }

    ~NvDecoder() override {
        parser_.reset();
        if (session_) release_session(std::move(session_));
    }

    void send(const Packet& packet, std::int64_t tag) override {
        static_cast<void>(cuda::api());  // refuses a forked child
        TRICODEC_EXPECT(!ended_, invalid_argument, "the decoder was flushed; call reset() before it decodes more");
        const DecodeScope scope(pending_, 1);
        if (!stream_.time_base.known()) stream_.time_base = packet.time_base;
        const std::int64_t number = num_sent_++;
        if (packet.data.empty()) return;
        sent_.add({number, packet.pts, packet.dts, packet.duration, tag, keys_.is_key(packet), packet.key,
                   packet.discard, packet.corrupt});
        if (packet.pts == kNoTimestamp && packet.dts != kNoTimestamp) decode_times_.push_back(packet.dts);
        if (!parser_) start_parser();
        if (const auto& color = keys_.vp8_color()) stream_.color = *color;
        if (codec_ == cudaVideoCodec_VP9) {
            parse_vp9(packet.data, number);
        } else if (!filter_ || !filter_->rewrites()) {
            parse(packet.data, number);
        } else {
            auto copy = ff::make_packet();
            fill_av_packet(*copy, packet);
            filter_->push(std::move(copy));
            bool any = false;
            while (auto rewritten = filter_->pop()) {
                any = true;
                parse({reinterpret_cast<const std::byte*>(rewritten->data), static_cast<std::size_t>(rewritten->size)},
                      number);
            }
            if (!any) note({number, packet.pts, packet.pos, "the packet is not cut into NAL units properly"});
        }
        take_finished();
    }

    void send_end() override {
        if (ended_) return;
        static_cast<void>(cuda::api());
        const DecodeScope scope(pending_, 0);
        ended_ = true;
        if (parser_) parse({}, -1);
        take_all();
    }

    std::optional<Frame> receive() override {
        if (pending_.empty()) return std::nullopt;
        auto frame = std::move(pending_.front());
        pending_.pop_front();
        return frame;
    }

    void reset(bool mid_stream) override {
        static_cast<void>(cuda::api());
        parser_.reset();  // a parser that stops in mid-stream keeps its references; a new one costs little
        displayed_.clear();
        pending_.clear();
        sent_.clear();
        slots_.fill(-1);
        decode_times_.clear();
        if (filter_) filter_->reset();
        // A decoder that waits for its next GOP range has no use for the hardware's.
        if (session_) release_session(std::move(session_));
        ended_ = false;
        started_ = false;
        mid_stream_ = mid_stream;
        num_sent_ = 0;
    }

    const std::deque<DecodeIssue>& issues() const noexcept override { return issues_.kept(); }
    std::int64_t num_issues() const noexcept override { return issues_.num_met(); }
    std::string engine() const override {
        return "NVDEC " + stream_.codec_name + " (" + context_->properties().name + ")";
    }
    Device device() const noexcept override { return context_->device(); }
    int num_engines() const noexcept override { return num_engines_; }

private:
    /// SPS and PPS, where the container keeps them apart: the first packet need not bring them.
    [[nodiscard]] std::vector<std::byte> codec_header(const AVCodecParameters& parameters) const {
        if (!has_parameter_sets()) return {};
        const auto rewritten = filter_->parameters();
        const auto bytes = extradata_of(rewritten ? rewritten.get() : &parameters);
        return {bytes.begin(), bytes.end()};
    }

    void start_parser() {
        CUVIDPARSERPARAMS parameters{};
        parameters.CodecType = codec_;
        parameters.ulMaxNumDecodeSurfaces = 1;  // until the sequence says how many
        parameters.ulMaxDisplayDelay = 0;       // pictures wait here, where it is known when they are finished
        parameters.ulErrorThreshold = 100;      // damaged pictures are shown, as libavcodec shows them
        parameters.pUserData = this;
        parameters.pfnSequenceCallback = [](void* self, CUVIDEOFORMAT* format) {
            return static_cast<NvDecoder*>(self)->guarded([&](auto& decoder) { return decoder.on_sequence(*format); });
        };
        parameters.pfnDecodePicture = [](void* self, CUVIDPICPARAMS* picture) {
            return static_cast<NvDecoder*>(self)->guarded([&](auto& decoder) { return decoder.on_decode(*picture); });
        };
        parameters.pfnDisplayPicture = [](void* self, CUVIDPARSERDISPINFO* display) {
            return static_cast<NvDecoder*>(self)->guarded([&](auto& decoder) { return decoder.on_display(display); });
        };
        CUvideoparser parser = nullptr;
        cuda::ContextScope scope(*context_);
        check(cuvid().create_parser(&parser, &parameters), "making an NVDEC parser");
        parser_.reset(parser);
        if (!header_.empty()) parse(header_, -1, false);
    }

    /// No exception may pass through the driver's parser: it is kept, the parser told to stop, and thrown afterwards.
    template <class Call>
    int guarded(const Call& call) noexcept {
        try {
            return call(*this);
        } catch (...) {
            failure_ = std::current_exception();
            return 0;
        }
    }

    /// Pictures that are shown again are known here: the parser takes such a packet, of a byte or two, for a picture's
    /// header where others follow it, or shows nothing.
    void parse_vp9(std::span<const std::byte> packet, std::int64_t number) {
        const auto frames = vp9_frames(packet);
        if (!frames)
            return note({number, sent_.find(number).pts, -1, "the superframe is not cut into frames properly"});
        for (const auto frame : *frames) {
            const auto header = parse_vp9_header(frame);
            refreshed_slots_ = header ? header->refreshed_slots : 0;
            if (header && header->shown_slot >= 0) {
                show_again(slots_[static_cast<std::size_t>(header->shown_slot)], number);
            } else {
                fill_slots(-1);
                parse(frame, number);
            }
        }
    }

    /// VP9's slots that the frame in the parser goes to hold the picture of this surface now.
    void fill_slots(int surface) {
        for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
            if ((refreshed_slots_ >> slot & 1) != 0) slots_[slot] = surface;
        }
    }

    void show_again(int surface, std::int64_t number) {
        if (surface < 0) {
            return note({number, sent_.find(number).pts, -1, "the packet shows a picture that was not decoded"});
        }
        CUVIDPARSERDISPINFO display{};
        display.picture_index = surface;
        display.progressive_frame = 1;
        displayed_.push_back({display, number});
    }

    /// No bytes mean the end of the stream.
    void parse(std::span<const std::byte> bytes, std::int64_t number, bool whole_picture = true) {
        CUVIDSOURCEDATAPACKET packet{};
        packet.payload = reinterpret_cast<const unsigned char*>(bytes.data());
        packet.payload_size = bytes.size();
        parsed_ = number;
        if (has_parameter_sets()) areas_.learn(bytes);
        if (bytes.empty()) {
            packet.flags |= CUVID_PKT_ENDOFSTREAM;
        } else if (whole_picture) {
            packet.flags |= CUVID_PKT_ENDOFPICTURE;
        }
        cuda::ContextScope scope(*context_);
        const CUresult result = cuvid().parse(parser_.get(), &packet);
        if (failure_) {
            parser_.reset();  // what it knows after a refusal is not defined
            std::rethrow_exception(std::exchange(failure_, nullptr));
        }
        if (result != CUDA_SUCCESS) {
            if (cuda::device_is_at_fault(static_cast<cuda::Result>(result))) check(result, "decoding by NVDEC");
            if (session_) session_->expect_stream_at_fault(result);
            const auto state = session_ ? cuda::kSuccess : cuda::api().stream_query(nullptr);  // is the context lost?
            if (state != cuda::kNotReady) cuda::check(state, "decoding by NVDEC");
            note({number, sent_.find(number).pts, -1,
                  "NVDEC's parser refused the packet: " + cuda::describe(static_cast<cuda::Result>(result)), -1, true});
        }
    }

    /// Returns the number of surfaces that the parser may use.
    int on_sequence(const CUVIDEOFORMAT& format) {
        const auto width = static_cast<int>(format.coded_width);
        const auto height = static_cast<int>(format.coded_height);
        TRICODEC_EXPECT(width > 0 && height > 0, corrupt_data, "the stream's pictures have no size");
        size_limits_.expect_coded(width, height);
        Geometry geometry;
        geometry.kind = {codec_, format.chroma_format, format.bit_depth_luma_minus8 + 8};
        // VP9's are of any size, while pictures leave the decoder in even ones: nothing must be scaled on the way.
        geometry.coded_width = width + (width & 1);
        geometry.coded_height = height + (height & 1);
        display_area_ = {format.display_area.left, format.display_area.top,
                         format.display_area.right - format.display_area.left,
                         format.display_area.bottom - format.display_area.top};
        TRICODEC_EXPECT(format.bit_depth_chroma_minus8 == format.bit_depth_luma_minus8 ||
                            format.chroma_format == cudaVideoChromaFormat_Monochrome,
                        unsupported,
                        "luma and chroma of different depths are not supported by NVDEC; use device='cpu'");
        auto reason = refusal(geometry.kind, width, height, context_->device().index);
        if (reason.empty()) reason = size_refusal(codec_, display_area_.width, display_area_.height);
        TRICODEC_EXPECT(reason.empty(), unsupported, reason + "; use device='cpu'");
        geometry.block_statistics = tuning_.block_statistics;
        geometry.num_surfaces = std::min(kMostSurfaces, format.min_num_decode_surfaces + tuning_.in_flight);

        take_all();
        if (!session_ || !session_->shows(geometry)) {
            if (session_) release_session(std::move(session_));
            session_ = acquire_session(context_, geometry);
            slots_.fill(-1);
        }
        color_ = sequence_color(format, color_);
        return session_->num_surfaces();
    }

    int on_decode(CUVIDPICPARAMS& picture) {
        TRICODEC_INVARIANT(session_ != nullptr && picture.CurrPicIdx >= 0 &&
                           picture.CurrPicIdx < session_->num_surfaces());
        const auto at = static_cast<std::size_t>(picture.CurrPicIdx);
        const auto holds = [&](const Shown& shown) { return shown.display.picture_index == picture.CurrPicIdx; };
        // The parser takes a picture for shown once it has reported it: take it out before it is overwritten.
        while (std::any_of(displayed_.begin(), displayed_.end(), holds)) take_oldest();
        if (picture.second_field == 0) begin_picture(picture, pictures_[at]);
        fill_slots(picture.CurrPicIdx);
        if (auto refused = session_->decode(picture)) {
            pictures_[at].failed = true;
            const auto packet = num_sent_ - 1;
            note({.packet_number = packet,
                  .pts = sent_.find(packet).pts,
                  .message = *refused + "; the picture has " + std::to_string(picture.nNumSlices) + " slices",
                  .refused = true});
        }
        return 1;
    }

    /// The parser's time stamps are of no use to tell which packet a picture is from: where they do not rise in order
    /// of presentation it makes up others. A packet's pictures are decoded while it is parsed, though.
    void begin_picture(const CUVIDPICPARAMS& picture, Picture& entry) {
        const bool flagged = sent_.find(parsed_).is_flagged_key;
        entry.number = parsed_;
        entry.type = picture_type(picture, codec_);
        entry.stands_alone = is_random_access_point(picture, codec_) || (flagged && entry.type == 'I');
        entry.area = area_of(picture);
        entry.failed = false;
        // Pictures before the first one that stands alone lack what they refer to. H.264 tells only by their place
        // among the pictures shown; of the other codecs nothing shown earlier comes later and needs what is not there.
        if (codec_ != cudaVideoCodec_H264) {
            started_ = started_ || entry.stands_alone;
            entry.failed = !(started_ || mid_stream_);
        }
    }

    [[nodiscard]] bool has_parameter_sets() const noexcept {
        return codec_ == cudaVideoCodec_H264 || codec_ == cudaVideoCodec_HEVC;
    }

    /// What is shown of a picture, by its parameter sets: of H.264 the parser leaves out what is cut off at the left
    /// and at the top, and it says nothing where sets differ in that alone.
    PictureArea area_of(const CUVIDPICPARAMS& picture) {
        PictureArea area = display_area_;
        const auto& coded = session_->geometry();
        const auto fits = [&](const PictureArea& shown) {
            return shown.left >= 0 && shown.top >= 0 && shown.width > 0 && shown.height > 0 &&
                   shown.left + shown.width <= coded.coded_width && shown.top + shown.height <= coded.coded_height;
        };
        if (has_parameter_sets()) {
            const auto set = picture_parameter_set(picture, codec_);
            const auto known = set ? areas_.of(*set) : std::nullopt;
            if (known && fits(*known)) area = *known;
        }
        TRICODEC_EXPECT(fits(area), corrupt_data, "the stream shows an area outside its pictures");
        size_limits_.expect(area.width, area.height, "a picture of the stream");
        return area;
    }

    int on_display(const CUVIDPARSERDISPINFO* display) {
        if (display == nullptr) return 1;
        const auto& picture = pictures_.at(static_cast<std::size_t>(display->picture_index));
        // Where a later packet asks to show a picture, the frame is that packet's.
        displayed_.push_back({*display, reorders() ? picture.number : parsed_});
        return 1;
    }

    [[nodiscard]] bool reorders() const noexcept {
        return codec_ != cudaVideoCodec_VP8 && codec_ != cudaVideoCodec_VP9 && codec_ != cudaVideoCodec_AV1;
    }

    void take_finished() {
        while (!displayed_.empty()) {
            if (displayed_.size() <= static_cast<std::size_t>(tuning_.in_flight)) {
                if (!tuning_.poll) return;
                const auto status = session_->status(displayed_.front().display.picture_index);
                if (status == cuvidDecodeStatus_InProgress || status == cuvidDecodeStatus_Invalid) return;
            }
            take_oldest();
        }
    }

    void take_all() {
        while (!displayed_.empty()) take_oldest();
    }

    /// Moves the picture that is shown first to pending_.
    void take_oldest() {
        const auto [display, number] = displayed_.front();
        displayed_.pop_front();
        const auto& picture = pictures_[static_cast<std::size_t>(display.picture_index)];
        const auto sent = sent_.find(number);
        std::int64_t pts = sent.pts;
        if (pts == kNoTimestamp && !decode_times_.empty()) {
            // Without presentation times the n-th picture shown gets the n-th decoding time.
            pts = decode_times_.front();
            decode_times_.pop_front();
        }
        started_ = started_ || picture.stands_alone;
        // The surface of a picture that failed holds whatever was there before.
        if (sent.discard || picture.failed || !(started_ || mid_stream_)) return;
        Frame frame;
        try {
            frame = session_->output(display, picture.area);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::unsupported) throw;
            return note({.packet_number = sent.number, .pts = pts, .message = error.what(), .refused = true});
        }
        const auto status = session_->status(display.picture_index);
        frame.pts = pts;
        frame.duration = sent.duration;
        frame.time_base = stream_.time_base;
        frame.index = sent.tag;
        frame.color = color_.color(stream_.color);
        frame.sample_aspect_ratio = stream_.sample_aspect_ratio;
        frame.orientation = stream_.orientation;
        frame.key = sent.key;
        frame.picture_type = picture.type;
        // What comes before a picture that stands alone, and was asked for all the same, lacks references: no damage.
        const bool damaged =
            started_ && (status == cuvidDecodeStatus_Error || status == cuvidDecodeStatus_Error_Concealed);
        frame.corrupt = damaged || sent.corrupt;
        if (damaged) {
            note({sent.number, pts, -1,
                  status == cuvidDecodeStatus_Error ? "the picture is damaged"
                                                    : "the picture is damaged; NVDEC concealed it"});
        }
        pending_.push_back(std::move(frame));
    }

    void note(DecodeIssue issue) {
        issue.tag = sent_.find(issue.packet_number).tag;
        issues_.add(std::move(issue));
    }

    StreamInfo stream_;
    cudaVideoCodec codec_;
    NvDecoderTuning tuning_;
    PictureLimits size_limits_;
    int num_engines_ = 1;
    std::shared_ptr<cuda::Context> context_;
    std::optional<ElementaryStreamFilter> filter_;
    std::vector<std::byte> header_;
    std::unique_ptr<void, DestroyParser> parser_;
    std::unique_ptr<Session> session_;
    std::exception_ptr failure_;
    SequenceColor color_;
    KeyInspector keys_;
    SentPackets sent_;
    PictureAreas areas_;
    PictureArea display_area_;                       // of pictures with unknown parameter sets, or without any
    std::array<Picture, kMostSurfaces> pictures_{};  // by surface
    std::array<int, 8> slots_ = {-1, -1, -1, -1, -1, -1, -1, -1};  // of VP9: surfaces, or -1
    std::uint8_t refreshed_slots_ = 0;                             // by the frame in the parser
    std::deque<std::int64_t> decode_times_;
    std::deque<Shown> displayed_;  // in order of presentation, still in the decoder
    std::deque<Frame> pending_;
    RecentIssues issues_;
    std::int64_t num_sent_ = 0;
    std::int64_t parsed_ = -1;  // the packet in the parser
    bool ended_ = false;
    bool started_ = false;     // a picture that stands alone has come
    bool mid_stream_ = false;  // those before it are wanted too
};

}  // namespace

std::unique_ptr<Decoder> make_nv_decoder(const StreamInfo& stream, Device device, std::uintptr_t context,
                                         const NvDecoderTuning& tuning) {
    return std::make_unique<NvDecoder>(stream, cuda::Context::of_caller(context, device), tuning);
}

}  // namespace tricodec
