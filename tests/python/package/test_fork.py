# SPDX-License-Identifier: Apache-2.0
"""Objects that were made and used before fork(), in the child: they work or raise, and never hang.

Each test is a process of its own. A child that hangs is ended by its alarm, which is a failure.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from forked import ON_GPU, PRELUDE
from gpu_helpers import build_fake_decoder, build_fake_driver, build_fake_nvcomp, run_with_driver
from media import ffmpeg_framemd5, generated
from preloaded import Preloaded, with_tricodec

CODECS = ["h264_bframes.mp4", "h264_one_gop.mp4", "h264.ts", "hevc.mp4", "av1.mp4", "vp9.webm"]


def run(script: str, *arguments: object, programs: Preloaded | None = None) -> str:
    """What a process of Python prints."""
    process = (programs or with_tricodec()).run_code(PRELUDE + textwrap.dedent(script), *arguments)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.parametrize(
    ("clip", "num_workers"),
    [
        *zip(CODECS, (1, 2, 1, 2, 1, 2), strict=True), ("h264_bframes.mp4", 2),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in zip(CODECS[1:], (1, 2, 1, 2, 1), strict=True)),
    ],
)  # fmt: skip
def test_a_reader_that_was_read_in_the_parent_gives_the_same_frames_in_children(clip: str, num_workers: int) -> None:
    path = generated(clip)
    run(
        """
        path, expected, workers = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
        reader = tricodec.FrameReader(path, device="cpu", num_workers=workers)
        whole = reader.batch(slice(None), size=(32, 48))
        assert [frame.md5() for frame in reader] == expected
        reader[3], reader[4], reader[20:30]
        live = iter(reader)
        next(live)
        batches = reader.batches(4, size=(32, 48))
        next(batches)
        held = [reader[0], next(live)]

        def work():
            order = list(range(len(expected)))
            random.Random(os.getpid()).shuffle(order)
            assert len(reader) == len(expected)
            assert [reader[i].md5() for i in order[:20]] == [expected[i] for i in order[:20]]
            assert [frame.md5() for frame in reader.frames(order)] == [expected[i] for i in order]
            assert [frame.md5() for frame in reader] == expected
            assert [frame.md5() for frame in reader.iterate(start=7, stride=3)] == expected[7::3]
            assert np.array_equal(reader.batch(order, size=(32, 48)), np.asarray(whole)[order])
            assert np.array_equal(np.concatenate(list(reader.batches(8, size=(32, 48)))), whole)
            assert [frame.md5() for frame in live] == expected[2:]
            assert np.array_equal(np.concatenate(list(batches)), whole[4:])
            held.clear()
            unfinished = iter(reader)
            next(unfinished)
            reader.close()
            raises(ValueError, "closed", lambda: reader[0])

        in_children(work, 2)
        assert [frame.md5() for frame in live] == expected[2:]
        assert np.array_equal(np.concatenate(list(batches)), whole[4:])
        assert [frame.md5() for frame in reader] == expected
        """,
        path,
        json.dumps(ffmpeg_framemd5(path)),
        num_workers,
    )


@pytest.mark.parametrize("source", ["path", "bytes", "memory", "object"])
def test_a_reader_of_any_source_that_is_not_an_open_file_works_in_children(source: str) -> None:
    path = generated("h264_one_gop.mp4")
    run(
        """
        path, expected = sys.argv[1], json.loads(sys.argv[2])
        data = open(path, "rb").read()
        class Object:
            def __init__(self): self.file = io.BytesIO(data)
            def read(self, size): return self.file.read(size)
            def seek(self, offset, whence=0): return self.file.seek(offset, whence)
        source = {"path": path, "bytes": data, "memory": io.BytesIO(data), "object": Object()}[sys.argv[3]]
        reader = tricodec.FrameReader(source, device="cpu", num_workers=2)
        assert reader[10].md5() == expected[10]
        def work():
            assert [frame.md5() for frame in reader] == expected
        in_children(work, 2)
        assert [frame.md5() for frame in reader] == expected
        """,
        path,
        json.dumps(ffmpeg_framemd5(path)),
        source,
    )


@pytest.mark.parametrize("clips", [("h264_bframes.mp4", "hevc.mp4"), ("av1.mp4", "vp9.webm")], ids=str)
def test_a_fork_while_other_threads_read_leaves_no_lock_held(clips: tuple[str, str]) -> None:
    paths = [generated(clip) for clip in clips]
    expected = [ffmpeg_framemd5(path) for path in paths]
    run(
        """
        paths, expected = sys.argv[1:3], json.loads(sys.argv[3])
        idle = [tricodec.FrameReader(path, device="cpu", num_workers=2) for path in paths]
        busy = [tricodec.FrameReader(path, device="cpu", num_workers=2) for path in paths]
        for reader in idle: reader[9]
        codec = tricodec.Codec(algorithm="lz4")
        array = np.arange(1 << 18, dtype=np.int32)
        stream = codec.encode(array)
        transform = tricodec.Transform(size=(24, 32))
        done = threading.Event()
        def loop(number):
            while not done.is_set():
                reader = busy[number]
                assert [frame.md5() for frame in reader] == expected[number]
                reader.batch([30, 3, 17], size=(16, 16))
                with tricodec.FrameReader(paths[number], device="cpu", num_workers=2) as fresh:
                    fresh[5]
                opened = tricodec.io.StreamReader(paths[number])
                opened.add_basic_video_stream(4, width=64, height=48)
                opened.fill_buffer()
                codec.decode(codec.encode(array))
        threads = [threading.Thread(target=loop, args=(number,)) for number in range(2)]
        for thread in threads: thread.start()
        def work():
            for readers in (idle, busy):
                for reader, frames in zip(readers, expected):
                    number = random.Random(os.getpid()).randrange(len(frames))
                    frame = reader[number]
                    assert frame.md5() == frames[number]
                    assert np.asarray(transform(frame)).shape == (24, 32, 3)
            with tricodec.FrameReader(paths[0], device="cpu", num_workers=2) as fresh:
                assert fresh[4].md5() == expected[0][4]
            assert codec.encode(array) == stream or bytes(codec.encode(array)) == bytes(stream)
        try:
            for round in range(10):
                in_children(work)
        finally:
            done.set()
            for thread in threads: thread.join()
        """,
        *paths,
        json.dumps(expected),
    )


def test_a_demuxer_and_a_decoder_go_on_in_a_child() -> None:
    run(
        """
        expected = json.loads(sys.argv[2])
        def opened(threads):
            demuxer = tricodec.Demuxer(sys.argv[1])
            return demuxer, tricodec.Decoder(demuxer.stream, device="cpu", num_threads=threads)
        def rest(demuxer, decoder):
            frames = [frame for packet in demuxer for frame in decoder.decode(packet)] + decoder.flush()
            return [frame.md5() for frame in frames]
        one, several = opened(1), opened(4)
        given = [frame.md5() for _ in range(9) for frame in one[1].decode(one[0].read())]
        for _ in range(9): several[1].decode(several[0].read())
        def work():
            assert given + rest(*one) == expected
            raises(tricodec.UnsupportedError, "reset", lambda: several[1].decode(several[0].read()))
            several[1].reset()
            demuxer = tricodec.Demuxer(sys.argv[1])
            assert rest(demuxer, several[1]) == expected
        in_children(work, 2)
        assert given + rest(*one) == expected
        """,
        generated("h264_one_gop.mp4"),
        json.dumps(ffmpeg_framemd5(generated("h264_one_gop.mp4"))),
    )


@pytest.mark.parametrize("algorithm", ["lz4", "zstd", "gdeflate"])
def test_a_codec_that_was_used_in_the_parent_compresses_in_children(algorithm: str) -> None:
    run(
        """
        codec = tricodec.Codec(algorithm=sys.argv[1], num_threads=4)
        arrays = [np.arange(1 << 18, dtype=np.uint16) // (number + 1) for number in range(4)]
        streams = [bytes(stream) for stream in codec.encode(arrays)]
        def work():
            assert [bytes(stream) for stream in codec.encode(arrays)] == streams
            for stream, array in zip(streams, arrays):
                assert bytes(codec.decode(stream)) == array.tobytes()
        in_children(work, 3)
        work()
        """,
        algorithm,
    )


@pytest.mark.parametrize("codec", ["libx264", "libx265", "libsvtav1"])
def test_an_encoder_in_mid_work_raises_in_a_child_and_goes_on_in_the_parent(codec: str) -> None:
    run(
        """
        rng = np.random.default_rng(1)
        pictures = [rng.integers(0, 255, (96, 128, 3), dtype=np.uint8) for _ in range(40)]
        def made(): return tricodec.Encoder(128, 96, codec=sys.argv[1], device="cpu", num_threads=2)
        def encoded(encoder, pictures): return [bytes(p) for picture in pictures for p in encoder.encode(picture)]
        expected = made()
        expected = encoded(expected, pictures) + [bytes(packet) for packet in expected.flush()]
        encoder = made()
        packets = encoded(encoder, pictures[:20])
        def work():
            global encoder
            raises(tricodec.UnsupportedError, "make it in this process", lambda: encoder.encode(pictures[20]))
            raises(tricodec.UnsupportedError, "make it in this process", encoder.flush)
            encoder = None
            gc.collect()
            fresh = made()
            assert encoded(fresh, pictures) + [bytes(packet) for packet in fresh.flush()] == expected
        in_children(work)
        packets += encoded(encoder, pictures[20:]) + [bytes(packet) for packet in encoder.flush()]
        assert packets == expected
        """,
        codec,
    )


@pytest.mark.needs_nvdec
def test_a_reader_on_a_gpu_raises_at_once_in_a_child(tmp_path: Path) -> None:
    """Over stand-ins for the driver; tests/python/gpu/test_streams_gpu.py does the same on a GPU."""
    clip = f"import sys; sys.argv = ['', {str(generated('h264_nob.mp4'))!r}, 'stand-ins']\n"
    driver = build_fake_decoder(build_fake_driver(tmp_path))

    result = run_with_driver(driver, PRELUDE + clip + ON_GPU, TRICODEC_LIBNVCOMP=str(build_fake_nvcomp(driver)))

    assert (result.returncode, result.stdout) == (0, "2 on the GPU\n"), result.stderr
