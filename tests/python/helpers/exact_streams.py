# SPDX-License-Identifier: Apache-2.0
"""The streams of docs/explanation/exactness.md: what each covers, and MD5s of frames from an independent source."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import exact_pcm
import media
import media_recipes
import numpy as np
import tricodec
from exact_encoded import av1, md5, reference, vpx, x264, x265
from h264_writer import H264Stream
from hevc_writer import HevcStream
from pcm_stream import PcmStream

WRITTEN = "its samples, which it holds without prediction"
X264 = "x264's own reconstruction"
X265 = "the MD5s in the stream, of x265's reconstruction"
LIBVPX, LIBAOM = "libvpx", "libaom"
PUBLISHED = "published with the conformance stream"


@dataclasses.dataclass(frozen=True)
class ExactStream:
    """A row of the table.

    Attributes:
        name: of the file, or of the stream where it has none.
        covers: in words.
        source: where the MD5s are from.
        make: gives the file and the MD5 of each frame in the order of presentation.
        of_planes: whether an MD5 is those of the planes joined, instead of that of the packed frame.
        known: why the CPU's frames differ; empty if they do not.
    """

    name: str
    covers: str
    source: str
    make: Callable[[], tuple[Path, list[str]]]
    of_planes: bool = False
    known: str = ""

    def digest(self, frame: tricodec.Frame) -> str:
        """What `make` has of each frame."""
        if not self.of_planes:
            return frame.md5()
        return "".join(md5(np.asarray(plane).tobytes()) for plane in frame.planes)


def _written(name: str, covers: str, write: Callable[[], PcmStream], known: str = "") -> ExactStream:
    def make() -> tuple[Path, list[str]]:
        stream = write()
        path = media.CACHE / "exact" / md5(bytes(stream.data)) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(stream.data)
        return path, [md5(frame) for frame in stream.expected]

    return ExactStream(name, covers, WRITTEN, make, known=known)


def _x264(name: str, covers: str, options: str, pix_fmt: str = "yuv420p", **more: Any) -> ExactStream:
    return ExactStream(name, covers, X264, partial(x264, name, options, pix_fmt, **more))


def _x265(
    name: str, covers: str, options: str, pix_fmt: str = "yuv420p", *, known: str = "", noise: int = 0
) -> ExactStream:
    return ExactStream(
        name, covers, X265, partial(x265, name, options, pix_fmt, noise=noise), of_planes=True, known=known
    )


_VP8 = "-c:v libvpx -b:v 400k -deadline good -cpu-used 4"
_VP9 = "-c:v libvpx-vp9 -b:v 300k -deadline good -cpu-used 5"
_AOM = "-c:v libaom-av1 -cpu-used 8 -crf 40 -b:v 0 -lag-in-frames 19"
_SVT = "-c:v libsvtav1 -preset 9 -crf 45"


def _vpx(name: str, covers: str, options: str, pix_fmt: str = "yuv420p", **more: Any) -> ExactStream:
    return ExactStream(name, covers, LIBVPX, partial(vpx, name, options, pix_fmt, **more))


def _av1(name: str, covers: str, options: str, pix_fmt: str = "yuv420p", **more: Any) -> ExactStream:
    return ExactStream(name, covers, LIBAOM, partial(av1, name, options, pix_fmt, **more))


def _generated(name: str, covers: str, decoder: str) -> ExactStream:
    return ExactStream(name, covers, LIBVPX, lambda: reference(media.generated(name), decoder))


def _joined(name: str, maker: Callable[..., tuple[Path, list[str]]], options: str) -> tuple[Path, list[str]]:
    """Two streams of other sizes, one after the other."""
    parts = [maker(f"{number}-{name}", options, size=size) for number, size in enumerate([(320, 192), (176, 144)])]
    files = [path.read_bytes() for path, _ in parts]
    packets = [packet for file in files for packet in media_recipes.ivf_packets(file)]
    path = parts[0][0].with_name(name)
    path.write_bytes(media_recipes.write_ivf(files[0], packets))
    return path, [frame for _, frames in parts for frame in frames]


H264 = [
    _written("h264_pcm.h264", "I_PCM, 4:2:0 of 8 bits", exact_pcm.h264),
    *(
        _written(
            f"h264_pcm_{name}_{depth}.h264",
            f"I_PCM, {name[0]}:{name[1]}:{name[2]} of {depth} bits",
            partial(exact_pcm.h264, chroma=chroma, depth=depth, profile=244 if chroma == 3 or depth > 10 else 122),
        )
        for chroma, name in ((1, "420"), (2, "422"), (3, "444"))
        for depth in (8, 10, 12)
        if (chroma, depth) != (1, 8)
    ),
    _written("h264_crop.h264", "cropping at all sides", partial(exact_pcm.h264, crop=(3, 5, 2, 7))),
    _written(
        "h264_crop_fields.h264",
        "cropping of interlaced frames",
        partial(exact_pcm.h264, interlaced=True, crop=(1, 2, 2, 4)),
    ),
    _written("h264_poc1.h264", "order of pictures of type 1", partial(exact_pcm.h264, poc_type=1)),
    _written("h264_poc2.h264", "order of pictures of type 2", partial(exact_pcm.h264, poc_type=2)),
    _written(
        "h264_mbaff.h264", "MBAFF: field and frame macroblocks", partial(exact_pcm.h264, interlaced=True, mbaff=True)
    ),
    _written("h264_paff.h264", "PAFF: frames, and field pictures of either order", exact_pcm.h264_fields),
    _written("h264_field_of_field.h264", "a field predicted from the other field", exact_pcm.h264_field_of_field),
    _written("h264_slices.h264", "several slices a picture", exact_pcm.h264_slices),
    _written("h264_redundant.h264", "redundant pictures", exact_pcm.h264_redundant),
    _written("h264_long_term.h264", "long-term reference pictures", exact_pcm.h264_long_term),
    _written("h264_gaps.h264", "gaps in frame_num", exact_pcm.h264_gaps),
    _written(
        "h264_reordered.h264",
        "pictures that are shown before others, and that nothing refers to",
        exact_pcm.h264_reordered,
    ),
    _written("h264_sizes.h264", "changes of the size", partial(exact_pcm.sizes, H264Stream)),
    _x264(
        "h264_pyramid.mp4",
        "B pyramid, weighted prediction, 8 reference pictures",
        "bframes=7:b-pyramid=normal:ref=8:weightp=2",
    ),
    _x264("h264_open.mkv", "open groups", "open-gop=1:bframes=3:b-adapt=0"),
    _x264("h264_cavlc.mp4", "CAVLC, temporal direct", "cabac=0:bframes=3:direct=temporal"),
    _x264("h264_baseline.h264", "baseline", "cabac=0:bframes=0:no-8x8dct=1:weightp=0", flags="-profile:v baseline"),
    _x264("h264_tff.ts", "MBAFF with prediction, top field first", "tff=1:bframes=3:ref=4", flags="-flags +ildct+ilme"),
    _x264(
        "h264_bff.ts",
        "MBAFF with prediction in CAVLC, bottom field first",
        "bff=1:cabac=0:bframes=3",
        flags="-flags +ildct+ilme",
    ),
    _x264(
        "h264_many_slices.mp4", "a slice a row of macroblocks, offsets of deblocking", "slice-max-mbs=20:deblock=-3,3"
    ),
    _x264("h264_no_filter.mp4", "no deblocking, constrained intra prediction", "no-deblock=1:constrained-intra=1"),
    _x264("h264_matrix.mp4", "scaling lists", "cqm=jvt:qp=30"),
    _x264("h264_refresh.mp4", "periodic intra refresh", "intra-refresh=1:bframes=0"),
    _x264("h264_lossless.mp4", "lossless, 4:2:0", "qp=0", noise=20),
    _x264("h264_lossless_444.mp4", "lossless, 4:4:4", "qp=0", "yuv444p", noise=20),
    _x264("h264_low_qp.mp4", "large residuals", "qp=1", noise=60),
    _x264("h264_gray.mp4", "4:0:0, given as 4:2:0", "bframes=3", "gray"),
    _x264("h264_gray10.mp4", "4:0:0 of 10 bits, given as 4:2:0", "bframes=3", "gray10le"),
    _x264("h264_420_10.mp4", "4:2:0 of 10 bits", "bframes=3", "yuv420p10le"),
    _x264("h264_422.mp4", "4:2:2", "bframes=3", "yuv422p"),
    _x264("h264_422_10.ts", "4:2:2 of 10 bits, MBAFF", "tff=1:bframes=3", "yuv422p10le", flags="-flags +ildct+ilme"),
    _x264("h264_444_10.mp4", "4:4:4 of 10 bits", "bframes=3", "yuv444p10le"),
    _x264("h264_rgb.mkv", "GBR", "bframes=3", "gbrp"),
    _x264("h264_edit.mp4", "an edit list that hides the first 18 frames", "bframes=3", first=18),
]

HEVC = [
    *(
        _written(
            f"hevc_pcm_{name}_{depth}.hevc",
            f"PCM, {name[0]}:{name[1]}:{name[2]} of {depth} bits",
            partial(exact_pcm.hevc, chroma=chroma, depth=depth),
        )
        for chroma, name in ((1, "420"), (2, "422"), (3, "444"))
        for depth in (8, 10, 12)
    ),
    _written("hevc_pcm_400_8.hevc", "PCM, 4:0:0", partial(exact_pcm.hevc, chroma=0), known="PCM of 4:0:0"),
    _written(
        "hevc_crop.hevc", "a conformance window with all four offsets", partial(exact_pcm.hevc, crop=(1, 2, 3, 4))
    ),
    _written("hevc_slices.hevc", "slices and dependent slice segments", partial(exact_pcm.hevc, (2, -5, -7))),
    _written("hevc_tiles.hevc", "tiles of uneven sizes", partial(exact_pcm.hevc, columns=(1, 3, 1), rows=(2, 3))),
    _written(
        "hevc_tiles_slices.hevc",
        "tiles in several slices",
        partial(exact_pcm.hevc, (2, 10), columns=(1, 4), rows=(2, 3)),
    ),
    _written("hevc_wavefront.hevc", "wavefronts with entry points", partial(exact_pcm.hevc, wavefront=True)),
    _written(
        "hevc_wavefront_slices.hevc",
        "a dependent slice segment for each row of a wavefront",
        partial(exact_pcm.hevc, (-5, -10, -15, -20), wavefront=True),
    ),
    _written(
        "hevc_skipped_tiles.hevc",
        "prediction in tiles",
        partial(exact_pcm.hevc_skipped, (4,), columns=(2, 3), rows=(2, 3)),
    ),
    _written(
        "hevc_skipped_wavefront.hevc",
        "prediction in wavefronts",
        partial(exact_pcm.hevc_skipped, (5, 15), wavefront=True),
    ),
    _written("hevc_long_term.hevc", "long-term reference pictures", exact_pcm.hevc_long_term),
    _written("hevc_hidden.hevc", "pictures that are not shown (pic_output_flag)", exact_pcm.hevc_hidden),
    _written("hevc_leading.hevc", "leading pictures of CRA and BLA pictures", exact_pcm.hevc_leading),
    _written("hevc_sizes.hevc", "changes of the size", partial(exact_pcm.sizes, HevcStream)),
    _x265("hevc_pyramid.mp4", "B pyramid, closed groups", "open-gop=0:bframes=7:b-pyramid=1:ref=5:weightb=1"),
    _x265("hevc_open.mkv", "open groups", "open-gop=1:bframes=4"),
    _x265(
        "hevc_all_tools.mp4",
        "asymmetric partitions, transform skip, all sizes of transforms",
        "amp=1:rect=1:tskip=1:tu-intra-depth=3:tu-inter-depth=3",
    ),
    _x265("hevc_ctu16.mp4", "coding tree blocks of 16x16", "ctu=16:max-tu-size=16", known="SAO of 16x16 blocks"),
    _x265("hevc_ctu16_no_sao.mp4", "coding tree blocks of 16x16 without SAO", "ctu=16:max-tu-size=16:no-sao=1"),
    _x265("hevc_x265_slices.mp4", "slices with filters across them", "slices=3:ctu=32"),
    _x265(
        "hevc_no_filters.mp4",
        "neither deblocking nor SAO, constrained intra prediction",
        "no-deblock=1:no-sao=1:constrained-intra=1",
    ),
    _x265(
        "hevc_offsets.mp4",
        "offsets of QP and of deblocking, changes of QP",
        "cbqpoffs=-6:crqpoffs=6:deblock=-4,4:aq-mode=3:qg-size=16",
    ),
    _x265("hevc_matrix.mp4", "scaling lists", "scaling-list=default"),
    _x265("hevc_layers.mp4", "temporal layers", "temporal-layers=1:bframes=4"),
    _x265("hevc_lossless.mp4", "lossless", "lossless=1", noise=20),
    _x265("hevc_gray.mp4", "4:0:0", "bframes=3", "gray"),
    _x265("hevc_gray10.mp4", "4:0:0 of 10 bits", "bframes=3", "gray10le"),
    _x265("hevc_gray12.mp4", "4:0:0 of 12 bits", "bframes=3", "gray12le"),
    *(
        _x265(
            f"hevc_{chroma}_{depth}.mp4",
            f"{chroma[0]}:{chroma[1]}:{chroma[2]} of {depth} bits",
            "bframes=3",
            f"yuv{chroma}p{bits}",
        )
        for chroma in ("420", "422", "444")
        for depth, bits in ((8, ""), (10, "10le"), (12, "12le"))
        if (chroma, depth) != ("420", 8)
    ),
]

VPX = [
    _generated("vp8.webm", "VP8, hidden pictures", "libvpx"),
    _vpx("vp8_odd.webm", "VP8 of an odd size", _VP8, size=(175, 143)),
    *(
        _vpx(f"vp8_profile{n}.webm", f"VP8, profile {n}: simpler filters and motion", f"{_VP8} -profile:v {n}")
        for n in (1, 2, 3)
    ),
    _vpx(
        "vp8_partitions.webm",
        "VP8, 8 partitions, sharpness, error resilience",
        f"{_VP8} -slices 8 -sharpness 5 -error-resilient 1",
    ),
    ExactStream("vp8_sizes.ivf", "VP8, a change of the size", LIBVPX, partial(_joined, "vp8_sizes.ivf", vpx, _VP8)),
    _generated("vp9.webm", "VP9, superframes with hidden pictures", "libvpx-vp9"),
    _vpx("vp9_odd.webm", "VP9 of an odd size", _VP9, size=(175, 143)),
    _vpx("vp9_small.webm", "VP9 of 2x2 pixels", _VP9, size=(2, 2)),
    _vpx("vp9_tiles.webm", "VP9, tiles", f"{_VP9} -tile-columns 2 -tile-rows 1", size=(1024, 192)),
    _vpx("vp9_lossless.webm", "VP9, lossless", f"{_VP9} -lossless 1"),
    _vpx(
        "vp9_parallel.webm",
        "VP9, frame parallel, error resilience, segments",
        f"{_VP9} -frame-parallel 1 -error-resilient 1 -aq-mode 3",
    ),
    _generated("vp9_shown_again.ivf", "VP9, show_existing_frame, also in superframes", "libvpx-vp9"),
    ExactStream("vp9_sizes.ivf", "VP9, a change of the size", LIBVPX, partial(_joined, "vp9_sizes.ivf", vpx, _VP9)),
    *(
        _vpx(
            f"vp9_{chroma}_{depth}.webm",
            f"VP9, {chroma[0]}:{chroma[1]}:{chroma[2]} of {depth} bits",
            _VP9,
            f"yuv{chroma}p{bits}",
        )
        for chroma in ("420", "422", "440", "444")
        for depth, bits in ((8, ""), (10, "10le"), (12, "12le"))
        if (chroma, depth) != ("420", 8)
    ),
]

AV1 = [
    _av1("av1.mp4", "AV1, hidden pictures", f"{_AOM} -auto-alt-ref 1"),
    _av1("av1.obu", "AV1 without a container", _AOM),
    _av1("av1_odd.mkv", "AV1 of an odd size", _AOM, size=(175, 143)),
    _av1("av1_tiles.mp4", "AV1, tiles", f"{_AOM} -tile-columns 2 -tile-rows 1", size=(512, 256)),
    _av1("av1_lossless.mp4", "AV1, lossless", "-c:v libaom-av1 -cpu-used 6 -crf 0 -aom-params lossless=1"),
    _av1("av1_screen.mp4", "AV1, intra block copy and palettes", f"{_AOM} -aom-params tune-content=screen"),
    _av1("av1_resilient.mp4", "AV1, error resilience", f"{_AOM} -error-resilience default"),
    _av1("av1_forward.mp4", "AV1, forward key frames, which are shown later", f"{_SVT} -svtav1-params irefresh-type=1"),
    _av1("av1_superres.mp4", "AV1, super-resolution", f"{_SVT} -svtav1-params superres-mode=1:superres-denom=13"),
    _av1(
        "av1_scaled.mp4",
        "AV1, prediction from pictures of another size",
        f"{_SVT} -svtav1-params resize-mode=1:resize-denom=12:resize-kf-denom=8",
    ),
    _av1("av1_grain.mp4", "AV1, film grain", f"{_AOM} -aom-params film-grain-test=3"),
    _av1("av1_grain10.mkv", "AV1, film grain of 10 bits", f"{_AOM} -aom-params film-grain-test=9", "yuv420p10le"),
    _av1("av1_svt_grain.mp4", "AV1 of SVT-AV1, film grain", f"{_SVT} -svtav1-params film-grain=10"),
    ExactStream("av1_sizes.ivf", "AV1, a change of the size", LIBAOM, partial(_joined, "av1_sizes.ivf", av1, _AOM)),
    _av1("av1_gray.mkv", "AV1, 4:0:0", _AOM, "gray"),
    *(
        _av1(
            f"av1_{chroma}_{depth}.mkv",
            f"AV1, {chroma[0]}:{chroma[1]}:{chroma[2]} of {depth} bits",
            _AOM,
            f"yuv{chroma}p{bits}",
            size=(192, 128),
        )
        for chroma in ("420", "422", "444")
        for depth, bits in ((8, ""), (10, "10le"), (12, "12le"))
        if (chroma, depth) != ("420", 8)
    ),
]


def _frames_of_published(clip: media.Clip, md5_of_all: str) -> tuple[Path, list[str]]:
    assert media.ffmpeg_md5(clip.path) == md5_of_all, clip.name
    return clip.path, media.ffmpeg_framemd5(clip.path)


def _published() -> list[ExactStream]:
    """The conformance streams among the shared clips. One MD5 of all frames is published; each frame's follows."""
    known = {
        "BA_MW_D.264": ("ITU-T H.264.1, baseline, several reference pictures", "7d5d351ad061640294bf43a43150fbca"),
        "FREXT01_JVC_D.264": ("ITU-T H.264.1, High profile, interlaced", "34287e0608dc68efc9edf4eda6bbb434"),
    }
    return [
        ExactStream(clip.name, known[clip.name][0], PUBLISHED, partial(_frames_of_published, clip, known[clip.name][1]))
        for clip in media.manifest()
        if clip.name in known
    ]


STREAMS: list[ExactStream] = [*_published(), *H264, *HEVC, *VPX, *AV1]


def frames_of(stream: ExactStream, device: str) -> tuple[str, list[str], list[str]]:
    """The engine, the digest of each frame in the format that the CPU gives, and the expected digests."""
    path, expected = stream.make()
    with tricodec.FrameReader(path, device="cpu") as reader:
        formats = [frame.format for frame in reader]
    with tricodec.FrameReader(path, device=device) as reader:
        frames = [frame.cpu() for frame in reader]
        engine = reader.engine
    digests = [stream.digest(frame.convert(format)) for frame, format in zip(frames, formats, strict=True)]
    return engine, digests, expected
