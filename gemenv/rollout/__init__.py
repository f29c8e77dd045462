"""From a policy and an environment to a trajectory."""
