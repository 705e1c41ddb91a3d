# Every task of this repository. It needs Go, make and git, and downloads only Go modules.
# The comment after `##` documents a target; `make` prints them.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # the go command uses all cores by itself, and the order of checks is meant
MAKEFLAGS += --no-print-directory --no-builtin-rules

bin := $(CURDIR)/.bin

# Files that `make generate` or `go mod tidy` writes.
chart := charts/targetgate
generated := config/crd config/rbac config/webhook config/provision/crd config/provision/webhook go.mod go.sum \
	targets/v1beta1/zz_generated.deepcopy.go balancers/v1beta1/zz_generated.deepcopy.go \
	$(chart)/files/crd.yaml $(chart)/files/ingressclassparams-crd.yaml $(chart)/files/known-values.yaml $(chart)/README.md $(chart)/ANNOTATIONS.md $(chart)/values.schema.json

# The race detector needs a C compiler and its headers. RACE=required makes their absence an error.
race := $(shell [ "$$(go env CGO_ENABLED)" = 1 ] && echo '#include <pthread.h>' | $$(go env CC) -E - >/dev/null 2>&1 && echo -race)

# Compilers take most of the time of a first `make`, so they leave out what a test bed can do without: DWARF, which only debuggers read,
# and a pass that saves bounds checks. In code that is generated, or seldom runs, they inline nothing. With an empty build cache,
# that saves a sixth of the CPU time of targetgate and the control plane. All builds here have the same flags, so that Go's build cache has
# each package once, and paths without the folder of this clone, so that clones share the packages. Releases have none of these but
# -trimpath (config/release).
quick := -dwarf=false -d=ssa/prove/off
not_inlined := github.com/aws/aws-sdk-go-v2/service k8s.io
inlined := $(addprefix k8s.io/,apimachinery apiserver $(addprefix client-go/,gentype rest tools transport util))
gcflags = $(foreach path,$1,'-gcflags=$(path)/...=$2')

# Nothing needs C but the race detector.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath '-gcflags=all=$(quick)' $(call gcflags,$(not_inlined),$(quick) -l) $(call gcflags,$(inlined),$(quick))

# What is built here to be tested, and to test it, is built without parts of Kubernetes that nothing uses and that cost most of the time
# (.tools/without). $(call lean,NAME) are the flags for a module that is called so here. The two files of fakes are for tests of Kubernetes,
# and import 59 packages; the script says what it leaves out.
lean = -modfile=$(bin)/lean/$1/go.mod -overlay=$(bin)/lean/$1/overlay.json
unused := k8s.io/client-go 'informers/*/*/*.go:untyped-informers.sed'
unused_in_kubernetes := k8s.io/apiserver pkg/admission/plugin/policy/generic/policy_test_context.go \
	-- k8s.io/kubernetes pkg/scheduler/backend/queue/testing.go

# 2 min with an empty cache. The arithmetic of keys is Go's own, shares nothing, and is not watched: with it, targetgate takes 141 s of CPU
# instead of 60 in the tests of certificates.
race_flags := $(if $(race),-race $(foreach path,nistec/... bigmod,"-gcflags=crypto/internal/fips140/$(path)=-race=false $(quick)"))
with_race := CGO_ENABLED=$(if $(race),1,0)

# In Go 1.26, goroutines of one synctest bubble that receive from expired timers at the same time break the race detector, which ends
# the tests with "CHECK failed" (golang/go#78156). With one processor they take turns. Four packages still run at a time.
race_cpu := $(if $(race),-cpu 1)

# $(call timed,title,command) prints what runs, and how long it took.
timed = @echo "== $1"; begun=$$(date +%s); $2; status=$$?; echo "== $1: $$(($$(date +%s) - begun)) s"; exit $$status

##@ Start here

.PHONY: help
help: ## Print this.
	@awk 'BEGIN { FS = ":.*## "; print "usage: make <target>" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: demo-takes .bin/targetgate .bin/control-plane .bin/demo ## Roll a Deployment with and without targetgate on this machine, side by side.
	@.bin/demo -control-plane $(bin)/control-plane -targetgate $(bin)/targetgate

# How long it takes is said before anything is compiled.
.PHONY: demo-takes test-takes rest-takes
demo-takes:
	@echo "make demo takes about 7 min on two cores while Go's caches are empty, and a minute after that."
test-takes:
	@echo "make test takes at most 12 min on two cores after make demo, and some 6 min more while Go's caches are empty."
rest-takes:
	@echo "make test-rest takes at most 45 min on two cores after make test."

##@ Build

.PHONY: build
build: .bin/targetgate ## Build targetgate into .bin/.

.PHONY: control-plane
control-plane: .bin/control-plane ## Build the Kubernetes control plane of the test bed into .bin/.

.PHONY: release-artifacts
release-artifacts: .bin/helm ## Write the release artifacts of VERSION=v1.2.3 into dist/ (about 7 min the first time, then 1).
	$(call timed,release artifacts,go run ./config/release -helm .bin/helm -version "$(VERSION)" -output dist)

.PHONY: clean
clean: ## Remove everything built here, except Go's caches.
	rm -rf .bin dist

##@ Change

.PHONY: generate
generate: .bin/controller-gen | lean-targetgate ## Generate deep copies, CRD, RBAC and webhook configuration from the code's markers, and the chart's README, annotations, schema and value names.
	@.bin/controller-gen object:headerFile=config/boilerplate.go.txt paths=./targets/v1beta1 paths=./balancers/v1beta1
	@.bin/controller-gen crd paths=./targets/v1beta1 output:crd:dir=config/crd
	@.bin/controller-gen crd paths=./balancers/v1beta1 output:crd:dir=config/provision/crd
	@.bin/controller-gen rbac:roleName=targetgate webhook \
		paths=./cmd/... paths=./webhook paths=./webhook/bindings paths=./webhook/certs paths=./webhook/pods \
		paths=./targets/... paths=./readiness/... output:rbac:dir=config/rbac output:webhook:dir=config/webhook
	@.bin/controller-gen webhook paths=./webhook/... output:webhook:dir=config/provision/webhook
	@cp config/crd/elbv2.k8s.aws_targetgroupbindings.yaml $(chart)/files/crd.yaml
	@cp config/provision/crd/elbv2.k8s.aws_ingressclassparams.yaml $(chart)/files/ingressclassparams-crd.yaml
	@go run $(call lean,targetgate) ./charts/generate $(chart)

.PHONY: fmt
fmt: .bin/golangci-lint ## Format the code and group its imports.
	@.bin/golangci-lint fmt

##@ Check

.PHONY: vet
vet: .bin/targetgate ## Run go vet, including the end-to-end tests.
	go vet $(call lean,targetgate) -tags e2e ./...

.PHONY: lint
lint: .bin/golangci-lint .bin/targetgate .bin/govulncheck ## Check style, licence headers and import directions (rules in .golangci.yml), subjects of commits, sizes of files, that doc.go files name the others, and for known vulnerabilities (VULNDB=URL names a copy of their database).
	@.tools/sizes 1024
	@.tools/subjects 0df6391
	@.tools/listed
	@.tools/vulnerabilities-tried .bin/govulncheck
	.tools/vulnerabilities .bin/govulncheck .bin/targetgate ./cmd/targetgate $(VULNDB)
	.bin/golangci-lint run

.PHONY: verify
verify: tidy generate ## Fail if generated files, go.mod or go.sum are stale.
	@git rev-parse --git-dir >/dev/null
	@stale=$$(git diff --name-only -- $(generated); git ls-files --others --exclude-standard -- $(generated)); \
	if [ -n "$$stale" ]; then \
		git --no-pager diff -- $(generated); \
		echo "Not as committed or staged: run 'make generate' and 'git add' these:" >&2; echo "$$stale" >&2; exit 1; \
	fi; \
	echo "Nothing is stale."

.PHONY: tidy
tidy:
	@go mod tidy -diff || { echo "go.mod or go.sum is stale: run 'go mod tidy'" >&2; exit 1; }

.PHONY: presubmit
presubmit: verify vet lint test ## Run what a change must pass before it is committed: verify, vet, lint, test. CI runs test-rest as well.

##@ Test

# docs/design/test-bed.md has the table of what runs in which, the budgets, and how to make room. e2e/split reads it.
.PHONY: test
test: test-takes test-unit test-core ## Run the unit tests and a core of each package of end-to-end tests, without the race detector (at most 12 min).
	$(call slowest,unit core)

.PHONY: test-rest
test-rest: rest-takes test-race test-others ## Run all that make test leaves out: the other end-to-end tests, and all unit tests with the race detector (at most 45 min).
	$(call slowest,race others)

.PHONY: test-all
test-all: test test-rest ## Run all tests.

# Compilers and tests collect garbage less often. The targetgate that the end-to-end tests start has Go's default.
test-unit test-core test-race test-others: export GOGC := 400

# What passes is not run again until something changes that it reads: nothing here may keep go from caching that, such as -shuffle.
.PHONY: test-unit
test-unit: .bin/gotestsum .bin/targetgate
	$(call timed,unit tests,packages=$$(go run ./e2e/split unit) && $(without_programs) \
		$(call summed,unit,pkgname) -timeout 10m $$packages)

.PHONY: test-core
test-core: .bin/gotestsum .bin/targetgate .bin/control-plane
	$(call timed,core of the end-to-end tests,tests=$$(go run ./e2e/split core) && $(without_programs) \
		TARGETGATE_BINARY=$(bin)/targetgate TARGETGATE_CONTROL_PLANE=$(bin)/control-plane \
		$(call summed,core,testname) -tags e2e -count=1 -timeout 15m $$tests)

.PHONY: test-race
test-race: race .bin/gotestsum .bin/targetgate$(race) .bin/helm
	$(call timed,all unit tests in random order,$(with_race) \
		$(call summed,race,pkgname) $(race_flags) $(race_cpu) -shuffle=on -timeout 20m $(unit_longest) ./...)

.PHONY: test-others
test-others: race .bin/gotestsum .bin/helm .bin/targetgate$(race) .bin/control-plane .bin/cert-manager .bin/kubectl .bin/external-dns
	$(call timed,all other end-to-end tests,tests=$$(go run ./e2e/split rest) && $(with_programs) \
		$(call summed,others,testname) -tags e2e -count=1 -timeout 40m $$tests)

# Not in CI. What fails says the seed of its history; SEED=... MORE=... runs that one again, or more.
MORE ?= 10
SEED := $(or $(SEED),$(shell date +%s))
property = go test $(call lean,targetgate) -vet=off -ldflags=-w -count=1 -timeout 4h
.PHONY: simulate
simulate: export GOGC := 400
simulate: | lean-targetgate ## Run the tests by random histories through ten times as many as make test does (MORE=10), and others (SEED=...).
	$(call timed,bindings from seed $(SEED),$(property) ./targets -run '^TestModel$$' -histories $$((300 * $(MORE))) -seed $(SEED))
	$(call timed,rules of security groups,$(property) ./targets/networking -run '^TestHistories' -networking.histories $$((200 * $(MORE))))
	$(call timed,plans of load balancers,$(property) ./balancers/plan -pairs $$((8000 * $(MORE))))

.PHONY: bench-groups
bench-groups: ## Measure what a group of Ingresses costs that asks for very much: a table, and JSON (some 2 min).
	@go test -vet=off ./balancers/ingress/preview -run '^$$' -bench HostileGroups -benchtime 1x

.PHONY: bench bench-all
bench: .bin/control-plane .bin/targetgate ## Measure targetgate; print its goals and past figures of aws-load-balancer-controller beside (at most 12 min; BENCH='-scenario one,rush' chooses, BENCH=-list lists).
	@go run $(call lean,targetgate) ./e2e/bench -control-plane $(bin)/control-plane -targetgate $(bin)/targetgate $(BENCH)

bench-all: .bin/control-plane .bin/targetgate ## Measure all scenarios (about 45 min).
	@go run $(call lean,targetgate) ./e2e/bench -control-plane $(bin)/control-plane -targetgate $(bin)/targetgate -scenario all $(BENCH)

# Four packages at a time, as most wait more than they work: the next one begins when one ends, the longest first. Vet, which looks at all
# that they import, has a target of its own. Only debuggers read DWARF: traces and races have their lines without it.
# $(call summed,name,format) shows progress, and what has failed at the end.
summed = .bin/gotestsum --format $2 --format-hide-empty-pkg --hide-summary skipped --jsonfile $(bin)/tests-$1.json -- $(call lean,targetgate) -p 4 -vet=off -ldflags=-w
# $(call slowest,name ...) prints the ten slowest tests of these.
slowest = @echo "== the ten slowest tests:"; cat $(patsubst %,$(bin)/tests-%.json,$1) | .bin/gotestsum tool slowest --num 10

# Of the unit tests. A package that is named twice runs once.
unit_longest := ./targets ./charts ./e2e/kubelet ./e2e/emulator/dataplane

# The test bed runs without the race detector, which would slow down what is measured on two cores; its unit tests use it.
with_programs = TARGETGATE_BINARY=$(bin)/targetgate$(race) TARGETGATE_CONTROL_PLANE=$(bin)/control-plane TARGETGATE_HELM=$(bin)/helm \
	TARGETGATE_KUBECTL=$(bin)/kubectl TARGETGATE_CERT_MANAGER=$(bin)/cert-manager TARGETGATE_EXTERNAL_DNS=$(bin)/external-dns
# make test builds none of these. A test there that wants one fails, also where one is left from another run.
without_programs = TARGETGATE_HELM=/make-test-builds-no-helm TARGETGATE_KUBECTL=/make-test-builds-no-kubectl \
	TARGETGATE_CERT_MANAGER= TARGETGATE_EXTERNAL_DNS=

.PHONY: race
race:
ifneq ($(race),)
	@echo "Race detector: on, in the unit tests and in the targetgate that the end-to-end tests start."
else
	@echo "Race detector: OFF, because there is no working C compiler (install gcc or clang to have it)."
ifeq ($(RACE),required)
	@echo "RACE=required: that is an error." >&2; exit 1
endif
endif

# Programs. Go decides which of our own to rebuild; the others change only with their go.mod.

.PHONY: FORCE
version = -ldflags "-w -X main.version=$(shell git describe --always --dirty 2>/dev/null || echo unknown)"

.bin/targetgate: FORCE | lean-targetgate
	@.tools/build $@ . 3 $(call lean,targetgate) $(version) ./cmd/targetgate

.bin/targetgate-race: FORCE | lean-targetgate
	@$(with_race) .tools/build $@ . 3 $(call lean,targetgate) $(race_flags) $(version) ./cmd/targetgate

.bin/demo: FORCE | lean-targetgate
	@.tools/build $@ . 1 $(call lean,targetgate) -ldflags=-w ./e2e/demo

kubernetes = $(shell sed -n 's|^.*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' e2e/kubernetes/go.mod)
kubernetes_flags = -s -w $(foreach value,gitVersion=$(kubernetes) gitMajor=1 gitMinor=$(word 2,$(subst ., ,$(kubernetes))),\
	-X k8s.io/component-base/version.$(value))

.bin/control-plane: e2e/kubernetes/go.mod e2e/kubernetes/go.sum $(wildcard e2e/kubernetes/*.go) | lean-kubernetes
	@.tools/build $@ e2e/kubernetes 3 $(call lean,kubernetes) -ldflags "$(kubernetes_flags)" .

# Built after the control plane, with which they share most packages.
.bin/cert-manager .bin/kubectl .bin/external-dns: .bin/control-plane
.bin/cert-manager: $(wildcard e2e/kubernetes/certmanager/*.go) | lean-kubernetes
	@.tools/build $@ e2e/kubernetes 1 $(call lean,kubernetes) -ldflags "-s -w" ./certmanager
.bin/kubectl: $(wildcard e2e/kubernetes/kubectl/*.go) | lean-kubernetes
	@.tools/build $@ e2e/kubernetes 1 $(call lean,kubernetes) -ldflags "$(kubernetes_flags)" ./kubectl

.bin/external-dns: e2e/externaldns/cmd/go.mod e2e/externaldns/cmd/go.sum $(wildcard e2e/externaldns/cmd/*.go) | lean-externaldns
	@.tools/build $@ e2e/externaldns/cmd 1 $(call lean,externaldns) -ldflags "-s -w" .

# It takes a tenth of a second when nothing changes.
.PHONY: lean-targetgate lean-kubernetes lean-externaldns lean-tools
lean-targetgate: module := .
lean-kubernetes: module := e2e/kubernetes
lean-externaldns: module := e2e/externaldns/cmd
lean-tools: module := .tools
lean-targetgate lean-kubernetes lean-externaldns lean-tools: lean-%:
	@cd $(module) && $(CURDIR)/.tools/without $(bin)/lean/$* $(unused) $(if $(filter kubernetes,$*),-- $(unused_in_kubernetes))

# The `tool` lines of .tools/go.mod pin the tools, and name the main package of each.
.bin/controller-gen .bin/gotestsum .bin/govulncheck: minutes := 1
.bin/golangci-lint .bin/helm: minutes := 4
.bin/controller-gen .bin/gotestsum .bin/govulncheck .bin/golangci-lint .bin/helm: .tools/go.mod .tools/go.sum | lean-tools
	@.tools/build $@ .tools $(minutes) $(call lean,tools) "$$(awk '/\/$(@F)$$/ { print $$1 }' .tools/go.mod)"
