"""From trajectories to better weights."""
