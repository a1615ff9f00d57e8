# %% [markdown]
# <!-- SPDX-License-Identifier: Apache-2.0 -->
# # A first look
#
# Frames of a video by number and time, as pictures and as arrays for a model. The video is made here, so that the
# notebook needs no file.
# %%
import numpy as np
import tricodec

height, width, num_frames = 180, 320, 75
pictures = np.full((num_frames, height, width, 3), (30, 60, 90), np.uint8)
for number, picture in enumerate(pictures):
    picture[50:130, 3 * number : 3 * number + 80] = (240, 160, 3 * number)  # a square that moves to the right
video = tricodec.encode_video(pictures, frame_rate=25, crf=18)  # bytes; a path does as well
tricodec.probe(video)
# %% [markdown]
# A reader numbers the frames without decoding. A number always means the same frame, however the file is read.
# %%
reader = tricodec.FrameReader(video)
reader
# %%
reader[40]
# %% [markdown]
# `show` has small pictures of some frames; without numbers, of 16 across the video.
# %%
reader.show([0, 20, 40, 60])
# %% [markdown]
# ## Arrays for a model
#
# One pass decodes, resizes, converts and normalizes. The result is a numpy array.
# %%
batch = reader.batch(
    range(0, 64, 8), size=(112, 112), dtype="float32", layout="CHW", mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25)
)
batch.shape, batch.dtype
# %% [markdown]
# `decode_video` is the same in one call, by numbers, times or a rate. It says which frames it took.
# %%
clip = tricodec.decode_video(video, fps=2, size=(90, 160))
clip
# %% [markdown]
# ## Exact frames
#
# Random access gives the bytes that reading from the start gives.
# %%
in_order = [frame.md5() for frame in reader]
at_random = [reader[number].md5() for number in (74, 3, 50)]
assert at_random == [in_order[number] for number in (74, 3, 50)]
at_random
# %% [markdown]
# ## Where the time goes
#
# A profiler counts all threads and all front ends.
# %%
with tricodec.Profiler() as profiler:
    for _ in reader.batches(16, size=(112, 112)):
        pass
profiler
# %% [markdown]
# A plan is a request that is compiled once, and read with many times.
# %%
plan = tricodec.Plan(video, count=16, size=(112, 112), dtype="float32", layout="CHW", tune=True)
plan
# %% [markdown]
# Next: [Start with Python](../start/python.md), [train with PyTorch](../howto/train_pytorch.md),
# [serve models with Triton](../howto/triton_ensembles.md).
