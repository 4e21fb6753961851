# Everything runs in .venv, which the first target that needs it makes. `make PYTHON=python3.12 …` picks another Python.
PYTHON ?= python3
PLUGIN ?= cpp_cpu

BIN := .venv/bin
# What plugins share, and plugins, by their folders.
SHARED := $(patsubst %/pyproject.toml,%,$(wildcard plugins/shared/*/pyproject.toml))
PLUGINS := $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml))
# What compares numbers with PyTorch's, and what its libraries do on a processor with AVX2, and on one without.
NUMERICS := $(addprefix tests/,sketch/test_interpret_ops.py sketch/test_twelve.py design/test_elementwise.py design/test_reductions.py judge/test_accuracy.py) \
	$(addprefix plugins/cpp_cpu/tests/,test_math.py test_vec.py)
AVX2 := ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2
PLAIN := ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_ENABLE_INSTRUCTIONS=SSE4_2
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup demo test portable lint bench-cpu cheats conformance chaos throughput honest docs clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: .venv/ready ## make .venv with akg-core, every plugin in plugins/ with its toolchain, and the tools of development

.venv/ready: pyproject.toml constraints.txt $(addsuffix /pyproject.toml,$(SHARED) $(PLUGINS))
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e '.[dev]' $(addprefix -e ./,$(SHARED)) $(foreach plugin,$(PLUGINS),-e './$(plugin)[toolchain]')
	@touch $@

demo: setup ## the main job on examples/softmax.py
	$(BIN)/akg-core run --plugin $(PLUGIN) examples/softmax.py

test: setup ## all tests
	$(BIN)/python -m pytest -n auto --dist worksteal

portable: setup ## the quick tests of numbers, on the vector paths that PyTorch takes on other processors
	$(AVX2) $(BIN)/python -m pytest -n auto --dist worksteal $(NUMERICS)
	$(PLAIN) $(BIN)/python -m pytest -n auto --dist worksteal $(NUMERICS)

lint: setup ## style and types
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

bench-cpu: setup ## every task of benchmarks/tasks: ours, eager, torch.compile, interleaved
	$(BIN)/akg-core bench benchmarks/tasks --plugin cpp_cpu --out runs/bench/cpp_cpu.json

cheats: setup ## every cheat of tests/cheats, judged: class, candidates, caught, rule
	$(BIN)/python -m pytest -n auto --dist worksteal tests/cheats

conformance: setup ## every plugin through the conformance suite, level by level
	$(BIN)/akg-core conformance

chaos: setup ## 500 candidates of which a third misbehave, judged by a benchmark that is killed and resumed five times
	$(BIN)/python -m tests.chaos

throughput: setup ## candidates judged a minute, beside a fresh process for each
	$(BIN)/python -m benchmarks.throughput

honest: setup ## every kernel of benchmarks/tasks, judged with 20 seeds in a row
	$(BIN)/python -m benchmarks.honest --scale 0.25

docs: setup ## links resolve, commands exist, examples run
	$(BIN)/python -m pytest tests/docs tests/sketch/test_docs_sketch.py

clean: ## remove what the other targets made
	rm -rf .venv runs build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
