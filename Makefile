# cronce: the commands a person needs. `make` alone lists them.
#
# Three things are chosen here and nowhere else:
# - PYTHON: the newest of Python 3.14 .. 3.11 that really runs (a version manager's shim that only prints a hint does
#   not). `make PYTHON_RUNTIME=python3.12 ...` asks for one by name.
# - environments: .venv for tests, checks and the story; .venv-sam for the SAM CLI, .venv-emulator for local AWS, and
#   .venv-audit for the audits: their pins do not go together.
# - stamps in .make/ and in the environments: what is already there is not made again.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Zones come from the pinned tzdata wheel, in every process that is started from here, as they do in Lambda.
export PYTHONTZPATH :=
# The SAM CLI neither reports usage nor asks the network for news.
export SAM_CLI_TELEMETRY := 0

RUNTIMES := python3.14 python3.13 python3.12 python3.11
PYTHON_RUNTIME ?=
PYTHON ?= $(or $(shell for p in $(or $(PYTHON_RUNTIME),$(RUNTIMES) python3); do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null \
	&& echo $$p && break; done),$(error no $(or $(PYTHON_RUNTIME),Python 3.11 to 3.14) that runs was found; name one: \
	make PYTHON=/path/to/python3))
ifneq ($(PYTHON_RUNTIME),$(filter $(RUNTIMES),$(PYTHON_RUNTIME)))
$(error PYTHON_RUNTIME is '$(PYTHON_RUNTIME)'; it takes one of $(RUNTIMES))
endif

ENV ?= dev
ARGS ?=
SECONDS ?= 120
PROCESSES ?= 1
PORT ?= 4566
WORKERS ?= auto

BIN := .venv/bin
SAM := .venv-sam/bin/sam
CODE := layers functions tools tests
# The runtime that an interpreter belongs to, as Lambda names it; nothing if it does not run.
runtime_of = $(shell $(1) -c 'import sys; print("python%d.%d" % sys.version_info[:2])' 2>/dev/null)

# The tests' dependencies on the path of .venv: the very files that ship, not a copy of them.
SOURCE_FOLDERS := layers/runtime functions tools

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 18
	@echo
	@echo '  ENV=dev | prod              what deploy deploys: a section of samconfig.toml and parameters/<ENV>.yaml'
	@echo '  PYTHON_RUNTIME=python3.13   the interpreter to use (default: the newest of 3.11 to 3.14 that runs)'
	@echo '  ARGS="-k lease"             more arguments for pytest'
	@echo '  WORKERS=4                   processes that run tests (default: one a core; 0: none beside pytest itself)'

.PHONY: run
run: .venv/ready ## show a few days of real jobs on a virtual clock, in memory, in a minute or two
	@$(BIN)/python -m cronce_tools.story $(if $(SEED),--seed $(SEED))

.PHONY: jobs
jobs: .venv/ready ## check your jobs, and list them with their schedules and next times
	@$(BIN)/cronce validate

.PHONY: test
test: check ## make the environments, check everything, run all tests
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

.PHONY: test-slow
test-slow: check ## the same with thousands of cases more
	@HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m '' $(ARGS)

# One seed is one history: SEED=7 plays it, shrinks it if it fails, and prints its timeline.
.PHONY: simulate
simulate: .venv/ready ## play random histories with faults in a virtual world (SECONDS=120, SEEDS=1000, SEED=7)
	@$(BIN)/python -m tests.simulation $(if $(SEED),--seed $(SEED), --processes $(PROCESSES) \
		$(if $(FIRST),--first $(FIRST)) $(if $(SEEDS),--seeds $(SEEDS),--seconds $(SECONDS)))

.PHONY: simulate-proof
simulate-proof: .venv/ready ## plant one mistake after the other and see whether the simulation finds it
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m '' tests/simulation/test_planted.py $(ARGS)

.PHONY: coverage
coverage: .venv/ready .make/translated.json ## the tests with branch coverage
	@$(BIN)/python -m pytest --cov --cov-report=term-missing $(ARGS)

.PHONY: check
check: .venv/ready .make/template-linted ## ruff, mypy, import contracts, template lint
	@echo '== ruff'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo '== mypy'
	@$(BIN)/mypy $(CODE)
	@echo '== import contracts'
	@$(BIN)/lint-imports --no-logo

# No builder ships bytecode and the layer is read-only in Lambda: without the second step everything is compiled again
# at every cold start. Packages may bring files that are not meant for this Python; whether one matters, the check says.
# Parameters are those of the deployment: a package that is not pure Python is built for the Architecture.
BUILT := .aws-sam/build
PARAMETERS = $(addprefix file://,$(wildcard parameters/$(ENV).yaml))

.PHONY: build
build: .venv/bin/python .venv-sam/ready ## sam build, with compiled bytecode; checked and weighed
	@runtime=$(call runtime_of,$(BIN)/python) && export PATH="$(CURDIR)/$(BIN):$$PATH" \
	&& echo "== sam build for $$runtime" \
	&& $(SAM) build --parameter-overrides $(PARAMETERS) PythonRuntime=$$runtime \
	&& echo "== compile bytecode" \
	&& { $$runtime -m compileall -qf --invalidation-mode unchecked-hash $(BUILT) || true; } \
	&& PYTHONPATH=tools $$runtime -P -m cronce_tools.check_build $(BUILT) \
	&& echo $$runtime > .aws-sam/runtime

# What would end it is said before anything is built: .venv-sam itself too, where .venv can say it.
.PHONY: deployable deployable-so-far
deployable: deployable-so-far .venv-sam/ready
	@.venv-sam/bin/python -P tools/cronce_tools/check_deploy.py '$(ENV)' $(ARGS)

deployable-so-far:
	@[ -e .venv-sam/ready ] || [ ! -e .venv/ready ] \
		|| $(BIN)/python -P tools/cronce_tools/check_deploy.py '$(ENV)' $(ARGS)

.PHONY: deploy
.NOTPARALLEL: deploy deployable
deploy: deployable build ## build and deploy to your AWS account (ENV=dev; ARGS=--guided asks for everything)
	$(SAM) deploy --config-env $(ENV) \
		--parameter-overrides file://parameters/$(ENV).yaml PythonRuntime=$$(cat .aws-sam/runtime) $(ARGS)

.PHONY: contract
contract: .venv/ready .venv-emulator/ready ## hold the stores to their contract on local AWS, races included
	@$(BIN)/python -m pytest -n $(WORKERS) tests/contract -k emulator $(ARGS)

# Ports of its own choice, on the loopback only. Takes some minutes of real time; the tests wait side by side.
.PHONY: e2e
e2e: .venv/ready .venv-sam/ready .venv-emulator/ready ## build, deploy, drive, upgrade and delete it on local AWS
	@$(BIN)/python -m pytest -m e2e tests/e2e $(ARGS)

# Checkov sees the template with all its options taken, because it does not look into conditions. It works offline.
.PHONY: audit
audit: audit-template audit-packages ## look for known weaknesses: Checkov on the template, pip-audit on all packages

.PHONY: audit-template
audit-template: .venv-audit/ready .make/translated.json
	@echo '== checkov'
	.venv-audit/bin/python -P tools/cronce_tools/conditions.py .make/translated.json .make/audited.json
	.venv-audit/bin/checkov -f .make/audited.json --framework cloudformation --skip-download --compact --quiet

# It asks PyPI what is known of each version; what it cannot ask for is not passed.
.PHONY: audit-packages
audit-packages: .venv-audit/ready
	@echo '== pip-audit'
	@.venv-audit/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off \
		$(addprefix -r ,layers/runtime/requirements.txt functions/requirements.txt $(wildcard requirements/*.txt)) \
		|| { echo 'Packages are vulnerable, or PyPI could not be asked about them (see above): nothing is passed.'; exit 1; }

.PHONY: local
local: .venv/ready .venv-sam/ready .venv-emulator/ready ## run it on local AWS, in real time, until Ctrl-C (PORT=4566)
	@exec $(BIN)/python -m cronce_tools.emulator --port '$(PORT)'

.PHONY: local-update
local-update: .venv/ready .venv-sam/ready ## deploy what has changed to the stack of `make local`
	@$(BIN)/python -m cronce_tools.emulator update

.PHONY: bench
bench: .venv/ready .venv-bench/ready .venv-emulator/ready ## count units and calls, compare with peers, compute a month's cost
	@$(BIN)/python -m tests.benchmarks.check_meter
	@$(BIN)/python -m tests.benchmarks
	@.venv-bench/bin/python -P tests/benchmarks/peers.py

.PHONY: bench-cold
bench-cold: .venv/ready build ## time each function's cold start from the build against a bare boto3 client
	@$(BIN)/python -m tests.benchmarks.cold_start $(ARGS)

.PHONY: clean
clean: ## remove what was built, and all environments
	rm -rf .aws-sam .make .venv .venv-* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# Versions that are locked stay: ARGS=--upgrade raises all, ARGS="--upgrade-package boto3" one. The layer comes first,
# because the tests take its versions over.
LOCK := .venv-lock/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
	--annotation-style line --custom-compile-command 'make lock'

.PHONY: lock
lock: .venv-lock/ready ## lock what requirements/*.in ask for: exact versions with the hashes of their files
	$(LOCK) requirements/layer.in --output-file layers/runtime/requirements.txt $(ARGS)
	for each in dev sam emulator audit bench lock; do \
		$(LOCK) requirements/$$each.in --output-file requirements/$$each.txt $(ARGS) || exit; done

# --- environments ---------------------------------------------------------------------------------------------------

# A broken link (its Python was removed) counts as missing: the environment is made anew, and filled again.
# So does one of another version than PYTHON_RUNTIME asks for: what is built is what was tested.
ifneq ($(PYTHON_RUNTIME),$(and $(PYTHON_RUNTIME),$(call runtime_of,$(BIN)/python)))
.PHONY: .venv/bin/python
endif
.venv/bin/python:
	@echo "== .venv with $(PYTHON)"
	$(PYTHON) -m venv --clear .venv

.venv-sam/bin/python .venv-emulator/bin/python .venv-audit/bin/python .venv-bench/bin/python .venv-lock/bin/python: %/bin/python:
	@echo "== $* with $(PYTHON)"
	$(PYTHON) -m venv --clear $*

# Each file is its own constraint (-c): pip takes `name[extra]` for another package than `name`, and refuses it as not
# pinned on the day on which there is a newer release; constraints hold for both.
# The second installation is apart, because what you pin for your jobs may be without hashes.
# `cronce` is a command of the working copy: it starts the tools that lie there, wherever it is called.
.venv/ready: requirements/dev.txt functions/requirements.txt .venv/bin/python
	@echo '== install what the tests need'
	$(BIN)/python -m pip install -q -r requirements/dev.txt -c requirements/dev.txt
	$(BIN)/python -m pip install -q -r functions/requirements.txt
	printf '%s\n' $(addprefix $(CURDIR)/,$(SOURCE_FOLDERS)) \
		> "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/cronce-sources.pth"
	printf '#!/bin/sh\nexec "%s" -P -m cronce_tools.cli "$$@"\n' '$(CURDIR)/$(BIN)/python' > $(BIN)/cronce
	chmod +x $(BIN)/cronce
	touch $@

.venv-sam/ready .venv-emulator/ready .venv-audit/ready .venv-bench/ready .venv-lock/ready: .venv-%/ready: requirements/%.txt .venv-%/bin/python
	@echo '== install requirements/$*.txt'
	.venv-$*/bin/python -m pip install -q -r requirements/$*.txt -c requirements/$*.txt
	touch $@

# --- template -------------------------------------------------------------------------------------------------------

# What CloudFormation gets to see, for the tests and for a second lint: a role that names its own function passes the
# lint of the source and fails the deploy.
.make/translated.json: template.yaml tools/cronce_tools/translate.py .venv-sam/ready
	@mkdir -p .make
	.venv-sam/bin/python -P tools/cronce_tools/translate.py template.yaml $@

.make/template-linted: template.yaml samconfig.toml .make/translated.json
	@echo '== template lint'
	$(SAM) validate --lint --template template.yaml
	.venv-sam/bin/cfn-lint --template .make/translated.json
	touch $@
