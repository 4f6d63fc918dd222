# Every target does its own set-up; a second run finds it done and needs no
# network. See README.md for what each is for.

GO        ?= go
GOFUMPT    = $(GO) run mvdan.cc/gofumpt@v0.12.0
STATICCHECK = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI   = $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
DEADCODE   = $(GO) run golang.org/x/tools/cmd/deadcode@v0.52.0
# One way to compile programs and tests, so that each package is compiled once. Without
# cgo programs start sooner and take less address space; gRPC's traces are templates, with
# which the linker keeps all methods; the commit goes in by hand, since Go's own stamp
# fails in a checkout of another user.
export CGO_ENABLED ?= 0
export GOFLAGS := $(GOFLAGS) -buildvcs=false -trimpath -tags=grpcnotrace
REVISION   = $(shell git describe --always --dirty --abbrev=12 2>/dev/null)
LDFLAGS    = -s -w

# Programs of this module, and modules of their own that live in the tree.
BACKENDS = $(patsubst %,./%,$(wildcard backends/*/cmd/*))
DRIVERS  = $(if $(filter linux,$(shell $(GO) env GOOS)),$(addprefix ./,$(filter-out driver/cuda/%,$(wildcard driver/*/cmd/tritonc-device-*))))
MODULES  = $(patsubst %/go.mod,%,$(wildcard examples/backends/*/go.mod))

.PHONY: build
build: ## bin/tritonc, beside it tritonc-nats and tritonc-plot, the backends and the drivers of AMD and Ascend, in bin/examples those of examples/
	$(GO) build -ldflags '$(LDFLAGS) -X main.revision=$(REVISION)' -o bin/ ./cmd/tritonc
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/tritonc-nats ./cmd/tritonc-plot $(BACKENDS) $(DRIVERS)
	@set -e; for m in $(MODULES); do \
		echo "$(GO) build ($$m)"; \
		(cd $$m && $(GO) build -ldflags '$(LDFLAGS)' -o "$(CURDIR)/bin/examples/" ./...); \
	done

.PHONY: device-cuda
device-cuda: ## bin/tritonc-device-cuda, the driver of NVIDIA GPUs, which needs cuda.h
	@GO='$(GO)' scripts/device-cuda.sh bin

.PHONY: cuda-header
cuda-header: # tests of that driver are skipped where there is no cuda.h
	-@scripts/device-cuda.sh --header

.PHONY: demo
demo: toolchain-nvidia build ## compile the first example and show what came out
	@scripts/demo.sh

# The suites whose time is mostly LLVM's; internal/once runs it once for an input.
SUITES     = ./test/kernels ./test/targets ./backends/nvidia/gpu ./backends/amd/gpu ./internal/gpu64
ONCE       = PATH='$(CURDIR)/build/once':"$$PATH"
ONCE_CLEAN = find "$${XDG_CACHE_HOME:-$$HOME/.cache}/tritonc/once" -mindepth 1 -mtime +14 -exec rm -rf {} + 2>/dev/null || true

# Tests have memory to spare and keep little: a collector that comes later saves a
# seventh of their time. The two halves take about as long as each other.
GOTEST = GOGC=$${GOGC:-400} $(GO) test -timeout 30m

.PHONY: test
test: toolchain cuda-header build once ## the whole suite
	@$(ONCE_CLEAN)
	@$(MAKE) --no-print-directory -j2 -Oline test-suites test-packages

# The chip of AMD's that random programs run on, by the seed.
CHIPS = gfx90a gfx942 gfx950 gfx1100 gfx1200
DRAWN = $(word $(shell echo $$(($${TRITONC_SEED:-$$(date +%s)} % 5 + 1))),$(CHIPS))

.PHONY: test-suites
test-suites: # what compiles and runs many kernels
	$(ONCE) $(GOTEST) $(SUITES)
	cd test/numeric && $(ONCE) $(GOTEST) # in its folder, so that it says how much of the product ran
	cd test/numeric && $(ONCE) TRITONC_TARGET=gpu64:gfx942 TRITONC_SHARD=1/8 $(GOTEST) -run '^TestSuite$$'
	cd test/numeric && $(ONCE) TRITONC_TARGET=hip:gfx942 TRITONC_SHARD=2/8 $(GOTEST) -run '^TestSuite$$'
	cd test/numeric && $(ONCE) TRITONC_TARGET=hip:gfx1100 TRITONC_SHARD=3/8 $(GOTEST) -run '^TestSuite$$'
	cd test/numeric && $(ONCE) TRITONC_TARGET=hip:gfx90a TRITONC_SHARD=4/16 $(GOTEST) -run '^TestSuite$$'
	cd test/numeric && $(ONCE) TRITONC_TARGET=hip:gfx950 TRITONC_SHARD=5/16 $(GOTEST) -run '^TestSuite$$'
	cd test/numeric && $(ONCE) TRITONC_TARGET=hip:gfx1200 TRITONC_SHARD=6/16 $(GOTEST) -run '^TestSuite$$'
	cd test/numeric && $(ONCE) TRITONC_TARGET=cuda:80 TRITONC_OPTIONS=ptx=llvm TRITONC_SHARD=6/8 $(GOTEST) -run '^TestSuite$$'
	cd test/numeric && $(ONCE) TRITONC_TARGET=cuda:90 TRITONC_OPTIONS=ptx=llvm TRITONC_SHARD=7/8 $(GOTEST) -run '^TestSuite$$'
	cd test/numeric && $(ONCE) TRITONC_TARGET=hip:$(DRAWN) $(GOTEST) -run '^TestRandom.*$$'
	cd test/numeric && TRITONC_TARGET=npu:ascend910b3 TRITONC_SHARD=7/8 $(GOTEST) -run '^TestSuite$$|^TestRandom.*$$'

.PHONY: test-packages
test-packages: # all others
	$(GOTEST) $$($(GO) list ./... | grep -vxF $(foreach s,$(SUITES) ./test/numeric,-e github.com/tritonc/tritonc/$(s:./%=%)))
	@set -e; for m in $(MODULES); do echo "$(GO) test ($$m)"; (cd $$m && $(GO) test ./...); done
	@$(MAKE) --no-print-directory test-bench

.PHONY: once
once:
	@$(GO) build -o build/once/ ./internal/once && for tool in llc-22 opt-22; do ln -sf once build/once/$$tool; done

.PHONY: test-bench
test-bench: ## what of bench/, scripts/ and integrations/ can be tested without a GPU
	@if command -v python3 >/dev/null; then for dir in bench scripts integrations/triton/tests; do \
		echo "python3 -m unittest ($$dir)"; PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover -s $$dir || exit 1; \
	done; else echo "bench, scripts, integrations: skipped, there is no python3"; fi

.PHONY: numeric
numeric: toolchain ## the tests of the lowering, on what our passes make of its kernels instead of Triton's
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	TRITONC_TTGIR_OUT=$$dir $(GO) test -count=1 -run '^TestTTGIR$$' ./test/triton && \
	TRITONC_TTGIR_DIR=$$dir $(GO) test -count=1 -skip '^TestSharedTraffic$$' ./backends/nvidia/gpu

.PHONY: test-all
test-all: toolchain numeric ## all of the numeric suite, of which make test runs a sample, and all kernels on chips of AMD's
	for chip in gfx942 gfx1100; do TRITONC_TARGET=hip:$$chip $(GO) test -timeout 2h ./test/kernels || exit 1; done
	TRITONC_ALL=1 $(GO) test -timeout 2h ./test/kernels ./backends/amd/gpu
	for cc in 80 90; do TRITONC_TARGET=cuda:$$cc TRITONC_OPTIONS=ptx=llvm $(GO) test -timeout 2h ./test/kernels || exit 1; done
	cd test/numeric && TRITONC_ALL=1 $(GO) test -timeout 6h

.PHONY: check
check: ## formatting, vet on three systems, staticcheck, golangci-lint, deadcode, and race
	@echo gofumpt -l .; out=$$($(GOFUMPT) -l .); if [ -n "$$out" ]; then echo "$$out"; exit 1; fi
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	$(STATICCHECK) ./...
	$(GOLANGCI) run ./...
	@echo deadcode -test ./...; out=$$($(DEADCODE) -test ./...); if [ -n "$$out" ]; then echo "$$out"; exit 1; fi
	@set -e; for m in $(MODULES); do echo "$(GO) vet ($$m)"; (cd $$m && $(GO) vet ./...); done
	@set -e; if scripts/device-cuda.sh --check >/dev/null 2>&1; then \
		echo "$(GO) vet (driver/cuda)"; eval "$$(scripts/device-cuda.sh --env)"; cd driver/cuda && $(GO) vet ./...; \
	else echo "driver/cuda is not vetted: scripts/device-cuda.sh --check says why"; fi
	@$(MAKE) --no-print-directory race

# Packages whose code several goroutines run at once.
CONCURRENT = ./cmd/tritonc/serve ./core ./core/backend ./core/cache/... ./core/filememo/... ./core/frontend ./core/plugin/... ./core/trust/... ./plugin-sdk ./driver/kernel ./driver/launch ./driver/remote ./driver/sim/simt/... ./driver/simulated ./farm/...

.PHONY: race
race: ## tests of what runs concurrently, with Go's race detector
	@if command -v "$$($(GO) env CC)" >/dev/null; then \
		echo "$(GO) test -race"; CGO_ENABLED=1 $(GO) test -race $(CONCURRENT); \
	else echo "race: skipped, Go's race detector needs a C compiler"; fi

.PHONY: toolchain
toolchain: ## find or provide LLVM 22 and ptxas; FOR=nvidia or FOR=amd: what its devices need
	@scripts/toolchain.sh $(if $(FOR),--for '$(FOR)')

.PHONY: toolchain-nvidia
toolchain-nvidia: # ptxas, all that kernels for NVIDIA's devices need
	@scripts/toolchain.sh --for nvidia

.PHONY: law
law: ## parse, verify and print every IR file below DIR; the bytes must be the same
	@test -n "$(DIR)" || { echo "usage: make law DIR=folder-with-ttir-and-ttgir-files" >&2; exit 2; }
	TRITONC_LAW_DIR='$(abspath $(DIR))' $(GO) test -count=1 -run '^TestLaw$$' -v ./core/ir/text

FUZZTIME ?= 30s
# Go minimizes each input that reaches new code for up to a minute, and runs no
# other meanwhile.
.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME
	@set -e; for f in $$(grep -rl '^func Fuzz' --include=*_test.go . | sort); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(.*/\1/p' $$f); do \
			echo "$$(dirname $$f) $$target"; \
			$(GO) test $$(dirname $$f) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x; \
		done; \
	done

TASKS ?= 100000
.PHONY: soak-farm
soak-farm: ## a farm of up to 64 worker processes and three servers: throughput, and TASKS tasks while disks, workers, servers and sockets fail
	TRITONC_SOAK=$(TASKS) $(GO) test -timeout 3h -count=1 -v -run '^TestSoak$$' ./farm/work

.PHONY: python-law
python-law: ## our trees beside those of CPython's own parser over its whole standard library; needs python3.12
	@for p in "$$TRITONC_PYTHON" python3.12 python3; do \
		test -n "$$p" && command -v "$$p" >/dev/null && "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 8))' && exit 0; \
	done; echo "python-law needs python3, best python3.12 (Debian: apt-get install python3), or name one with TRITONC_PYTHON" >&2; exit 1
	TRITONC_AST_LAW=1 $(GO) test -count=1 -timeout 30m -v -run 'Law$$' ./core/frontend/syntax

.PHONY: bench
bench: toolchain-nvidia build ## the speed table of docs/testing.md
	$(GO) test -run '^$$' -bench . -cpu 1 ./cmd/tritonc

.PHONY: performance
performance: toolchain ## measure and rewrite the tables of docs/results/performance.md
	@if [ -n "$$TRITONC_TRITON_PTX" ]; then $(GO) test -count=1 -run '^TestTriton$$' ./test/counts; fi
	TRITONC_PERFORMANCE=1 $(GO) test -count=1 -timeout 30m -run '^TestDocument' ./test/counts

.PHONY: release
release: ## dist/ with an archive for each platform, SHA256SUMS; VERSION=v1.2.3 stamps that
	@$(GO) run ./internal/release

.PHONY: release-check
release-check: ## make this system's archive twice, compare the bytes, and try it and go install
	@$(GO) run ./internal/release -check

# The Python package of integrations/triton, for Linux. WHEEL_ARCH=arm64 crosses.
WHEEL_ARCH ?= $(shell $(GO) env GOARCH)
.PHONY: wheel
wheel: ## dist/tritonc-….whl, tritonc for Triton and torch.compile; PLAT_NAME gives another tag
	@command -v python3 >/dev/null || { echo "make wheel needs python3 (Debian: apt-get install python3)" >&2; exit 1; }
	@$(GO) run ./internal/release -version '$(VERSION)' -programs build/wheel/linux_$(WHEEL_ARCH) -platforms linux/$(WHEEL_ARCH)
	@python3 integrations/triton/wheelbuild.py --programs build/wheel/linux_$(WHEEL_ARCH) -o dist $(if $(PLAT_NAME),--plat-name '$(PLAT_NAME)')

.PHONY: clean
clean: ## what was built here; the toolchain in the user's cache stays
	rm -rf bin build dist

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile
