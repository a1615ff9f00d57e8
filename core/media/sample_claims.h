// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tricodec/media/media_source.h"

namespace tricodec {

/// Refuses files that claim more samples than they can hold, before libavformat takes memory for them.
///
/// libavformat takes 24 bytes or more for each sample that a header claims, whatever the file holds. Most samples are
/// listed one by one, so that the file is as large as the claim. These are not: those of a fragment (`trun`) that all
/// have the default size, those of a track of one size (`stsz`), and those of an index of MXF. All of them together may
/// be one for each byte of the file, and some more, since a file may be cut short.
///
/// It sees the bytes on their way to libavformat, and passes over media data (`mdat`). See Note [Boxes anywhere].
class SampleClaims {
public:
    using Bytes = std::span<const std::uint8_t>;

    /// `size`: that of the source, as far as it is known.
    SampleClaims(std::string name, std::function<std::optional<std::int64_t>()> size)
        : name_(std::move(name)), size_(std::move(size)) {}

    /// Says what the bytes are. Until then they are kept, because libavformat looks at them to find that out, and may
    /// not ask for them again. `reader` and the result are as those of see(), which throws the same.
    bool set_format(ByteReader* reader, std::string_view demuxer_name);
    /// Bytes that libavformat is about to get. `reader`: null if the source can only be read in order. True if its
    /// position is another now. Throws Error(refused, corrupt_data).
    bool see(ByteReader* reader, std::int64_t position, Bytes bytes);

private:
    enum class Format : std::uint8_t { unknown, other, mov, mxf };

    std::vector<std::uint8_t> at_least(ByteReader* reader, std::int64_t position, Bytes bytes, std::uint64_t count);
    void look(ByteReader* reader, std::int64_t position, Bytes bytes);
    /// Where the media data end that have this position; nothing outside of them.
    [[nodiscard]] std::optional<std::int64_t> end_of_media(std::int64_t position) const;
    std::size_t collect_header(Bytes bytes);
    void scan(ByteReader* reader, std::int64_t position, Bytes bytes);
    /// `bytes` begin with what is looked for. False if more of them are needed.
    bool examine(ByteReader* reader, std::int64_t position, Bytes bytes);
    void examine_box(ByteReader* reader, std::int64_t position, std::string_view name, Bytes payload);
    void examine_mxf_index(ByteReader* reader, std::int64_t position, Bytes bytes);
    void add_fragment_run(std::int64_t position, Bytes run);
    void add_roots_of_sidx(ByteReader* reader, std::int64_t position, Bytes payload);
    void add_roots_of_tfra(ByteReader* reader, std::int64_t position, Bytes payload);
    void add_root(std::uint64_t place);
    void add_top_box(std::int64_t start, std::string_view name);
    void expect_no_hidden_list(ByteReader* reader, Bytes bytes);
    void expect_few_edits();
    void expect_few_chunks(ByteReader* reader);
    void expect_short_runs(ByteReader* reader, std::int64_t position, bool is_group);
    void claim(std::int64_t position, std::uint64_t num_samples);
    /// The most samples that the file may claim without a byte for each.
    [[nodiscard]] std::uint64_t most(std::int64_t position) const;
    [[noreturn]] void refuse(std::uint64_t count, const std::string& what, std::uint64_t most) const;

    std::string name_;
    std::function<std::optional<std::int64_t>()> size_;
    Format format_ = Format::unknown;
    std::vector<std::uint8_t> kept_;  // from the start, until the format is known
    std::int64_t end_ = 0;            // of the bytes seen last
    std::vector<std::uint8_t> edge_;  // the last bytes scanned, where a name may begin
    std::vector<std::uint8_t> header_;
    std::int64_t header_at_ = 0;                  // of the next box at the top
    std::set<std::int64_t> tops_;                 // where boxes at the top start
    std::map<std::int64_t, std::int64_t> media_;  // from, to
    std::set<std::int64_t> roots_;                // where lists of fragments lead
    bool has_gaps_ = false;                       // between the boxes at the top that were seen
    bool trusts_boxes_ = true;                    // no list leads elsewhere than to a box at the top
    std::map<std::int64_t, std::uint64_t> claims_;
    std::uint64_t num_claimed_ = 0;
    std::uint64_t most_samples_ = 0;
    std::uint64_t most_edits_ = 0;
    std::uint64_t num_chunks_ = 0;
    std::optional<std::int64_t> chunk_runs_;           // where `stsc` is
    std::optional<std::int64_t> composition_offsets_;  // where `ctts` is
    bool counts_sound_ = false;                        // `stts`: each sample of the sound lasts one tick
    bool has_sync_groups_ = false;
    bool moved_ = false;
};

}  // namespace tricodec
