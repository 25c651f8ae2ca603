# The project's commands. `make` alone lists them. Every one sets up what it needs first.

BIN := .venv/bin
BASE_IMAGE := $(if $(GAUNTLET_BASE_IMAGE),$(GAUNTLET_BASE_IMAGE),gauntlet-base:latest)
ARGS ?=
# tests/order.py adds the marks. Every test is in one of the passes, and what the database can change in both; the short
# pass leaves most of that to the production pass
SQLITE_PASS := not journey or docker
SHORT_PASS := not journey and (not database or both or docker)
PRODUCTION_PASS := journey or (database and not docker)
PASS := $(if $(PRODUCTION_FOLLOWS),$(SHORT_PASS),$(SQLITE_PASS))

.DEFAULT_GOAL := help
.PHONY: help setup kit demo test test-fast test-production faults check format bench compatibility base-image legacy-image lock audit release clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.* ## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.* ## /\1\t/' | \
	  while IFS="$$(printf '\t')" read -r name text; do printf '  make %-15s %s\n' "$$name" "$$text"; done

setup: .venv/.set-up ## make .venv with what runs, pinned in constraints.txt; nothing to do when nothing changed

.venv/.set-up: constraints.txt deploy/install $(wildcard deploy/locks/*.txt) pyproject.toml evaluation/formats/query/referee/distances_build_hook.py evaluation/formats/query/referee/distances.c
	@.ci/virtual-environment
	@touch $@

.venv/.set-up-dev: constraints-dev.txt .venv/.set-up
	@.ci/virtual-environment dev
	@touch $@

demo: setup ## start the whole site on this laptop, with virtual teams (ARGS=--exit: print the boards and leave)
	@GAUNTLET_STATE="$${GAUNTLET_STATE:-.gauntlet/demo}" GAUNTLET_SANDBOX="$${GAUNTLET_SANDBOX:-process}" \
	  $(BIN)/python manage.py demo $(ARGS)

# the processes share the cores; threads of numpy and torch would fight for them
test test-fast test-production faults: export OMP_NUM_THREADS := 1
test: .venv/.set-up-dev ## run the tests on SQLite, three processes for two cores; ARGS are pytest's (ARGS="-k budget", ARGS=-n0: one process)
	@if docker image inspect '$(BASE_IMAGE)' >/dev/null 2>&1; then \
	  $(BIN)/python -m pytest -n auto -m "$(PASS)" $(ARGS); \
	elif [ "$(CI)" = true ]; then \
	  echo "make test: no Docker engine answers, or it has no image $(BASE_IMAGE); in CI that is an error" >&2; exit 1; \
	else \
	  status=0; $(BIN)/python -m pytest -n auto -m "($(PASS)) and not docker" $(ARGS) || status=$$?; \
	  echo "Left out: the tests of the Docker sandbox. Start a Docker engine, then: make base-image test"; exit $$status; \
	fi

test-fast: .venv/.set-up-dev ## run the first test of every file, without Docker and without the slow ones (about a minute)
	@$(BIN)/python -m pytest -n auto -m "first and not docker and not journey and not slow" $(ARGS)

test-production: .venv/.set-up-dev ## run what the database can change and the journeys, on DATABASE_URL and GAUNTLET_BROKER
	@if [ -z "$$DATABASE_URL" ] || [ -z "$$GAUNTLET_BROKER" ]; then \
	  echo 'make test-production: name PostgreSQL and Redis first. Two for tests: eval "$$(.ci/services start)"' >&2; exit 1; \
	fi
	@if [ "$(CI)" = true ] || docker image inspect '$(BASE_IMAGE)' >/dev/null 2>&1; then \
	  $(BIN)/python -m pytest -n auto -m "$(PRODUCTION_PASS)" tests/platform tests/journeys $(ARGS); \
	else \
	  status=0; $(BIN)/python -m pytest -n auto -m "($(PRODUCTION_PASS)) and not docker" tests/platform tests/journeys $(ARGS) || status=$$?; \
	  echo "Left out: the site of compose.yaml in Docker. Start a Docker engine, then: make base-image test-production"; exit $$status; \
	fi

faults: .venv/.set-up-dev ## let each statement, request and message of a season fail once, in every format (ARGS="-k query")
	@GAUNTLET_FAULTS="$${GAUNTLET_FAULTS:-all}" $(BIN)/python -m pytest -n auto tests/platform/faults $(ARGS)

check: .venv/.set-up-dev ## lint, format, types, layers, and Django's own checks
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python manage.py check --fail-level WARNING
	@$(BIN)/python manage.py makemigrations --check --dry-run

format: .venv/.set-up-dev ## format the code
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

kit: setup ## make the kit that the site offers to participants: the command `gauntlet`, in the folder kit/
	@deploy/kit $(BIN)/python

lock: .venv-release/.set-up ## write deploy/locks: the hashes of all files of the pinned packages (asks PyPI)
	@.venv-release/bin/python deploy/lock.py

audit: .venv-release/.set-up ## list known vulnerabilities of the locked packages (asks PyPI)
	@.venv-release/bin/python deploy/audit.py

release: .venv-release/.set-up ## make the files of a release of the last commit in dist/ (KEY=...: the SSH key that signs them)
	@deploy/release .venv-release/bin/python dist '$(KEY)'

# only packages that deploy/locks has hashes of: what makes a release reads all of it
.venv-release/.set-up: deploy/install deploy/locks/build.txt deploy/locks/release.txt
	@echo "release: making .venv-release"
	@$${PYTHON:-python3} -m venv --clear .venv-release
	@PIP_QUIET=1 deploy/install .venv-release/bin/python build release
	@touch $@

bench: setup .venv-bench/.set-up ## measure the speeds of docs/performance.md (ARGS="--write docs/performance.md")
	@$(BIN)/python -m bench $(ARGS)

.venv-bench/.set-up: bench/requirements.txt | setup
	@echo "bench: making .venv-bench for the Flask hop and torchattacks"
	@$(BIN)/python -m venv --clear --without-pip .venv-bench
	@$(BIN)/python -m pip --python .venv-bench install --disable-pip-version-check --no-compile --quiet --requirement bench/requirements.txt
	@$(BIN)/python -m pip --python .venv-bench install --disable-pip-version-check --no-compile --quiet --no-deps --target .venv-bench/torchattacks torchattacks==3.5.1
	@touch $@

compatibility: setup ## play the submissions of 2017 and 2018 in DIR=... and print the table (needs GAUNTLET_LEGACY_ENVIRONMENT)
	@$(BIN)/gauntlet compatibility '$(DIR)' $(ARGS)

base-image: setup ## make the image that submissions are built on (needs a Docker engine; the first time also root)
	@.ci/docker-engine
	@.ci/base-image
	@$(BIN)/python -m evaluation.builder.builder_image

legacy-image: base-image ## make the image that submissions of 2017 and 2018 run in (needs GAUNTLET_LEGACY_ENVIRONMENT)
	@.ci/legacy-image
	@GAUNTLET_BASE_IMAGE="$${GAUNTLET_LEGACY_IMAGE:-gauntlet-legacy:latest}" $(BIN)/python -m evaluation.builder.builder_image

clean: ## remove the virtual environment, the tools' caches and the demo's output
	rm -rf .venv .venv-bench .venv-release demo dist kit .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
