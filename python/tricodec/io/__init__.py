# SPDX-License-Identifier: Apache-2.0
"""Streams of audio and video through FFmpeg's filters, with the names and semantics of torchaudio.io until 2.8.

    from tricodec.io import StreamReader

    reader = StreamReader("a.mp4")
    reader.add_basic_video_stream(frames_per_chunk=16, width=320, height=180)
    for (chunk,) in reader.stream():
        print(chunk.shape, chunk.pts)

Chunks are torch tensors if the program has imported torch, else numpy arrays. docs/migration/torchaudio_io.md lists
the differences.
"""

from tricodec.io import ffmpeg_utils
from tricodec.io._chunk import ArrayChunk
from tricodec.io._reader import StreamReader
from tricodec.io._streams import (
    OutputAudioStream,
    OutputStream,
    OutputVideoStream,
    SourceAudioStream,
    SourceStream,
    SourceVideoStream,
    StreamArgumentError,
)
from tricodec.io._writer import CodecConfig, StreamWriter

__all__ = [
    "ArrayChunk", "CodecConfig", "OutputAudioStream", "OutputStream", "OutputVideoStream", "SourceAudioStream",
    "SourceStream", "SourceVideoStream", "StreamArgumentError", "StreamReader", "StreamWriter", "ffmpeg_utils",
]  # fmt: skip
