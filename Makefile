# Every command of the project. Needs GNU make and Python 3.11 or newer; nothing is installed outside .venv.

VENV := .venv
BIN := $(VENV)/bin
#: Interpreters to try, the first that is new enough is taken; `make setup PYTHON=/path/to/python3.13` chooses one.
PYTHON ?= python3 python3.14 python3.13 python3.12 python3.11
#: Present when the environment was made in this place from these very files, so that a second run does nothing: with
#: what `make run` needs, and with what all else needs too.
stamp = $(VENV)/$(1)-$(shell { pwd; cat requirements/$(1).txt pyproject.toml; } | cksum | cut -d ' ' -f 1)
READY_TO_RUN := $(call stamp,run)
READY := $(call stamp,dev)

#: The UI's tools and its build, each there when it was made from these very files.
NPM := cd frontend && PATH="$(CURDIR)/$(BIN):$$PATH" npm --no-update-notifier --no-fund --no-audit
UI_TOOLS := frontend/node_modules/ready-$(shell cksum < frontend/package-lock.json | cut -d ' ' -f 1)
UI := frontend/dist/built-$(shell find frontend/src frontend/public frontend/*.* -type f 2>/dev/null | LC_ALL=C sort \
	| xargs cat | cksum | cut -d ' ' -f 1)

PYTEST := $(BIN)/python -m pytest
#: Parts of which the tests must run so many per cent of the lines and branches. `make test` has every Python process
#: that its tests start measured (coverage looks for these variables), servers too; a run of one kind alone is not.
COVERED := core dialects stores protocols
COVERED_PERCENT := 95
MEASURED := COVERAGE_PROCESS_START="$(CURDIR)/pyproject.toml" COVERAGE_FILE="$(CURDIR)/build/coverage/data"

MAKEFLAGS += --no-print-directory --no-builtin-rules
.DEFAULT_GOAL := help
.PHONY: help setup environment run test check unit contract integration e2e coverage bench format proto lock clean

help:  ## List these commands.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

$(UI_TOOLS): $(READY_TO_RUN)
	@echo "setup: the UI's packages"
	@$(NPM) ci --silent --ignore-scripts
	@touch $@

$(UI): $(UI_TOOLS)
	@echo "setup: the UI"
	@rm -rf frontend/dist
	@$(NPM) run --silent build -- --logLevel warn
	@touch $@

setup: $(READY) $(UI)  ## Make .venv and the UI from the locked packages, hash-checked; a second run does nothing.
	@echo "setup: $(VENV) is ready"

$(READY_TO_RUN):
	@$(MAKE) --silent environment PART=run STAMP=$@

$(READY):
	@$(MAKE) --silent environment PART=dev STAMP=$@
	@touch $(READY_TO_RUN)

environment:
	@python=; for name in $(PYTHON); do \
		if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "setup: Polystream needs Python 3.11 or newer; none of these is: $(PYTHON)" >&2; \
		echo "setup: name one with 'make setup PYTHON=/path/to/python3'" >&2; exit 1; \
	fi; \
	if ! grep -qs "^command = .* $(CURDIR)/$(VENV)$$" $(VENV)/pyvenv.cfg || ! $(BIN)/python -c '' 2>/dev/null; then \
		echo "setup: $(VENV) with $$("$$python" --version)"; \
		"$$python" -m venv --clear "$(CURDIR)/$(VENV)"; \
	fi
	@rm -f $(VENV)/run-* $(VENV)/dev-*
	@echo "setup: $$(grep -c == requirements/$(PART).txt) locked packages"
	@$(BIN)/python -m pip install -qq --no-compile --require-hashes --no-deps --only-binary :all: \
		-r requirements/$(PART).txt
	@echo "setup: polystream itself, editable"
	@$(BIN)/python -m pip install -qq --no-index --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

run:  ## Serve everything on PORT (8080) and gRPC on GRPC_PORT, too: from MODEL, or from the server at ENGINE_URL.
	@$(MAKE) --silent $(READY_TO_RUN) $(UI)
	@exec $(BIN)/polystream up

test: $(READY)  ## Run everything that must pass: check, unit, contract, integration, e2e, and what these covered.
	@rm -rf build/coverage; mkdir -p build/coverage; status=0; summary=; \
	for step in check unit contract integration e2e coverage; do \
		case $$step in check|coverage) measured= ;; *) measured='$(MEASURED)' ;; esac; \
		echo "== $$step"; began=$$(date +%s); \
		if eval "$$measured" $(MAKE) $$step; then result=passed; else result=FAILED; status=1; fi; \
		summary="$$summary$$(printf '%-12s %s in %s s' $$step $$result $$(($$(date +%s) - began)))|"; \
	done; \
	echo "== summary"; printf '%s' "$$summary" | tr '|' '\n'; exit $$status

check: $(READY) $(UI_TOOLS)  ## Check style, format, types, import rules, and that the generated stubs are up to date.
	@status=0; \
	try() { \
		name=$$1; shift; \
		if said=$$("$$@" 2>&1); then echo "$$name: ok"; else echo "$$name: FAILED"; echo "$$said"; status=1; fi; \
	}; \
	try 'ruff check' $(BIN)/ruff check --quiet --output-format concise .; \
	try 'ruff format' $(BIN)/ruff format --check --output-format concise .; \
	try 'mypy' $(BIN)/mypy; \
	try 'lint-imports' $(BIN)/lint-imports --no-cache; \
	try 'stubs' $(BIN)/python .ci/stubs.py --check; \
	try 'ui' sh -c '$(NPM) run --silent check'; \
	exit $$status

unit: $(READY) $(UI_TOOLS)  ## Run the tests without I/O, and the UI's.
	@$(PYTEST) tests/unit
	@$(NPM) test --silent

contract: $(READY)  ## Run one body of tests over every store, engine and protocol, and the cases.
	@$(PYTEST) $(wildcard tests/contract tests/cases)

integration: $(READY) $(UI)  ## Run the tests against real processes on loopback.
	@$(PYTEST) tests/integration

e2e: $(READY) $(UI)  ## Run the tests in a browser (Debian's chromium and fonts, which root gets installed).
	@.ci/browser
	@$(PYTEST) tests/e2e

coverage: $(READY)  ## Say how much of each part the last `make test` ran.
	@[ -e build/coverage/data ] || $(BIN)/coverage combine --quiet build/coverage; status=0; \
	for part in $(COVERED); do \
		printf '%-10s ' $$part; files='*/polystream/'$$part'/*'; \
		$(BIN)/coverage report --include="$$files" --format=total --fail-under=$(COVERED_PERCENT) \
		|| { status=1; $(BIN)/coverage report --include="$$files"; }; \
	done; exit $$status

bench: $(READY)  ## Measure CPU, latency and memory per token and stream against nginx and other gateways.
	@$(BIN)/python -m tests.load $(ARGS)

format: $(READY) $(UI_TOOLS)  ## Put imports and code into the project's format, and mend what ruff and biome can.
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .
	@$(NPM) run --silent format

proto: $(READY) $(UI_TOOLS)  ## Generate the stubs of services/polystream/proto, Python's and TypeScript's.
	@$(BIN)/python .ci/stubs.py

lock: $(READY)  ## Pin what pyproject.toml asks for, with hashes, in requirements/ (UPGRADE=1: to today's versions).
	@known=; for part in runtime run dev; do \
		[ $$part = runtime ] && more= || more="--group $$part"; \
		$(BIN)/uv pip compile pyproject.toml --extra model $$more $$known --quiet --universal --python-version 3.11 \
			--generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' \
			$(if $(UPGRADE),--upgrade) --output-file requirements/$$part.txt || exit 1; \
		known="--constraints requirements/$$part.txt"; \
	done

clean:  ## Remove what these commands made: the environment, build/ and the tools' caches.
	@rm -rf $(VENV) build dist frontend/node_modules frontend/dist frontend/build .coverage* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find services tests .ci -name __pycache__ -type d -prune -exec rm -rf {} +
