# `make` alone explains the targets. Everything lives in .venv and node_modules; nothing is installed for the whole machine,
# except by `make test` when it runs as root (see .ci/system-packages).

PYTHON ?= python3
PYTEST_ARGS ?=
# What was asked for, also in the makes that this one starts.
export GOAL ?= $(MAKECMDGOALS)
ARGS ?=

BIN := .venv/bin
INSTALLED := .venv/.installed
DASHBOARD := $(wildcard dashboard/package.json)
DASHBOARD_MODULES := $(if $(DASHBOARD),dashboard/node_modules/.installed)
DASHBOARD_PAGE := $(if $(DASHBOARD),src/tarsy/api/static/index.html)
DASHBOARD_SOURCES := $(if $(DASHBOARD),$(shell find dashboard -path dashboard/node_modules -prune -o -path dashboard/dist -prune -o -type f -print))
SERVERS_MODULES := $(if $(wildcard tests/contract/tools/servers/package.json),tests/contract/tools/servers/node_modules/.installed)

# Pages with thousands of rows keep both cores busy for two minutes, and their figures mean something only where nothing else runs.
SMOOTHNESS := tests/e2e/dashboard/test_smoothness.py

# Where .ci/node puts Node.js if the machine has none that is new enough.
export PATH := $(CURDIR)/.venv/node/bin:$(PATH)

# Hundreds of processes start in a run of the tests: what one has compiled, the next need not.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run setup test check fmt format lint types imports unit integration browser dashboard-test bench first-run chaos migration pictures build proto lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: setup ## install what is missing, start TARSy, print the address to open (ARGS="--port 9000" is passed on)
	@$(BIN)/tarsy serve $(ARGS)

# Python's packages and the dashboard beside each other: one waits for the network while the other computes.
setup: ## only the installation, without starting anything
	@$(MAKE) --no-print-directory --jobs=2 installed

# Much of the time the tests wait, for processes to start and for things to happen: the parts run beside each other, each reported in one piece,
# and those that need Python's packages alone run while the rest is installed.
test: ## everything CI runs: format, lint, types, import contracts, all tests
	@started=$$(date +%s) && $(MAKE) --no-print-directory --jobs=3 --output-sync=target UNIT_WORKERS=0 \
		integration browser unit format lint imports types dashboard-test \
		&& echo $$(($$(date +%s) - started)) > .venv/.test-seconds

# Beside each other, each reported in one piece, as in `make test`.
check: $(INSTALLED) ## the fast part of `make test`, for use while working
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target unit types format lint imports

fmt: $(INSTALLED) ## format the code and apply the safe lint fixes
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: setup ## run the benchmarks and print their figures; fails at the end if one was over its limit
	@failed=; for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python "$$file" || failed="$$failed $$file"; done; \
		[ -z "$$failed" ] || { echo "Failed:$$failed"; exit 1; }

first-run: setup ## time a stranger's first minutes: clone, `make run`, one click, a finished investigation
	@$(BIN)/python benchmarks/first_run.py

chaos: setup ## kill processes at random for a long time and see that nothing is lost; try new examples on the pure rules; how time and memory grow; the second type checker
	$(BIN)/pytest tests/unit tests/e2e/test_api_contract.py --hypothesis-profile=search -n 2 --timeout=1800 $(PYTEST_ARGS)
	$(BIN)/pyright
	TARSY_LONG_TESTS=1 $(BIN)/pytest tests/chaos tests/e2e/agents/test_size.py tests/e2e/test_setup.py tests/e2e/test_wheel.py --timeout=3600 -rP $(PYTEST_ARGS)
	$(BIN)/pytest tests/contract tests/integration tests/e2e/agents -m long $(PYTEST_ARGS)
	$(BIN)/pytest $(SMOOTHNESS) -rP $(PYTEST_ARGS)

migration: $(INSTALLED) ## draft the next migration from the tables (MESSAGE="what changes")
	@$(BIN)/python .ci/draft_migration.py "$(MESSAGE)"

pictures: setup ## make the pictures of the README and the manual anew, from the sample incidents
	$(BIN)/python .ci/pictures.py

build: setup ## make the wheel, dashboard included, in dist/
	$(BIN)/uv build --wheel --no-build-isolation --python $(BIN)/python

proto: $(INSTALLED) ## generate the Python code of the LLM contract anew
	$(BIN)/python -m grpc_tools.protoc -I proto --python_out=src/tarsy/llm/proto --pyi_out=src/tarsy/llm/proto proto/llm/v1/llm.proto

lock: $(INSTALLED) ## pin the dependencies of pyproject.toml anew (UPGRADE=--upgrade takes newer versions)
	$(BIN)/uv pip compile pyproject.toml --extra all --group dev --generate-hashes --no-strip-markers --no-emit-index-url --no-header --no-annotate $(UPGRADE) -o requirements.lock
	$(BIN)/uv pip compile .ci/node.in --generate-hashes --no-emit-index-url --no-header --no-annotate $(UPGRADE) -o .ci/node.lock

clean: ## remove everything that was built or installed here (not the database)
	rm -rf .venv dist src/tarsy/api/static dashboard/node_modules dashboard/dist tests/contract/tools/servers/node_modules .pytest_cache .ruff_cache

.PHONY: installed
installed: $(INSTALLED) $(DASHBOARD_PAGE)

# ---- the parts of `make test` -------------------------------------------------------------------------------------------

.PHONY: system-packages
system-packages:
	@.ci/system-packages

format: $(INSTALLED)
	$(BIN)/ruff format --check

lint: $(INSTALLED)
	$(BIN)/ruff check

types: $(INSTALLED)
	$(BIN)/pyrefly check

imports: $(INSTALLED)
	$(BIN)/lint-imports

# Without the plugin of schemathesis, which only the API's contract test needs and which takes as long to load as the program.
# In `make test`, where other tests run beside them, in one process: for each of thousands of short tests, workers cost more than the test.
UNIT_WORKERS ?= 2
unit: $(INSTALLED)
	$(BIN)/pytest tests/unit -n $(UNIT_WORKERS) --dist loadgroup -p no:schemathesis -m "not growth and not long" $(PYTEST_ARGS)

# All tests but those of `unit` and `browser`. Tests marked with the same xdist_group never run at the same time.
integration: installed system-packages $(SERVERS_MODULES)
	$(BIN)/pytest -o cache_dir=.pytest_cache/integration -n 3 --dist loadgroup -m "not growth and not long" \
		--ignore=tests/unit --ignore=tests/e2e/dashboard $(PYTEST_ARGS)

# The browser's driver keeps an event loop running in its process, which no other test there could live with: they run by themselves.
browser: installed system-packages $(SERVERS_MODULES)
	$(BIN)/pytest -o cache_dir=.pytest_cache/browser tests/e2e/dashboard --ignore=$(SMOOTHNESS) $(PYTEST_ARGS)

# The types of the API are compared with those that the program describes.
dashboard-test: $(INSTALLED) $(DASHBOARD_MODULES)
ifneq ($(DASHBOARD),)
	npm --prefix dashboard run lint
	npm --prefix dashboard run typecheck
	npm --prefix dashboard run test
endif

# ---- installation, each step done once -----------------------------------------------------------------------------------

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found. Install Python 3.11 or later, or run: make PYTHON=/path/to/python3 $(GOAL)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "TARSy needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version). Run: make PYTHON=/path/to/a/newer/python3 $(GOAL)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "This Python has no venv module. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv

# pip installs uv, pinned like the rest, and uv installs the rest: it takes seconds where pip takes minutes.
$(INSTALLED): requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing the packages of requirements.lock into .venv"
	@awk '/^uv==/ {on = 1} on {print} on && !/\\$$/ {exit}' requirements.lock > .venv/uv.lock
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.lock
	@VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock
	@VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@# Importing leaves bytecode behind: the first start finds what it needs compiled.
	@$(BIN)/python -c "import tarsy.server"
	@touch $@

.PHONY: node
node: | $(BIN)/python
	@.ci/node

# Not `npm ci`: the lock file pins every version, but names the native parts of one platform only, and `ci` refuses the others.
dashboard/node_modules/.installed: dashboard/package-lock.json | node
	npm --prefix dashboard install --no-save --no-audit --no-fund
	@touch $@

src/tarsy/api/static/index.html: $(DASHBOARD_MODULES) $(DASHBOARD_SOURCES)
	npm --prefix dashboard run build
	@touch $@

tests/contract/tools/servers/node_modules/.installed: tests/contract/tools/servers/package-lock.json | node
	npm --prefix tests/contract/tools/servers install --no-save --no-audit --no-fund --ignore-scripts
	@touch $@
