package config

// retryDefaults gives pools whose backoff is quartic the default that is lowkiq's: no wait is cut.
func (d *decoder) retryDefaults(c *Config) {
	for name, p := range c.Pools {
		if p.Retry.Backoff.Curve == "quartic" && !d.isSet("pools."+name+".retry.max_delay") {
			p.Retry.MaxDelay = 0
			c.Pools[name] = p
		}
	}
}
