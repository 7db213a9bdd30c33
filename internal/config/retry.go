package config

import "strings"

// retryDefaults gives pools and classes whose backoff is quartic the default that is lowkiq's: no wait is cut; and notes which
// classes have waits of their own.
func (d *decoder) retryDefaults(c *Config) {
	for name, p := range c.Pools {
		if p.Retry.Backoff.Curve == "quartic" && !d.isSet("pools."+name+".retry.max_delay") {
			p.Retry.MaxDelay = 0
			c.Pools[name] = p
		}
	}
	for name, k := range c.Klass {
		at := "klass." + name + ".retry"
		for path := range d.places {
			k.OwnRetry = k.OwnRetry || path == at || strings.HasPrefix(path, at+".")
		}
		if k.Retry.Backoff.Curve == "quartic" && !d.isSet(at+".max_delay") {
			k.Retry.MaxDelay = 0
		}
		c.Klass[name] = k
	}
}
