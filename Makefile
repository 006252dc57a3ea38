# Turnfold: the commands a developer and CI share. Nothing is needed beforehand but Python 3.11 or newer and make.
#
#   make            create the environment           make check   lint, format, types
#   make serve      run the proxy                     make fix     let the linter repair what it can
#   make demo       see it fold, no key needed        make lock    resolve the dependencies anew
#   make wheel      build the wheel into dist/        make docs    write the table of settings anew
#   make test       run the test suite
#   make test-node  the official Node SDKs too        make clean   remove what make made
#   make site       docs/ as a site, in dist/site
#   make audit      known faults of dependencies      make sbom    list them as CycloneDX (sbom.json)
#
# Another interpreter: make test PYTHON=python3.13 VENV=.venv-3.13
# Arguments:           make serve ARGS="--port 9000"      make test ARGS="-k recall -x"

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
# Processes of the test run: two more than there are cores (tests/conftest.py). 0 runs it in one, which is quicker for a single file.
JOBS   ?= auto
# HYPOTHESIS_PROFILE=thorough make test: thousands of examples for every law, and all cases of which a run takes every second.

BIN   := $(VENV)/bin
PIP   := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCK  := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
         --no-emit-index-url --no-annotate --custom-compile-command "make lock"

# Stamps make a second call instant. RUN: what serving needs. DEV: what tests and checks need, which includes all of that at the
# same versions. PROJECT: Turnfold itself, installed anew where pyproject.toml changed; it stands behind one of the other two.
RUN     := $(VENV)/.run
DEV     := $(VENV)/.dev
PROJECT := $(VENV)/.project

# Where it is set (many a container sets it), each process of the tests compiles every file anew, and rewrites its assertions.
unexport PYTHONDONTWRITEBYTECODE

.NOTPARALLEL:
.PHONY: all serve demo wheel test test-node check fix docs lock audit sbom site clean
all: $(DEV) $(PROJECT)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Turnfold needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(RUN): requirements.lock requirements-build.lock | $(BIN)/python
	$(PIP) --require-hashes -r requirements.lock -r requirements-build.lock
	@touch $@

$(DEV): requirements-dev.lock | $(BIN)/python
	$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@ $(RUN)

$(PROJECT): pyproject.toml | $(BIN)/python
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

serve: $(RUN) $(PROJECT)
	@$(BIN)/turnfold serve $(ARGS)

demo: $(RUN) $(PROJECT)
	@$(BIN)/turnfold demo $(ARGS)

wheel: $(RUN) $(PROJECT)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .

test: $(DEV) $(PROJECT)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q $(ARGS)

# Needs Node, npm and a package registry: the SDKs go into a temporary folder.
test-node: $(DEV) $(PROJECT)
	$(BIN)/python -m tests.node.run

check: $(DEV) $(PROJECT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: $(DEV) $(PROJECT)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV) $(PROJECT)
	$(BIN)/python -m tests.support.readme

# The only step that resolves versions. uv is pinned here and not in the locks: nobody else needs it.
lock: $(DEV) $(PROJECT)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.9
	$(LOCK) pyproject.toml --extra encryption --extra otel --output-file requirements.lock
	$(LOCK) pyproject.toml --all-extras --group dev --constraint requirements.lock --output-file requirements-dev.lock
	$(LOCK) --group build --constraint requirements-dev.lock --output-file requirements-build.lock

# Both need a package registry, and audit its data on known faults: they are no part of the tests. Their tools stay out of the
# environment and the locks. A dependency that the data knows nothing of is a failure too.
AUDIT := $(VENV)-audit
$(AUDIT)/.ready:
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --disable-pip-version-check 'pip-audit>=2.9,<3' 'cyclonedx-bom>=7,<8'
	@touch $@

audit: $(AUDIT)/.ready
	$(AUDIT)/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r requirements.lock $(ARGS)

sbom: $(AUDIT)/.ready
	$(AUDIT)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --output-file sbom.json requirements.lock

# The documentation as a site, with the reference of the Python API; a link to a page or heading that is not there fails. Its tools
# stay out of the environment and the locks too.
SITE := $(VENV)-site
$(SITE)/.ready: requirements.lock
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check 'sphinx>=8.2,<9' 'myst-parser>=5,<6' 'furo>=2025.7'
	@touch $@

site: $(SITE)/.ready
	PYTHONPATH=compression:config:proxy $(SITE)/bin/sphinx-build -q -W --keep-going -b html docs dist/site

clean:
	rm -rf $(VENV) $(AUDIT) $(SITE) dist sbom.json .mypy_cache .ruff_cache .pytest_cache .hypothesis
