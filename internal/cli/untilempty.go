package cli

import (
	"errors"
	"time"

	"oarlock/internal/config"
)

// emptyWithin is what --until-empty means without a time.
const emptyWithin = 30 * time.Second

// untilEmptyValue is the value of --until-empty, which may do without a time.
type untilEmptyValue struct {
	set    bool
	within time.Duration
}

// Set reads a time; "true" is the option without one.
func (v *untilEmptyValue) Set(text string) error {
	if text == "true" {
		v.set, v.within = true, emptyWithin
		return nil
	}
	within, err := config.ParseDuration(text)
	if err == nil && within < 0 {
		err = errors.New("is negative")
	}
	if err != nil {
		return err
	}
	v.set, v.within = true, within
	return nil
}

func (v *untilEmptyValue) String() string {
	if v == nil || !v.set {
		return ""
	}
	return v.within.String()
}

// IsBoolFlag says that the option may stand alone.
func (v *untilEmptyValue) IsBoolFlag() bool { return true }
