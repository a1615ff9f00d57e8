# %% [markdown]
# <!-- SPDX-License-Identifier: Apache-2.0; needs: torch nvidia.dali -->
# # Train on clips, with PyTorch and with DALI
#
# A tiny network learns in which direction the pictures of a clip move. The clips come first from
# `tricodec.data.torch.ClipDataset`, and then from the DALI operator `fn.tricodec.decode_video`. Both give the same
# bytes.
# %%
from pathlib import Path

import numpy as np
import torch
import tricodec
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
rows, columns = np.mgrid[:48, :64]
paths, labels = [], []
for number in range(16):
    step = 3 if number % 2 else -3
    offset = 5 * number
    frames = np.stack([(columns * 4 + offset + step * 4 * time) % 256 for time in range(24)]).astype(np.uint8)
    paths.append(f"{number}.mp4")
    labels.append(number % 2)
    Path(paths[-1]).write_bytes(tricodec.encode_video(np.repeat(frames[..., np.newaxis], 3, axis=-1), frame_rate=24))
with tricodec.FrameReader(paths[1]) as reader:
    sheet = reader.show([0, 2, 4, 6], size=(48, 64))
sheet
# %% [markdown]
# ## PyTorch
#
# A random clip of eight frames of each video. Workers of the `DataLoader` decode.
# %%
from tricodec.data.torch import ClipDataset

clips = ClipDataset(paths, num_frames=8, stride=1, size=(24, 32))
targets = torch.tensor(labels)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.motion = nn.Conv3d(1, 8, (2, 1, 5), padding=(0, 0, 2))
        self.score = nn.Linear(8, 2)

    def forward(self, frames):  # [N, F, 3, H, W], uint8
        gray = frames.float().mean(2).unsqueeze(1) / 255 - 0.5
        return self.score(self.motion(gray).relu().square().mean((2, 3, 4)))


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
for epoch in range(40):
    for frames, _, video in DataLoader(clips, batch_size=8, shuffle=True):
        loss = nn.functional.cross_entropy(model(frames), targets[video])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")
# %% [markdown]
# ## DALI
#
# The operator decodes on the pipeline's threads; with `device="mixed"` a GPU does.
# %%
import tricodec.dali  # adds fn.tricodec
from nvidia.dali import fn, pipeline_def


@pipeline_def(batch_size=16, num_threads=2, device_id=None)
def clips_by_dali():
    encoded, label = fn.readers.file(files=paths, labels=labels)
    frames, _ = fn.tricodec.decode_video(encoded, count=8, size=(24, 32), layout="CHW")
    return frames, label


pipeline = clips_by_dali()
pipeline.build()
frames, label = (torch.from_numpy(each.as_array()) for each in pipeline.run())
expected = [tricodec.decode_video(path, count=8, size=(24, 32), layout="CHW", device="cpu").frames for path in paths]
assert np.array_equal(frames.numpy(), np.stack(expected))
found = model(frames).argmax(1)
accuracy = (found == label.squeeze(1)).float().mean().item()
print(f"{accuracy:.0%} of the clips are right")
assert accuracy > 0.9
