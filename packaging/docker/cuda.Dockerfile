# SPDX-License-Identifier: Apache-2.0
# tricodec with CUDA kernels, NVDEC and NVENC: docker build -f packaging/docker/cuda.Dockerfile .
# It runs with docker run --gpus all, where the host has NVIDIA's driver and container toolkit. The image holds no CUDA
# toolkit: the driver is opened when it is first needed.
FROM debian:12-slim AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates g++ make python3 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# nvcc comes from a wheel: its kernels go into the wheel of tricodec.
RUN make wheel

FROM python:3.11-slim-bookworm
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility,video
COPY --from=build /src/build/wheel/*.whl /tmp/wheel/
# hadolint ignore=DL3013
RUN pip install --no-cache-dir /tmp/wheel/*.whl nvidia-dali-cuda130 \
    && rm -rf /tmp/wheel \
    && tricodec info \
    && useradd --create-home --uid 1000 user
USER 1000
WORKDIR /data
ENTRYPOINT ["tricodec"]
CMD ["info"]
