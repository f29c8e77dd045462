r"""gemenv: the Gym for language-model agents.

    import gemenv

    env = gemenv.make("game:GuessTheNumber")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(r"\boxed{5}")

Read next: `core/env.py`, `core/action.py`, `envs/game/guess_the_number.py`,
`rollout/trajectory.py`, `train/algorithms.py`, `train/loop.py`.
"""

from gemenv import errors
from gemenv.core import plugins as _plugins
from gemenv.core.action import ActionForm, ActionSet, action_set
from gemenv.core.env import Env, Info, Step
from gemenv.core.message import Message, Observation
from gemenv.core.notation import boxed, fence, json_call, tag
from gemenv.core.registry import list_envs, make, register, spec
from gemenv.core.snapshot import Snapshot
from gemenv.core.spec import EnvSpec
from gemenv.wrappers.wrapper import Wrapper

__all__ = [
    "ActionForm",
    "ActionSet",
    "Env",
    "EnvSpec",
    "Info",
    "Message",
    "Observation",
    "Snapshot",
    "Step",
    "Wrapper",
    "action_set",
    "boxed",
    "errors",
    "fence",
    "json_call",
    "list_envs",
    "make",
    "register",
    "spec",
    "tag",
]
__version__ = "0.1.0"

_plugins.load_bundled()  # so that gymnasium.make("gemenv:game/Sudoku-v0") finds its id
