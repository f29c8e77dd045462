"""An episode can be frozen, copied and continued, and no copy knows of another."""

import pickle

from gemenv.core.env import Env
from gemenv.testing.check import Factory, check
from gemenv.testing.play import explore, follow, freeze, replay, require_same

_NUM_EPISODES = 3
_KEEP_IN_STATE = "keep all that changes in self.state, and nothing there that others share"


@check
def check_snapshot(make: Factory, seed: int) -> None:
    """A snapshot, pickled or not, brings back its moment, however often and whatever came after."""
    for each in range(seed, seed + _NUM_EPISODES):
        env, rest, expected = _halfway(make, each)
        frozen = freeze(env)
        pickled = pickle.dumps(frozen)
        follow(env, rest)
        for when in ("after later steps", "a second time"):
            env.restore(frozen)
            problem = f"A snapshot restored {when} went on differently"
            require_same(expected, follow(env, rest), problem, fix=_KEEP_IN_STATE)
        other = make()
        other.restore(pickle.loads(pickled))
        problem = "A pickled snapshot went on differently in a new instance"
        require_same(expected, follow(other, rest), problem, fix=_KEEP_IN_STATE)


@check
def check_pickle(make: Factory, seed: int) -> None:
    """A pickled environment goes on where the episode stood."""
    for each in range(seed, seed + _NUM_EPISODES):
        env, rest, expected = _halfway(make, each)
        freeze(env)  # what cannot be frozen need not be pickled in the middle
        twin: Env = pickle.loads(pickle.dumps(env))
        problem = "A pickled environment went on differently"
        require_same(expected, follow(twin, rest), problem, fix=_KEEP_IN_STATE)


@check
def check_fork(make: Factory, seed: int) -> None:
    """Forks go on as the original would, and neither disturbs the other."""
    for each in range(seed, seed + _NUM_EPISODES):
        env, rest, expected = _halfway(make, each)
        freeze(env)
        stray, twin = env.fork(2)
        follow(stray, rest[::-1])
        for who, one in (("The original", env), ("Its fork", twin)):
            problem = f"{who} went on differently, after another fork had been stepped"
            require_same(expected, follow(one, rest), problem, fix=_KEEP_IN_STATE)


def _halfway(make: Factory, seed: int) -> tuple[Env, list[str], list[str]]:
    """Return an environment in mid-episode, the actions that follow, and what they lead to."""
    actions = explore(make(), seed)
    middle = len(actions) // 2
    expected = replay(make(), seed, actions)[1 + middle :]
    env = make()
    replay(env, seed, actions[:middle])
    return env, actions[middle:], expected
