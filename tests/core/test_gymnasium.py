"""A gemenv environment is a Gymnasium environment, to Gymnasium itself."""

import subprocess
import sys
from pathlib import Path

import gymnasium
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import gemenv

_ROOT = Path(__file__).parents[2]
_ID = "gemenv:game/GuessTheNumber-v0"


def test_gymnasium_alone_finds_and_plays_it() -> None:
    code = f"""
import gymnasium
env = gymnasium.make("{_ID}-hard", high=30)
observation, info = env.reset(seed=3)
assert "between 1 and 30" in observation, observation
observation, reward, terminated, truncated, info = env.step(env.unwrapped.oracle_action())
print(env.spec.id, reward, terminated, truncated, info["success"])
"""
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "game/GuessTheNumber-v0-hard 1.0 True False True", done.stderr


def test_gymnasium_s_checker_passes_without_a_warning() -> None:
    check_env(gemenv.make("game:GuessTheNumber"), skip_render_check=True)


def test_gymnasium_s_wrappers_go_around_it() -> None:
    env = gymnasium.wrappers.TimeLimit(gemenv.make("game:GuessTheNumber-hard"), 2)
    env = gymnasium.wrappers.RecordEpisodeStatistics(env)
    env.reset(seed=1)
    env.step(r"\boxed{1}")
    *_, truncated, info = env.step(r"\boxed{2}")
    assert truncated
    assert info["episode"]["l"] == 2


def test_a_vector_environment_steps_it_and_resets_where_it_ended() -> None:
    envs = gymnasium.make_vec(_ID, num_envs=3, vectorization_mode="sync")
    observations, infos = envs.reset(seed=[1, 2, 1])
    assert observations[0] == observations[2]
    assert infos["turn"].tolist() == [0, 0, 0]
    answer = envs.envs[0].unwrapped.oracle_action()
    _, rewards, terminated, _, infos = envs.step([answer, r"\boxed{10}", r"\boxed{10}"])
    assert rewards.tolist() == [1.0, 0.0, 0.0]
    assert terminated.tolist() == [True, False, False]
    assert infos["success"][0]
    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    observations, _, terminated, *_ = envs.step([r"\boxed{10}"] * 3)
    assert observations[0].startswith("Guess the hidden whole number")
    assert not terminated[0]
    envs.close()


def test_a_vector_of_equal_seeds_plays_equal_episodes() -> None:
    envs = gymnasium.make_vec(_ID, num_envs=4, vectorization_mode="sync")
    envs.reset(seed=[5] * 4)
    observations, *_ = envs.step([r"\boxed{5}"] * 4)
    assert len(set(observations)) == 1
    assert len(envs.action_space.sample()) == 4
