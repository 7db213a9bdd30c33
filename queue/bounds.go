package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"oarlock/queue/internal/bounds"
)

// bounded is the value of the first of several settings that is set, within the bounds of name.
func (c *Client) bounded(ctx context.Context, name string, settings ...string) (float64, error) {
	b, _ := bounds.Of(name)
	set, err := c.redis.HMGet(ctx, c.ns+"config", settings...).Result()
	if err := harmless(classify("hmget", err)); err != nil && Class(err) != Refused {
		return 0, err
	}
	for _, value := range set {
		if text, ok := value.(string); ok {
			used, _, _ := b.Use(text)
			return used, nil
		}
	}
	return b.Otherwise, nil
}

// CheckSetting says what is wrong with the value of a setting, and what is used in its
// place, as a *SettingError; nil if nothing is, or if the setting is none of those that are numbers.
func CheckSetting(name, value string) error {
	b, ok := bounds.Of(name)
	if !ok {
		return nil
	}
	used, number, within := b.Use(value)
	if within {
		return nil
	}
	return &SettingError{name, value, b.Least, b.Most, used, number}
}

// SettingError says of a setting that its value cannot be used as it is, and what is.
type SettingError struct {
	Name, Value string
	Least, Most float64 // between which it must be
	Used        float64 // in its place
	Number      bool    // Value is a number
}

// Error speaks of a setting that is in Redis.
func (e *SettingError) Error() string {
	if !e.Number {
		return fmt.Sprintf("%s is %.40q, no number; %s is used", e.Name, e.Value, plain(e.Used))
	}
	return fmt.Sprintf("%s is %.40s, and must be from %s to %s; %s is used", e.Name, e.Value, plain(e.Least), plain(e.Most), plain(e.Used))
}

// Refusal speaks of one that is not to get there.
func (e *SettingError) Refusal() string {
	return fmt.Sprintf("%s must be a number from %s to %s, and is not to be %.40q; our supervisors would use %s, and other clients the value as it is.",
		e.Name, plain(e.Least), plain(e.Most), e.Value, plain(e.Used))
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// OddSettings reads all settings and says of each that cannot be used as it is what is used in
// its place, sorted by name.
func (c *Client) OddSettings(ctx context.Context) ([]error, error) {
	set, err := c.redis.HGetAll(ctx, c.ns+"config").Result()
	if err != nil {
		return nil, harmless(classify("hgetall", err))
	}
	var odd []error
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if err := CheckSetting(name, set[name]); err != nil {
			odd = append(odd, err)
		}
	}
	return odd, nil
}
