# Reads no job.
exit 1
