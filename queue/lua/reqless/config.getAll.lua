-- config.getAll(now) -> JSON object of all settings, as text
--
-- Reads    ql:config
return all_settings(reqless_defaults)
