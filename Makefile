# Each verb is one line into tools/. `make help` lists them.
PYTHON ?= python3
PY := .venv/bin/python
STAGE ?= local
OUT ?= .local/synth/$(STAGE)

.DEFAULT_GOAL := help
.PHONY: help setup up down invoke alarms token watch demo test bench faults fuzz audit check synth plan lock

help:  ## list the verbs
	@sed -n 's/^\([a-z]*\):.*  ## /  make \1\t/p' Makefile | expand -t 16

setup:  ## make both environments and the CDK command line from the lock files
	@$(PYTHON) -m tools.setup

up: setup  ## start the local stack and deploy [PORT=4566]
	@$(PY) -m tools.local up --port="$(PORT)"

down:  ## stop it; its state is kept unless CLEAN=1
	@$(PY) -m tools.local down --clean="$(CLEAN)"

invoke: setup  ## run one function as it is packaged: FUNCTION=queries_api EVENT=events/queries_api.json
	@$(PY) -m tools.invoke "$(FUNCTION)" "$(or $(EVENT),events/$(FUNCTION).json)"

alarms:  ## carry the local functions' metrics to CloudWatch, and print what rings
	@$(PY) -m tools.bridge

token:  ## print an ID token: ACTOR= TENANT= GROUPS=officer,reviewer
	@$(PY) -m tools.token --actor="$(ACTOR)" --tenant="$(TENANT)" --groups="$(GROUPS)"

watch: setup  ## progress of a running command: COMMAND=id [TENANT=acme] [ACTOR=watcher]
	@$(PY) -m tools.watch --command="$(COMMAND)" --tenant="$(TENANT)" --actor="$(ACTOR)"

demo: up  ## walk the main flows with real requests
	@$(PY) -m tools.demo

test: setup  ## run every test
	@$(PYTHON) -m tools.setup extras
	@$(PY) -m pytest -n 2 --dist loadgroup tests

bench: setup  ## count and compare with peers; writes docs/performance.md
	@PYTHONPATH=layers/domain/python $(PY) -m benchmarks

faults: setup  ## every command through every fault [RUNS=2400] [REPLAY=seed]
	@PYTHONPATH=layers/domain/python $(PY) -m tests.faults.matrix --runs="$(RUNS)" --replay="$(REPLAY)"
ifndef REPLAY
	@PYTHONPATH=layers/domain/python $(PY) -m tests.faults.mutants
endif

fuzz: setup  ## ten thousand broken requests, as many generated ones, and stories [FUZZ_REQUESTS=]
	@FUZZ_REQUESTS="$(or $(FUZZ_REQUESTS),10000)" STORIES=200 $(PY) -m pytest \
	  tests/functions/test_fuzz.py tests/faults/test_contract.py tests/faults/test_story.py

audit: setup  ## ask the advisory service about every locked package; needs the network
	@$(PYTHON) -m tools.setup extras
	@$(PY) -m tools.audit --advisories

check: setup  ## format, lint, types, unit tests and synth, in under a minute
	@$(PY) -m tools.check

synth: setup  ## write a stage's templates: STAGE=local|dev|prod OUT=folder
	@$(PY) -m tools.synth "$(STAGE)" "$(OUT)"

plan: setup  ## print a command's writes, rules and capacity units: COMMAND=CreateCase
	@$(PY) -m tools.plan $(COMMAND)

lock: setup  ## resolve the requirement files again
	@$(PY) -m tools.lock
