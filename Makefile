# atc-py: `make` lists the targets. Only Python 3.10 or later and make are needed.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= out
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo site test test-all latest oldest test-browser pictures vendor mutants check bench bench-large kernels fmt docs conformance networks trained deviations exports netron board twin \
        fuzz huge agree clean exec-programs \
        kill-sweep text-lines size

help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Versions that are known to pass, of what is installed and (in the variables) of what builds it.
CONSTRAINTS := .ci/constraints.txt
PINNED := PIP_CONSTRAINT=$(abspath $(CONSTRAINTS)) PIP_BUILD_CONSTRAINT=$(abspath $(CONSTRAINTS))
INSTALL := $(PINNED) $(BIN)/python -m pip install --quiet -c $(CONSTRAINTS) --editable
NEEDS := pyproject.toml $(CONSTRAINTS)

# A stamp per set of dependencies, so that a target installs once and then starts at once.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: $(NEEDS) | $(VENV)/bin/python
	$(INSTALL) .
	@touch $@

$(VENV)/.dev: $(NEEDS) | $(VENV)/bin/python
	$(INSTALL) '.[dev]'
	@touch $@ $(VENV)/.base

$(VENV)/.bench: $(NEEDS) | $(VENV)/bin/python
	$(INSTALL) '.[bench]'
	@touch $@ $(VENV)/.base

$(VENV)/.docs: $(NEEDS) | $(VENV)/bin/python
	$(INSTALL) '.[docs]'
	@touch $@

demo: $(VENV)/.base ## Read a line of text on the simulated NPU: fetch, convert, run, compare, estimate
	@$(BIN)/python docs/demo.py $(OUT)

# One BLAS thread a worker: the workers share the cores already. The tests of a file share what is
# made once for them, so a worker takes whole files, those beside tests/conftest.py first.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

test: $(VENV)/.dev ## Run the tests; of long sweeps a sample
	$(PYTEST)

test-all: $(VENV)/.dev ## Run the tests with all sweeps whole
	$(PYTEST) -m ""

# TESTS chooses a part, WORKERS the processes, RECORD another file for the result.
TESTED := tests/tested_versions.py
latest: ## Run the tests with the newest version of everything; keep the result in .ci/tested-versions.md
	$(PYTHON) -m venv --clear $(OUT)/latest
	$(OUT)/latest/bin/python -m pip install --quiet --editable '.[test]'
	$(OUT)/latest/bin/python $(TESTED) latest $(TESTS)

oldest: $(VENV)/.base ## Run the tests with the lower bounds of pyproject.toml; keep the result there, too
	$(PYTHON) -m venv --clear $(OUT)/oldest
	$(BIN)/python $(TESTED) bounds > $(OUT)/oldest/bounds.txt
	$(OUT)/oldest/bin/python -m pip install --quiet -c $(OUT)/oldest/bounds.txt --editable '.[test]'
	$(OUT)/oldest/bin/python $(TESTED) oldest $(TESTS)

AXE_VERSION := 4.14.1
$(OUT)/axe.min.js:
	@mkdir -p $(OUT)/axe && cd $(OUT)/axe && npm pack --silent axe-core@$(AXE_VERSION) > /dev/null \
	  && tar -xzf axe-core-$(AXE_VERSION).tgz && cp package/axe.min.js ../

$(VENV)/.browser: $(NEEDS) | $(VENV)/bin/python
	$(INSTALL) '.[browser]'
	@touch $@

test-browser: $(VENV)/.browser $(OUT)/axe.min.js ## Open pages of reports in Chromium, which must be installed
	OPENBLAS_NUM_THREADS=1 ATC_PY_AXE=$(OUT)/axe.min.js $(BIN)/python -m pytest tests/browser

pictures: $(VENV)/.browser $(VENV)/.dev ## Take the pictures of reports in docs again, in Chromium
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.browser.pictures

DAGRE_VERSION := 3.1.3
VENDOR := templates/report/overview/vendor
vendor: ## Get the library that lays out the graphs of reports again; npm is needed
	@mkdir -p $(OUT)/dagre && cd $(OUT)/dagre && npm pack --silent @dagrejs/dagre@$(DAGRE_VERSION) > /dev/null \
	  && tar -xzf dagrejs-dagre-$(DAGRE_VERSION).tgz
	@cp $(OUT)/dagre/package/LICENSE $(VENDOR)/dagre.LICENSE.txt
	@sed -e '/^\/\/# sourceMappingURL/d' -e 's/see dagre.min.js.LEGAL.txt/see dagre.LICENSE.txt/' \
	  -e 's/\x01/\\x01/g' $(OUT)/dagre/package/dist/dagre.min.js > $(VENDOR)/dagre.min.js

# COUNT, SEED and FIRST choose the draw.
mutants: $(VENV)/.dev ## Put drawn and chosen faults into a copy of the code one at a time; print those no test notices
	$(BIN)/python -m tests.mutants $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(if $(FIRST),--first $(FIRST))
	$(BIN)/python -m tests.mutants --chosen

check: $(VENV)/.dev ## What CI holds besides the tests: style, types, sizes, and the built wheel and sdist
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.room_sizes --check
	$(PINNED) $(BIN)/python -m tests.check_wheel

size: $(VENV)/.dev ## Count lines by room, beside the figures that the repository has
	@$(BIN)/python -m tests.room_sizes

bench: $(VENV)/.bench ## Measure conversion and inference beside openvino and onnxruntime
	$(BIN)/python -m tests.bench.run_all

bench-large: $(VENV)/.dev ## Measure models with 6 and 10 GB of weights; takes 10 GB of the disk for temporary files
	$(BIN)/python -m tests.bench.very_large

kernels: $(VENV)/.dev ## Build the kernels of all operators and networks; hold them against the simulator
	$(PYTEST) -m "" tests/kernels
	$(BIN)/python -m tests.kernels_of_networks $(KERNELS)

# ATC_PY_RECOGNIZER is the path of the text recognizer in rapidocr's wheel; NETWORKS names some alone.
board: $(VENV)/.dev ## Pack networks, run their kits on a stand-in for CANN and check what comes back
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.board.loop $(NETWORKS)

text-lines: $(VENV)/.dev ## Quantize an OCR line reader and plan its dtypes; read lines as in floats
	$(BIN)/python -m tests.quantizing.text_lines
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m "" tests/quantizing/test_text_lines.py \
	  tests/quantizing/plan/test_line_reader.py

kill-sweep: $(VENV)/.dev ## Stop conversions at 50 instants by each of three signals; look at what is left
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.faults.kill_sweep $(INSTANTS)

fmt: $(VENV)/.dev ## Format the code and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.dev ## Write the pages that are derived from the code again
	$(BIN)/python -m tests.page_examples --write
	$(BIN)/python -m tests.derived_docs --write
	$(BIN)/python -m tests.check_schema --write
	$(BIN)/python -m tests.explained_examples
	$(BIN)/python -m tests.pictures

site: $(VENV)/.docs ## Build docs/ as a site with a search, in out/site; a broken link fails
	$(BIN)/python docs/site.py out/site-pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file out/mkdocs.yml
	@echo "to read it with its search: $(PYTHON) -m http.server --directory out/site"

# Figures are those of the kernels of OpenBLAS for AVX2, as tests/blas_kernels.py says.
FIGURES := OPENBLAS_CORETYPE=Haswell $(BIN)/python

conformance: $(VENV)/.dev ## Run ONNX's conformance cases and write the two pages about them again
	$(FIGURES) -m tests.conformance.page --write
	$(FIGURES) -m tests.conformance.fixed_page --write

networks: $(VENV)/.dev ## Compile and run the shared networks for each SoC; write docs/networks.md again
	$(FIGURES) -m tests.networks.page --write

trained: $(VENV)/.dev ## Download trained models, compile and run them; write their two pages again
	$(FIGURES) -m tests.trained.page --write
	$(FIGURES) -m tests.trained.fixed_page --write
	$(FIGURES) -m tests.trained.for_cann

deviations: $(VENV)/.dev ## Compare what CANN computes of whole networks; write docs/deviations-in-networks.md again
	$(FIGURES) -m tests.deviations.networks_page --write

# PyTorch is large, so it has an environment of its own; the files land beside the wheels.
TORCH_VENV ?= $(HOME)/.cache/atc-py/torch
$(TORCH_VENV)/.installed: $(VENV)/bin/python
	$(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/python -m pip install --quiet torch==2.13.0 transformers==5.23.0 onnx onnxscript
	@touch $@

# Today's architectures, as these versions of transformers and diffusers have them together.
TODAY_VENV ?= $(HOME)/.cache/atc-py/today
$(TODAY_VENV)/.installed: $(VENV)/bin/python
	$(PYTHON) -m venv $(TODAY_VENV)
	$(TODAY_VENV)/bin/python -m pip install --quiet torch==2.13.0 transformers==4.57.6 diffusers==0.36.0 onnx onnxscript
	@touch $@

exports: $(VENV)/.dev $(TORCH_VENV)/.installed $(TODAY_VENV)/.installed ## Export networks with PyTorch; write docs/fixed-models.md and docs/exports.md again
	$(TORCH_VENV)/bin/python tests/trained/export.py
	$(FIGURES) -m tests.trained.fixed_page --write
	$(TODAY_VENV)/bin/python tests/trained/export_today.py
	$(FIGURES) -m tests.trained.exports_page --write

netron: $(VENV)/.dev ## Export the shared and quantized networks; open each with Netron's own loader, under Node
	$(BIN)/python -m tests.device.ort.netron

twin: $(VENV)/.dev ## Repeat every simulated run of the device's, networks' and conformance tests in onnxruntime
	$(PYTEST) -m "" -p tests.device.ort.twin tests/device tests/networks tests/conformance
	$(PYTEST) -m "" tests/device/ort

# Programs of other packages, which bring their own models; PyTorch comes from its environment above.
EXEC_VENV ?= $(HOME)/.cache/atc-py/programs
$(EXEC_VENV)/.installed: $(TORCH_VENV)/.installed
	$(PYTHON) -m venv $(EXEC_VENV)
	$(TORCH_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > "$$($(EXEC_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
	$(EXEC_VENV)/bin/python -m pip install --quiet rapidocr-onnxruntime==1.4.4 silero-vad==6.2.3 magika==1.0.3
	@touch $@

exec-programs: $(VENV)/.dev $(EXEC_VENV)/.installed ## Run programs of other packages under `atc-py exec`; compare what they print
	ATC_PY_PROGRAMS=$(EXEC_VENV)/bin/python $(BIN)/python -m pytest -m "" tests/adapters/exec/packages

# FUZZ_COUNT, FUZZ_SEED and FUZZ_SECONDS choose the round; with atheris, coverage guides a second one.
fuzz: $(VENV)/.dev ## Try mutated models, ONNX's and offline ones; print failures, their seeds, and the codes given
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.sweep
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.sweep --worker tests.fuzz.offline_models --count 5000
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.sweep --worker tests.fuzz.huawei_models --count 10000
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.sweep --worker tests.fuzz.huawei_imports --count 2000
	@if $(BIN)/python -c 'import atheris' 2> /dev/null; then \
	  mkdir -p $(OUT)/fuzz && OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.atheris_target \
	    -max_total_time=$${FUZZ_SECONDS:-600} -timeout=10 -artifact_prefix=$(OUT)/fuzz/ $(OUT)/fuzz; \
	fi

# HUGE_COUNT and HUGE_SEED choose the round.
huge: $(VENV)/.dev ## Try models with one number made huge; print what hangs or exceeds --max-memory
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.huge

# COUNT, SEED and LIST choose the round.
agree: $(VENV)/.dev ## Try random models with check and convert; print where the two contradict each other
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.agree

clean: ## Remove the virtual environment and everything that was made
	rm -rf $(VENV) $(OUT) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
