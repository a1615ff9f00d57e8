# %% [markdown]
# <!-- SPDX-License-Identifier: Apache-2.0 -->
# # A first look
#
# How do you get frames of a video, as pictures and as arrays for a model? This notebook makes its own video: a square
# that moves to the right.
# %%
import numpy as np
import tricodec

height, width, num_frames = 180, 320, 75
pictures = np.full((num_frames, height, width, 3), (30, 60, 90), np.uint8)
for number, picture in enumerate(pictures):
    picture[50:130, 3 * number : 3 * number + 80] = (240, 160, 3 * number)
video = tricodec.encode_video(pictures, frame_rate=25, crf=18)
tricodec.probe(video)
# %% [markdown]
# A reader numbers the frames without decoding. A number always means the same frame.
# %%
reader = tricodec.FrameReader(video)
reader
# %%
reader[40]
# %% [markdown]
# `show` draws small pictures of these frames. Without numbers, it draws 16 frames across the video.
# %%
reader.show([0, 20, 40, 60])
# %% [markdown]
# ## Arrays for a model
#
# One pass decodes, resizes and converts. The result is a NumPy array.
# %%
batch = reader.batch(range(8), size=(112, 112), dtype="float32", layout="CHW")
batch.shape, batch.dtype
# %% [markdown]
# `decode_video` selects frames by numbers, times or a rate in one call. The result names the frames.
# %%
clip = tricodec.decode_video(video, fps=2, size=(90, 160))
clip
# %% [markdown]
# ## Exact frames
#
# Random access gives the bytes that a read from the start gives.
# %%
in_order = [frame.md5() for frame in reader]
at_random = [reader[number].md5() for number in (74, 3, 50)]
assert at_random == [in_order[number] for number in (74, 3, 50)]
at_random
# %% [markdown]
# ## Where the time goes
#
# A `Profiler` measures all threads and all front ends.
# %%
with tricodec.Profiler() as profiler:
    for _ in reader.batches(16, size=(112, 112)):
        pass
profiler
# %% [markdown]
# A `Plan` compiles a request once, for many reads.
# %%
plan = tricodec.Plan(video, count=16, size=(112, 112), tune=True)
plan
# %% [markdown]
# Next: [Start with Python](../start/python.md), [train with PyTorch](../howto/train_pytorch.md),
# [serve models with Triton](../howto/triton_ensembles.md).
