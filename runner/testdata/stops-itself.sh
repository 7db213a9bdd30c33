#!/bin/sh
# Begins with its job and is stopped, as by a debugger.
read -r job
kill -STOP $$
