# SPDX-License-Identifier: Apache-2.0
"""Objects that were made and used before fork(), in the child: they work or raise, and never hang.

Each test is a process of its own. A child that hangs is ended by its alarm, which is a failure.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from forked import PRELUDE
from gpu_helpers import build_fake_decoder, build_fake_driver, run_with_driver
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


def test_iterators_go_on_in_a_child_after_the_last_frame_that_they_gave() -> None:
    path = generated("h264_bframes.mp4")
    run(
        """
        path, expected = sys.argv[1], json.loads(sys.argv[2])
        for workers in (1, 2):
            reader = tricodec.FrameReader(path, device="cpu", num_workers=workers)
            for start, stride, count in ((0, 1, -1), (7, 3, -1), (7, 3, 5), (-9, 4, -1), (0, 1, 1)):
                numbers = reader.select(start, stride, count)
                for given in range(0, len(numbers) + 1, max(1, len(numbers) // 3)):
                    frames = reader.iterate(start, stride, count)
                    batches = reader.batches(2, start=start, stride=stride, count=count, drop_last=True, layout="CHW")
                    for _ in range(given): next(frames)
                    taken = [next(batches) for _ in range(given // 2)]
                    def work():
                        assert [frame.index for frame in frames] == numbers[given:]
                        rest = numbers[: len(numbers) // 2 * 2][given // 2 * 2 :]
                        read = [np.asarray(batch) for batch in batches]
                        assert sum(map(len, read)) == len(rest)
                        if rest: assert np.array_equal(np.concatenate(read), reader.batch(rest, layout="CHW"))
                        assert next(frames, None) is next(batches, None) is None
                    in_children(work)
                    assert [frame.index for frame in frames] == numbers[given:]
        """,
        path,
        json.dumps(ffmpeg_framemd5(path)),
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


_STREAM = """
path = sys.argv[1]
def chunks(reader):
    return [(md5(chunk), round(chunk.pts, 6)) for (chunk,) in reader.stream(timeout=None)]
def opened(**options):
    reader = tricodec.io.StreamReader(path, arrays="numpy")
    reader.add_basic_video_stream(5, width=64, height=48, frame_rate=20, **options)
    return reader
whole = chunks(opened())
"""


@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "hevc.mp4", "av1.mp4", "vp9.webm"])
def test_a_stream_reader_goes_on_in_a_child_where_it_was_in_the_parent(clip: str) -> None:
    run(
        _STREAM
        + """
reader = opened()
reader.fill_buffer()
first = reader.pop_chunks()[0]
assert (md5(first), round(first.pts, 6)) == whole[0]
def work():
    assert chunks(reader) == whole[1:]
    reader.seek(0)
    assert chunks(reader) == whole
    reader.seek(1.0)
    reader.fill_buffer()
    assert reader.pop_chunks()[0].pts >= 1.0
in_children(work, 3)
assert chunks(reader) == whole[1:]
""",
        generated(clip),
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


def test_writers_of_the_parent_raise_in_a_child_and_their_files_stay_whole(tmp_path: Path) -> None:
    run(
        """
        pictures = np.random.default_rng(1).integers(0, 255, (24, 3, 96, 128), dtype=np.uint8)
        def write(path, between):
            writer = tricodec.io.StreamWriter(path)
            writer.add_video_stream(30, 128, 96, encoder="libx264", encoder_option={"threads": "2"})
            with writer.open():
                writer.write_video_chunk(0, pictures[:12])
                between(writer)
                writer.write_video_chunk(0, pictures[12:])
        def mux(path, between):
            demuxer = tricodec.Demuxer(sys.argv[2])
            muxer = tricodec.Muxer(path)
            stream = muxer.add_stream(demuxer.stream)
            packets = list(demuxer)
            for packet in packets[:20]: muxer.write(packet, stream)
            between(muxer)
            for packet in packets[20:]: muxer.write(packet, stream)
            muxer.finish()
            muxer.close()
        def in_child(object):
            def work():
                remedy = "make it in this process"
                if isinstance(object, tricodec.Muxer):
                    raises(tricodec.UnsupportedError, remedy, lambda: object.write(b"x", 0))
                    raises(tricodec.UnsupportedError, remedy, object.finish)
                else:
                    raises(tricodec.UnsupportedError, remedy, lambda: object.write_video_chunk(0, pictures[:2]))
                    raises(tricodec.UnsupportedError, remedy, object.flush)
                object.close()
            in_children(work, 2)
        for number, way in enumerate((write, mux)):
            paths = [f"{sys.argv[1]}/{number}{name}.mp4" for name in ("plain", "forked")]
            way(paths[0], lambda object: None)
            way(paths[1], in_child)
            assert open(paths[0], "rb").read() == open(paths[1], "rb").read()
        """,
        tmp_path,
        generated("h264_bframes.mp4"),
    )


def test_the_decoders_of_pynvvideocodec_work_in_a_child_or_raise() -> None:
    run(
        """
        import PyNvVideoCodec as nvc
        path, expected = sys.argv[1], json.loads(sys.argv[2])
        simple = nvc.SimpleDecoder(path, use_device_memory=False)
        threaded = nvc.ThreadedDecoder(path, 4, use_device_memory=False)
        def pixels(frame): return md5(np.from_dlpack(frame))
        first = [pixels(frame) for frame in threaded.get_batch_frames(2)]
        assert first == [pixels(simple[0]), pixels(simple[1])]
        tenth = pixels(simple[10])
        def work():
            assert pixels(simple[10]) == tenth
            raises(nvc.PyNvVCExceptionUnsupported, "after the fork", lambda: threaded.get_batch_frames(2))
            threaded.end()
            threaded.reconfigure_decoder(path)
            assert [pixels(frame) for frame in threaded.get_batch_frames(2)] == first
        in_children(work, 2)
        assert pixels(threaded.get_batch_frames(1)[0]) == pixels(simple[2])
        """,
        generated("h264_bframes.mp4"),
        json.dumps(ffmpeg_framemd5(generated("h264_bframes.mp4"))),
    )


@pytest.mark.needs_nvdec
def test_a_reader_on_a_gpu_raises_at_once_in_a_child(tmp_path: Path) -> None:
    """Over stand-ins for the driver; tests/python/gpu/test_fork_gpu.py does the same on a GPU."""
    script = (
        PRELUDE
        + f"clip = {str(generated('h264_nob.mp4'))!r}\n"
        + """
reader = tricodec.FrameReader(clip, device="cuda")
automatic = tricodec.FrameReader(clip)
demuxer = tricodec.Demuxer(clip)
decoder = tricodec.Decoder(demuxer.stream, device="cuda")
for _ in range(5): decoder.decode(demuxer.read())
assert reader.device == automatic.device == "cuda:0"
frames, live, batches = [reader[3], reader[4]], iter(reader), reader.batches(4, size=(16, 16))
next(live)
automatic[5]
def work():
    for each in (reader, automatic):
        raises(tricodec.DeviceError, "'spawn'", lambda: each[0])
        raises(tricodec.DeviceError, "'spawn'", lambda: each.batch([1, 2], size=(16, 16)))
    raises(tricodec.DeviceError, "'spawn'", lambda: decoder.decode(demuxer.read()))
    raises(tricodec.DeviceError, "'spawn'", lambda: next(live))
    raises(tricodec.DeviceError, "'spawn'", lambda: next(batches))
    frames.clear()
    reader.close()
    on_cpu = tricodec.FrameReader(clip, device="cpu")
    assert on_cpu[0].device == "cpu"
in_children(work, 2)
assert [frame.index for frame in live] == list(range(1, 50))
del automatic, decoder
gc.collect()
"""
    )
    driver = build_fake_decoder(build_fake_driver(tmp_path))
    result = run_with_driver(driver, script)
    assert result.returncode == 0, result.stderr
