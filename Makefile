# Needs python3 >= 3.11 and nothing else; every target sets up `.venv` by itself and does nothing twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
Q ?= How is confidence scored?

.PHONY: ask help run test check bench eval soak pictures tables lock
.DEFAULT_GOAL := ask

ask: $(VENV)/.run ## answer one question: make ask Q="…"
	@$(BIN)/gorkd ask $(ARGS) -- "$$Q" || case $$? in 2|3) ;; *) exit 4;; esac # it has said what is wrong, or missing
ask: override export Q := $(value Q)

help: ## say what each of these does
	@sed -nE 's/^([a-z]+):.*## /make \1\t/p' Makefile

run: $(VENV)/.run ## start everything in one process and print the address
	@$(BIN)/gorkd all

test: $(VENV)/.dev ## the whole default suite: no network, no key
	@$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/.dev ## format, lint, types and import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(VENV)/.dev ## print speed figures; never part of the tests
	@$(BIN)/python -m tests.bench $(ARGS)

eval: $(VENV)/.dev ## print quality figures on labelled data
	@$(BIN)/python -m tests.evals $(ARGS)

soak: $(VENV)/.dev ## half an hour of faults and kills on each database; never part of the tests
	@$(BIN)/python -m tests.soak $(ARGS)

pictures: $(VENV)/.dev ## draw the pictures of the documents anew (needs chromium)
	@$(BIN)/python -m tests.pictures $(ARGS)

tables: $(VENV)/.dev ## write the generated tables of languages and words anew
	@$(BIN)/python -m tests.tables $(ARGS)

lock: ## pin every dependency by hash, without addresses (needs uv)
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-annotate --no-header --extra install pyproject.toml -o requirements.lock
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-annotate --no-header --extra install --extra dev pyproject.toml -o requirements-dev.lock

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gorkd needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements.lock pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) (once; a minute or two) …" >&2
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.run
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@
