# %% [markdown]
# <!-- SPDX-License-Identifier: Apache-2.0; needs: tritonclient pytriton onnxruntime rapidocr_onnxruntime -->
# # A Triton client with a real model
#
# A server decodes videos, and runs the network of `video_text` on their frames: which frames show text? The network is
# the text detector of the package `rapidocr_onnxruntime`.
# %%
import numpy as np
import tricodec
import tritonclient.grpc as triton
from PIL import Image, ImageDraw, ImageFont
from tricodec.triton.client import Client
from tricodec.triton.serve import Server

font = ImageFont.load_default(40)
frames = []
for number in range(24):
    picture = Image.new("RGB", (320, 180), (40, 70 + 4 * number, 120))
    if 8 <= number < 16:
        ImageDraw.Draw(picture).text((20, 65), "HELLO TRITON", fill="white", font=font)
    frames.append(np.asarray(picture))
data = tricodec.encode_video(np.stack(frames), frame_rate=8, crf=18)
# %% [markdown]
# ## Start a server
#
# `tricodec serve` does the same at a command line. In a program a `Server` picks free ports and ends with the block.
# %%
server = Server(models=["video_decode", "video_text"], ready_timeout_seconds=240)
server.start()
print(", ".join(server.models))
# %% [markdown]
# ## Frames
#
# The client has the options of `tricodec.decode_video`, and the server gives the same bytes.
# %%
with Client(server.grpc_url) as client:
    video = client.decode_video(data, stride=3, size=(90, 160))
here = tricodec.decode_video(data, stride=3, size=(90, 160))
assert np.array_equal(video.frames, tricodec.asnumpy(here.frames))
video
# %% [markdown]
# ## Labels
#
# The ensemble takes the video as bytes, and never sends frames: the network gets them on the server.
# %%
inputs = [triton.InferInput("VIDEO", [1, 1], "BYTES").set_data_from_numpy(np.array([[data]], np.object_))]
with triton.InferenceServerClient(server.grpc_url) as connection:
    answer = connection.infer("video_text", inputs)
labels = [label.decode() for label in answer.as_numpy("LABELS")[0]]
for label, time in zip(labels, answer.as_numpy("PTS")[0], strict=True):
    print(f"{time:.3f} s: {label}")
assert labels == ["text" if 8 <= number < 16 else "no text" for number in range(24)]
# %%
server.stop()
