# SPDX-License-Identifier: Apache-2.0
"""`sample_video`: the clip of the documentation and of `tricodec demo`."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import OutputFile, encoder_names
from tricodec.encode.video import encode_video
from tricodec.installation import cache_dir

_FRAMES, _RATE, _WIDTH, _HEIGHT, _AUDIO_RATE = 132, 25, 1280, 720, 48_000
# RGB of the zenith, the horizon and the nearest hill at midnight, sunrise, noon, sunset and midnight.
_DAY = np.array([
    [[6, 8, 32], [26, 30, 70], [4, 8, 14]], [[58, 66, 132], [255, 158, 92], [22, 30, 34]],
    [[46, 122, 214], [196, 226, 246], [30, 84, 44]], [[62, 36, 104], [255, 112, 66], [26, 20, 36]],
    [[6, 8, 32], [26, 30, 70], [4, 8, 14]],
])  # fmt: skip
_YUV = np.array([[0.2126, -0.1146, 0.5], [0.7152, -0.3854, -0.4542], [0.0722, 0.5, -0.0458]])  # BT.709


def sample_video(path: str | os.PathLike[str] | None = None) -> str:
    """Make a short clip with sound to try tricodec with: a day over hills, drawn and encoded in two or three seconds.

    The clip has 132 frames of 1280x720 at 25 frames a second, in H.264 (in AV1 where the build has no libx264).

        >>> tricodec.FrameReader(tricodec.sample_video())[66].index
        66

    Args:
        path: the file to make, unless it exists. None is a file in $XDG_CACHE_HOME/tricodec or ~/.cache/tricodec.

    Returns:
        The path of the file.
    """
    file = Path(path) if path is not None else cache_dir() / "sample_1.mp4"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        seconds = np.arange(_FRAMES * _AUDIO_RATE // _RATE) / _AUDIO_RATE
        sound = 0.1 * np.sin(2 * np.pi * 440 * seconds) * np.sin(np.pi * seconds / seconds[-1])
        data = encode_video(
            np.stack([_picture(number / (_FRAMES - 1)) for number in range(_FRAMES)]),
            codec="h264" if "libx264" in encoder_names() else "av1",
            device="cpu", format="yuv420p", matrix="bt709", range="limited", frame_rate=_RATE, gop_size=30,
            preset="veryfast" if "libx264" in encoder_names() else None, num_threads=2,
            audio=sound.astype(np.float32), audio_rate=_AUDIO_RATE,
        )  # fmt: skip
        with OutputFile(file) as output:
            output.write(data)
    return str(file)


def _picture(time: float) -> npt.NDArray[np.uint8]:
    """The planes of the frame at a time of the day from 0 to 1."""
    part, hour = np.modf(min(time, 0.999) * (len(_DAY) - 1))
    zenith, horizon, hill = _DAY[int(hour)] * (1 - part) + _DAY[int(hour) + 1] * part
    hills = [horizon * far + hill * (1 - far) for far in (0.6, 0.3, 0)]
    colors = np.array([*np.linspace(zenith, horizon, _HEIGHT), [255, 244, 196], *hills])
    palette = np.rint([16, 128, 128] + colors @ _YUV * [219 / 255, 224 / 255, 224 / 255]).astype(np.uint8)

    y, x = np.ogrid[:_HEIGHT, :_WIDTH]
    picture = np.repeat(y.astype(np.uint16), _WIDTH, axis=1)
    angle = 1.4 * np.pi * (time - 1 / 7)
    sun_x, sun_y = _WIDTH / 2 - 520 * np.cos(angle), 520 - 420 * np.sin(angle)
    picture[(x - sun_x) ** 2 + (y - sun_y) ** 2 < 48**2] = _HEIGHT
    for layer in range(3):
        at = (x + 200 * (layer + 1) * time) / (260 - 60 * layer)
        top = 420 + 90 * layer - 40 * np.sin(at) - 18 * np.sin(2.7 * at + layer)
        picture[y > top] = _HEIGHT + 1 + layer
    luma, chroma = palette[picture, 0], palette[picture[::2, ::2]]
    return np.concatenate([luma.ravel(), chroma[..., 1].ravel(), chroma[..., 2].ravel()]).reshape(-1, _WIDTH)
