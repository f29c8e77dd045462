import asyncio
from collections import Counter as Tally
from collections.abc import Sequence

import pytest
from numpy.random import Generator

import gemenv
from gemenv import Env, Message
from gemenv.core.seeding import Stream, make_generator
from gemenv.errors import ArgumentError
from gemenv.rollout.policies.human_policy import HumanPolicy
from gemenv.rollout.policies.named import named_policy
from gemenv.rollout.policies.text_policy import (
    ConstantPolicy,
    FunctionPolicy,
    MixturePolicy,
    RandomPolicy,
    ScriptedPolicy,
)
from gemenv.rollout.policy import Policy
from tests.rollout.toys import Counter, play, says


def answers(policy: Policy, num_turns: int, env: Env | None = None, seed: int = 0) -> list[str]:
    """Return what a policy answers in an environment that is not stepped."""
    env = env or gemenv.make("game:GuessTheNumber")
    observation, _ = env.reset(seed=seed)
    player = policy.start(env, make_generator(seed, Stream.POLICY))
    conversation = [Message(role="user", content=observation)]

    async def ask() -> list[str]:
        return [(await player.act(conversation)).text for _ in range(num_turns)]

    return asyncio.run(ask())


def test_a_random_policy_draws_legal_actions_evenly():
    tally = Tally(answers(RandomPolicy(), 4000))
    assert sorted(tally) == sorted(rf"\boxed{{{number}}}" for number in range(1, 11))
    assert min(tally.values()) > 300
    assert max(tally.values()) < 500


def test_a_random_policy_samples_where_no_legal_actions_are_listed():
    assert set(answers(RandomPolicy(), 300, Counter())) == {rf"\boxed{{{n}}}" for n in range(10)}


def test_random_choices_follow_from_the_seed():
    assert answers(RandomPolicy(), 20, seed=1) == answers(RandomPolicy(), 20, seed=1)
    assert answers(RandomPolicy(), 20, seed=1) != answers(RandomPolicy(), 20, seed=2)


def test_a_constant_policy_repeats_one_action_within_an_episode_only():
    episodes = [tuple(answers(ConstantPolicy(), 5, seed=seed)) for seed in range(20)]
    assert all(len(set(episode)) == 1 for episode in episodes)
    assert len(set(episodes)) > 3


def test_the_oracle_wins_at_once_and_the_expert_within_the_limit():
    for seed in range(10):
        env = gemenv.make("game:GuessTheNumber")
        env.reset(seed=seed)
        assert env.step(answers(named_policy("oracle"), 1, env.fork()[0], seed)[0]).reward == 1.0
    episode = play(gemenv.make("game:GuessTheNumber"), named_policy("expert"))
    assert episode.success


def test_a_reference_that_an_environment_lacks_is_a_policy_error():
    episode = play(Counter(), named_policy("oracle"))
    assert episode.outcome == "policy_error"
    assert "has no oracle" in (episode.error or "")


def test_a_script_is_read_from_the_top_in_every_episode():
    policy = ScriptedPolicy(["a", "b"])
    assert answers(policy, 2) == answers(policy, 2) == ["a", "b"]


def test_a_script_that_runs_out_is_a_policy_error_unless_it_repeats():
    assert play(Counter(num_turns=3), ScriptedPolicy(["a", "b"])).outcome == "policy_error"
    assert answers(ScriptedPolicy(["a", "b"], repeat_last=True), 4) == ["a", "b", "b", "b"]


def test_a_function_sees_the_conversation_and_the_generator():
    def function(conversation: Sequence[Message], rng: Generator) -> str:
        return f"{len(conversation)} {rng.integers(100)}"

    policy = FunctionPolicy(function, name="mine")
    episode = play(Counter(num_turns=2), policy)
    assert [turn.action.split()[0] for turn in episode.turns] == ["1", "3"]
    assert episode.policy == "mine"
    assert play(Counter(num_turns=2), policy).turns[1].action == episode.turns[1].action


def test_a_mixture_answers_by_weight():
    policy = MixturePolicy({says("a"): 6.0, says("b"): 2.0})
    tally = Tally(answers(policy, 4000))
    assert 0.72 < tally["a"] / 4000 < 0.78


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_a_mixture_needs_weights_above_zero(weight: float):
    with pytest.raises(ArgumentError, match="weights above 0"):
        MixturePolicy({RandomPolicy(): 1.0, ConstantPolicy(): weight})


def test_a_mixture_needs_policies():
    with pytest.raises(ArgumentError, match="needs policies"):
        MixturePolicy({})


def test_a_named_mixture_is_named_as_it_was_asked_for():
    assert named_policy("mixture:random=0.7,expert=0.3").name == "mixture:random=0.7,expert=0.3"


@pytest.mark.parametrize(
    "name",
    ["", "oracel", "mixture:", "mixture:random", "mixture:random=x", "mixture:nobody=1", "model:x"],
)
def test_an_unknown_name_is_refused(name: str):
    with pytest.raises(ArgumentError, match="There is no policy"):
        named_policy(name)


def test_a_person_is_shown_the_observation_and_asked():
    shown: list[str] = []

    def ask(text: str) -> str:
        shown.append(text)
        return r"\boxed{1}"

    episode = play(Counter(num_turns=2), HumanPolicy(ask))
    assert shown[1] == "turn 1\n> "
    assert [turn.action for turn in episode.turns] == [r"\boxed{1}"] * 2
