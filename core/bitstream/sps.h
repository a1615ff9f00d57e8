// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "bitstream/nal.h"

namespace tricodec {

/// What an H.264 sequence parameter set says of the pictures (7.3.2.1 and annex E).
struct H264Sps {
    unsigned id = 0;
    int profile_idc = 0;
    unsigned constraint_flags = 0;  ///< bit i is constraint_set<i>_flag
    int level_idc = 0;
    int chroma_format_idc = 1;
    bool separate_planes = false;
    int luma_depth = 8;
    int chroma_depth = 8;
    int coded_width = 0;
    int coded_height = 0;
    int crop_left = 0;  ///< in luma samples
    int crop_right = 0;
    int crop_top = 0;
    int crop_bottom = 0;
    bool frames_only = true;  ///< no field pictures, no field macroblocks
    int sar_num = 0;          ///< 0 unspecified
    int sar_den = 1;
    bool has_signal_type = false;
    bool full_range = false;
    bool has_color = false;
    int primaries = 2;
    int transfer = 2;
    int matrix = 2;
    int chroma_location = 0;      ///< chroma_sample_loc_type_top_field
    int num_reorder_frames = -1;  ///< -1 where the stream does not restrict itself
    int num_kept_frames = 0;      ///< that a decoder keeps at a time, for reference or for their turn
};

/// Reads an SPS NAL unit, its header byte included. Nothing if it is damaged or of an unknown kind.
[[nodiscard]] std::optional<H264Sps> parse_h264_sps(Bytes nal);

/// The one SPS of an avcC record or of Annex B extradata; nothing if there are several or none.
[[nodiscard]] std::optional<H264Sps> only_h264_sps(Bytes extradata);

/// What an HEVC sequence parameter set says of the size of the pictures (7.3.2.2), in luma samples.
struct HevcSps {
    unsigned id = 0;
    int coded_width = 0;
    int coded_height = 0;
    int crop_left = 0;  ///< the conformance window's; a default display window changes nothing
    int crop_right = 0;
    int crop_top = 0;
    int crop_bottom = 0;
    int num_kept_frames = 0;  ///< that a decoder keeps at a time, with the current one; 0 if that is damaged
};

/// Reads an SPS NAL unit, its header included, as far as the size of the picture buffer. Nothing if it is damaged.
[[nodiscard]] std::optional<HevcSps> parse_hevc_sps(Bytes nal);

/// Calls `visit` for each NAL unit of an hvcC record (ISO/IEC 14496-15, 8.3.3.1) or of Annex B extradata.
void for_each_hevc_unit(Bytes extradata, const std::function<void(Bytes nal)>& visit);

/// The first SPS of an hvcC record or of Annex B extradata.
[[nodiscard]] std::optional<HevcSps> first_hevc_sps(Bytes extradata);

}  // namespace tricodec
