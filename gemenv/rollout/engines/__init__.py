"""Engines: from token ids to sampled token ids."""
