# SPDX-License-Identifier: Apache-2.0
# tricodec on a CPU, with its own codec libraries and nothing else: docker build -f packaging/docker/cpu.Dockerfile .
FROM debian:12-slim AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates g++ make python3 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN make wheel

FROM python:3.11-slim-bookworm
COPY --from=build /src/build/wheel/*.whl /tmp/wheel/
# hadolint ignore=DL3013
RUN pip install --no-cache-dir /tmp/wheel/*.whl \
    && rm -rf /tmp/wheel \
    && tricodec info \
    && useradd --create-home --uid 1000 user
USER 1000
WORKDIR /data
ENTRYPOINT ["tricodec"]
CMD ["--help"]
