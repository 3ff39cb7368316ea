# Two commands are all that a fresh Debian machine with Rust needs: make run, make test.

CARGO ?= cargo
# What the tests run besides cargo: a load (stress-ng), an unprivileged user (setpriv, of util-linux).
PACKAGES := stress-ng util-linux
ARGS ?=

.PHONY: run test lint bench packages

# The main job: ten seconds on every CPU this process may use. ARGS="--cpus 0 --duration 30s" for others.
run:
	$(CARGO) build --release -p anechoic-cli
	target/release/anechoic run $(ARGS)

test: packages
	$(CARGO) test --workspace --no-fail-fast

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	$(CARGO) run --quiet -p xtask -- tidy
	@if command -v cargo-deny >/dev/null && $(CARGO) fetch --quiet; then $(CARGO) deny --offline check licenses bans sources; \
	else echo "no cargo-deny, or no registry to fetch from: licences and sources of dependencies not checked"; fi

# Ratios against the physical limit, each pair measured in turn in one run.
bench:
	$(CARGO) bench --workspace --bench '*'

packages:
	@missing=; for package in $(PACKAGES); do \
		dpkg -s $$package >/dev/null 2>&1 || missing="$$missing $$package"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing; \
	else echo "missing system packages:$$missing (sudo apt-get install$$missing); tests that need them say so and skip"; fi
