# SPDX-License-Identifier: Apache-2.0
# make demo · make test · make test-slow · make lint · make format · make build · make wheel · make pynv-wheel · make clean
# make docs · make notebooks · make newcomer · make fuzz · make bench
# Each sets up what it needs first: system packages, .venv, the build. What is already there is not made again.
# LIBRARIES=own takes current codec libraries, compiled here, in place of the system's (docs/howto/packaging.md).
SHELL := /bin/bash
LIBRARIES := system
PYTHON := .venv/bin/python
STAMPS := build/stamps
BUILD := build/$(if $(filter own,$(LIBRARIES)),own,dev)
BUILT := $(STAMPS)/build-$(LIBRARIES)
BUILT_TESTS := $(STAMPS)/tests-$(LIBRARIES)
SOURCES := $(shell find core python compat/tricodec_compat plugin triton_backend model_repository cmake -type f -not -name '*.pyc' 2>/dev/null) \
           CMakeLists.txt VERSION pyproject.toml compat/pyproject.toml tools/build.sh tools/make_pynv_wheel.py
TEST_SOURCES := $(shell find tests/cpp -type f 2>/dev/null)

.PHONY: help demo docs notebooks newcomer test test-slow fuzz lint format bench build wheel pynv-wheel clean
help:
	@sed -n 's/^# \(make\|LIBRARIES\)/\1/p' Makefile

$(STAMPS)/system: tools/install_system_packages.sh
	@mkdir -p $(STAMPS)
	@tools/install_system_packages.sh
	@touch $@

# What builds tricodec and runs the demo.
$(STAMPS)/venv: $(STAMPS)/system tools/make_venv.sh $(addprefix tools/requirements-,build.txt demo.txt triton.txt)
	@echo "== packages of .venv"
	@tools/make_venv.sh demo
	@touch $@

$(STAMPS)/system-test: $(STAMPS)/system tools/install_system_packages.sh
	@tools/install_system_packages.sh test
	@touch $@

$(STAMPS)/venv-test: $(STAMPS)/venv $(STAMPS)/system-test $(addprefix tools/requirements-,test.txt network.txt)
	@tools/make_venv.sh test
	@touch $@

$(STAMPS)/lint: $(STAMPS)/venv-test tools/requirements-lint.txt
	@tools/make_venv.sh lint
	@touch $@

$(STAMPS)/bench: $(STAMPS)/system tools/make_venv.sh tools/install_torch.sh tools/requirements-bench.txt
	@echo "== packages of .venv-bench"
	@tools/make_venv.sh bench
	@touch $@

# What builds the codec libraries; the libraries know themselves what of them is there.
$(STAMPS)/libraries: $(STAMPS)/venv tools/requirements-libraries.txt
	@tools/install_system_packages.sh libraries
	@tools/make_venv.sh libraries
	@touch $@

# One of the two builds is installed in .venv.
$(BUILT): $(STAMPS)/venv $(if $(filter own,$(LIBRARIES)),$(STAMPS)/libraries tools/build_libraries.py tools/library_sources.py) $(SOURCES)
	@echo "== build"
	@LIBRARIES=$(LIBRARIES) tools/build.sh
	@rm -f $(STAMPS)/build-* $(STAMPS)/tests-*
	@touch $@

build: $(BUILT)

# The compiler and what fetches the packages of the tests run beside each other.
$(BUILT_TESTS): $(BUILT) $(STAMPS)/system-test $(TEST_SOURCES) $(addprefix tools/requirements-,test.txt network.txt)
	@echo "== build of the tests"
	@$(MAKE) --no-print-directory $(STAMPS)/venv-test & LIBRARIES=$(LIBRARIES) tools/build.sh tests && wait $$!
	@touch $@

# A wheel that carries its libraries, in build/wheel, tried; ARCH=aarch64 for such machines, without CUDA.
ARCH :=
wheel: $(STAMPS)/libraries
	@$(if $(ARCH),tools/install_system_packages.sh $(ARCH))
	@$(PYTHON) tools/make_wheel.py $(if $(ARCH),--arch $(ARCH))
	@$(PYTHON) tools/try_wheel.py build/wheel/tricodec-*.whl

# Wheels for the names PyNvVideoCodec (metadata) and nvidia.nvcomp, and tricodec-compat, which require tricodec, in build/wheel.
pynv-wheel: $(STAMPS)/venv
	@$(PYTHON) tools/make_pynv_wheel.py PyNvVideoCodec
	@$(PYTHON) tools/make_pynv_wheel.py tricodec-nvcomp
	@$(PYTHON) -m pip --disable-pip-version-check wheel --quiet --no-build-isolation --no-deps --wheel-dir build/wheel ./compat

demo: build
	@$(PYTHON) -m tricodec demo --output demo_output

test: $(BUILT_TESTS)
	@$(PYTHON) tools/run_tests.py --build $(BUILD)

test-slow: $(BUILT_TESTS) $(STAMPS)/libraries
	@$(PYTHON) tools/run_tests.py --slow --build $(BUILD)

$(STAMPS)/fuzz: $(STAMPS)/system tools/install_system_packages.sh
	@tools/install_system_packages.sh fuzz
	@touch $@

# Each target FUZZ_MINUTES (30); FUZZ="--seconds 30" for all of them together, FUZZ="reader muxer" for some.
fuzz: $(BUILT_TESTS) $(STAMPS)/fuzz
	@$(PYTHON) tests/fuzz/run.py $(FUZZ)

$(STAMPS)/docs: $(STAMPS)/system tools/make_venv.sh tools/requirements-docs.txt
	@tools/install_system_packages.sh docs
	@tools/make_venv.sh docs
	@touch $@

# The site in build/site; a broken link or a public name without a description fails it.
docs: $(STAMPS)/docs
	@.venv-docs/bin/python tools/build_docs.py

# Runs every program of examples/notebooks as a notebook, and keeps no output; without torch one is skipped.
notebooks: $(BUILT_TESTS)
	@TRICODEC_REQUIRE_DALI=1 TRICODEC_REQUIRE_TRITON=1 TRICODEC_REQUIRE_ONNX=1 \
	  $(PYTHON) -m pytest -q -m "" --durations=6 tests/python/package/test_notebooks.py

# README's commands in a bare system, as root with debootstrap: NEWCOMER="noble --mirror URL" for another one.
NEWCOMER := bookworm
newcomer: $(STAMPS)/venv
	@$(PYTHON) tools/newcomer.py $(NEWCOMER)

lint: $(STAMPS)/lint
	@$(PYTHON) tools/lint.py

format: $(STAMPS)/lint
	@$(PYTHON) tools/lint.py --format

# A suite of the benchmarks: SUITE=programs, encode or compress for another one, BENCH=--quick for the short run.
# tricodec and its peers run in an environment that the tests do not use.
SUITE := decode
bench: build $(STAMPS)/bench
	@rm -rf build/bench-site
	@.venv/bin/cmake --install $(BUILD) --prefix build/bench-site >build/bench-install.log
	@PYTHONPATH=$(CURDIR)/build/bench-site .venv-bench/bin/python -m benchmarks $(SUITE) $(BENCH)

clean:
	rm -rf build demo_output .pytest_cache .mypy_cache .ruff_cache
	find core python compat plugin tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
