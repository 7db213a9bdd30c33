-- Whether the call was made by a reqless name. The assembler sets it to true
-- for those; a qless command, and a batch command unless it says so, runs with
-- false.
reqless = false
