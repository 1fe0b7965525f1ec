# `make demo` and `make test` need Python 3.11 or newer, make and a package index. They install
# everything else into .venv, at the versions in constraints.txt.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
SOURCES := setup.cfg setup.py pyproject.toml constraints.txt $(shell find pqpp.py pqpp_* training hub_cards -type f -not -name '*.pyc')
CHECKED := pqpp.py pqpp_autoload.py setup.py $(wildcard pqpp_*/) benchmarks tests training docs/conf.py docs/one_loop.py docs/site_parts
VERSION := $(shell sed -n 's/^version = //p' setup.cfg)

# Without bytecode files, every process that a test starts would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all oldest gallery fuzz bench docs lint format texts clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: $(VENV)/demo-installed  ## install and run the main job end to end, on real prompts if there is a network
	$(BIN)/pqpp demo

test: $(VENV)/test-installed  ## run the quick tests
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" tests

test-all: $(VENV)/test-installed  ## run all tests, with the peers' own cases and new examples of properties
	HYPOTHESIS_PROFILE=search $(BIN)/pytest -n 2 --dist worksteal tests

oldest: $(OLDEST)/test-installed  ## run the quick tests with the oldest dependencies that setup.cfg allows
	$(OLDEST)/bin/pytest -n 2 --dist worksteal -m "not slow" tests

$(OLDEST)/test-installed: $(SOURCES)
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet uv
	@rm -rf build
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct --system-certs \
	  '.[test,models,apps,demo,annotate,postgresql,assess]'
	@rm -rf build
	@touch $@

gallery: $(VENV)/test-installed  ## train a small RAHF model on drawn scenes (15 CPU minutes) and write pqpp-gallery/gallery.html
	$(BIN)/python benchmarks/rahf_learning.py --only all --folder pqpp-gallery --output pqpp-gallery/figures.md \
	  --gallery pqpp-gallery/gallery.html

fuzz: $(VENV)/test-installed  ## attack for an hour with a new seed, or SEED=N, and list what was found
	PQPP_FUZZ_SEED=$(or $(SEED),$(shell date +%s)) $(BIN)/pytest -n 3 -m slow tests/fuzz

bench: $(VENV)/bench-installed  ## compare speed with the peers in one run and write benchmarks/speed.md
	cp benchmarks/speed_head.md benchmarks/speed.md
	for script in benchmarks/*_speed.py benchmarks/engines_index.py; do \
	  { echo; echo "## $$script"; echo; $(BIN)/python $$script; } >>benchmarks/speed.md || exit 1; done
	cat benchmarks/speed.md

docs: $(VENV)/docs-installed  ## run the tutorials and build the site: docs/_build/html
	$(BIN)/sphinx-build -j auto -q -W --keep-going -d docs/_build/doctrees docs docs/_build/html/$(VERSION)

lint: $(VENV)/test-installed  ## check style, imports, types and the limits of code lines
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python benchmarks/lines.py --check

format: $(VENV)/test-installed  ## format the code
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

TEXTS := pqpp_annotation/languages
SHOWN := _ gettext gettext_noop Reason AnnotationError:1,2t AnnotationError:1,3t HTTPException:2 ngettext:1,2
texts:  ## update the texts of the annotation pages and their translations
	$(BIN)/pybabel -q extract --no-default-keywords $(SHOWN:%=-k %) -F pqpp_annotation/languages/babel.cfg \
	  --add-location=file --sort-by-file --no-wrap -o $(TEXTS)/messages.pot pqpp_annotation pqpp_datasets/own_benchmark
	for file in $(TEXTS)/*.po; do $(BIN)/pybabel -q update --no-fuzzy-matching --ignore-obsolete --no-wrap \
	  -i $(TEXTS)/messages.pot -l `basename $$file .po` -o $$file || exit 1; done

clean:  ## remove everything that the other targets made
	rm -rf $(VENV) $(OLDEST) build docs/_build docs/made *.egg-info pqpp-demo pqpp-gallery .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "pqpp needs Python 3.11 or newer; choose one with make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A leftover build folder would put deleted files back into the package.
$(VENV)/demo-installed: $(BIN)/python $(SOURCES)
	@echo "installing pqpp into $(VENV) ..."
	@rm -rf build
	$(PIP) .
	@rm -rf build; touch $@

$(VENV)/test-installed: $(BIN)/python $(SOURCES)
	@echo "installing pqpp and its test tools into $(VENV) ..."
	@rm -rf build
	$(PIP) '.[test,docs,models,apps,demo,annotate,postgresql,assess]'
	@$(BIN)/python -m nltk.downloader -q -d $(VENV)/nltk_data punkt_tab wordnet stopwords \
	  averaged_perceptron_tagger_eng >/dev/null 2>&1 || true  # tests that need it skip where it is missing
	@rm -rf build; touch $@

$(VENV)/bench-installed: $(BIN)/python $(SOURCES)
	@echo "installing pqpp and its peers into $(VENV) ..."
	@rm -rf build
	$(PIP) '.[test,models,bench,engines]'
	@rm -rf build; touch $@

$(VENV)/docs-installed: $(BIN)/python $(SOURCES)
	@echo "installing pqpp and the tools for its site into $(VENV) ..."
	@rm -rf build
	$(PIP) '.[docs,models,apps,demo,annotate,postgresql,engines,assess]'
	@rm -rf build; touch $@
