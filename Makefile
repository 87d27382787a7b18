# trefoil: build, test and measure. Go and make are all that a machine needs.

GO          ?= go
FUZZTIME    ?= 1m
BENCHFLAGS  ?=
KILLS       ?= 1000
FUNCTIONKILLS ?= 100
MODELTIME   ?= 600
CLUSTERTIME ?= 30m
SEEDS       ?= 1-1000
JOBS        ?= 2
TORTURETIME ?= 10m
ABUSETIME   ?= 1h
ABUSECLIENTS ?= 200
MEMBERS     ?= 64
TRIPLES     ?= 100000
PEERS       ?= .peers
STATICCHECK  = honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The packages with goroutines that share memory: there the race detector pays. (What the
# commands of internal/cli share is in these.)
RACE = ./internal/store/... ./internal/textsearch ./internal/replica ./internal/turns ./internal/engine ./internal/cluster/... ./internal/linkgraph/... ./internal/server/... ./rdfload ./client/... ./node

.DEFAULT_GOAL := help
.PHONY: help build release demo demo-cluster demo-links console test test-all test-long test-console test-python test-openapi vet lint fuzz bench bench-cluster bench-links bench-changes bench-many bench-peers torture torture-kills torture-model torture-cluster torture-processes torture-functions torture-links torture-abuse torture-race torture-seeds language fmt clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/trefoil, one binary
	$(GO) build -o bin/trefoil .

release: ## archives and Debian packages in dist/, of the tag that is checked out; needs goreleaser
	goreleaser release --clean --skip=publish

demo: build ## generate, load, serve and ask a sample: some seconds after the build, whose first time takes minutes
	@scripts/demo.sh bin/trefoil

demo-cluster: build ## five nodes on this machine, of which two are killed while they are asked
	@scripts/demo-cluster.sh bin/trefoil

demo-links: build ## a small web on three nodes, one of them killed, its lists and rankings meanwhile, in under a minute
	@scripts/demo-links.sh bin/trefoil

console: console/node_modules ## the browser's page, from console/src into internal/server/console/built; needs npm
	cd console && npx tsc && node build.mjs --sizes

test-console: console/node_modules ## the console in headless Chromium, and that its build is that of its source
	cd console && npx tsc
	TREFOIL_CLIENTS=require $(GO) test -count 1 -v -timeout 3m -run 'TestConsole' ./integration/clients

test-python: ## the Python package in python: ruff, mypy and pytest with real servers; installs python/.venv
	@scripts/clients.sh python_package
	TREFOIL_CLIENTS=require $(GO) test -count 1 -v -timeout 5m -run 'TestPythonPackage' ./integration/clients

test-openapi: build ## a server against its /openapi.json, by schemathesis if it is installed, in a minute
	@scripts/openapi.sh bin/trefoil

console/node_modules: console/package-lock.json
	cd console && npm ci --no-audit --no-fund --ignore-scripts
	touch $@

# Without C, as in a release: a test binary links a quarter faster, and nothing of C is compiled. make test-long uses C.
test test-all: export CGO_ENABLED = 0

test: vet ## what each change needs: gofmt, go vet and most suites; some minutes
	@GO="$(GO)" SCOPE=quick scripts/test.sh

test-all: lint ## the rest: staticcheck, slow tests, clusters, processes, foreign clients; CI runs both
	@GO="$(GO)" SCOPE=rest scripts/test.sh

test-long: lint ## all suites with their longest tests, then the race detector; half an hour
	@GO="$(GO)" RACE="$(RACE)" TREFOIL_LONG=1 scripts/test.sh

# Compilers that collect their garbage less often are a tenth faster.
vet: ## gofmt and go vet
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "make fmt would change:"; echo "$$unformatted"; exit 1; }
	GOGC=400 $(GO) vet ./...

lint: vet ## gofmt, go vet and staticcheck
	GOGC=400 $(GO) run $(STATICCHECK) ./...

fuzz: ## each fuzz target for FUZZTIME (1m)
	@GO="$(GO)" scripts/fuzz.sh $(FUZZTIME)

bench: build ## the figures of docs/BENCHMARKS.md; BENCHFLAGS="-triples 1000000" for less
	$(GO) run ./integration/bench -suite store -trefoil bin/trefoil $(BENCHFLAGS)

bench-cluster: build ## the figures of a cluster in docs/BENCHMARKS.md; BENCHFLAGS="-scale 0.1 -parts writes,load" for less
	$(GO) run ./integration/bench -suite cluster -trefoil bin/trefoil $(BENCHFLAGS)

bench-links: build ## the figures of links in docs/BENCHMARKS.md; BENCHFLAGS="-pages 100k -hosts 5k" for less, and files of links for more
	$(GO) run ./integration/bench -suite links -trefoil bin/trefoil $(BENCHFLAGS)

bench-changes: build ## the figures of the change feed in docs/BENCHMARKS.md; BENCHFLAGS="-triples 100000" for less
	$(GO) run ./integration/bench -suite changes -trefoil bin/trefoil $(BENCHFLAGS)

bench-many: ## MEMBERS (64) machines of a cluster with TRIPLES (100000) in one process: traffic at rest, a loss, a join, restarts
	TREFOIL_LONG=1 TREFOIL_MEMBERS=$(MEMBERS) TREFOIL_TRIPLES=$(TRIPLES) $(GO) test -count 1 -v -timeout 0 -run 'TestManyMembers' ./integration/cluster

bench-peers: build ## queries of other stores beside trefoil, installed into PEERS (.peers); BENCHFLAGS="-bsbm DIR" for BSBM's own, -update for the table
	scripts/peers.sh $(PEERS)
	$(GO) run ./integration/bench -suite peers -trefoil bin/trefoil -peers $(PEERS) $(BENCHFLAGS)

torture: torture-kills torture-model torture-cluster torture-processes torture-functions torture-links torture-race torture-seeds ## those below but torture-abuse: some hours; each prints its seeds

torture-kills: ## KILLS (1000) random kills of servers, updates and loads on one node
	TREFOIL_KILLS=$(KILLS) $(GO) test -count 1 -v -timeout 0 -run 'Kill' ./integration/cli

torture-model: ## MODELTIME seconds (600) of each model: of the cluster's protocol, and of its links
	TREFOIL_MODEL_SECONDS=$(MODELTIME) $(GO) test -count 1 -timeout 0 ./internal/testing/model/...

torture-cluster: ## CLUSTERTIME (30m) of random faults for clusters in one process; TREFOIL_SEED is the first seed
	TREFOIL_ODD=1 TREFOIL_TORTURE=$(CLUSTERTIME) $(GO) test -count 1 -v -timeout 0 -run 'TestTorture(Workload|Functions)?$$|TestLinksTorture$$' ./integration/cluster

torture-processes: ## TORTURETIME (10m) of random faults for clusters of real processes; as root with partitions, too
	TREFOIL_TORTURE=$(TORTURETIME) $(GO) test -count 1 -v -timeout 0 -run 'Torture|Partition|PacketLoss' ./integration/processes

torture-functions: ## FUNCTIONKILLS (100) kills of the process that runs update functions, alone and one of three
	TREFOIL_KILLS=$(FUNCTIONKILLS) $(GO) test -count 1 -v -timeout 0 -run 'KillFunctions' ./integration/processes

torture-links: ## links as nobody should have them: 10 million of one page, kills in a merge, dirty files; 8 GiB of memory
	TREFOIL_ABUSE=1 TREFOIL_LONG=1 $(GO) test -count 1 -v -p 1 -timeout 0 -run 'Abuse' ./links/... ./internal/linkgraph ./internal/cli ./integration/cli ./integration/cluster

torture-race: ## the clusters in one process under the race detector
	$(GO) test -race -tags pebblegozstd -count 1 -short -timeout 0 ./integration/cluster

torture-seeds: ## SEEDS (1-1000) of random faults for clusters in one process; integration/replay repeats them; JOBS (2) at once
	$(GO) run ./integration/replay -odd -seeds $(SEEDS) -jobs $(JOBS)

torture-abuse: ## ABUSETIME (1h) of ABUSECLIENTS (200) hostile clients; TREFOIL_MEMORY=2GiB for less than all memory
	TREFOIL_TORTURE=$(ABUSETIME) TREFOIL_CLIENTS=$(ABUSECLIENTS) $(GO) test -count 1 -v -timeout 0 -run 'TortureAbuse' ./integration/abuse

language: ## how comments and functions are written, in figures; each place that breaks a rule
	$(GO) run ./scripts/language -problems

fmt: ## gofmt all files
	gofmt -w .

clean: ## remove what make built
	rm -rf bin
