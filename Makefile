# `make train` and `make test` do all set-up on a fresh machine with Python 3.11 or newer and make.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUN ?= runs/quick

# The first interpreter that is new enough; PYTHON=... overrides.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

.PHONY: help setup train test bench docs clean
help:
	@echo "make train   train configs/quick.yaml by self-play (3 to 4 minutes), evaluate it, draw its learning curve"
	@echo "make test    ruff, mypy and pytest"
	@echo "make bench   speed of the environments and of training, as a table"
	@echo "make docs    write docs/reference.md anew from the code"
	@echo "make setup   only create .venv and install"
	@echo "make clean   remove .venv and caches (runs/ stays)"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found (set PYTHON=/path/to/python)"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make a virtual environment; on Debian or Ubuntu install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[train,sb3,sweep,dev]"
	@touch $@

train: $(READY)
	$(BIN)/santase train --config configs/quick.yaml --run $(RUN)

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

bench: $(READY)
	$(BIN)/python tests/benchmarks/bench.py

docs: $(READY)
	$(BIN)/python -m santase_env.docs

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
