# Each target sets up what it needs: `make demo` and `make test` work on a fresh clone.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
READY := $(VENV)/.ready
SEED ?= 0

.PHONY: demo test check format docs clean

demo: $(READY)  ## train an agent on GuessTheNumber, and write a report
	$(RUN)/gemenv train examples/guess_the_number.py --run.seed $(SEED) --resume

test: $(READY)  ## all tests, doctests included
	$(RUN)/python -m pytest -n 2 --dist worksteal gemenv tests

check: $(READY)  ## style, types, floors and house rules
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/pyright
	$(RUN)/lint-imports
	$(RUN)/python -m pytest tests/house

format: $(READY)  ## mend the style
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .

docs: $(READY)  ## write the gallery of environments anew
	$(RUN)/python -m gemenv.bench.gallery docs/gallery.md

clean:  ## remove the virtual environment and caches, but no run
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis build dist

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else \
	  "gemenv needs Python 3.11 to 3.13, and this is %d.%d: run make PYTHON=python3.11" % v)'
	test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@
