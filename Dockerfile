# SPDX-License-Identifier: Apache-2.0
# An image of quiltmd for NVIDIA GPUs and CPUs:
#   docker build -t quiltmd .
#   docker run --rm --gpus all --user "$(id -u):$(id -g)" -v "$PWD:/work" quiltmd run system.toml
# Without a GPU, or to compile for one kind alone: --build-arg CUDA=OFF, --build-arg ARCHITECTURES=90.
FROM python:3.12-slim-bookworm AS build
ARG CUDA=ON
ARG ARCHITECTURES="80;90;100;120"
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends g++
WORKDIR /src
COPY . .
# nvcc comes with the build requirements, from PyPI.
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    -C cmake.define.QUILTMD_CUDA="${CUDA}" \
    -C cmake.define.QUILTMD_CUDA_ARCHITECTURES="${ARCHITECTURES}"

FROM python:3.12-slim-bookworm
# What the container runtime brings in of the driver; all else is in the package.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir /wheels/*.whl
WORKDIR /work
ENTRYPOINT ["quiltmd"]
CMD ["--help"]
