# Every target makes the virtual environment it needs; a second run reuses it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
BUILT  := $(VENV)/.kernels

# Tests run in so many processes, each taking whole files: what a file prepares is prepared once. tests/conftest.py says
# which files come first.
JOBS   ?= 2
PYTEST  = -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

# Tests start many processes: what Python has compiled is kept beside the sources, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

# An editable install becomes a plain path, without a finder of its own: PYTHONPATH may then name another checkout.
PLAIN_PATH = sed -i.bak '/^import /d' $(1)/lib/python*/site-packages/_editable_skbc_relblur.pth

# The floors of pyproject.toml have an environment of their own, with the oldest Python that it allows.
OLDEST        ?= .venv-oldest
OLDEST_PYTHON ?= python3.11

.PHONY: demo test quick oldest lint kernels sanitize dist wheel compiler bench figures docs clean chromium

demo: $(BUILT)
	$(BIN)/relblur demo --output relblur_demo --force

test: $(BUILT) chromium
	$(BIN)/python $(PYTEST) tests src/relblur

# The page's tests want a browser: Debian's, where there is none and root may install it. Elsewhere they are skipped.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
		|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
			&& apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
		|| echo "no Chromium: the page's tests will be skipped (apt-get install chromium)"

# The everyday run: every module, without the tests that take long.
quick: $(BUILT)
	$(BIN)/python $(PYTEST) -m 'not slow' tests src/relblur

# The same with the oldest versions that pyproject.toml allows. Those warn of one another's deprecated names.
oldest: $(OLDEST)/.installed $(BUILT)
	$(OLDEST)/bin/python $(PYTEST) -m 'not slow' \
		-W ignore::DeprecationWarning tests src/relblur

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(BUILT)
	$(BIN)/python benchmarks/framework.py
	$(BIN)/python benchmarks/accuracy.py --quick
	$(BIN)/python benchmarks/real.py
	$(BIN)/python benchmarks/honest.py
	$(BIN)/python benchmarks/violations.py
	$(BIN)/python benchmarks/chain.py --quick
	$(BIN)/python benchmarks/sets.py --quick
	$(BIN)/python benchmarks/depth.py
	$(BIN)/python benchmarks/speed.py --quick
	$(BIN)/python benchmarks/video.py

# The pictures in docs/images, made by the program itself, and the pages of evidence, made from the records.
figures: $(BUILT)
	$(BIN)/python docs/make_figures.py
	$(BIN)/python docs/make_evidence.py

# The site, from what is on this machine alone; warnings are errors, and so are links that lead nowhere.
docs: $(VENV)/.docs-installed
	$(BIN)/python -m sphinx -W --keep-going -q -j $(JOBS) -b html -d docs/_build/doctrees docs docs/_build/html

$(VENV)/.docs-installed: $(BUILT)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(call PLAIN_PATH,$(VENV))
	touch $@

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(call PLAIN_PATH,$(VENV))
	touch $@

# The compiled kernels, src/relblur/_kernels.*; ninja compiles what has changed.
kernels: $(BUILT)

$(BUILT): $(STAMP) CMakeLists.txt $(wildcard src/kernels/*) | compiler
	$(BIN)/cmake -S . -B build/kernels -G Ninja -DPython_EXECUTABLE=$(abspath $(BIN)/python) --log-level=WARNING
	$(BIN)/cmake --build build/kernels
	$(BIN)/cmake --install build/kernels --prefix src
	touch $@

# The kernels' tests on kernels that stop at the first wrong access to memory, or undefined operation.
SANITIZED := build/sanitize/src
sanitize: $(STAMP) | compiler
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DPython_EXECUTABLE=$(abspath $(BIN)/python) \
		-DSANITIZE=address,undefined --log-level=WARNING
	$(BIN)/cmake --build build/sanitize
	rm -rf $(SANITIZED) && mkdir -p $(SANITIZED) && cp -r src/relblur $(SANITIZED)/ && rm -f $(SANITIZED)/relblur/_kernels.*
	$(BIN)/cmake --install build/sanitize --prefix $(SANITIZED)
	LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$(SANITIZED) $(BIN)/python -m pytest -p no:cacheprovider \
		tests/kernels

# The source package, and from it a wheel for this Python and this machine, in dist/; both are checked.
dist: $(STAMP) | compiler
	rm -rf dist
	$(BIN)/python -m build --installer uv --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python .ci/check_dist.py

# A wheel alone.
wheel: $(STAMP) | compiler
	$(BIN)/python -m build --installer uv --wheel --outdir dist .

# A C++ compiler and Python's headers: Debian's, where they are missing and root may install them.
compiler:
	@{ command -v c++ || command -v g++ || command -v clang++; } >/dev/null \
		&& test -f "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" \
		|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq \
			&& apt-get install -y -qq --no-install-recommends g++ python3-dev >/dev/null; } \
		|| { echo "no C++ compiler, or no Python.h: install them first (apt-get install g++ python3-dev)"; exit 1; }

# Made anew whenever a floor changes: what is installed already would be kept if it is new enough.
$(OLDEST)/.installed: pyproject.toml
	rm -rf $(OLDEST)
	$(OLDEST_PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python \
		--resolution lowest-direct --editable '.[dev]'
	$(call PLAIN_PATH,$(OLDEST))
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) build dist relblur_demo relblur_video .pytest_cache .mypy_cache .ruff_cache
	rm -rf docs/_build docs/api docs/commands docs/gallery
