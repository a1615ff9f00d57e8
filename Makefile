# SPDX-License-Identifier: Apache-2.0
# make demo · make test · make test-slow · make lint · make build · make wheel · make name-wheels · make clean
# make docs · make notebooks · make fuzz · make bench
# Each sets up what it needs first: system packages, .venv, the build. What is already there is not made again.
SHELL := /bin/bash
PYTHON := .venv/bin/python
STAMPS := build/stamps
BUILT := $(STAMPS)/build
BUILT_TESTS := $(STAMPS)/tests
SOURCES := $(shell find core python compat/tricodec_compat packaging plugin triton_backend model_repository cmake -type f -not -name '*.pyc' 2>/dev/null) \
           CMakeLists.txt VERSION pyproject.toml compat/pyproject.toml tools/build.sh
TEST_SOURCES := $(shell find tests/cpp -type f 2>/dev/null)

.PHONY: help demo docs notebooks test test-slow fuzz lint bench build wheel name-wheels clean
help:
	@sed -n 's/^# make/make/p' Makefile

$(STAMPS)/system: tools/install_system_packages.sh cmake/packages.txt
	@mkdir -p $(STAMPS)
	@tools/install_system_packages.sh
	@touch $@

# What builds tricodec and runs the demo.
$(STAMPS)/venv: $(STAMPS)/system tools/make_venv.sh tools/requirements-build.txt
	@echo "== packages of .venv"
	@tools/make_venv.sh demo
	@touch $@

$(STAMPS)/system-test: $(STAMPS)/system tools/install_system_packages.sh
	@tools/install_system_packages.sh test
	@touch $@

$(STAMPS)/venv-test: $(STAMPS)/venv $(STAMPS)/system-test tools/requirements-test.txt
	@tools/make_venv.sh test
	@touch $@

$(STAMPS)/bench: $(STAMPS)/system tools/make_venv.sh tools/requirements-bench.txt
	@echo "== packages of .venv-bench"
	@tools/make_venv.sh bench
	@touch $@

# What builds the codec libraries of the wheel.
$(STAMPS)/libraries: $(STAMPS)/venv
	@tools/install_system_packages.sh libraries
	@touch $@

$(BUILT): $(STAMPS)/venv $(SOURCES)
	@echo "== build"
	@tools/build.sh
	@rm -f $(BUILT_TESTS)
	@touch $@

build: $(BUILT)

# The compiler and what fetches the packages of the tests run beside each other.
$(BUILT_TESTS): $(BUILT) $(STAMPS)/system-test $(TEST_SOURCES) tools/requirements-test.txt
	@echo "== build of the tests"
	@$(MAKE) --no-print-directory $(STAMPS)/venv-test & tools/build.sh tests && wait $$!
	@touch $@

# A wheel that carries its libraries, in build/wheel, tried; WHEEL_PYTHONS="python3.12 python3.13" for other Pythons.
WHEEL_PYTHONS := $(PYTHON)
wheel: $(STAMPS)/libraries
	@PATH="$(CURDIR)/.venv/bin:$$PATH" tools/make_wheel.sh $(WHEEL_PYTHONS)

# Wheels of the names PyNvVideoCodec and nvidia.nvcomp, and of tricodec-compat, which require tricodec, in build/wheel.
name-wheels: $(STAMPS)/venv
	@$(PYTHON) -m pip --disable-pip-version-check wheel --quiet --no-build-isolation --no-deps --wheel-dir build/wheel \
	  ./packaging/pynvvideocodec ./packaging/nvcomp ./compat

demo: build
	@$(PYTHON) -m tricodec demo --output demo_output

test: $(BUILT_TESTS)
	@tools/run_tests.sh

test-slow: $(BUILT_TESTS) $(STAMPS)/libraries
	@tools/run_tests.sh --slow

$(STAMPS)/fuzz: $(STAMPS)/system tools/install_system_packages.sh
	@tools/install_system_packages.sh fuzz
	@touch $@

# Each target FUZZ_MINUTES (30); FUZZ="--seconds 30" for all of them together, FUZZ="reader muxer" for some.
fuzz: $(BUILT_TESTS) $(STAMPS)/fuzz
	@$(PYTHON) tests/fuzz/run.py $(FUZZ)

$(STAMPS)/docs: $(BUILT) tools/requirements-docs.txt
	@tools/install_system_packages.sh docs
	@tools/make_venv.sh docs
	@touch $@

# The site in build/site, with the reference of the C++ headers in build/site/cpp; a broken link fails it.
docs: $(STAMPS)/docs
	@NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(PYTHON) -m mkdocs build --strict --clean
	@doxygen tools/site/Doxyfile

# Runs every program of docs/notebooks as a notebook, and keeps no output; without torch one is skipped.
notebooks: $(BUILT_TESTS)
	@TRICODEC_REQUIRE_DALI=1 TRICODEC_REQUIRE_TRITON=1 TRICODEC_REQUIRE_ONNX=1 \
	  $(PYTHON) -m pytest -q -m "" --durations=6 tests/python/package/test_notebooks.py

lint: $(STAMPS)/venv-test
	@$(PYTHON) tools/lint.py

# A suite of the benchmarks: SUITE=programs, encode or compress for another one, BENCH=--quick for the short run.
# tricodec and its peers run in an environment that the tests do not use.
SUITE := decode
bench: build $(STAMPS)/bench
	@rm -rf build/bench-site
	@.venv/bin/cmake --install build/dev --prefix build/bench-site >build/bench-install.log
	@PYTHONPATH=$(CURDIR)/build/bench-site .venv-bench/bin/python -m benchmarks $(SUITE) $(BENCH)

clean:
	rm -rf build demo_output .pytest_cache .mypy_cache .ruff_cache
	find core python compat packaging plugin tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
