# SPDX-License-Identifier: Apache-2.0
"""tricodec.io.StreamReader: what it refuses, what it says then, damage, security, and what chunks are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffmpeg
from programs import printed_by
from stream_testing import TESTSRC, StreamReader, all_of, movie, movie_rgb, video_reader
from tricodec.io import ArrayChunk

__all__ = ["movie", "movie_rgb"]  # fixtures


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frames_per_chunk": 0}, "frames_per_chunk"),
        ({"frames_per_chunk": 1, "buffer_chunk_size": 0}, "buffer_chunk_size"),
        ({"frames_per_chunk": 1, "stream_index": 1}, "is not video"),
        ({"frames_per_chunk": 1, "decoder": "h265x"}, "h265x"),
        ({"frames_per_chunk": 1, "decoder_option": {"colour": "1"}}, "'colour'"),
        ({"frames_per_chunk": 1, "filter_desc": "blurr"}, "blurr"),
        ({"frames_per_chunk": 1, "hw_accel": "vulkan"}, "vulkan"),
    ],
)
def test_wrong_arguments_are_named(movie: Path, arguments: dict[str, Any], message: str) -> None:
    reader = StreamReader(movie)

    with pytest.raises(ValueError, match=message) as raised:
        reader.add_video_stream(**arguments)

    assert isinstance(raised.value, RuntimeError)  # what torchaudio raised
    assert reader.num_out_streams == 0
    reader.add_basic_video_stream(1)  # and the reader is as good as before
    assert reader.fill_buffer() == 0


def test_unknown_options_and_formats_are_named(movie: Path) -> None:
    with pytest.raises(RuntimeError, match="'nonsense'"):
        StreamReader(movie, option={"nonsense": "1"})
    with pytest.raises(RuntimeError, match="mp5"):
        StreamReader(movie, format="mp5")
    with pytest.raises(RuntimeError, match="testsrc9"):
        StreamReader("testsrc9", format="lavfi")
    with pytest.raises(FileNotFoundError, match=r"absent\.mp4"):
        StreamReader("absent.mp4")


def test_a_damaged_packet_raises_and_the_next_one_is_decoded(tmp_path: Path) -> None:
    path = tmp_path / "pictures.mkv"
    ffmpeg("-f", "lavfi", "-i", TESTSRC, "-frames:v", "5", "-c:v", "png", path)
    data = bytearray(path.read_bytes())
    at = data.find(b"IHDR", data.find(b"IHDR") + 4)
    data[at : at + 4] = b"XXXX"
    reader = video_reader(bytes(data))

    with pytest.raises(tricodec.CorruptDataError, match="stream 0"):
        reader.process_all_packets()
    reader.process_all_packets()

    (chunk,) = reader.pop_chunks()
    assert len(chunk) == 4


def test_a_named_format_opens_no_other_files(tmp_path: Path, movie: Path) -> None:
    script = tmp_path / "list.ffconcat"
    script.write_text(f"ffconcat version 1.0\nfile '{movie}'\n")

    with pytest.raises(tricodec.Error):
        all_of(video_reader_of(script, format="concat", option={"safe": "0"}))
    with pytest.raises(tricodec.Error):
        StreamReader(tmp_path / "%d.png", format="image2")


def video_reader_of(source: Any, **options: Any) -> StreamReader:
    reader = StreamReader(source, **options)
    reader.add_basic_video_stream(-1)
    return reader


def test_what_is_computed_from_a_chunk_is_a_plain_array(movie: Path) -> None:
    reader = video_reader(movie, 2)
    reader.fill_buffer()
    (chunk,) = reader.pop_chunks()

    assert isinstance(chunk, ArrayChunk)
    for result in (chunk + 1, chunk[0], chunk[:, 0], np.asarray(chunk), chunk.mean(axis=0), np.add(chunk, chunk)):
        assert type(result) is np.ndarray
    assert np.isscalar(chunk.max())


@pytest.mark.needs_torch
def test_chunks_are_torch_tensors_where_torch_is_imported(movie: Path) -> None:
    program = f"""
import torch
from tricodec.io import StreamReader
reader = StreamReader({str(movie)!r})
reader.add_basic_video_stream(5)
reader.add_basic_audio_stream(100)
reader.fill_buffer()
video, audio = reader.pop_chunks()
assert isinstance(video, torch.Tensor) and video.shape == (5, 3, 180, 320) and video.dtype == torch.uint8
assert video.pts == 0.0 and audio.shape == (100, 2) and audio.dtype == torch.float32
for result in (video + 1, video[0], video.float().mean(), torch.stack([video, video])):
    assert type(result) is torch.Tensor, type(result)
print(int(video.sum()))
"""
    plain = video_reader(movie, 5)
    plain.fill_buffer()

    assert int(printed_by(program)) == int(plain.pop_chunks()[0].sum())
