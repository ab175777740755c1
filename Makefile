# The verbs people type. `make demo` and `make test` set up what they need by themselves, once.

.DEFAULT_GOAL := help
SHELL := /bin/sh
.DELETE_ON_ERROR:

# uv from the PATH, or our own pinned and hash-checked copy in a private folder.
UV := $(shell uv --version >/dev/null 2>&1 && echo uv || echo .tools/uv/bin/uv)
PYTHON ?= $(shell command -v python3.12 2>/dev/null || echo python3)
RUN := $(UV) run --no-sync
SETUP := .venv/.ready
# The torch engine's tests: several GB of CUDA libraries that no other verb needs.
TORCH := UV_PROJECT_ENVIRONMENT=.venv-torch
TORCH_SETUP := .venv-torch/.ready

PROMPT ?= Why is the sky blue?
OUT ?= out

.PHONY: help setup demo test test-load test-torch lint format bench readme clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SETUP) ## Install everything and prepare the weights (other verbs do it when needed)

demo: $(SETUP) ## Ask the agent a question and let it speak: out/answer.wav, out/timeline.png
	@$(RUN) voice-local ask "$(PROMPT)" --out "$(OUT)"

test: $(SETUP) ## Pass the tests
	@$(RUN) coverage run --source=speech_protocol -m pytest packages/speech_protocol -q
	@$(RUN) coverage report --fail-under=100 --skip-covered
	@$(RUN) pytest packages tests --ignore packages/speech_protocol -m "not torch and not load"

test-load: $(SETUP) ## Pass the tests with hundreds of callers (minutes)
	@$(RUN) pytest packages tests -m load

test-torch: $(TORCH_SETUP) ## Pass the torch engine's tests (the first time it installs torch, another 5 GB)
	@$(TORCH) $(RUN) pytest packages tests -m torch

lint: $(SETUP) ## Check style, format, types and the lock
	@$(UV) lock --check
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy

format: $(SETUP) ## Rewrite the code in the house format
	@$(RUN) ruff check --fix .
	@$(RUN) ruff format .

bench: $(SETUP) ## Measure: server start, memory, first audio
	@for script in benchmarks/*.py; do $(RUN) python "$$script" || exit 1; done

readme: $(SETUP) ## Measure again what the README shows (on a quiet machine)
	@$(RUN) python tools/readme.py

clean: ## Remove what the other verbs made here (the weights cache stays)
	rm -rf .venv .venv-torch .tools out .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage

.tools/uv/bin/uv: tools/uv-requirements.txt
	@echo "Putting uv in place (.tools/uv) ..."
	@rm -rf .tools/uv
	@$(PYTHON) -m venv .tools/uv
	@.tools/uv/bin/pip install --quiet --disable-pip-version-check --retries 1 --require-hashes \
	    -r tools/uv-requirements.txt 2>.tools/setup.log || \
	  { rm -rf .tools/uv; \
	    echo "make: uv could not be installed from the package index (see .tools/setup.log): connect to the network and run make again" >&2; \
	    exit 1; }
	@touch $@

$(SETUP): uv.lock pyproject.toml $(wildcard packages/*/pyproject.toml) $(filter .tools/uv/bin/uv,$(UV))
	@echo "Installing the locked packages (the first time about 1.8 GB) ..."
	@mkdir -p .tools
	@if [ -t 2 ]; then $(UV) sync --locked; else $(UV) sync --locked 2>.tools/setup.log; fi || \
	  { echo "make: the locked packages could not be installed (see .tools/setup.log): the first set-up needs the network; connect and run make again" >&2; \
	    exit 1; }
	@$(RUN) kokoro-weights prepare
	@touch $@

$(TORCH_SETUP): $(SETUP)
	@echo "Installing torch and its CUDA libraries in .venv-torch (the first time about 3 GB to fetch) ..."
	@mkdir -p .tools
	@if [ -t 2 ]; then $(TORCH) $(UV) sync --locked --extra torch; \
	  else $(TORCH) $(UV) sync --locked --extra torch 2>.tools/setup-torch.log; fi || \
	  { echo "make: torch could not be installed (see .tools/setup-torch.log): the first set-up needs the network; connect and run make again" >&2; \
	    exit 1; }
	@$(TORCH) $(RUN) kokoro-weights prepare --safetensors
	@touch $@
