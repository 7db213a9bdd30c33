#!/bin/sh
# Starts for ever: the hello that is waited for does not come.
echo "loading"
exec sleep 1000
