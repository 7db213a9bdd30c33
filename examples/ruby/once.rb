# Counts the lines, words and bytes of a text; one process per job, no helper.
#
# Oarlock writes one line of JSON to stdin. The answer is a line of JSON on stdout;
# without one, the exit code is the answer.

require "json"

job = JSON.parse($stdin.gets)
data = job["data"]
begin
  text = data["path"] ? File.binread(data["path"]) : data["text"].b
rescue SystemCallError => e
  warn e.message # becomes the message of the failure
  exit 66 # the input is not there: no use in trying again
end

puts "counting #{text.bytesize} bytes" # whatever is printed goes to the job's log
counts = { lines: text.count("\n"), words: text.split.size, bytes: text.bytesize }
puts JSON.generate("@" => "ack", "run" => job["run"], "data" => counts)
