# SPDX-License-Identifier: Apache-2.0
"""torchcodec's blocks of sound (V99, V102, V103), against ffmpeg; TRICODEC_TEST_ORIGINALS=1 runs torchcodec itself."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
from peer_names import torch, torchcodec

pytestmark = pytest.mark.needs_torch

_SOUND = "-f lavfi -i sine=frequency=440:sample_rate=44100:duration=2 -af volume=0.5,aecho -ac 2"
_CODECS = {  # how it is encoded, and ffmpeg's name of the codec's own samples
    "u8.wav": ("-c:a pcm_u8", "u8", "uint8"),
    "s16.wav": ("-c:a pcm_s16le", "s16le", "int16"),
    "s24.wav": ("-c:a pcm_s24le", "s32le", "int32"),
    "s32.wav": ("-c:a pcm_s32le", "s32le", "int32"),
    "f32.wav": ("-c:a pcm_f32le", "f32le", "float32"),
    "f64.wav": ("-c:a pcm_f64le", "f64le", "float64"),
    "a.flac": ("-c:a flac -sample_fmt s16", "s16le", "int16"),
    "a.m4a": ("-c:a aac", "f32le", "float32"),
    "a.mp3": ("-c:a libmp3lame", "f32le", "float32"),
}


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sounds")
    for name, (codec, _, _) in _CODECS.items():
        media.ffmpeg(_SOUND, codec, folder / name)
    return {name: folder / name for name in _CODECS}


def decoded(path: Path, **options: Any) -> list[Any]:
    source = torchcodec.decoders.Demuxer(path, streams="audio", **options)
    decoder = source.streams[0].make_decoder()
    return [raw for packet in source for raw in decoder.decode(packet)] + list(decoder.drain())


def converted(raw: list[Any], **options: Any) -> list[Any]:
    converter = torchcodec.decoders.AudioConverter(**options)
    return [*(converter.convert(each) for each in raw), converter.drain()]


@pytest.mark.parametrize("name", _CODECS)
def test_raw_samples_are_the_codecs_own(name: str, sounds: dict[str, Path]) -> None:  # V103
    _, form, dtype = _CODECS[name]
    raw = decoded(sounds[name])
    assert {(each.data.dtype, each.sample_rate, each.num_channels) for each in raw} == {
        (getattr(torch, dtype), 44100, 2)
    }
    assert all(each.data.is_contiguous() and each.data.shape[1] == each.num_samples for each in raw)
    found = np.concatenate([each.data.numpy() for each in raw], axis=1)
    expected = np.frombuffer(media.ffmpeg("-i", sounds[name], f"-f {form} -"), dtype).reshape(-1, 2).T
    assert np.array_equal(found, expected)
    starts = [each.pts_seconds for each in raw]
    ends = [each.pts_seconds + each.duration_seconds for each in raw]
    assert starts[1:] == pytest.approx(ends[:-1], abs=1e-4)


@pytest.mark.parametrize("name", ["u8.wav", "s24.wav", "a.flac", "a.m4a"])
def test_converted_samples_are_those_of_the_audio_decoder(name: str, sounds: dict[str, Path]) -> None:  # V102
    raw = decoded(sounds[name])
    for options in ({}, {"sample_rate": 16000}, {"sample_rate": 48000, "num_channels": 1}, {"num_channels": 1}):
        parts = converted(raw, **options)
        whole = torchcodec.decoders.AudioDecoder(sounds[name], **options).get_all_samples()
        found = torch.cat([part.data for part in parts], dim=1)
        assert found.dtype == torch.float32
        assert torch.equal(found, whole.data)
        # The times count the samples that were given.
        given = 0
        for part in parts:
            assert part.sample_rate == whole.sample_rate
            assert part.pts_seconds == pytest.approx(whole.pts_seconds + given / whole.sample_rate, abs=1e-9)
            assert part.duration_seconds == part.data.shape[1] / part.sample_rate
            given += part.data.shape[1]


def test_a_seek_asks_for_a_reset_of_decoder_and_converter(sounds: dict[str, Path]) -> None:  # V99, V102
    source = torchcodec.decoders.Demuxer(sounds["s16.wav"], streams="audio")
    decoder, converter = source.streams[0].make_decoder(), torchcodec.decoders.AudioConverter(sample_rate=8000)
    first = decoder.decode(next(source))[0]
    converter.convert(first)
    source.seek(1.0)
    packet = next(source)
    with pytest.raises(RuntimeError, match=r"reset\(\)"):
        decoder.decode(packet)
    decoder.reset()
    later = decoder.decode(packet)[0]
    with pytest.raises(RuntimeError, match=r"reset\(\)"):
        converter.convert(later)
    converter.reset()
    assert converter.convert(later).pts_seconds == later.pts_seconds <= 1.0
    assert later.pts_seconds > first.pts_seconds


def test_what_is_drained_takes_no_more(sounds: dict[str, Path]) -> None:  # V99, V102
    source = torchcodec.decoders.Demuxer(sounds["a.m4a"], streams="audio")
    decoder, converter = source.streams[0].make_decoder(), torchcodec.decoders.AudioConverter()
    with pytest.raises(RuntimeError, match="hasn't converted any samples"):
        converter.drain()
    raw = [each for _ in range(4) for each in decoder.decode(next(source))]
    converter.convert(raw[0])
    decoder.drain()
    converter.drain()
    with pytest.raises(RuntimeError, match="has been drained"):
        decoder.decode(next(source))
    with pytest.raises(RuntimeError, match="has been drained"):
        converter.convert(raw[1])


def test_a_converter_is_for_one_stream(sounds: dict[str, Path]) -> None:  # V102
    converter = torchcodec.decoders.AudioConverter()
    converter.convert(decoded(sounds["s16.wav"])[0])
    for other in ("u8.wav", "f32.wav"):
        with pytest.raises(RuntimeError, match=r"reset\(\) to convert"):
            converter.convert(decoded(sounds[other])[0])
    for wrong in ({"sample_rate": 0}, {"num_channels": -1}):
        with pytest.raises(RuntimeError, match="must be > 0"):
            torchcodec.decoders.AudioConverter(**wrong)


def test_pictures_and_sound_are_decoded_in_one_pass() -> None:  # V98, V102
    path = media.generated("h264_audio.mp4")
    source = torchcodec.decoders.Demuxer(path, streams="all")
    decoders = {stream.index: stream.make_decoder() for stream in source.streams}
    found: dict[int, list[Any]] = {index: [] for index in decoders}
    for packet in source:
        found[packet.stream_index] += decoders[packet.stream_index].decode(packet)
    for index, decoder in decoders.items():
        found[index] += decoder.drain()
    assert len(found[0]) == len(torchcodec.decoders.VideoDecoder(path))
    sound = torch.cat([each.data for each in found[1]], dim=1)
    assert torch.equal(sound, torchcodec.decoders.AudioDecoder(path).get_all_samples().data)


def test_damage_costs_its_packets_alone(sounds: dict[str, Path], tmp_path: Path) -> None:  # V80
    damaged = bytearray(sounds["a.flac"].read_bytes())
    middle = len(damaged) // 2
    damaged[middle : middle + 3000] = bytes(range(250)) * 12
    path = tmp_path / "damaged.flac"
    path.write_bytes(damaged)
    source = torchcodec.decoders.Demuxer(path, streams="audio")
    decoder = source.streams[0].make_decoder()
    failures, samples = 0, 0
    for packet in source:
        try:
            samples += sum(raw.num_samples for raw in decoder.decode(packet))
        except RuntimeError:
            failures += 1
    assert failures > 0
    whole = sum(raw.num_samples for raw in decoded(sounds["a.flac"]))
    assert whole / 2 < samples < whole


def test_blocks_of_sound_are_neither_built_nor_pickled(sounds: dict[str, Path]) -> None:  # V11
    decoder = torchcodec.decoders.Demuxer(sounds["a.m4a"], streams="audio").streams[0].make_decoder()
    for block in (decoder, torchcodec.decoders.AudioConverter()):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(block)
    with pytest.raises(RuntimeError, match="cannot be instantiated directly"):
        torchcodec.decoders.AudioPacketDecoder()
