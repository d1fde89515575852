# Legato's verbs for a checkout. A fresh machine needs Python 3.11+, a Rust toolchain and a C compiler;
# all else comes from the lock files into .venv/ and target/. Nothing is done twice: see the stamps.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
CARGO_FLAGS ?= --locked
# Property tests draw the same examples at every run, so that a red run can be repeated; another number draws others.
export PROPTEST_RNG_SEED ?= 1
DEMO_OUT ?= runs/demo
DIST_OUT ?= dist

# All that cargo reads: sources, build scripts, C code, what is compiled in. A target/ of a crate's own is not.
RUST_SOURCES := $(shell find crates -type f -not -path '*/target/*' -not -name '*.md' -not -path '*/tests/*') \
                Cargo.toml Cargo.lock

# Measuring clips and real calls need OpenH264, which is C++; a machine that has only a C compiler does all else.
ifeq ($(shell command -v c++),)
NATIVE_FLAGS := --no-default-features --features hybrid
else
NATIVE_CRATES := legato-codec legato-endpoint legato-h264 legato-vpx
endif

# maturin finds the environment by these; whoever has another one active still builds into .venv.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX

.PHONY: help setup build demo test test-rust test-python test-studies test-train test-calls same fuzz bench dist docs lint format lock clean

help:
	@echo "make demo     compare controllers on the shipped traces and clips; writes $(DEMO_OUT)/report.html"
	@echo "make test     the tests, quickest first     make test-calls   those of real calls, with a browser"
	@echo "make test-studies   the tests of studies/    make test-train   those of learning; installs torch, 6 GB"
	@echo "make same     whether golden tables, run hashes and generated pages are as they were kept"
	@echo "make fuzz     a minute of mutated inputs for each parser of foreign bytes"
	@echo "make build    the Python packages in $(VENV), native part in release mode"
	@echo "make setup    $(VENV) with everything development needs"
	@echo "make bench    measure speed; writes bench.json"
	@echo "make dist     the wheel in $(DIST_OUT)/, tried in a clean environment"
	@echo "make docs     the documents and the API reference as a site in build/site/"
	@echo "make lint     rustfmt, clippy, ruff, mypy, and the rules of tools/check_*.py       make format  let them write"
	@echo "make lock     resolve requirements/*.lock and studies/requirements.lock anew"
	@echo "make clean    remove what was built"

# --- environment ---------------------------------------------------------------------------------

$(VENV)/.made:
	@python=$$(tools/check_machine.sh) && $$python -m venv $(VENV)
	@touch $@

$(VENV)/.base: requirements/base.lock $(VENV)/.made
	@echo "installing $<"
	@$(PIP) install --require-hashes -r $<
	@touch $@

$(VENV)/.dev: requirements/dev.lock $(VENV)/.base
	@echo "installing $<"
	@$(PIP) install --require-hashes -r $<
	@touch $@

# Without a cache: it would hold 3 GB of packages a second time, on the disk that has to hold them unpacked.
$(VENV)/.train: requirements/train.lock $(VENV)/.dev
	@tools/check_free_disk.sh 12
	@echo "installing $<: torch is 6 GB with its libraries"
	@$(PIP) install --no-cache-dir --require-hashes -r $<
	@touch $@

$(VENV)/.built: $(RUST_SOURCES) pyproject.toml $(VENV)/.base
	@tools/check_machine.sh > /dev/null
	@echo "building the native module in release mode: minutes the first time, seconds later"
	@PATH="$(CURDIR)/$(BIN):$$PATH" PIP_QUIET=1 $(BIN)/maturin develop --release $(CARGO_FLAGS) $(NATIVE_FLAGS) > /dev/null
	@touch $@

# The studies: their own lock, then the package in place, built by what that lock brought.
$(VENV)/.studies: studies/requirements.lock studies/pyproject.toml $(VENV)/.base
	@echo "installing $<"
	@$(PIP) install --require-hashes -r $<
	@$(PIP) install --no-deps --no-build-isolation --editable studies
	@touch $@

setup: $(VENV)/.dev $(VENV)/.built $(VENV)/.studies
	@echo "ready: . $(VENV)/bin/activate"

build: $(VENV)/.built $(VENV)/.studies

# --- what it is for ------------------------------------------------------------------------------

demo: build
	@$(BIN)/legato demo --out $(DEMO_OUT)

bench: $(VENV)/.train build
	@cargo build --quiet --release $(CARGO_FLAGS) --package legato-sim --example speed --example episode_speed
	@cargo build --quiet --release $(CARGO_FLAGS) --package legato-control --package legato-controllers \
	  --example decision_speed --example feedback_cost
	@$(BIN)/python benches/bench.py $${CARGO_TARGET_DIR:-target}/release/examples/speed bench.json

# --- tests ---------------------------------------------------------------------------------------

test: test-rust test-python

# With overflow checks where Rust alone is compiled. What links C and C++ is tested as it is built for use, as lint and
# docs check it, so that those libraries are compiled once. Examples are compiled by lint.
PURE_CRATES := $(addprefix --exclude legato-,codec endpoint h264 python vpx)
test-rust:
	@tools/check_machine.sh > /dev/null
	cargo test --quiet --workspace --tests $(CARGO_FLAGS) $(PURE_CRATES)
	cargo test --quiet --workspace --doc $(CARGO_FLAGS) $(PURE_CRATES)
	$(if $(NATIVE_CRATES),cargo test --quiet --release $(CARGO_FLAGS) $(addprefix --package ,$(NATIVE_CRATES)))

# After the Rust ones, so that the last line is pytest's count.
test-python: $(VENV)/.dev build test-rust
	@tools/find_browser.sh
	$(BIN)/python -m pytest -m "not calls" --ignore tests/python/train

# Of studies/: what is reproduced, ranked and measured with the product.
test-studies: $(VENV)/.dev build
	@tools/find_browser.sh
	$(BIN)/python -m pytest -c studies/pyproject.toml studies/tests -m "not calls" --ignore studies/tests/train

test-train: $(VENV)/.train build
	$(BIN)/python -m pytest -c studies/pyproject.toml studies/tests/train
	$(BIN)/python -m pytest tests/python/train

# They last as long as the calls, some of them between browsers.
test-calls: $(VENV)/.dev build
	@tools/find_browser.sh
	$(BIN)/python -m pytest -c studies/pyproject.toml studies/tests -m calls --ignore studies/tests/train
	$(BIN)/python -m pytest -m calls --ignore tests/python/train

# Whether a change of the code changed a figure: golden tables, hashes of some 200 runs, pages rendered from kept data.
same: build
	$(BIN)/python tools/golden.py
	$(BIN)/python tools/same_runs.py
	$(BIN)/python tools/parameters.py --check
	$(BIN)/python -m legato_studies.pages --check

# A minute of mutations a target; `make test` tries a few thousand of each.
fuzz:
	LEGATO_FUZZ_S=$${LEGATO_FUZZ_S:-60} cargo test --quiet $(CARGO_FLAGS) --package legato-control --package legato-wire \
	  --package legato-path --package legato-call --package legato-codec --package legato-hybrid --tests mutation_fuzz \
	  -- --nocapture

# --- the wheel -----------------------------------------------------------------------------------

dist: $(VENV)/.base
	@rm -f $(DIST_OUT)/*.whl
	@$(BIN)/python tools/collect_data.py
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --quiet --release $(CARGO_FLAGS) --out $(DIST_OUT)
	@rm -rf python/legato/packed
	@tools/try_wheel.sh $(DIST_OUT)/*.whl

# --- the site ------------------------------------------------------------------------------------

# Its own environment: a builder of sites has no place beside what the product needs.
$(VENV)/docs/.made: requirements/docs.lock
	@python=$$(tools/check_machine.sh) && $$python -m venv $(VENV)/docs
	@echo "installing $<"
	@$(VENV)/docs/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@touch $@

docs: $(VENV)/docs/.made
	PATH="$(CURDIR)/$(VENV)/docs/bin:$$PATH" NO_MKDOCS_2_WARNING=1 mkdocs build --quiet --strict
	$(VENV)/docs/bin/python tools/crate_docs.py --release --workspace --exclude legato-python $(CARGO_FLAGS)
	@rm -rf build/site/crates && cp -r $${CARGO_TARGET_DIR:-target}/doc build/site/crates
	@echo "site: build/site/index.html"

# --- upkeep --------------------------------------------------------------------------------------

lint: $(VENV)/.dev
	cargo fmt --all --check
	cargo clippy --quiet --release --workspace --all-targets $(CARGO_FLAGS) -- -D warnings
	cargo check --quiet --release --package legato-python --no-default-features --features calls $(CARGO_FLAGS)
	cargo check --quiet --release --package legato-python --no-default-features $(CARGO_FLAGS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/check_layers.py
	$(BIN)/python tools/check_circles.py
	$(BIN)/python tools/check_dependencies.py
	$(BIN)/python tools/check_units.py
	$(BIN)/python tools/check_constants.py
	$(BIN)/python tools/check_citations.py
	$(BIN)/python tools/check_prose.py
	$(BIN)/python tools/check_sentences.py
	$(BIN)/python tools/check_size.py

format: $(VENV)/.dev
	cargo fmt --all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tools/check_citations.py --write

LOCK := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --quiet \
        --custom-compile-command 'make lock' --extra build
lock:
	@command -v uv > /dev/null || { echo "error: make lock needs uv: pip install uv" >&2; exit 1; }
	$(LOCK) --output-file requirements/base.lock
	$(LOCK) --extra dev --extra profile --extra gym --extra onnx --constraints requirements/base.lock --output-file requirements/dev.lock
	$(LOCK) --extra dev --extra profile --extra gym --extra onnx --extra train --extra dev-train --constraints requirements/dev.lock \
	  --output-file requirements/train.lock

	grep -hE '^requires = |^  "[a-z_-]+[<>=]' studies/pyproject.toml | grep -o '"[^"]*"' | tr -d '"' | uv pip compile - \
	  --universal --python-version 3.11 --generate-hashes --quiet --custom-compile-command 'make lock' \
	  --constraints requirements/dev.lock --output-file studies/requirements.lock
	grep '^docs = ' pyproject.toml | grep -o '"[^"]*"' | tr -d '"' | uv pip compile - --universal \
	  --python-version 3.11 --generate-hashes --quiet --custom-compile-command 'make lock' \
	  --output-file requirements/docs.lock

clean:
	rm -rf $(VENV) target $(DIST_OUT) build python/legato/_core*.so python/legato/packed .mypy_cache .pytest_cache .ruff_cache
