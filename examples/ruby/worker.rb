# Counts the lines, words and bytes of a text, with the helper.
#
# The same file works in all modes: once, reuse and preload.

require_relative "oarlock"

Oarlock.job "Count" do |job|
  begin
    text = job.data["path"] ? File.binread(job.data["path"]) : job.data["text"].b
  rescue Errno::ENOENT => e
    raise Oarlock::Fail.new(e.message, group: "no-such-file")
  end
  job.progress 50, "read #{text.bytesize} bytes"
  job.ack data: { lines: text.count("\n"), words: text.split.size, bytes: text.bytesize }
end

Oarlock.serve
