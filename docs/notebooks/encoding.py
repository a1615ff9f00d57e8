# %% [markdown]
# <!-- SPDX-License-Identifier: Apache-2.0; needs: matplotlib -->
# # Encoders by time, size and quality
#
# A faster preset costs quality at the same bit rate, or bits at the same quality. Without a GPU that encodes, as where
# this notebook was run, the software encoder does it: **NVENC itself was not run**.
# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import tricodec
from tricodec import encode
from tricodec.measure import bench

print("h264 by", tricodec.encode.encoder_for("h264"), "on", bench.processor())
with bench.clip_or(None) as path:  # test pictures; put the path of your video here
    frames = tricodec.decode_video(path, count=24, size=(360, 640), device="cpu").frames
# %% [markdown]
# ## Measure
#
# Each preset of libx264 with three qualities. `tricodec bench encode --option preset=fast` measures speed with care.
# %%
rows = []
for preset in ("ultrafast", "veryfast", "medium"):
    for crf in (18, 23, 28):
        start = time.perf_counter()
        data = tricodec.encode_video(frames, device="cpu", options={"preset": preset, "crf": str(crf)})
        seconds = time.perf_counter() - start
        decoded = tricodec.decode_video(data, device="cpu").frames
        error = np.mean((decoded.astype(np.float32) - frames) ** 2)
        rows.append((preset, crf, len(frames) / seconds, len(data), 10 * np.log10(255**2 / error)))
print(f"{'preset':12}{'crf':>4}{'frames/s':>9}{'bytes':>9}{'PSNR':>7}")
for preset, crf, speed, size, psnr in rows:
    print(f"{preset:12}{crf:4}{speed:9.0f}{size:9}{psnr:7.2f}")
# %%
figure, axes = plt.subplots(figsize=(6, 3), dpi=70)
for preset in dict.fromkeys(row[0] for row in rows):
    points = [row for row in rows if row[0] == preset]
    axes.plot([row[3] / 1e3 for row in points], [row[4] for row in points], "o-", label=preset)
axes.set(xlabel="kB", ylabel="PSNR of RGB, dB", title="rate and distortion")
axes.legend(fontsize=7)
figure.tight_layout()
# %% [markdown]
# ## What an option of NVENC means in software
#
# `encode.explain` has the options of each engine for the same parameters.
# %%
settings, _ = encode.Settings.of({"codec": "h264", "preset": "P4", "rc": "vbr", "bitrate": "2M", "bf": "3"}, 640, 360)
for name, value in encode.explain(settings, "libx264"):
    if value:
        print(f"{name:28} {value}")
