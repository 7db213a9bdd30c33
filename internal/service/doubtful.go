package service

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"oarlock/internal/config"
	"oarlock/internal/plan"
	"oarlock/internal/web"
)

// Warnings tells what is no mistake in cfg and may become one, a sentence each, with the remedy: for `oarlock check` and doctor.
func Warnings(cfg config.Config) []string {
	return slices.Concat(cfg.Warnings(), plan.Warnings(cfg), noLongerAnswer(cfg.Web))
}

// noLongerAnswer says which tokens answer no parked job any more. It is for one version, as Tokens.PutOnly.
func noLongerAnswer(w config.Web) []string {
	if w.Listen == "" || w.TokensFile == "" {
		return nil
	}
	tokens, err := web.OpenTokens(w.TokensFile, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil // it is told as what is wrong
	}
	names := tokens.PutOnly()
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("web.tokens_file: a right to put no longer answers parked jobs, so %s cannot; if they should, add respond, or respond:CLASS, to their lines.", strings.Join(names, ", "))}
}
