#!/bin/sh
# Works one job: it comes on stdin, as one line of JSON, and what is printed is its log.
#
# The exit code says what became of it: 0 done, 75 try again later, 65 this will never
# work; others are retried up to the job's retries.
read -r job
echo "worked on job $OARLOCK_JID: ${#job} bytes"
