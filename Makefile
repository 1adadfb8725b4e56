# Every target sets up what it needs in .venv; a second run starts at once.
#
#   make demo      the best plan for Llama-3-70B on 512 H100, printed and as an HTML page
#   make test      all tests
#   make quick     the tests that take no time: every wing's laws and numbers, in half a minute
#   make test-slow all tests with ten times the random examples; records accuracy and speed by date
#                  (CI draws a random tenth of them: pytest --tenth)
#   make lint      formatting, lint rules, types
#   make docs      the documentation, in site/
#   make validate  predictions held against published measurements; of the models that are traced
#                  a random tenth with TENTH=--tenth
#   make bench     speed, and the closed form against the simulation; with TENTH=--tenth a random
#                  tenth of the slow ones, and some of the others
#   make clean     removes what the others made
#
# `make test ALSO=torch==2.13.0` installs PyTorch too, which the tests of ensembles need; without
# it they skip, and say so.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
STUDY := examples/llama-3-70b-on-512-h100.toml
PAGE := llama-3-70b-on-512-h100.html
RECORDED := benchmarks/recorded
SLOW := $(addprefix benchmarks/,closed_form_against_simulation.py job_time.py search.py whole_models.py)
TOOLS := benchmarks/tenth.py benchmarks/ensemble_limit.py
QUICK := $(filter-out $(SLOW) $(TOOLS),$(wildcard benchmarks/*.py))
SOME := 5
CHECKS := coverage korthikanti decisions memory single_device accuracy ensemble parameter_servers

# The first Python that starts and is new enough; `make PYTHON=/path/to/python` overrides it.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	$$python -c '$(NEW_ENOUGH)' 2>/dev/null && { echo $$python; break; }; done)

.PHONY: demo test quick test-slow lint docs validate bench clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

demo: $(VENV)/.core
	@$(BIN)/foretrain search $(STUDY) --html $(PAGE)
	@echo "The page: $(CURDIR)/$(PAGE)"

test: $(VENV)/.test
	@$(BIN)/python -m pytest -n auto --dist worksteal

quick: $(VENV)/.test
	@HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -q -n 0

test-slow: $(VENV)/.test
	@HYPOTHESIS_PROFILE=slow $(BIN)/python -m pytest -n auto --dist worksteal
	@mkdir -p $(RECORDED)
	@{ $(BIN)/python -VV; $(BIN)/python -c 'import numpy, os; print("NumPy", numpy.__version__, "on", os.cpu_count(), "cores")'; \
		$(MAKE) --no-print-directory validate bench; $(BIN)/python -m validation.cluster; \
		$(BIN)/python benchmarks/ensemble_limit.py; $(BIN)/python -m validation.engines; } | tee $(RECORDED)/$$(date +%F).txt

lint: $(VENV)/.lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The documentation: $(CURDIR)/site/index.html"

validate: $(VENV)/.test
	@printf '%s\n' $(CHECKS) | xargs -P 2 -I CHECK sh -c 'told=$$($(BIN)/python -m validation.CHECK 2>&1); ended=$$?; \
		printf "== validation.%s\n%s\n" CHECK "$$told"; exit $$ended'
	@echo "== validation/cluster.py --quick"; $(BIN)/python -m validation.cluster --quick
	@echo "== validation.tracing"; $(BIN)/python -m validation.tracing $(TENTH)

bench: $(VENV)/.core
	@for script in $$(printf '%s\n' $(QUICK) | $(if $(TENTH),shuf -n $(SOME),sort)); do \
		echo "== $$script"; $(BIN)/python $$script || exit 1; done
	@for script in $(SLOW); do echo "== $$script"; $(BIN)/python $$script $(TENTH) || exit 1; done

clean:
	rm -rf $(VENV) site $(PAGE) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/.made:
	@test -n "$(PYTHON)" || { \
		echo "foretrain needs Python 3.11 or newer, and none was found."; \
		echo "Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12"; exit 1; } >&2
	@$(PYTHON) -m venv --clear $(VENV) >$(VENV).log 2>&1 || { \
		cat $(VENV).log; rm -rf $(VENV) $(VENV).log; \
		echo "$(PYTHON) cannot make a virtual environment: its venv or ensurepip module is missing."; \
		echo "Debian and Ubuntu: sudo apt install python3-venv. Or: make $(MAKECMDGOALS) PYTHON=..."; \
		exit 1; } >&2
	@rm -f $(VENV).log && touch $@

$(VENV)/.core: pyproject.toml $(VENV)/.made
	@echo "Installing foretrain in $(VENV) ..."
	@$(PIP) --editable . && touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.docs: $(VENV)/.%: pyproject.toml $(VENV)/.made
	@echo "Installing foretrain and its $* tools in $(VENV) ..."
	@$(PIP) --editable ".[$*]" $(ALSO) && touch $@ $(VENV)/.core
