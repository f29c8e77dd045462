"""Losses on token log-probs: torch, one concept a file, any floating dtype in and the same out.

Read `log_ratio.py` first, then `surrogate.py`; `metrics.py` says how metrics add up.
"""
