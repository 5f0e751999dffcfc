# Every target makes the virtual environment it needs; a second run reuses it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test lint bench figures clean

demo: $(STAMP)
	$(BIN)/relblur demo --output relblur_demo --force

test: $(STAMP)
	$(BIN)/python -m pytest tests src/relblur

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python benchmarks/framework.py
	$(BIN)/python benchmarks/accuracy.py --quick
	$(BIN)/python benchmarks/real.py
	$(BIN)/python benchmarks/chain.py --quick
	$(BIN)/python benchmarks/sets.py --quick
	$(BIN)/python benchmarks/depth.py
	$(BIN)/python benchmarks/speed.py --quick

# The pictures in docs/, made by the program itself.
figures: $(STAMP)
	$(BIN)/python docs/make_figures.py

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) relblur_demo .pytest_cache .mypy_cache .ruff_cache
