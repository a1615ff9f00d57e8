# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402  (the helpers of the tests are found first)
"""Makes the first inputs of each fuzz target: small clips of many codecs and containers, compressed streams, indexes.

python tests/fuzz/make_corpus.py FOLDER   writes FOLDER/TARGET/NAME for each target; the same bytes on every run

The numbers that a target takes from the end of its input (fuzzing.h, Choices) are appended, the first one last.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python/helpers"))

import compress_data
import damaged_clips
import media
import tricodec
from bitstreams import probe
from tricodec import nvcomp

Inputs = Iterator[tuple[str, bytes]]

SECONDS = 0.48
"""Of each clip: 12 frames, two GOPs."""

LARGEST_CLIP = 1 << 16
SHARED_DATA = ROOT.parent / "shared/data"
"""Files of text, arrays and others, if they are there."""

CODECS = {"h264": 0, "hevc": 1, "av1": 2, "vp8": 3, "vp9": 4, "mpeg2": 5, "mpeg4": 6, "mjpeg": 7}
"""As fuzz_bitstreams.cpp numbers them."""

_MORE = {
    "h264.h264": damaged_clips.SMALL["h264.mp4"],
    "hevc.hevc": damaged_clips.SMALL["hevc.mkv"],
    "av1.obu": damaged_clips.SMALL["av1.mkv"],
    "vp9.ivf": damaged_clips.SMALL["vp9.webm"],
    "mpeg2.ts": "-c:v mpeg2video -q:v 8 -g 6 -bf 2",
    "mpeg4.nut": "-c:v mpeg4 -q:v 8 -g 6",
    "mjpeg.avi": "-c:v mjpeg -q:v 12",
    "h264_fragments.mp4": damaged_clips.SMALL["h264.mp4"] + " -movflags frag_keyframe+empty_moov",
}


def with_choices(data: bytes, numbers: Iterable[int]) -> bytes:
    """The data and the numbers that a target takes, in the order in which it takes them."""
    return data + bytes(reversed(list(numbers)))


def clips(folder: Path) -> dict[str, Path]:
    """Small clips by name, and the first packets of real ones, if there are any, in files of the folder."""
    found = {}
    for name, options in (damaged_clips.SMALL | _MORE).items():
        found[name] = damaged_clips.made(name, options.replace("keyint=10", "keyint=6"), seconds=SECONDS)
    if media.SHARED_CLIPS is not None:
        for path in sorted(media.SHARED_CLIPS.rglob("*")):
            is_clip = path.is_file() and path.suffix not in {".tsv", ".md", ".txt", ".framemd5"}
            small = shortened(path, folder) if is_clip else None
            if small is not None:
                found[f"shared_{path.name}"] = small
    return found


def shortened(path: Path, folder: Path) -> Path | None:
    """A clip that is small, or as many of its first packets as are small; None if one of them is not."""
    if path.stat().st_size <= LARGEST_CLIP:
        return path
    for count in (12, 6, 3, 1):
        media.ffmpeg("-i", path, f"-map 0:v:0 -c copy -frames:v {count} -fflags +bitexact", folder / path.name)
        if (folder / path.name).stat().st_size <= LARGEST_CLIP:
            return folder / path.name
    return None


def demuxer_inputs(files: dict[str, Path]) -> Inputs:
    """Each clip by each of two ways to read."""
    for name, path in files.items():
        yield name, with_choices(path.read_bytes(), bytes(12))
        yield f"{name}.annexb", with_choices(path.read_bytes(), bytes([1, 1, 0, 1]) + bytes(8))


def reader_inputs(files: dict[str, Path]) -> Inputs:
    """Each clip, and some that are damaged."""
    for name, path in files.items():
        yield name, path.read_bytes()
    for seed in range(20):
        yield f"damaged_{seed}", damaged_clips.damaged(seed)[1]


def index_inputs(files: dict[str, Path]) -> Inputs:
    """A clip, its index without what signs it, and the length of that."""
    head = len(b"tricodec index 5\n") + 32
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files.items():
            saved = Path(folder) / name
            with tricodec.FrameReader(path, device="cpu") as reader:
                reader.save_index(saved)
            content = saved.read_bytes()[head:-32]
            yield name, with_choices(path.read_bytes() + content, divmod(len(content), 256))


def bitstream_inputs(files: dict[str, Path]) -> Inputs:
    """The first packets of each clip, and the head of its file."""
    for name, path in files.items():
        codec = CODECS.get(name.partition(".")[0].partition("_")[0])
        if codec is None:
            continue
        data = path.read_bytes()
        packets = [packet for packet in probe(path, "packet=pos,size")["packets"] if "pos" in packet][:4]
        parts = [data[int(one["pos"]) : int(one["pos"]) + int(one["size"])] for one in packets]
        yield name, with_choices(b"".join(parts)[:4000], [codec, 0, 100])
        yield f"{name}.head", with_choices(data[:2000], [codec, 60, 50])


def _compressed(algorithm: str, kind: nvcomp.BitstreamKind, data: bytes, **options: object) -> bytes:
    codec = nvcomp.Codec(algorithm=algorithm, bitstream_kind=kind, device="cpu", uncomp_chunk_size=512, **options)
    return bytes(codec.encode(data))


ALGORITHMS = ["LZ4", "Snappy", "GDeflate", "Deflate", "Gzip", "Zstd", "Cascaded"]
"""As compress_options.h numbers them."""


def sizes(algorithm: str) -> Inputs:
    """Short pieces of each kind of data, and of real files if there are any."""
    real = {f"shared_{path.name}": path.read_bytes()[-1600:] for path in sorted(SHARED_DATA.glob("*/*"))}
    for name, data in (compress_data.corpus() | real).items():
        for size in (8, 300, 1600):
            yield f"{algorithm}_{name}_{size}", compress_data.whole(algorithm, data[:size])


def options_of(algorithm: str) -> list[int]:
    """The numbers that codec_options() takes for the defaults of an algorithm."""
    kind = [4] if algorithm == "Cascaded" else []
    return [ALGORITHMS.index(algorithm), *kind, 2, 1, 1]


def container_inputs() -> Inputs:
    """Containers of both versions, with and without checksums."""
    choices = [0, *bytes(8), 100]
    for algorithm in ALGORITHMS:
        for name, data in sizes(algorithm):
            stream = _compressed(algorithm, nvcomp.NVCOMP_NATIVE, data)
            yield name, with_choices(stream, choices)
            if algorithm in compress_data.SPEC_6:
                yield f"{name}_6", with_choices(compress_data.as_version_6(stream), choices)
            summed = _compressed(
                algorithm, nvcomp.NVCOMP_NATIVE, data, checksum_policy=nvcomp.ChecksumPolicy.COMPUTE_AND_NO_VERIFY
            )
            yield f"{name}_summed", with_choices(summed, [1, *choices[1:]])


def decompress_inputs() -> Inputs:
    """Streams without a container, with their size and without."""
    for algorithm in ALGORITHMS:
        for name, data in sizes(algorithm):
            for raw, kind in ((1, nvcomp.RAW), (0, nvcomp.WITH_UNCOMPRESSED_SIZE)):
                stream = _compressed(algorithm, kind, data)
                yield f"{name}_{raw}", with_choices(stream, [*options_of(algorithm), raw])


def compress_inputs() -> Inputs:
    """Data with options of each kind."""
    for algorithm in ALGORITHMS:
        for number, (name, data) in enumerate(sizes(algorithm)):
            yield name, with_choices(data, [*options_of(algorithm), number % 3, number % 4, number % 2])


def muxer_inputs(files: dict[str, Path]) -> Inputs:
    """Clips to be put in each container, and packets of random numbers."""
    for number, (name, path) in enumerate(files.items()):
        for container in (number % 10, (number + 3) % 10):
            yield f"{name}_{container}", with_choices(path.read_bytes(), [container, 4 + number % 4])
    for seed in range(40):
        rng = random.Random(seed)
        stream = [rng.randrange(8), 4, 4, 0, 1, 8]
        yield f"packets_{seed}", with_choices(rng.randbytes(600), [seed % 10, rng.randrange(4), 0, *stream])


def main(folder: Path) -> None:
    """Writes the inputs of all targets."""
    with tempfile.TemporaryDirectory() as cut:
        write(folder, clips(Path(cut)))


def write(folder: Path, files: dict[str, Path]) -> None:
    """Writes the inputs, of which those with media are made of the files."""
    targets: dict[str, Inputs] = {
        "demuxer": demuxer_inputs(files),
        "reader": reader_inputs(files),
        "index": index_inputs(files),
        "bitstreams": bitstream_inputs(files),
        "container": container_inputs(),
        "decompress": decompress_inputs(),
        "compress": compress_inputs(),
        "muxer": muxer_inputs(files),
    }
    for target, inputs in targets.items():
        place = folder / target
        place.mkdir(parents=True, exist_ok=True)
        count = 0
        for name, data in inputs:
            (place / name).write_bytes(data)
            count += 1
        print(f"{target}: {count} inputs", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
