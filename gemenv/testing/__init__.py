"""The conformance suite, for our environments and yours."""
