// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "media/bit_reader.h"
#include "media/nal.h"
#include "media/sps.h"

namespace tricodec {

/// What a slice of an H.264 frame says of references (7.3.3).
struct H264References {
    bool is_inter = false;
    bool is_bidirectional = false;
    bool is_redundant = false;  ///< of a copy of the slice, which decoders leave out
    /// Of a list: how many pictures it has, and the commands that put some of them first.
    struct List {
        std::uint32_t num_active = 0;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> commands{};  ///< kind and number
    };
    std::array<List, 2> lists{};
    bool slides = true;  ///< the oldest picture makes room, and there are no commands
    struct Command {
        std::uint32_t kind = 0;  ///< memory_management_control_operation
        std::uint32_t difference = 0;
        std::uint32_t long_index = 0;
    };
    std::vector<Command> commands{};
};

/// Which pictures a decoder of H.264 keeps for reference (8.2.5), by the headers of frames.
///
/// Note [Open entries]: a key frame that is no IDR picture leaves the older pictures to those that are shown before it.
/// An encoder makes the decoder forget them soon, or keeps its lists short. Damage may make the decoder forget a newer
/// picture instead, name an older one or lengthen a list. No decoder complains then: one that came from before has the
/// older picture, and to one that began at the key frame it is one that is missing as expected. So decoding does not
/// begin at a key frame if a list of a picture that is shown after it holds an older picture, nor if the key frame has
/// lists itself, nor if a header that follows cannot be read while older pictures are kept, nor if a reference that is
/// shown before it follows late.
///
/// Some encoders put older pictures at the ends of lists and never use them. If most key frames of a stream are so,
/// decoding begins at them all the same, unless a command has put the older picture there.
class ReferenceMarks {
public:
    /// The parameter sets of an avcC record or of Annex B extradata.
    void learn(Bytes extradata);
    /// A picture parameter set, its header byte included.
    void learn_pps(Bytes nal);

    struct Picture {
        std::int64_t packet = 0;
        std::uint32_t frame_num = 0;
        std::int64_t place = 0;  ///< in the order of showing
        bool is_idr = false;
        bool is_reference = false;
        bool is_open_entry = false;
    };
    /// Reads a slice's header from after pic_order_cnt_lsb on. Nothing if it is damaged or of an unknown kind.
    [[nodiscard]] std::optional<H264References> read(BitReader& bits, const H264Sps& sps, std::uint32_t slice_type,
                                                     std::uint32_t pps, bool is_idr, bool is_reference) const;
    /// Of all pictures in their order, with all their slices if doubts() or at an open entry, else the first. False
    /// if it names one that is not kept, of which a decoder complains.
    [[nodiscard]] bool add(const Picture& picture, std::span<const H264References> slices, const H264Sps& sps);
    /// A picture is not known: neither is what is kept, until the next IDR picture.
    void lose();
    /// True if any slice of the picture of that place may show that an open entry before it is false.
    [[nodiscard]] bool doubts(std::int64_t place) const;
    /// Packets of key frames that give other pictures than decoding from before; Note [Open entries].
    [[nodiscard]] std::vector<std::int64_t> false_entries() const;

private:
    struct Pps {
        bool has_bottom_order = false;
        std::array<std::uint32_t, 2> num_active{};
        bool weights_p = false;
        bool weights_b = false;
        bool has_redundant_count = false;
    };
    struct Kept {
        std::int64_t packet = 0;
        std::uint32_t frame_num = 0;
        std::int64_t place = 0;
        std::optional<std::uint32_t> long_index{};
    };
    /// A key frame while pictures that are older or shown before it are kept.
    struct Entry {
        std::int64_t packet = 0;
        std::int64_t place = 0;
        bool lost_newer = false;  ///< a command has removed a picture that is neither
        bool reaches = false;     ///< a list holds one that is either
        bool is_alone = false;    ///< none that is either is kept, unless a decoder that began here has made it up
        [[nodiscard]] bool is_newer(const Kept& kept) const { return kept.packet >= packet && kept.place >= place; }
    };
    using Place = std::vector<Kept>::iterator;
    /// The pictures of a slice's list. Null is one that is not known.
    struct List {
        std::vector<const Kept*> pictures;
        std::size_t num_named = 0;  ///< those that commands have put first
    };
    [[nodiscard]] List list_of(const Picture& picture, const H264References& slice, std::size_t which,
                               std::uint32_t range);
    [[nodiscard]] std::vector<const Kept*> initial_list(const Picture& picture, bool is_bidirectional,
                                                        std::size_t which) const;
    /// Calls `visit` for what each command of a list names.
    template <typename Visit>
    void for_each_named(const Picture& picture, const H264References::List& list, std::uint32_t range, Visit visit);
    [[nodiscard]] Place find_short(std::uint32_t frame_num);
    [[nodiscard]] Place find_long(std::uint32_t index);
    void remove(Place at);
    void slide();
    void forget();
    [[nodiscard]] bool names_kept(const Picture& picture, const H264References& references, std::uint32_t range);
    void settle(const H264Sps& sps);
    void judge_entries(const Picture& picture, std::span<const H264References> slices, const H264Sps& sps);
    [[nodiscard]] bool mark(const Picture& picture, const H264References& references, const H264Sps& sps);

    std::map<std::uint32_t, Pps> sets_;
    bool complete_ = false;    // since an IDR picture
    std::vector<Kept> kept_;   // in decoding order
    std::vector<Entry> open_;  // entries that are in doubt
    std::size_t num_entries_ = 0;
    std::vector<std::int64_t> false_entries_;
    std::vector<std::int64_t> reaching_entries_;  // false as well, unless most are
};

}  // namespace tricodec
