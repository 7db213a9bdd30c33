#!/bin/sh
# Reads only the data of a job and answers with the checksum of that line.
sum=$(sha256sum)
printf '{"@":"ack","run":"%s","data":"%s"}\n' "$OARLOCK_RUN" "${sum%% *}"
