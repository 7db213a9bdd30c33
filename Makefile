# Every target is a thin name for a command that also works without make.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

build: ## a static, reproducible binary: ./oarlock
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$(VERSION)" -o oarlock .

test: ## install what the tests need, then run the gate: format, vet and the short tests
	go run ./internal/check

test-long: ## everything: staticcheck, models at full length with new seeds, all faults, browser, costs, a soak
	go run ./internal/check -long

bench: ## what this machine does
	go run . bench

screenshots: ## make the README's screenshots anew, in a real browser
	cd integration/browser && npm ci --ignore-scripts --no-audit --no-fund && OARLOCK_SCREENSHOTS=../../docs/screenshots go test -count=1 -run '^TestScreenshots$$' -timeout 10m .

help:
	@grep -E '^[a-z-]+: ##' Makefile | sed 's/: ## /\t/'

.PHONY: build test test-long bench screenshots help
