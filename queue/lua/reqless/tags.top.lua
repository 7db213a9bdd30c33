-- tags.top(now [, offset [, limit]]) -> JSON list of the tags used at least twice,
-- most used first, [] if none
return top_tags(page_arguments(2, 'Tag', 'offset', 'limit'))
