# Takes jobs as they come in one message, and writes them to a file with one write.
#
# A job: {"file": "/path/to/list", "line": "one more line"}

require_relative "oarlock"

Oarlock.batches do |batch|
  good, bad = batch.partition { |job| job.data.is_a?(Hash) && job.data.key?("line") }
  bad.each { |job| job.fail("there is no line in it", group: "no-line") }
  good.group_by { |job| job.data["file"] }.each do |path, jobs|
    File.write(path, "#{jobs.size}: #{jobs.map { |job| job.data['line'] }.join(' ')}\n", mode: "a")
  end
end
