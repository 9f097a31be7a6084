# `make demo` and `make test` need only Go on Debian 12 or 13. What else they need they install as root;
# for an ordinary user they say the one command that does.

GO      ?= go
MODULES := . stand
# A program that is stripped in the end needs no debugging information in the middle, and a compiler that collects garbage less often takes
# a fifth less time, and up to 1 GiB more. Tests are compiled with the same flags (test/run), so that they share what is compiled.
BUILD   := CGO_ENABLED=0 GOGC=400 GOMEMLIMIT=2GiB $(GO) build -trimpath -gcflags=all=-dwarf=false -ldflags "-s -w"
SYSTEMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64
CHECKER := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONS := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
each     = set -e; for m in $(MODULES); do (cd $$m && $(1)); done

# What only tests use. What users need, `muster doctor` installs.
TOOLS := awscli buildah curl e2fsprogs fio iproute2 iptables openmpi-bin openssh-server procps python3-torch python3-venv shellcheck tmux tree umoci
# buildah of Debian 13 makes no container without it.
TOOLS += $(shell grep -qs trixie /etc/os-release && echo netavark)

# What only benchmarks use.
BENCH_TOOLS := e2fsprogs gcc iproute2 jq mmdebstrap pigz python3-venv skopeo squashfs-tools squashfuse time umoci zstd

# Packages are installed without starting or enabling their services, as doctor does it.
UNSTARTED := -o DPkg::Path=$(CURDIR)/internal/local/doctor/guard:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

.PHONY: help build demo demo-aws test soak check dist archive bench bench-small clean doctor tools python shellcheck
.DEFAULT_GOAL := build
.NOTPARALLEL:

# A target with two number signs behind it is for people: `make help` lists these.
help: ## this list
	@awk -F ' *:.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/muster and bin/muster-stand
	@echo "compiling muster and muster-stand: the first time this takes minutes, with what it downloads"
	@$(BUILD) -o bin/muster ./cmd/muster
	@cd stand && $(BUILD) -o ../bin/muster-stand .

demo: build ## 80 nodes on this machine, a training that loses one of them, and nothing left
	bin/muster demo --yes

# Its machines boot here: as root, and with the Slurm that doctor installs.
demo-aws: doctor python ## the same on the double of AWS
	$(GO) build -o bin/muster-cloud ./test/cloud/muster-cloud
	bin/muster-cloud demo bin/muster test/cloud/demo

# Everything is compiled and installed before the first test starts, so that neither disturbs a cluster. Each promise is proved once here;
# what repeats at random, measures, or trains for long is for `make soak`.
test: build ## each promise once
	@$(BUILD) -o bin/test-run ./test/run
	@bin/test-run -install 'make --no-print-directory doctor python'

soak: build ## what repeats at random, measures, or trains for long
	@$(BUILD) -o bin/test-run ./test/run
	@bin/test-run -soak -install 'make --no-print-directory doctor python bin/sharded/made'

check: shellcheck ## format, vet, staticcheck, other systems, the house's rules, shell: without running anything
	@diff=$$(gofmt -d bench cmd docs examples internal stand test) && test -z "$$diff" || { printf '%s\n' "$$diff"; exit 1; }
	$(call each,$(GO) vet ./...)
	$(call each,$(GO) run $(CHECKER) ./...)
	$(GO) run $(ACTIONS)
	GOOS=darwin GOARCH=arm64 $(BUILD) -o /dev/null ./cmd/muster
	GOOS=linux GOARCH=arm64 $(BUILD) -o /dev/null ./cmd/muster
	$(GO) test -count=1 ./internal
	shellcheck --external-sources $$(find . -path ./.git -prune -o -path ./bin -prune -o -name testdata -prune -o -type f -exec \
		awk '/^#!.*\/(env )?(ba)?sh$$/ { print FILENAME } { nextfile }' {} +)
	shellcheck --shell=sh internal/local/nodes/*.sh internal/sys/tie/*.sh

dist: ## what goes onto other machines: muster for each system, and the archive
	rm -rf bin/dist
	set -e; for s in $(SYSTEMS); do GOOS=$${s%-*} GOARCH=$${s#*-} $(BUILD) -o bin/dist/muster-$$s ./cmd/muster; done
	[ "$$(uname -s)" != Linux ] || $(MAKE) archive
	cd bin/dist && $$(command -v sha256sum || echo shasum -a 256) muster-* >SHA256SUMS

archive: build ## the programs, and the plugin for the Slurm of this machine
	mkdir -p bin/dist
	bin/muster agent plugin bin
	tar --create --gzip --file bin/dist/muster-$$(bin/muster version | awk '{ sub(",", "", $$2); print $$2; exit }')-linux-$$($(GO) env GOARCH).tar.gz \
		--directory bin muster muster-stand $$(cd bin && ls spank_muster-*.so)

bench: build ## every benchmark
	bench/run

# Its figures and limits mean nothing.
bench-small: build ## every benchmark once, to see that it still measures something
	$(MAKE) tools TOOLS="$(BENCH_TOOLS)"
	bench/run --small

clean: ## remove bin
	rm -rf bin

doctor: build ## install what local clusters need
	bin/muster doctor --demo --yes

tools: ## install what only tests use
	@missing=$$(dpkg-query --show --showformat '$${db:Status-Status} $${Package}\n' $(TOOLS) 2>&1 | \
		awk '$$1 != "installed" { print $$NF }'); \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" != 0 ]; then echo "tests that use these are skipped; as root: apt-get install --no-install-recommends" $$missing; exit 0; fi; \
	mkdir -p bin; echo "installing from Debian:" $$missing; apt-get -qq update; \
	DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $(UNSTARTED) -o Dpkg::Use-Pty=0 $$missing >bin/tools.log 2>&1 || \
	{ cat bin/tools.log; exit 1; }

# Python programs that tests use: moto and cfn-lint in bin/py; in bin/clients and bin/trainers, those that run on nodes, by the
# Python that nodes have, the latter beside Debian's PyTorch. A soak also has PyPI's PyTorch, of 5 GB, in bin/sharded. Each is made anew when its versions or this
# directory's path have changed. Nodes compile nothing for others: what runs there is compiled here; bin/py is compiled as it is used.
python: bin/py/made bin/clients/made bin/trainers/made ## the Python programs that tests use

PYTHON_STAMP = { echo '$(CURDIR)'; cat $(1); }
PYTHON_MADE  = @if $(call PYTHON_STAMP,$(2)) | cmp --silent - $@; then exit 0; fi; \
	rm -rf $(@D); \
	$(1) -c 'import ensurepip, venv' 2>/dev/null || { echo "tests that use $(@D) are skipped: python3-venv is missing"; exit 0; }; \
	echo "installing from PyPI into $(@D): the $$(grep -c == $(2)) packages of $(2)"; \
	$(1) -m venv $(3) $(@D) && $(@D)/bin/pip install -qq --disable-pip-version-check --no-deps $(4) --requirement $(2) && \
	$(call PYTHON_STAMP,$(2)) > $@

.PHONY: bin/py/made bin/clients/made bin/trainers/made bin/sharded/made

bin/py/made: tools
	$(call PYTHON_MADE,python3,test/cloud/requirements.txt,,--no-compile)

bin/clients/made: tools
	$(call PYTHON_MADE,/usr/bin/python3,test/clients/requirements.txt)

bin/trainers/made: tools
	$(call PYTHON_MADE,/usr/bin/python3,test/trainers/requirements.txt,--system-site-packages)

bin/sharded/made: tools
	$(call PYTHON_MADE,/usr/bin/python3,test/trainers/sharded.txt)

shellcheck: ## install shellcheck
	@$(MAKE) --no-print-directory tools TOOLS=shellcheck
