-- Lists are read in pages. A page from 0 of count 0 is everything, because it
-- ends at -1; clients have learnt to use that.

-- page(offset, count) -> first, last for the range commands
function page(offset, count)
  return offset, offset + count - 1
end

-- page_arguments(i, area, offset_name, count_name) -> offset, count from ARGV[i] on
function page_arguments(i, area, offset_name, count_name)
  return number(ARGV[i] or 0, area, offset_name), number(ARGV[i + 1] or 25, area, count_name)
end
