"""Fails at boot."""
import no_such_module
