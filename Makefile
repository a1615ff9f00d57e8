# SPDX-License-Identifier: Apache-2.0
# make demo · make test · make test-slow · make lint · make format · make bench · make bench-encode · make bench-compress · make build · make clean
# Each sets up what it needs first: system packages, .venv, the build. What is already there is not made again.
SHELL := /bin/bash
PYTHON := .venv/bin/python
STAMPS := build/stamps
SOURCES := $(shell find core python plugin triton_backend model_repository cmake tests/cpp \
             -type f -not -name '*.pyc' 2>/dev/null) CMakeLists.txt VERSION pyproject.toml tools/build.sh

.PHONY: help demo test test-slow lint format bench bench-encode bench-compress build clean
help:
	@sed -n 's/^# make/make/p' Makefile

$(STAMPS)/system: tools/install_system_packages.sh
	@mkdir -p $(STAMPS)
	@tools/install_system_packages.sh
	@touch $@

$(STAMPS)/venv: $(STAMPS)/system tools/make_venv.sh $(wildcard tools/requirements-*.txt)
	@echo "== packages of .venv"
	@tools/make_venv.sh test
	@touch $@

$(STAMPS)/lint: $(STAMPS)/venv tools/requirements-lint.txt
	@tools/make_venv.sh lint
	@touch $@

$(STAMPS)/bench: $(STAMPS)/system tools/make_venv.sh tools/install_torch.sh tools/requirements-bench.txt
	@echo "== packages of .venv-bench"
	@tools/make_venv.sh bench
	@touch $@

$(STAMPS)/build: $(STAMPS)/venv $(SOURCES)
	@echo "== build"
	@tools/build.sh
	@touch $@

build: $(STAMPS)/build

demo: build
	@$(PYTHON) -m tricodec.cli demo --output demo_output

test: build
	@$(PYTHON) tools/run_tests.py

test-slow: build
	@$(PYTHON) tools/run_tests.py --slow

lint: $(STAMPS)/lint
	@$(PYTHON) tools/lint.py

format: $(STAMPS)/lint
	@$(PYTHON) tools/lint.py --format

# BENCH=--quick for the short run; tricodec and its peers run in an environment that the tests do not use.
bench: build $(STAMPS)/bench
	@.venv/bin/cmake --install build/dev --prefix build/bench-site >build/bench-install.log
	@PYTHONPATH=$(CURDIR)/build/bench-site .venv-bench/bin/python benchmarks/run.py $(BENCH)
	@.venv-bench/bin/python benchmarks/table.py
	@.venv-bench/bin/python benchmarks/plot.py

# ENCODE=--quick for the short run: encoding and transcoding against the ffmpeg command line and PyAV.
bench-encode: build
	@PYTHONPATH=$(CURDIR)/benchmarks $(PYTHON) benchmarks/encode.py $(ENCODE)

# Lossless compression, in the same environment.
bench-compress: build $(STAMPS)/bench
	@.venv/bin/cmake --install build/dev --prefix build/bench-site >build/bench-install.log
	@PYTHONPATH=$(CURDIR)/build/bench-site .venv-bench/bin/python benchmarks/compress.py $(BENCH)

clean:
	rm -rf build demo_output .pytest_cache .mypy_cache .ruff_cache
	find core python plugin tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
