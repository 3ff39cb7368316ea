# Two commands are all that a fresh Debian machine with Rust needs: make run, make test.

CARGO ?= cargo
# What the HTML report is looked at with. Debian's npm is some 350 small packages, and other distributors' nodejs has one.
BROWSER := chromium $(if $(shell command -v npm),,nodejs npm)
# What the tests run besides cargo: a load (stress-ng), an unprivileged user (setpriv, of util-linux), a terminal (tmux), the
# reader of trace.dat that imports are compared with (trace-cmd).
PACKAGES := stress-ng util-linux tmux trace-cmd $(BROWSER)
# What the command under MPI needs: libclang to read the library's header, the libraries, a network between two hosts.
MPI_PACKAGES := libclang-dev openmpi-bin libopenmpi-dev mpich libmpich-dev iproute2
# The libraries it is tested with, as Debian calls them.
MPIS := openmpi mpich
# Built with the features of the whole workspace, so that what both share is built once.
MPI := --workspace --features anechoic-mpi/mpi
LIBCLANG := ls /usr/lib/llvm-*/lib/libclang*.so* /usr/lib/*/libclang*.so* 2>/dev/null | grep -q .
# What boots the image without an operating system in a virtual machine: an emulator, UEFI for it, what makes a disk.
BARE_PACKAGES := qemu-system-x86 ovmf dosfstools mtools
BARE := target/bare/release/anechoic-bare
DISK := target/bare/disk.img
# What boots other kernels, in emulation: the emulator, the programs inside, what packs and unpacks.
LAB_PACKAGES := qemu-system-x86 busybox-static cpio zstd xz-utils
# What builds and installs packages.
DIST_PACKAGES := rpm lintian mmdebstrap python3-venv environment-modules
STATIC := x86_64-unknown-linux-gnu
FOR_LAB := --target-dir target/static -p anechoic-cli --no-default-features
# What builds for AArch64 here, and runs that in emulation. Its standard library comes from rustup.
AARCH64 := aarch64-unknown-linux-gnu
HAS_AARCH64 := test -d $$(rustc --print sysroot)/lib/rustlib/$(AARCH64)
AARCH64_PACKAGES := gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user qemu-system-arm
ON_AARCH64 := CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
# The emulator's accelerator. With kvm times are real, on hosts whose kernel code runs in hardware.
ACCEL ?= tcg
PARAMETERS ?= bare/anechoic.txt
# Where code is changed to see whether tests notice; the number of shards of all changes, and those that are drawn.
MUTANTS := target/mutants
PARTS ?= 117
SEED ?= 34
COUNT ?= 1
SHARDS ?= $(shell for shard in $$(seq 0 $$(($(PARTS) - 1))); do echo "$$(echo $(SEED) $$shard | md5sum) $$shard"; done | sort | head -n $(COUNT) | cut -d ' ' -f 4)
ARGS ?=

.PHONY: run first mpi aarch64 bare bare-run bare-test test test-machine test-faults fuzz mutants test-mpi lab lab-aarch64 lab-fast lint bench notebook test-python dist test-dist node-exporter contrib test-contrib packages mpi-packages bare-packages lab-packages aarch64-packages dist-packages

# The main job: ten seconds on every CPU this process may use. ARGS="--cpus 0 --duration 30s" for others. Built in half a minute
# less than what `cargo install` builds: without what draws PNG files, and without optimizing the texts and pages, which
# makes exports take twice as long.
run: first
	target/release/anechoic run $(ARGS)

first:
	$(CARGO) build --release -p anechoic-cli --no-default-features --config profile.release.package.anechoic-report.opt-level=0

# The command under MPI, with the library whose compiler wrapper is mpicc, or MPICC=mpicc.mpich.
mpi:
	$(CARGO) clean --quiet --release -p mpi-sys
	$(CARGO) build --release -p anechoic-mpi --features mpi

# The image without an operating system: the file with .efi boots by UEFI, the other one by PVH (QEMU's -kernel).
bare:
	cd bare && $(CARGO) build --release
	objcopy -O binary $(BARE) $(BARE).efi
	@test $$(stat -c %s $(BARE).efi) -lt 2000000 || { echo "$(BARE).efi: larger than 2 MB"; exit 1; }
	@ls -l $(BARE).efi

# Boots the image by UEFI in a virtual machine, with PARAMETERS on its disk. What is on the disk afterwards is copied to the
# directory target/bare/disk. QEMU's own disk of a directory (fat:rw:) loses the ends of files.
bare-run: bare bare-packages
	mkdir -p target/bare/disk/EFI/BOOT
	cp $(BARE).efi target/bare/disk/EFI/BOOT/BOOTX64.EFI
	cp $(PARAMETERS) target/bare/disk/anechoic.txt
	test -f $(DISK) || PATH=$$PATH:/usr/sbin mkfs.fat -C $(DISK) 262144
	mcopy -s -o -i $(DISK) target/bare/disk/EFI target/bare/disk/anechoic.txt ::
	qemu-system-x86_64 -M q35 -accel $(ACCEL) -cpu max -m 512 -nodefaults -nographic -no-reboot -serial stdio \
		-bios /usr/share/ovmf/OVMF.fd -drive format=raw,file=$(DISK)
	mcopy -n -i $(DISK) '::result-*.txt' target/bare/disk
	@ls target/bare/disk/result-*.txt

# The image in a virtual machine whose time is the number of its instructions, and its loops beside the command's.
bare-test: bare
	cd bare && $(CARGO) test --release --quiet

# All that does not measure for long. The last lines say how many tests passed, and which were skipped and why.
test: packages
	@$(MAKE) --no-print-directory notebook || echo "no Python environment: the notebook is not tested (make notebook)"
	@$(MAKE) --no-print-directory node-exporter || echo "no node_exporter: it is not asked for the metrics (make node-exporter)"
	$(CARGO) run --quiet --release -p xtask -- test quick $(ARGS)
	@if command -v qemu-system-x86_64 >/dev/null; then $(MAKE) bare-test; \
	else echo "no qemu-system-x86_64: the image without an operating system is not tested (make bare-packages bare-test)"; fi

# What the Python package, the notebook in docs/examples and their tests need, and readers of what the command exports, in
# an environment of its own: tests use it where it is there.
notebook: target/notebook/ready
target/notebook/ready: Makefile
	python3 -m venv target/notebook
	target/notebook/bin/pip install --quiet duckdb pandas polars pyarrow pyarrow-stubs hdrhistogram prometheus_client html5lib jsonschema mypy
	touch $@

# The Python package with the command that is built, and its types.
test-python: notebook
	PYTHONPATH=python ANECHOIC=$${ANECHOIC:-$(CURDIR)/target/release/anechoic} target/notebook/bin/python python/tests/test_anechoic.py
	target/notebook/bin/python -m mypy --strict python/anechoic

# The packages of a release, in target/packages: tar files, wheels, debs, rpms, for the architectures that have a standard
# library here.
dist: dist-packages
	$(ON_AARCH64) python3 packaging/dist.py

# Installs each of them, boots the command in a minimal guest, and builds all again for the same bytes: half an hour, as
# root. packaging/test.sh names the parts.
test-dist: dist lab-packages
	packaging/test.sh

# Debian's node_exporter, unpacked and not installed: its package would start a server.
node-exporter: target/node-exporter/ready
target/node-exporter/ready: Makefile
	mkdir -p target/node-exporter
	cd target/node-exporter && apt-get download --quiet --quiet prometheus-node-exporter && dpkg -x prometheus-node-exporter_*.deb .
	touch $@

# The programs that what is under contrib/ is for, unpacked or built in target/contrib and not installed. One that cannot be
# fetched is named, and its test skipped.
CONTRIB := target/contrib
GO ?= $(firstword $(shell command -v go) /usr/local/go/bin/go)
NPD := k8s.io/node-problem-detector@v1.34.0
contrib:
	@mkdir -p $(CONTRIB)
	@test -e $(CONTRIB)/usr/bin/promtool || { cd $(CONTRIB) && apt-get download --quiet --quiet prometheus shellcheck && \
		for package in *.deb; do dpkg -x $$package .; done; } || echo "no promtool, no shellcheck: Debian's packages are not there"
	@test -e $(CONTRIB)/slurm/usr/sbin/slurmstepd || { mkdir -p $(CONTRIB)/slurm && cd $(CONTRIB)/slurm && \
		apt-get download --quiet --quiet munge libmunge2 slurmctld slurmd slurm-client slurm-wlm-basic-plugins liblua5.1-0 && \
		for package in *.deb; do dpkg -x $$package .; done && ln -s slurmstepd-wlm usr/sbin/slurmstepd; } || echo "no Slurm: Debian's packages are not there"
	@test -e $(CONTRIB)/reframe/bin/reframe || { python3 -m venv $(CONTRIB)/reframe && \
		$(CONTRIB)/reframe/bin/pip install --quiet ReFrame-HPC; } || echo "no ReFrame: it is not in the Python index, or there is no venv"
	@test -e $(CONTRIB)/nhc/nhc || git clone --quiet --depth 1 https://github.com/mej/nhc $(CONTRIB)/nhc || echo "no NHC: it cannot be cloned"
	@test -e $(CONTRIB)/node-problem-detector || { cd $(CONTRIB) && rm -rf npd && \
		cp -r $$($(GO) mod download -json $(NPD) | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') npd && chmod -R u+w npd && \
		cd npd && $(GO) build -o ../node-problem-detector \
		-tags "disable_system_log_monitor disable_system_stats_monitor disable_stackdriver_exporter" ./cmd/nodeproblemdetector; } \
		|| echo "no node-problem-detector: no Go, or its module cannot be fetched"

# What is under contrib/, with the programs that it is for: some 40 s. Slurm's test needs root.
test-contrib: contrib
	$(CARGO) test --release --workspace --test cli contrib::

# What measures this machine, one test after the other. Where the host is busy a test may not be able to judge.
test-machine: packages
	$(CARGO) run --quiet --release -p xtask -- test machine $(ARGS)
	$(MAKE) test-mpi

# The fault campaign: signals, full disks, namespaces, damaged files. It takes some minutes and is not part of CI.
test-faults: packages
	$(CARGO) run --quiet --release -p xtask -- test faults $(ARGS)

# Every parser of bytes that others made, for ten minutes each with changed inputs. ANECHOIC_FUZZ_SECONDS=60 for less.
fuzz:
	ANECHOIC_FUZZ_SECONDS=$${ANECHOIC_FUZZ_SECONDS:-600} $(CARGO) run --quiet --release -p xtask -- test fuzz $(ARGS)

# Changes the code in one place at a time (.cargo/mutants.toml lists the files) and runs the tests of that crate: a change
# that no test notices is missed. It takes the commit that is checked out, in a tree and a target directory of its own. A
# shard is every 117th change, some 50 of them, and takes half an hour or more; SEED orders the shards, COUNT=6 takes six,
# SHARDS="99 69" takes these. target/mutants/shard-*/mutants.out has what was found.
mutants:
	@command -v cargo-mutants >/dev/null || { echo "no cargo-mutants (cargo install --locked cargo-mutants)"; exit 1; }
	@test -e $(MUTANTS)/tree/.git || git worktree add --quiet --force --detach $(MUTANTS)/tree
	git -C $(MUTANTS)/tree checkout --quiet --force --detach $$(git rev-parse HEAD)
	git -C $(MUTANTS)/tree clean --quiet --force -d
	rm -rf $(MUTANTS)/shard-*
	@for shard in $(SHARDS); do \
		mkdir -p $(MUTANTS)/shard-$$shard; \
		CARGO_INCREMENTAL=1 CARGO_PROFILE_DEV_DEBUG=false $(CARGO) mutants --dir $(MUTANTS)/tree --in-place --workspace --shard $$shard/$(PARTS) --sharding round-robin \
			--output $(MUTANTS)/shard-$$shard $(ARGS); \
		case $$? in 0 | 2 | 3) ;; *) exit 1 ;; esac; \
	done
	@cd $(MUTANTS) && for result in caught timeout missed unviable; do \
		echo "$$(cat shard-*/mutants.out/$$result.txt | wc -l) $$result"; done; cat shard-*/mutants.out/missed.txt

# With one library after the other. The bindings do not see that MPICC is another one, so they are made anew. Tests measure
# one after the other; more threads than CPUs, because an Open MPI launcher sleeps for long after a rank died.
test-mpi: mpi-packages
	@for mpi in $(MPIS); do \
		if ! command -v mpicc.$$mpi >/dev/null || ! $(LIBCLANG); then echo "no mpicc.$$mpi or no libclang: the command under MPI is not tested with it"; continue; fi; \
		echo "under MPI: $$mpi"; \
		$(CARGO) clean --quiet --release -p mpi-sys && MPICC=mpicc.$$mpi $(CARGO) test --release $(MPI) --no-fail-fast \
			--bin anechoic-mpi --test mpi -- --test-threads 8 || exit 1; done

# The command for AArch64 (rustup target add aarch64-unknown-linux-gnu), and in emulation the tests of the crates that
# neither ask the kernel nor measure. One test starts its own program, which only a machine of that kind can.
aarch64: aarch64-packages
	$(ON_AARCH64) $(CARGO) build --release --target $(AARCH64) --bin anechoic
	$(ON_AARCH64) $(CARGO) test --release --target $(AARCH64) -p anechoic-kernels -p anechoic-recording -p anechoic-attribute \
		-p anechoic-analyze --no-fail-fast -- --skip a_killed_writer $(ARGS)

# Boots kernels on machines in emulation with the tool, linked statically, and checks what it finds there. The results
# are written to docs/laboratory.tsv and shown in docs/tried.md. ARGS="6.12-rt" for the boots with that in their name.
lab: lab-packages
	RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --release --target $(STATIC) $(FOR_LAB)
	@if $(HAS_AARCH64); then $(MAKE) lab-aarch64; \
	else echo "no standard library for $(AARCH64) (rustup target add): its kernels are skipped"; fi
	$(CARGO) run --quiet --release -p xtask -- lab target/static/$(STATIC)/release/anechoic \
		$$(ls target/static/$(AARCH64)/release/anechoic 2>/dev/null | sed s/^/--aarch64=/) --store $(ARGS)

lab-aarch64: aarch64-packages
	$(ON_AARCH64) RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --release --target $(AARCH64) $(FOR_LAB)

# One kernel of it in exact time, with the tool as the tests build it. Where there is no emulator or no kernel the reason
# is printed.
lab-fast:
	@$(MAKE) --no-print-directory lab-packages || echo "not all packages of the laboratory can be installed"
	$(CARGO) test --quiet --release --workspace --no-run
	$(CARGO) run --quiet --release -p xtask -- lab target/release/anechoic --fast $(ARGS)

lint:
	$(CARGO) fmt --all --check
	@if command -v mpicc >/dev/null && $(LIBCLANG); then $(CARGO) clippy --release $(MPI) --all-targets --quiet -- -D warnings; \
	else echo "no mpicc or no libclang: the command under MPI is not checked"; \
	$(CARGO) clippy --release --workspace --all-targets --quiet -- -D warnings; fi
	@if $(HAS_AARCH64) && command -v aarch64-linux-gnu-gcc >/dev/null; then \
	$(ON_AARCH64) $(CARGO) clippy --release --target $(AARCH64) --quiet -- -D warnings; \
	else echo "no standard library or no compiler for $(AARCH64) (make aarch64): not checked for it"; fi
	cd bare && $(CARGO) fmt --check && $(CARGO) clippy --release --all-targets --quiet -- -D warnings
	$(CARGO) run --quiet --release -p xtask -- tidy
	@if command -v cargo-deny >/dev/null && $(CARGO) fetch --quiet; then $(CARGO) deny --offline check licenses bans sources; \
	else echo "no cargo-deny, or no registry to fetch from: licences and sources of dependencies not checked"; fi

# Ratios against the physical limit, each pair measured in turn in one run.
bench:
	$(CARGO) bench --workspace --bench '*'

packages:
	$(call install,$(PACKAGES))

mpi-packages:
	$(call install,$(MPI_PACKAGES))

bare-packages:
	$(call install,$(BARE_PACKAGES))

aarch64-packages:
	$(call install,$(AARCH64_PACKAGES))

dist-packages:
	$(call install,$(DIST_PACKAGES))

lab-packages:
	$(call install,$(LAB_PACKAGES))

define install
@missing=; for package in $(1); do \
	dpkg -s $$package >/dev/null 2>&1 || missing="$$missing $$package"; done; \
if [ -z "$$missing" ]; then exit 0; fi; \
if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing; \
else echo "missing system packages:$$missing (sudo apt-get install$$missing); tests that need them say so and skip"; fi
endef
