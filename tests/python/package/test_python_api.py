# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: import, description of media, transforms, decode_video, limits, log, paths."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import json
import logging
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from media import ffprobe, generated
from programs import run_python
from tricodec import _tricodec


def test_import_brings_no_large_package_with_it() -> None:
    result = run_python("""
        import sys
        import tricodec
        large = ["numpy", "torch", "nvidia.dali", "tritonclient", "PyNvVideoCodec"]
        print([name for name in large if name in sys.modules])
    """)

    assert result.stdout.strip() == "[]", result.stderr


def test_probe_describes_a_video_as_ffprobe_does() -> None:
    path = generated("bt709.mp4")
    said = ffprobe(path, "-show_streams -show_format")
    stream = said["streams"][0]

    info = tricodec.probe(path)

    video = info.video
    assert video is not None
    assert info.format_name == said["format"]["format_name"]
    assert info.size_bytes == path.stat().st_size
    assert info.duration_seconds == pytest.approx(float(said["format"]["duration"]))
    assert (video.kind, video.codec, video.codec_name) == ("video", "h264", stream["codec_name"])
    assert (video.width, video.height, video.pixel_format) == (stream["width"], stream["height"], stream["pix_fmt"])
    assert video.time_base == Fraction(stream["time_base"])
    assert video.average_frame_rate == Fraction(stream["avg_frame_rate"])
    assert (video.profile, video.level) == (stream["profile"], stream["level"])
    assert video.num_frames == int(stream["nb_frames"])
    assert (video.color.matrix, video.color.primaries, video.color.transfer) == ("bt709",) * 3
    assert video.color.range == "limited"


def test_probe_describes_every_stream() -> None:
    info = tricodec.probe(generated("h264_audio.mp4"))

    video, audio = info.streams
    assert (video.index, video.kind, audio.index, audio.kind) == (0, "video", 1, "audio")
    assert (info.video.index, info.audio.index) == (0, 1)
    assert (audio.codec_name, audio.sample_rate, audio.num_channels) == ("aac", 48000, 1)
    assert "2 streams" in repr(info)
    assert "aac 48000 Hz" in repr(audio)
    assert "h264 yuv420p 320x180, 25 fps" in repr(video)


@pytest.mark.parametrize("name", ["h264_audio.mp4", "h264_rot90.mp4", "vp9.webm", "h264_raw.h264"])
def test_to_dict_is_json_that_holds_every_attribute(name: str) -> None:
    info = tricodec.probe(generated(name))

    again = json.loads(json.dumps(info.to_dict()))

    attributes = {name for name in dir(tricodec.video.MediaInfo) if not name.startswith("_")} - {
        "to_dict",
        "video",
        "audio",
    }
    assert set(again) == attributes
    assert len(again["streams"]) == len(info.streams)
    video = again["streams"][0]
    of_audio = {"sample_rate", "num_channels", "channel_layout", "sample_format"}
    assert set(video) == {n for n in dir(tricodec.video.StreamInfo) if not n.startswith("_")} - {"to_dict"} - of_audio
    assert video["width"] == 320
    assert Fraction(video["time_base"]) == info.streams[0].time_base


def test_transform_explains_what_it_fuses() -> None:
    frame = tricodec.FrameReader(generated("h264_bframes.mp4"))[0]
    options: dict[str, Any] = {"size": (224, 224), "dtype": "float32", "layout": "CHW", "mean": 0.5}

    report = tricodec.Transform(**options).explain(frame)
    plain = tricodec.Transform(color="yuv", crop=(0, 0, 4, 4), size=(4, 4)).explain(
        tricodec.Frame.from_planes([np.zeros((4, 4), np.uint8)] * 3, "yuv444p")
    )

    assert report.name == "yuv420p_to_rgb + resize + normalize + chw"
    assert report.engine == plain.engine
    assert report.path in ("fused rows", "generic rows", "scalar")
    assert all(isinstance(line, str) for line in (*report.fused, *report.erased, *report.not_fused))
    assert report.fused
    assert plain.erased
    assert report.name in str(report)
    assert all(line in str(report) for line in (*report.fused, *report.erased, *report.not_fused))
    assert repr(report).startswith("<tricodec.video.FusionReport yuv420p_to_rgb")
    with pytest.raises(ValueError, match="crop"):
        tricodec.Transform(crop=(0, 0, 500, 500)).explain(frame)


def test_limits_are_set_by_name_and_restored() -> None:
    before = tricodec.get_limits()
    try:
        tricodec.set_limits(max_width=4096, max_streams=2)
        assert tricodec.get_limits() == dataclasses.replace(before, max_width=4096, max_streams=2)
    finally:
        tricodec.set_limits(**dataclasses.asdict(before))
    assert tricodec.get_limits() == before


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"max_wdth": 1}, TypeError),
        ({"max_width": 0}, ValueError),
        ({"max_width": True}, TypeError),
        ({"max_width": 1.5}, TypeError),
        ({"max_width": 2**70}, ValueError),
    ],
)
def test_limits_that_are_none_are_refused(fields: dict[str, Any], error: type[Exception]) -> None:
    before = tricodec.get_limits()

    with pytest.raises(error):
        tricodec.set_limits(**fields)

    assert tricodec.get_limits() == before


def test_messages_go_to_the_logger_when_the_call_returns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="tricodec"):
        _tricodec.log("info", "100 % ready")
        _tricodec.log("error", "broken")

    records = [(r.name, r.levelno, r.getMessage()) for r in caplog.records]
    assert records == [("tricodec", logging.INFO, "100 % ready"), ("tricodec", logging.ERROR, "broken")]


def test_a_log_handler_that_raises_does_not_break_the_work() -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("no disk")

    logger = logging.getLogger("tricodec")
    handler = Broken()
    logger.addHandler(handler)
    unraisable: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        _tricodec.log("error", "lost")
    finally:
        sys.unraisablehook = hook
        logger.removeHandler(handler)

    assert [type(entry.exc_value) for entry in unraisable] == [RuntimeError]


def test_a_message_of_a_thread_that_python_does_not_know_arrives_without_another_call() -> None:
    # The C function is called through ctypes with the lock released; only the courier can deliver its message.
    result = run_python("""
        import ctypes, logging, threading, time
        import tricodec
        library = ctypes.CDLL(str(tricodec.installation.library_path()))
        log = library._ZN8tricodec3logENS_8LogLevelESt17basic_string_viewIcSt11char_traitsIcEE
        log.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p]
        log.restype = None
        arrived = threading.Event()

        class Handler(logging.Handler):
            def emit(self, record):
                print(record.levelname, record.getMessage(), threading.current_thread() is threading.main_thread())
                arrived.set()

        logging.getLogger("tricodec").addHandler(Handler())
        logging.getLogger("tricodec").propagate = False
        log(2, 5, b"hello")
        assert not arrived.is_set()
        assert arrived.wait(10)
    """)

    assert result.stdout == "WARNING hello False\n", result.stderr


def test_the_process_ends_cleanly_with_readers_messages_and_threads_alive() -> None:
    script = """
        import io, logging, sys, threading
        import tricodec
        from tricodec import _tricodec

        class Source(io.BytesIO):
            pass

        data = open(sys.argv[1], "rb").read()
        reader = tricodec.FrameReader(Source(data), num_workers=2)
        iterator = iter(reader)
        next(iterator)
        demuxer = tricodec.Demuxer(bytearray(data))
        packet = demuxer.read()
        frames = reader[:3]
        keep = [frame.planes for frame in frames]
        logging.getLogger("tricodec").setLevel(logging.DEBUG)

        def work():
            while True:
                _tricodec.log("debug", "still here")
                tricodec.probe(sys.argv[1])

        for _ in range(2):
            threading.Thread(target=work, daemon=True).start()
        import atexit
        atexit.register(lambda: reader[5])
        sys.modules["keep"] = (reader, iterator, demuxer, packet, frames, keep)
        print("done")
    """
    for _ in range(3):
        result = run_python(script, str(generated("h264_bframes.mp4")))
        assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


_EXAMPLES = [name for name in tricodec.__all__ if inspect.isroutine(getattr(tricodec, name)) or name[0].isupper()]


@pytest.mark.parametrize("name", _EXAMPLES)
def test_the_example_of_a_docstring_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # examples write files
    text = inspect.getdoc(getattr(tricodec, name)) or ""
    example = doctest.DocTestParser().get_doctest(text, {"tricodec": tricodec, "np": np}, name, None, None)
    said: list[str] = []

    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL).run(example, out=said.append)

    assert example.examples, f"the docstring of {name} has no example"
    assert not said, "".join(said)


@pytest.mark.parametrize("name", sorted({*_EXAMPLES} - {"DeviceArray", "Frame"} - {*dir(tricodec.errors)}))
def test_a_signature_is_there_to_be_read(name: str) -> None:
    """In IPython, pydoc and editors; arrays and frames have no constructor, errors have Python's."""
    assert "args" not in inspect.signature(getattr(tricodec, name)).parameters
