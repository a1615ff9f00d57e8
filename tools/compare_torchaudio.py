# SPDX-License-Identifier: Apache-2.0
"""tricodec.io against a torchaudio that still has torchaudio.io (2.2 to 2.8), call for call on the same media.

    pip install "torch==2.7.1" "torchaudio==2.7.1"      in an environment of its own
    python tools/compare_torchaudio.py                  beside tricodec; both load the system's FFmpeg libraries

The cases are what torchaudio's own unit tests look at (`torchaudio_reader_cases.py`, `torchaudio_writer_cases.py`).
Each runs with both packages; what it
returns, array for array and bit for bit, or the kind of exception that it ends with, is compared. Differences that are
meant stand in `MEANT` with their reasons. Exit code 1: one that is not.
"""

from __future__ import annotations

import argparse
import fnmatch
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_UNKNOWN = "num_frames is None where the container does not say it, not 0"
_NO_FORMAT = "torchaudio has no array for it"
_STATED_RATE = "the frame rate is in the container's header, not to be guessed from times in milliseconds"
#: Cases with answers that differ on purpose, as patterns; the first that fits holds.
MEANT = {
    **dict.fromkeys(("reader.file[[]tags.mp3]", "reader.file[[]*.wav]", "reader.file[[]rgb.png]"), _UNKNOWN),
    "reader.stream_info": _UNKNOWN,
    "reader.outputs": "frame_rate is what the filters end with; torchaudio's wheel gives -1 with FFmpeg 5.1",
    "reader.dropped_chunks_pts": "times stay right after chunks were dropped",
    "reader.seek_often[[]mpeg4.avi]": "precise begins at the time or after it, also where ticks are whole frames: "
    "torchaudio rounds the time to a tick first",
    "reader.format[[]rgb48le]": "uint16, not int16 with an offset",
    **dict.fromkeys((f"reader.format[[]{name}]" for name in ("p010le", "rgb0", "yuv422p")), _NO_FORMAT),
    "writer.mp4[[]*bgr24*]": "bgr24 becomes yuv420p as the ffmpeg command line converts it, sample for sample",
    "writer.qscale": "qscale takes effect in mpeg4, as -q:v of the command line does; torchaudio's is lost on the way",
    "writer.filter": "the last frame is not lost in filters",
    **dict.fromkeys(("writer.size", "writer.encoder_rate", "writer.config", "writer.times"), _STATED_RATE),
}


def ffmpeg(*arguments: str | Path) -> None:
    """Runs the command line."""
    subprocess.run(["ffmpeg", "-nostdin", "-y", "-v", "error", *map(str, arguments)], check=True)


def make_media(folder: Path) -> None:
    """Clips like those of torchaudio's tests: six streams, an AVI of key frames every twelve, pictures, sound."""
    for number in (1, 2):
        (folder / f"{number}.srt").write_text(f"1\n00:00:00,000 --> 00:00:02,000\nhello {number}\n")
    lavfi = ("-f", "lavfi", "-i")
    ffmpeg(
        *lavfi, "testsrc2=rate=25:size=320x180:duration=13",
        *lavfi, "testsrc2=rate=30000/1001:size=480x270:duration=13",
        *lavfi, "sine=440:sample_rate=8000:duration=13", *lavfi, "sine=660:sample_rate=16000:duration=13",
        "-i", folder / "1.srt", "-i", folder / "2.srt",
        "-map", "0", "-map", "2", "-map", "4", "-map", "1", "-map", "3", "-map", "5", "-ac", "2", "-g", "202",
        "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "2", "-c:a", "aac", "-c:s", "mov_text",
        "-metadata", "title=six streams", folder / "six.mp4",
    )  # fmt: skip
    ffmpeg("-i", folder / "six.mp4", "-map", "0:3", "-c", "copy", folder / "no_audio.mp4")
    ffmpeg("-i", folder / "six.mp4", "-map", "0:4", "-c", "copy", folder / "no_video.mp4")
    ffmpeg("-i", folder / "no_audio.mp4", "-c:v", "mpeg4", "-g", "12", "-q:v", "4", folder / "mpeg4.avi")
    ffmpeg("-i", folder / "no_audio.mp4", "-frames:v", "36", "-c:v", "libx264", "-f", "h264", folder / "no_times.h264")
    ffmpeg("-i", folder / "no_audio.mp4", "-frames:v", "36", "-c", "copy", folder / "short.mp4")
    ffmpeg("-i", folder / "no_video.mp4", "-metadata", "title=A title", "-metadata", "artist=One", folder / "tags.mp3")
    for codec in ("u8", "s16le", "s32le"):
        for channels in (1, 2, 4):
            name = folder / f"{codec}_{channels}.wav"
            ffmpeg("-i", folder / "no_video.mp4", "-t", "2", "-ac", str(channels), "-c:a", f"pcm_{codec}", name)
    ffmpeg(*lavfi, "testsrc2=size=250x111", "-frames:v", "1", "-pix_fmt", "rgb24", folder / "rgb.png")
    ffmpeg(*lavfi, "testsrc2=size=32x18", "-frames:v", "1", "-pix_fmt", "gray", folder / "gray.png")


def plain(value: Any) -> Any:
    """What can be compared: arrays with dtype and time, fields of descriptions, lists and tuples alike."""
    if hasattr(value, "detach"):
        array = np.ascontiguousarray(value.detach().numpy())
        return ("array", array.dtype.str, array.shape, array.tobytes(), getattr(value, "pts", None))
    if hasattr(value, "__dataclass_fields__"):
        fields = {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
        return (type(value).__name__, fields)
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [plain(each) for each in value])
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def answer(case: Callable[..., Any], io: Any, folder: Path) -> Any:
    """What a case gives, or which of the exceptions that programs catch it ends with."""
    try:
        return plain(case(io, folder))
    except Exception as error:
        for kind in (ValueError, RuntimeError):  # ours are both where torchaudio raises either
            if isinstance(error, kind) and (kind is RuntimeError or not isinstance(error, RuntimeError)):
                return ("raises", kind.__name__, str(error).splitlines()[0][:90])
        return ("raises", type(error).__name__, str(error).splitlines()[0][:90])


def short(value: Any) -> str:
    """For a line on a terminal."""
    if isinstance(value, tuple) and value and value[0] == "array":
        return f"array{value[2]} {value[1]} pts={value[4]}"
    return repr(value)[:120]


def differences(ours: Any, theirs: Any, where: str = "") -> list[str]:
    """Where two answers differ, a line each."""
    if same(ours, theirs):
        return []
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = [*ours, *(key for key in theirs if key not in ours)]
        return [line for key in keys for line in differences(ours.get(key), theirs.get(key), f"{where}.{key}")]
    lists = (tuple, list)
    if isinstance(ours, lists) and isinstance(theirs, lists) and len(ours) == len(theirs) and ours[:1] != ("array",):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [line for number, (a, b) in pairs for line in differences(a, b, f"{where}[{number}]")]
    return [f"{where or 'answer'}: {short(ours)}, torchaudio {short(theirs)}"]


def same(ours: Any, theirs: Any) -> bool:
    """Equal; of exceptions, the kind alone."""
    if isinstance(ours, tuple) and isinstance(theirs, tuple) and ours[:1] == theirs[:1] == ("raises",):
        return True
    return bool(ours == theirs)


def main() -> int:
    """Compares all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only cases with this in their names")
    parser.add_argument("--lines", type=int, default=4, help="how many differences of a case are shown")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import torch  # noqa: F401  (chunks are tensors)
    import torchaudio.io
    import tricodec.io
    from torchaudio_reader_cases import reader_cases
    from torchaudio_writer_cases import writer_cases

    print(f"torchaudio {torchaudio.__version__}, tricodec {tricodec.__version__}")
    unmeant, meant, equal = 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        media, work = Path(name) / "media", [Path(name) / "ours", Path(name) / "theirs"]
        for each in (media, *work):
            each.mkdir()
        make_media(media)
        for each in work:
            (each / "media").symlink_to(media)
        for label, case in [*reader_cases(), *writer_cases()]:
            if options.only not in label:
                continue
            ours, theirs = (
                answer(case, io, where) for io, where in zip((tricodec.io, torchaudio.io), work, strict=True)
            )
            if same(ours, theirs):
                equal += 1
                continue
            reason = next((why for pattern, why in MEANT.items() if fnmatch.fnmatchcase(label, pattern)), None)
            meant, unmeant = meant + (reason is not None), unmeant + (reason is None)
            print(f"{label}: {'meant: ' + reason if reason else 'DIFFERS'}")
            for line in differences(ours, theirs)[: options.lines]:
                print("   ", line)
    print(f"{equal} cases are the same, {meant} differ as they are meant to, {unmeant} differ")
    return 1 if unmeant else 0


if __name__ == "__main__":
    sys.exit(main())
