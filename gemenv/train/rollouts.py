"""Who plays during a training: the model, and the policies it is compared with."""

from collections.abc import Sequence
from functools import partial

from gemenv.core.registry import make
from gemenv.rollout.collect import collect, group_starts
from gemenv.rollout.engine import SamplingParams
from gemenv.rollout.engines.torch_engine import TorchEngine
from gemenv.rollout.policies.token_policy import TokenPolicy
from gemenv.rollout.policy import Policy
from gemenv.rollout.renderer import Renderer, make_renderer
from gemenv.rollout.renderers.template import TemplateRenderer
from gemenv.rollout.trajectory import Trajectory
from gemenv.train.config import TrainConfig
from gemenv.train.model import LanguageModel


async def play(
    config: TrainConfig,
    policy: Policy,
    seeds: Sequence[int],
    *,
    group_size: int = 1,
    policy_seed: int = 0,
) -> list[Trajectory]:
    """Play episodes in the run's environment.

    Args:
        config: its `env` and `rollout` are read.
        policy: who plays.
        seeds: of the environment, one a group.
        group_size: episodes from each seed.
        policy_seed: from it the policy's own choices are drawn.

    Returns:
        The episodes, group by group.
    """
    return await collect(
        partial(make, config.env.id, **config.env.kwargs),
        policy,
        group_starts(seeds, group_size, policy_seed=policy_seed),
        max_concurrent=config.rollout.max_concurrent,
        deadline_s=config.rollout.deadline_s,
        system_prompt=config.env.system_prompt,
    )


class ModelPlayer:
    """The model as a policy, sampled in this process.

    Args:
        config: its `rollout` and `model.context_tokens` are read.
        model: who plays.
    """

    def __init__(self, config: TrainConfig, model: LanguageModel) -> None:
        is_from_scratch = config.model.path is None  # so no family's rules can apply
        renderer = TemplateRenderer if is_from_scratch else make_renderer
        self.renderer: Renderer = renderer(model.tokenizer)
        self.engine = TorchEngine(
            model.network,
            max_batch_size=config.rollout.max_batch,
            max_context_tokens=config.model.context_tokens,
        )
        self._max_new_tokens = config.rollout.max_new_tokens

    def policy(self, temperature: float) -> Policy:
        """Return the policy at a temperature; it follows the engine's weights."""
        sampling = SamplingParams(max_new_tokens=self._max_new_tokens, temperature=temperature)
        return TokenPolicy(self.engine, self.renderer, sampling)
