# Counts the lines, words and bytes of texts; one process for many jobs, no helper.
#
# Every line of stdin that has an "@" of "job" is a job; each is answered by one
# line. The end of the input means: no more jobs, leave.

require "json"

def count(data)
  text = data["path"] ? File.binread(data["path"]) : data["text"].b
  { lines: text.count("\n"), words: text.split.size, bytes: text.bytesize }
end

$stdout.sync = true # an answer must not wait in a buffer

$stdin.each_line do |line|
  job = JSON.parse(line)
  next unless job["@"] == "job"

  begin
    answer = { "@" => "ack", "data" => count(job["data"]) }
  rescue Errno::ENOENT => e
    answer = { "@" => "fail", "group" => "no-such-file", "message" => e.message }
  rescue StandardError => e
    answer = { "@" => "retry", "group" => e.class.name, "message" => e.message }
  end
  puts JSON.generate(answer.merge("run" => job["run"]))
end
