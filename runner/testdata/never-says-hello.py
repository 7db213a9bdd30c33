"""Starts for ever: the hello that is waited for does not come."""
import time

print("loading", flush=True)
time.sleep(1000)
