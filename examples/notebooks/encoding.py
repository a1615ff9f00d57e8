# SPDX-License-Identifier: Apache-2.0
# needs: matplotlib
# %% [markdown]
# # Encoders by time, size and quality
#
# The tables and plots of torchaudio's tutorial on NVENC. Without a GPU that encodes, as where this notebook was run,
# they are of the software encoder alone: **NVENC itself was not run**. On a machine with NVENC the same cells show it
# beside.
# %%
import matplotlib.pyplot as plt
import tricodec
from tricodec import bench, encode

print("h264 by", tricodec.encoder_for("h264"), "on", bench.processor())
# %% [markdown]
# ## Measure
#
# Test pictures of one second, at 360p, with one and two threads, and with presets and qualities. `repeats=1` keeps the
# notebook short; `tricodec bench quality` has three, and larger pictures.
# %%
report = bench.run_encode(["360p"], duration=1.0, repeats=1, threads=[1, 2], say=lambda _: None)
print(len(report.measurements), "settings")
# %%
rows = [each for each in report.measurements if not each.reason]
print(f"{'setting':44}{'frames/s':>9}{'kbit/s':>8}{'PSNR':>7}{'SSIM':>8}")
for each in rows:
    quality = each.quality
    print(
        f"{each.setting.label:44}{each.frames_per_second:9.0f}{each.bits_per_second / 1e3:8.0f}"
        f"{quality.psnr_y:7.2f}{quality.ssim_y:8.4f}"
    )
for each in report.measurements:
    if each.reason:
        print(f"{each.setting.label}: not measured: {each.reason}")
# %% [markdown]
# ## Speed and quality of presets
#
# A faster preset costs quality at the same bit rate, or bits at the same quality.
# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), dpi=70)
for each in report.sweep:
    left.plot(each.frames_per_second, each.quality.psnr_y, "o", color="tab:blue")
    left.annotate(each.setting.label, (each.frames_per_second, each.quality.psnr_y), fontsize=7)
left.set(xlabel="frames/s", ylabel="PSNR of luma, dB", title="presets and qualities")
for label in dict.fromkeys(each.setting.label.split(",")[0] for each in report.curves):
    points = [each for each in report.curves if each.setting.label.split(",")[0] == label and not each.reason]
    rates = [each.bits_per_second / 1e3 for each in points]
    right.plot(rates, [each.quality.psnr_y for each in points], "o-", label=label)
right.set(xlabel="kbit/s", title="rate and distortion")
right.legend(fontsize=7)
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
