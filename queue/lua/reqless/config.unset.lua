-- config.unset(now, name) -> null
-- The same in both dialects.
return qless.config.unset()
