# %% [markdown]
# <!-- SPDX-License-Identifier: Apache-2.0; needs: matplotlib rapidocr_onnxruntime -->
# # Compress a model's weights
#
# Lossless compression of the weights of a real network: the text detector that the package `rapidocr_onnxruntime`
# carries. An ONNX file is mostly float32 values.
# %%
import importlib.util
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from tricodec import Codec
from tricodec.compress import BitshuffleMode, compression_algorithms

package = importlib.util.find_spec("rapidocr_onnxruntime")
(model,) = (Path(package.origin).parent / "models").glob("*det*.onnx")
data = model.read_bytes()
weights = np.frombuffer(data[: len(data) // 4 * 4], np.float32)
print(f"{model.name}: {len(data) / 1e6:.2f} MB")
# %% [markdown]
# ## All algorithms
#
# Each compresses on the CPU and must give the same bytes back. The speeds are of one run on the machine that made this
# notebook; [the benchmarks](../benchmarks.md#lossless-compression) measure with care.
# %%
rows = []
for name, reason in compression_algorithms().items():
    if reason or name in ("GDeflate", "Gzip"):  # Deflate in other frames
        continue
    typed = {"data_type": "<u4"} if name in ("Bitcomp", "Cascaded") else {}
    codec = Codec(algorithm=name, device="cpu", **typed)
    start = time.perf_counter()
    packed = codec.encode(weights)
    middle = time.perf_counter()
    again = codec.decode(packed)
    end = time.perf_counter()
    assert bytes(again) == weights.tobytes()
    size = packed.size
    rows.append(
        (name, weights.nbytes / size, weights.nbytes / 1e6 / (middle - start), weights.nbytes / 1e6 / (end - middle))
    )
for name, ratio, pack, unpack in sorted(rows, key=lambda row: -row[1]):
    print(f"{name:10} ratio {ratio:.3f}   {pack:6.0f} MB/s in   {unpack:6.0f} MB/s out")
# %% [markdown]
# ## Planes of bits
#
# Low bits of float32 weights are noise, exponents are not. `bitshuffle_mode` puts equal bits together: LZ4 then finds
# the exponents. bfloat16 halves the weights first, which changes the model; the rest is lossless.
# %%
half = (weights.view(np.uint32) >> 16).astype(np.uint16)  # bfloat16 by cutting off
shuffled = Codec(
    algorithm="LZ4", data_type="<u4", bitshuffle_mode=BitshuffleMode.NVCOMP_BITSHUFFLE_MSB_FIRST, device="cpu"
)
ratios = {
    "float32, LZ4": weights.nbytes / Codec(algorithm="LZ4", device="cpu").encode(weights).size,
    "float32, LZ4 of planes": weights.nbytes / shuffled.encode(weights).size,
    "float32, Zstd": weights.nbytes / Codec(algorithm="Zstd", device="cpu").encode(weights).size,
    "bfloat16, Zstd": half.nbytes / Codec(algorithm="Zstd", device="cpu").encode(half).size,
    "bfloat16, Deflate": half.nbytes / Codec(algorithm="Deflate", device="cpu").encode(half).size,
}
figure, axis = plt.subplots(figsize=(6, 2.2), dpi=70)
axis.barh(list(ratios), list(ratios.values()))
axis.set_xlabel("ratio")
axis.axvline(1, color="black", linewidth=0.8)
figure.tight_layout()
# %% [markdown]
# ## As files
#
# `encode_npy` keeps dtype and shape; `tricodec compress model.npy` does the same at a command line, with an algorithm
# that it chooses by a sample.
# %%
codec = Codec(algorithm="Zstd", device="cpu")
layers = [half[:200_000].reshape(400, 500), np.zeros((64, 64), np.float32)]
stored = codec.encode_npy(layers)
restored = [np.asarray(codec.decode_npy(each)) for each in stored]
assert all(np.array_equal(one, other) for one, other in zip(layers, restored, strict=True))
HTML(
    "<br>".join(
        f"{each.dtype} {list(each.shape)}: {each.nbytes} to {kept.size} bytes"
        for each, kept in zip(layers, stored, strict=True)
    )
)
