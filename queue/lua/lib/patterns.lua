-- The pattern that every queue matches; blanks are part of it, for clients compare it.
default_priorities = '{"fairly": false, "pattern": ["default"]}'
