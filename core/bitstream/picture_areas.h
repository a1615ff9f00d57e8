// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "bitstream/nal.h"
#include "tricodec/io/stream_info.h"

namespace tricodec {

/// The part of a coded picture that is shown, in luma samples.
struct PictureArea {
    int left = 0;
    int top = 0;
    int width = 0;
    int height = 0;
    friend bool operator==(const PictureArea&, const PictureArea&) = default;
};

/// The part of the pictures that a stream of H.264 or HEVC shows, from its parameter sets: frame cropping (7.4.2.1.1 of
/// H.264), the conformance window (7.4.3.2.1 of HEVC). As in libavcodec, the size in the container counts for H.264 if
/// it cuts off less than one more macroblock at the right and at the bottom.
class PictureAreas {
public:
    explicit PictureAreas(const StreamInfo& stream);

    /// Learns the parameter sets before the picture of an Annex B packet, or those of headers.
    void learn(Bytes annexb);
    /// The area of pictures with this picture parameter set; nothing if its sets are not known.
    [[nodiscard]] std::optional<PictureArea> of(unsigned picture_set);

private:
    void learn_sequence(Bytes nal);
    [[nodiscard]] PictureArea cut_by_container(const PictureArea& area);

    CodecId codec_;
    int container_width_ = 0;  // 0 once it does not fit
    int container_height_ = 0;
    std::map<unsigned, PictureArea> by_sequence_set_;
    std::map<unsigned, unsigned> sequence_sets_;  // by the picture parameter set that names them
};

}  // namespace tricodec
