# Every target is a thin name for a command that also works without make.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

build: ## a static, reproducible binary: ./oarlock
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$(VERSION)" -o oarlock .

test: ## install what the tests need, then format, vet, staticcheck and all tests with -race
	go run ./internal/check

faults: ## the whole fault matrix; takes long
	go run ./internal/check -faults ./runner/... ./integration/...

soak: ## ordinary work, faults and both at once, for long; OARLOCK_SEED=7 or 1-20 names the seeds, OARLOCK_LENGTH=10m how long a year takes
	go run ./internal/check -faults -run '^Test(DayOf|Soak|J4)' ./integration

bench: ## what this machine does
	go run . bench

screenshots: ## make the README's screenshots anew, in a real browser
	cd integration/browser && npm ci --ignore-scripts --no-audit --no-fund && OARLOCK_SCREENSHOTS=../../docs/screenshots go test -count=1 -run '^TestScreenshots$$' -timeout 10m .

help:
	@grep -E '^[a-z]+: ##' Makefile | sed 's/: ## /\t/'

.PHONY: build test faults soak bench screenshots help
