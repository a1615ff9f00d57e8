# SPDX-License-Identifier: Apache-2.0
# NVIDIA's Triton Inference Server with tricodec's models: docker build -f packaging/docker/triton.Dockerfile .
# docker run --rm --shm-size=2g -p 8000-8002:8000-8002 IMAGE serves them; add --gpus all for a GPU.
ARG TRITON=nvcr.io/nvidia/tritonserver:25.08-pyt-python-py3
# hadolint ignore=DL3006
FROM ${TRITON} AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ make python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# Built here, so that the wheel fits the Python of the server's models.
RUN make wheel

# hadolint ignore=DL3006
FROM ${TRITON}
COPY --from=build /src/build/wheel/*.whl /tmp/wheel/
# hadolint ignore=DL3013
RUN pip install --no-cache-dir --break-system-packages /tmp/wheel/*.whl \
    && rm -rf /tmp/wheel \
    && tricodec serve --models-only /models
EXPOSE 8000 8001 8002
HEALTHCHECK CMD ["curl", "--fail", "--silent", "http://localhost:8000/v2/health/ready"]
ENTRYPOINT ["tritonserver", "--model-repository=/models", "--disable-auto-complete-config"]
CMD ["--model-control-mode=explicit", "--load-model=*"]
