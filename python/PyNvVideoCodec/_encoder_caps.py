# SPDX-License-Identifier: Apache-2.0
"""GetEncoderCaps: what the CPU's encoder of a codec can do, by NVENC's names."""

from __future__ import annotations

import tricodec
from tricodec import encode_parameters

_CAPS = """
num_max_bframes supported_ratecontrol_modes support_field_encoding support_monochrome support_fmo
support_qpelmv support_bdirect_mode support_cabac support_adaptive_transform support_stereo_mvc
num_max_temporal_layers support_hierarchical_pframes support_hierarchical_bframes level_max level_min
separate_colour_plane width_max height_max support_temporal_svc support_dyn_res_change
support_dyn_bitrate_change support_dyn_force_constqp support_dyn_rcmode_change support_subframe_readback
support_constrained_encoding support_intra_refresh support_custom_vbv_buf_size support_dynamic_slice_mode
support_ref_pic_invalidation preproc_support async_encode_support mb_num_max mb_per_sec_max
support_yuv444_encode support_lossless_encode support_sao support_meonly_mode support_lookahead
support_temporal_aq support_10bit_encode num_max_ltr_frames support_weighted_prediction
dynamic_query_encoder_capacity support_bframe_ref_mode support_emphasis_level_map width_min height_min
support_multiple_ref_frames support_alpha_layer_encoding num_encoder_engines single_slice_intra_refresh
disable_enc_state_advance output_recon_surface output_block_stats output_row_stats unknown
support_yuv422_encode
""".split()


def GetEncoderCaps(gpuid: int = 0, codec: str = "h264") -> dict[str, int]:
    """What the CPU's encoder of a codec can do, by NVENC's names; {} for a codec that nothing on the CPU encodes.

    It is the CPU's also where a GPU encodes, whose own limits are not asked for: ``num_encoder_engines`` is always 0.

    Args:
        gpuid: accepted.
        codec: "h264", "hevc" or "av1", in any case.
    """
    name = encode_parameters.CPU_ENCODERS.get(str(codec).lower())
    if name is None or name not in tricodec.encoder_names():
        return {}
    limits = tricodec.get_limits()
    x26x = name != "libsvtav1"
    known = {
        "num_max_bframes": 16 if x26x else 0, "supported_ratecontrol_modes": 63 if x26x else 3,
        "support_cabac": int(name == "libx264"), "support_adaptive_transform": int(name == "libx264"),
        "support_bdirect_mode": int(name == "libx264"), "support_hierarchical_bframes": int(not x26x),
        "width_max": min(limits.max_width, 16384), "height_max": min(limits.max_height, 16384),
        "width_min": 16 if x26x else 64, "height_min": 16 if x26x else 64,
        "support_dyn_bitrate_change": int(name == "libx264"), "support_custom_vbv_buf_size": int(x26x),
        "support_dynamic_slice_mode": int(x26x), "support_yuv444_encode": int(x26x),
        "support_lossless_encode": int(x26x), "support_sao": int(name == "libx265"), "support_lookahead": 1,
        "support_temporal_aq": int(x26x), "support_10bit_encode": 1, "support_weighted_prediction": int(x26x),
        "support_multiple_ref_frames": 1, "support_yuv422_encode": int(x26x),
    }  # fmt: skip
    return {cap: known.get(cap, 0) for cap in _CAPS}
