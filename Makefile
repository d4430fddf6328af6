# What a visitor and a contributor run. Needs python3 >= 3.11, make and git; everything else goes into .venv.
#   make demo PYTHON=python3.12     choose the interpreter
#   make test PYTEST="-k lease"     pass arguments to pytest

PYTHON ?= python3
PYTEST ?=
# One more than there are processors: tests wait for processes and engines as often as they work.
JOBS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')

VENV := .venv
BIN := $(VENV)/bin
# As pip does, uv trusts what the system trusts (a company's proxy signs with its own authority), where there is such a store.
CERTIFICATES := $(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem)
UV_SYSTEM_CERTS ?= $(if $(CERTIFICATES),true,false)
UV := UV_CACHE_DIR='$(CURDIR)/$(VENV)/cache' UV_PYTHON_DOWNLOADS=never UV_SYSTEM_CERTS=$(UV_SYSTEM_CERTS) $(BIN)/uv
# Once here: some environments forbid Python to write bytecode while it runs, and every process would compile anew.
COMPILE := $(BIN)/python -m compileall -q */sereno
INSTALL := $(UV) pip install --quiet --compile-bytecode --python $(BIN)/python

.DEFAULT_GOAL := help
# Every target that is a plain word is a command, not a file.
.PHONY: $(shell sed -n 's/^\([a-z][a-z-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help:
	@echo 'make demo              one webhook and one clock tick wake one agent, then everything is removed'
	@echo 'make up                start Sereno here and stay; Ctrl-C stops it'
	@echo 'make check             format, lint, types, import contracts, drift of the generated schemas'
	@echo 'make test              all tests, in parallel'
	@echo 'make fmt               format and mend what ruff can mend'
	@echo 'make schemas           write the JSON Schemas, OpenAPI and AsyncAPI files again'
	@echo 'make dashboards        build the Grafana dashboards again from their code'
	@echo 'make prove-dashboards  promtool on rules and metrics, and every panel of a running Sereno asked of a real Prometheus'
	@echo 'make prove-cardinality  10,000 subscriptions and 100,000 messages, and not one series more'
	@echo 'make trace             requirements and the tests that show them'
	@echo 'make bench-smoke       webhooks, deposits and claims per second; fails when a 202 or a renewal takes too long'
	@echo 'make bench-mailbox     the mailbox against its peers and a floor of two SQL statements'
	@echo 'make bench-mailbox-long  the same under a million messages, and while a transaction is held open'
	@echo 'make torture-mailbox   stale verbs of every kind, and kill -9 of workers and of PostgreSQL'
	@echo 'make torture-deadlock  pipelines, holders, reaper, stop and pause on the same rows, 1,000 rounds'
	@echo 'make torture-estop     the stop beside eight workers and a flood: nothing after it returned'
	@echo 'make torture-plans     plans of the hot statements beside 1,000,000 messages for later'
	@echo 'make torture-pipeline  kill -9 the pipeline at each fault point, 20 times each'
	@echo 'make torture-guards    kill -9 the pipeline at random while its guards collect, count and reserve, 50 times'
	@echo 'make torture-outbox    kill -9 both outbox relays at each fault point, 20 times each'
	@echo 'make bench-guards      guarded deposits per second, against the plain batch insert of a peer'
	@echo 'make bench-evaluator   what judging fifty items costs beyond the call of the model'
	@echo 'make bench-redaction   how much of planted personal data and secrets redaction hides, by language'
	@echo 'make bench-simulate    activations per second through all seven guards in a simulation'
	@echo 'make bench-audit       audit records verified per second, and appends of 20 tenants beside plain inserts'
	@echo 'make bench-explain     explanations over HTTP on a store with a million decisions'
	@echo 'make torture-properties  thousands of new examples for each property, instead of the fifty of the suite'
	@echo 'make bench-expansion   occurrences of recurring schedules per second on this machine'
	@echo 'make bench-decoder     strict structured CloudEvents of 1 KB per second, one process'
	@echo 'make bench-webhooks    verified webhooks on disk per second, against an empty route of the same server'
	@echo 'make fuzz-envelope     ten minutes of bent messages at the decoder'
	@echo 'make torture-gateway   kill -9 the gateway and NATS at random under load, 50 times and more'
	@echo 'make bench-schedules   due schedules: cost of each among few and many, lateness under load'
	@echo 'make torture-schedules  kill -9 two schedulers at random while the clock jumps'
	@echo 'make torture-clock-changes  every clock change of every zone from 2020 to 2040'
	@echo 'make torture-policy    ten thousand questions to the policy, each asked twice'
	@echo 'make torture-timing    whether the time of a 401 tells a stranger anything'
	@echo 'make fuzz-signatures   ten minutes of bent requests at every signature scheme'
	@echo 'make torture-mcp       kill -9 a poller between its writes, 52 times'
	@echo 'make torture-mcp-node  connected sources against the servers of npm, which it installs'
	@echo 'make fuzz-api          hundreds of requests to each operation of both planes, as their descriptions allow'
	@echo 'make lock              resolve the dependencies again'

demo: $(VENV)/run.stamp
	@$(BIN)/sereno demo

up: $(VENV)/run.stamp
	@$(BIN)/sereno up

venv: $(VENV)/dev.stamp

check: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m sereno.deploy.schema_export --check
	$(BIN)/python -m sereno.deploy.dashboards deploy/grafana/dashboards --check

test: $(VENV)/dev.stamp
	$(BIN)/pytest -n $(JOBS) $(PYTEST)

fmt: $(VENV)/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schemas: $(VENV)/dev.stamp
	$(BIN)/python -m sereno.deploy.schema_export

dashboards: $(VENV)/dev.stamp
	$(BIN)/python -m sereno.deploy.dashboards deploy/grafana/dashboards

prove-dashboards: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.dashboards.prove

prove-cardinality: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.dashboards.cardinality

trace: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.trace

bench-smoke: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.benchmarks.smoke

bench-mailbox: $(VENV)/bench.stamp
	@$(BIN)/python -m tests.benchmarks.mailbox

bench-mailbox-long: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.benchmarks.mailbox_long
	@SERENO_PLAN_ROWS=1000000 $(BIN)/pytest -q --timeout 900 tests/integration/mailbox/test_plans.py

torture-mailbox: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.mailbox

torture-deadlock: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.deadlock

torture-estop: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.estop

torture-plans: $(VENV)/dev.stamp
	@SERENO_PLAN_ROWS=1000000 $(BIN)/pytest -q --timeout 900 tests/integration/mailbox/test_plans.py

torture-pipeline: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.pipeline

torture-guards: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.guards

torture-outbox: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.outbox

torture-properties: $(VENV)/dev.stamp
	@$(BIN)/pytest -n $(JOBS) --timeout 3600 --hypothesis-profile=search -m hypothesis $(PYTEST) tests/unit

torture-clock-changes: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.clock_changes

bench-guards: $(VENV)/bench.stamp
	@$(BIN)/python -m tests.benchmarks.guards

bench-evaluator: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.benchmarks.evaluator

bench-redaction: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.benchmarks.redaction

bench-simulate: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.benchmarks.simulate

bench-audit: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.benchmarks.audit

bench-explain: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.benchmarks.explain

torture-schedules: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.schedules

bench-schedules: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.benchmarks.schedules

bench-expansion: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.benchmarks.expansion

torture-policy: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.policy

torture-timing: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.timing

torture-mcp: $(VENV)/dev.stamp
	@SERENO_TORTURE_ROUNDS=52 $(BIN)/pytest -q tests/integration/pipeline/test_source_kills.py

torture-mcp-node: $(VENV)/dev.stamp
	@npm install --silent --no-audit --no-fund --prefix $(VENV)/node @modelcontextprotocol/server-filesystem \
	  @modelcontextprotocol/server-everything @modelcontextprotocol/server-memory
	@SERENO_TEST_MCP_NODE=$(VENV)/node/node_modules $(BIN)/pytest -q tests/torture/node_servers.py

fuzz-api: $(VENV)/dev.stamp
	@SERENO_API_EXAMPLES=200 $(BIN)/pytest -q --timeout 3600 -k as_described tests/integration/execution_plane/test_gateway.py tests/integration/control_plane/test_described.py

fuzz-signatures: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.fuzz_signatures

bench-decoder: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.benchmarks.decoder

bench-webhooks: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.benchmarks.webhooks

fuzz-envelope: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.fuzz_envelope

torture-gateway: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.torture.gateway

lock: $(VENV)/dev.stamp
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --extra embedded \
	  --custom-compile-command 'make lock' pyproject.toml -o requirements.lock
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --extra embedded --group dev \
	  -c requirements.lock --custom-compile-command 'make lock' pyproject.toml -o requirements-dev.lock

clean:
	rm -rf $(VENV)

# The stamps are newer than the lock files they were made from, so a changed lock installs again.
$(VENV)/run.stamp: requirements.lock pyproject.toml | $(BIN)/uv
	@echo 'Installing Sereno into $(VENV) ...'
	@$(INSTALL) --require-hashes -r requirements.lock
	@$(INSTALL) --no-deps --editable .
	@$(COMPILE)
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock pyproject.toml | $(BIN)/uv
	@echo 'Installing Sereno and its development tools into $(VENV) ...'
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@$(INSTALL) --no-deps --editable .
	@$(COMPILE)
	@touch $@ $(VENV)/run.stamp

$(VENV)/bench.stamp: $(VENV)/dev.stamp pyproject.toml
	@echo 'Installing the peers to measure against into $(VENV) ...'
	@$(UV) pip install --quiet --python $(BIN)/python --group bench
	@touch $@

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "Sereno needs Python 3.11 or newer, and '$(PYTHON)' is missing or older; name another with: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "'$(PYTHON)' cannot create virtual environments because its module ensurepip is missing; install the Debian package python3-venv ($$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'))." >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'
