-- queues.counts(now) -> JSON list of the counts of all known queues, oldest first,
-- [] if there are none
return json_list(all_counts(tonumber(ARGV[1])))
