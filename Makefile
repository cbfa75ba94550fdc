# The commands that a change may need; .ci/run is the whole gate.
VERSION ?= $(shell git describe --tags --always 2>/dev/null || echo devel)

.PHONY: build test pages bench fuzz release
build: ## the command, for this machine
	go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o sglplan ./cmd/sglplan

test: ## every test
	go test ./...

pages: ## docs/ from the code and the embedded launches
	go run ./internal/pages docs
	go run ./cmd/sglplan docs docs

bench: ## docs/benchmarks.md, measured on this machine
	internal/bench/run.sh | tee docs/benchmarks.tmp
	mv docs/benchmarks.tmp docs/benchmarks.md

fuzz: ## every fuzz target for FUZZTIME
	.ci/fuzz $(or $(FUZZTIME),10s)

release: ## dist/: binaries, wheels, checksums and the bill of materials
	packaging/release.sh "$(VERSION)"
