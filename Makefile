# `make demo` and `make test` need only Go on Debian 12 or 13. What else they need they install as root;
# for an ordinary user they say the one command that does.

GO      ?= go
MODULES := . stand
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w"
SYSTEMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64
CHECKER := honnef.co/go/tools/cmd/staticcheck@v0.8.2
each     = set -e; for m in $(MODULES); do (cd $$m && $(1)); done

# What only tests use. What users need, `muster doctor` installs.
TOOLS := awscli buildah openmpi-bin openssh-server procps python3-torch python3-venv tree umoci

# What only benchmarks use.
BENCH_TOOLS := e2fsprogs gcc iproute2 jq mmdebstrap pigz python3-venv skopeo squashfs-tools squashfuse time umoci zstd

# Packages are installed without starting or enabling their services, as doctor does it.
UNSTARTED := -o DPkg::Path=$(CURDIR)/internal/local/doctor/guard:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

.PHONY: build demo demo-aws test check dist archive bench bench-small clean doctor tools python shellcheck

build:
	$(BUILD) -o bin/muster ./cmd/muster
	cd stand && $(BUILD) -o ../bin/muster-stand .

# From nothing to a trained model, and back.
demo: build
	bin/muster demo --yes

# The same on the double of AWS, whose machines boot here: as root, and with the Slurm that doctor installs.
demo-aws: doctor python
	$(GO) build -o bin/muster-cloud ./test/cloud/muster-cloud
	bin/muster-cloud demo bin/muster test/cloud/demo

# What tests whole clusters takes longest and mostly waits, so it begins first and the rest runs beside it. Go would end a
# package after ten minutes, which a machine that does something else may take.
test: doctor python
	$(call each,$(GO) vet ./...)
	$(GO) test -timeout 60m ./test ./test/aws ./...
	cd stand && $(GO) test -timeout 60m ./...

# What machines and tools see without running anything: format, vet, staticcheck, other systems, the house's rules, shell.
check: shellcheck
	@diff=$$(gofmt -d bench cmd docs examples internal stand test) && test -z "$$diff" || { printf '%s\n' "$$diff"; exit 1; }
	$(call each,$(GO) vet ./...)
	$(call each,$(GO) run $(CHECKER) ./...)
	GOOS=darwin GOARCH=arm64 $(BUILD) -o /dev/null ./cmd/muster
	GOOS=linux GOARCH=arm64 $(BUILD) -o /dev/null ./cmd/muster
	$(GO) test -count=1 ./internal
	shellcheck --external-sources $$(find . -path ./.git -prune -o -path ./bin -prune -o -name testdata -prune -o -type f -exec \
		awk '/^#!.*\/(env )?(ba)?sh$$/ { print FILENAME } { nextfile }' {} +)
	shellcheck --shell=sh internal/local/nodes/*.sh internal/sys/tie/*.sh

# What goes onto other machines: muster for each system, and an archive for local clusters on machines like this one.
dist:
	rm -rf bin/dist
	set -e; for s in $(SYSTEMS); do GOOS=$${s%-*} GOARCH=$${s#*-} $(BUILD) -o bin/dist/muster-$$s ./cmd/muster; done
	[ "$$(uname -s)" != Linux ] || $(MAKE) archive
	cd bin/dist && $$(command -v sha256sum || echo shasum -a 256) muster-* >SHA256SUMS

# The programs, and the plugin for the Slurm of this machine.
archive: build
	mkdir -p bin/dist
	bin/muster agent plugin bin
	tar --create --gzip --file bin/dist/muster-$$(bin/muster version | awk '{ sub(",", "", $$2); print $$2; exit }')-linux-$$($(GO) env GOARCH).tar.gz \
		--directory bin muster muster-stand $$(cd bin && ls spank_muster-*.so)

bench: build
	bench/run

# Every benchmark once, to see that it still measures something: its figures and limits mean nothing.
bench-small: build
	$(MAKE) tools TOOLS="$(BENCH_TOOLS)"
	bench/run --small

clean:
	rm -rf bin

doctor: build
	bin/muster doctor --demo --yes

tools:
	@missing=$$(dpkg-query --show --showformat '$${db:Status-Status} $${Package}\n' $(TOOLS) 2>&1 | \
		awk '$$1 != "installed" { print $$NF }'); \
	[ -z "$$missing" ] || if [ "$$(id -u)" = 0 ]; then apt-get install --yes --no-install-recommends $(UNSTARTED) $$missing; \
	else echo "tests that use these are skipped; as root: apt-get install --no-install-recommends" $$missing; fi

# Python programs that tests use: moto and cfn-lint in bin/py; in bin/clients, those that run on nodes, by the Python that
# nodes have. Each is made anew when its versions or this directory's path have changed.
python: tools bin/py/made bin/clients/made

PYTHON_STAMP = { echo '$(CURDIR)'; cat $(1); }
PYTHON_MADE  = @if $(call PYTHON_STAMP,$(2)) | cmp --silent - $@; then exit 0; fi; \
	rm -rf $(@D); \
	$(1) -c 'import ensurepip, venv' 2>/dev/null || { echo "tests that use $(@D) are skipped: python3-venv is missing"; exit 0; }; \
	$(1) -m venv $(@D) && $(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --requirement $(2) && \
	$(call PYTHON_STAMP,$(2)) > $@

.PHONY: bin/py/made bin/clients/made

bin/py/made: tools
	$(call PYTHON_MADE,python3,test/cloud/requirements.txt)

bin/clients/made: tools
	$(call PYTHON_MADE,/usr/bin/python3,test/clients/requirements.txt)

shellcheck:
	@command -v shellcheck >/dev/null || apt-get install --yes --no-install-recommends shellcheck
