# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Frames for a vision-language model
#
# Each model family takes other frames of a video. `sampling=` has their rules, and gives the true time of each frame.
# %%
from pathlib import Path

import numpy as np
import tricodec
from tricodec import sampling

num_frames, fps = 240, 24
pictures = np.full((num_frames, 128, 224, 3), (30, 60, 90), np.uint8)
for number, picture in enumerate(pictures):
    picture[: 128 * number // num_frames] = (240, 160, number)  # rises from the top
Path("video.mp4").write_bytes(tricodec.encode_video(pictures, frame_rate=fps))
# %% [markdown]
# ## What each rule chooses
#
# Eight frames of 240, without opening a file:
# %%
for rule in ("uniform", "uniform_floor", "stride", "centers", "segments", "qwen", "qwen2_vl"):
    print(f"{rule:14}", sampling.choose(num_frames, fps, sampling=rule, num_frames=8))
# %% [markdown]
# ## From a file to model input
#
# Qwen's rule at one frame a second, resized as Qwen's processor does: whole patches, within a number of pixels.
# %%
size = sampling.smart_resize(128, 224, factor=28, min_pixels=56 * 56, max_pixels=128 * 28 * 28)
video = sampling.sample("video.mp4", sampling="qwen", fps=1.0, size=size, layout="CHW")
print(size, video.frames.shape)
print(np.round(video.pts_seconds, 3))
# %% [markdown]
# What a processor of transformers takes beside the frames, so that it samples nothing again:
# %%
video.metadata
# %% [markdown]
# The prompt's times are those of the frames, one for each pair of frames that Qwen merges:
# %%
sampling.timestamps_text(video.pts_seconds)
# %% [markdown]
# ## The frames
# %%
with tricodec.FrameReader("video.mp4") as reader:
    numbers = reader.select(sampling="qwen", fps=1.0)
    sheet = reader.show(numbers, size=(64, 112))
sheet
# %%
assert len(numbers) == len(video.frames) == 10
assert np.allclose(video.pts_seconds, np.array(numbers) / fps, atol=1e-3)
