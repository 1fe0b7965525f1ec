# `make demo` and `make test` need Python 3.11 or newer, make and a package index; all else they
# install into .venv, at the versions of constraints.txt.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
SOURCES := setup.cfg setup.py pyproject.toml constraints.txt $(shell find pqpp.py pqpp_* training hub_cards -type f -not -name '*.pyc')
CHECKED := pqpp.py pqpp_autoload.py setup.py $(wildcard pqpp_*/) benchmarks tests training docs/conf.py docs/one_loop.py docs/site_parts
VERSION := $(shell sed -n 's/^version = //p' setup.cfg)

# Not to keep what is compiled would have each process of a test compile it anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all oldest gallery fuzz bench docs lint format texts clean

help:  ## say what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: $(VENV)/demo-installed  ## install, then the main job end to end: real prompts where there is a network
	$(BIN)/pqpp demo

test: $(VENV)/test-installed  ## the tests, without the slow ones
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" tests

test-all: $(VENV)/test-installed  ## all tests, cases of the peers too; properties on new examples
	HYPOTHESIS_PROFILE=search $(BIN)/pytest -n 2 --dist worksteal tests

oldest:  ## the quick tests with all dependencies at the oldest versions that setup.cfg admits
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet uv
	@rm -rf build
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct \
	  '.[test,models,apps,demo,annotate,postgresql,assess]'
	@rm -rf build
	$(OLDEST)/bin/pytest -n 2 --dist worksteal -m "not slow" tests

gallery: $(VENV)/test-installed  ## a small RAHF model of generated scenes, trained in 15 CPU minutes, and pqpp-gallery/gallery.html of what it says
	$(BIN)/python benchmarks/rahf_learning.py --only all --folder pqpp-gallery --output pqpp-gallery/figures.md \
	  --gallery pqpp-gallery/gallery.html

fuzz: $(VENV)/test-installed  ## attacks with a new seed (SEED=N: that one), for an hour; what was found, by kind
	cd tests && ../$(BIN)/python -m fuzz --jobs 2 $(if $(SEED),--seed $(SEED))

bench: $(VENV)/bench-installed  ## speed against the peers, side by side in one run, kept in benchmarks/speed.md
	cp benchmarks/speed_head.md benchmarks/speed.md
	for script in benchmarks/*_speed.py benchmarks/engines_index.py; do \
	  { echo; echo "## $$script"; echo; $(BIN)/python $$script; } >>benchmarks/speed.md || exit 1; done
	cat benchmarks/speed.md

docs: $(VENV)/docs-installed  ## the documentation site, tutorials executed: docs/_build/html/index.html
	$(BIN)/sphinx-build -j auto -q -W --keep-going -d docs/_build/doctrees docs docs/_build/html/$(VERSION)

lint: $(VENV)/test-installed  ## style, import contracts, types and the limits of code lines
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python benchmarks/lines.py --check

format: $(VENV)/test-installed  ## put the style right
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

TEXTS := pqpp_annotation/languages
SHOWN := _ gettext gettext_noop Reason AnnotationError:1,2t AnnotationError:1,3t HTTPException:2 ngettext:1,2
texts:  ## bring the texts of pages and their translations up to date
	$(BIN)/pybabel -q extract --no-default-keywords $(SHOWN:%=-k %) -F pqpp_annotation/languages/babel.cfg \
	  --add-location=file --sort-by-file --no-wrap -o $(TEXTS)/messages.pot pqpp_annotation pqpp_datasets/own_benchmark
	for file in $(TEXTS)/*.po; do $(BIN)/pybabel -q update --no-fuzzy-matching --ignore-obsolete --no-wrap \
	  -i $(TEXTS)/messages.pot -l `basename $$file .po` -o $$file || exit 1; done

clean:  ## remove what the other targets made
	rm -rf $(VENV) $(OLDEST) build docs/_build docs/made *.egg-info pqpp-demo pqpp-gallery .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "pqpp needs Python 3.11 or newer; name one by: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A left-over build folder would bring deleted files back into the package.
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
	@echo "installing pqpp and what its site is built with into $(VENV) ..."
	@rm -rf build
	$(PIP) '.[docs,models,apps,demo,annotate,postgresql,engines,assess]'
	@rm -rf build; touch $@
