"""From trajectories to a better policy.

Reading order of the numeric core: `turn_table.py` and `advantage.py` (numpy, no torch),
`credit.py`, `aggregation.py`, `losses/`, `algorithms.py` (an algorithm is a choice of parts),
`presets.py` (the named ones), `policy_loss.py`. Of the trainer around it: `config.py`, `loop.py`,
`batch.py`, `learner.py`, `run_folder.py`.
"""
