-- config.set(now, name, value) -> null
-- The same in both dialects.
return qless.config.set()
