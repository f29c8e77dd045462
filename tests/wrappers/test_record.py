"""Record keeps each finished episode, once and as it was."""

import json

import gemenv
from gemenv.wrappers import Record, TurnLimit


def _play(env, seed=1, actions=(r"\boxed{1}", "no number, sorry")) -> None:
    env.reset(seed=seed)
    for action in actions:
        env.step(action)


def test_a_finished_episode_can_be_played_again_from_its_record() -> None:
    env = Record(gemenv.make("game:GuessTheNumber", high=30))
    _play(env, seed=7)
    (episode,) = env.episodes
    again = gemenv.make(episode["env_id"], **episode["env_kwargs"])
    observation, _ = again.reset(seed=episode["seed"], options=episode["options"])
    assert observation == episode["observation"]
    for turn in episode["turns"]:
        step = again.step(turn["action"])
        assert (step.observation, step.reward) == (turn["observation"], turn["reward"])
        assert step.info == turn["info"]
    assert (episode["terminated"], episode["truncated"]) == (True, False)
    assert episode["return"] == -0.1


def test_an_unfinished_episode_is_not_kept() -> None:
    env = Record(gemenv.make("game:GuessTheNumber"))
    _play(env, actions=[r"\boxed{1}"])
    _play(env)
    assert [len(episode["turns"]) for episode in env.episodes] == [2]


def test_a_truncated_episode_is_kept() -> None:
    env = Record(TurnLimit(gemenv.make("game:GuessTheNumber"), 1))
    _play(env, actions=[r"\boxed{1}"])
    assert env.episodes[0]["truncated"] is True
    assert env.episodes[0]["turns"][0]["info"]["stop_reason"] == "turn_limit"


def test_changing_an_info_does_not_change_the_record() -> None:
    env = Record(gemenv.make("game:GuessTheNumber"))
    env.reset(seed=0)
    env.step("nothing").info.clear()
    assert env.episodes[0]["turns"][0]["info"]["stop_reason"] == "format_error"


def test_a_file_gets_one_line_for_each_episode_after_those_it_has(tmp_path) -> None:
    path = tmp_path / "episodes.jsonl"
    in_memory = Record(gemenv.make("game:GuessTheNumber"))
    for seed in (1, 2):
        env = Record(gemenv.make("game:GuessTheNumber"), path)
        _play(env, seed)
        _play(in_memory, seed)
        assert env.episodes == []
    assert [json.loads(line) for line in path.read_text().splitlines()] == in_memory.episodes


def test_any_answer_can_be_written(tmp_path) -> None:
    path = tmp_path / "episodes.jsonl"
    answer = 'a lone surrogate \udcff, a NUL \0, a line\nend, "quotes" and \u2028'
    _play(Record(gemenv.make("game:GuessTheNumber"), path), actions=[answer])
    (line,) = path.read_text(encoding="utf-8").split("\n")[:-1]
    assert json.loads(line)["turns"][0]["action"] == answer


def test_a_snapshot_takes_the_record_back_with_the_episode() -> None:
    env = Record(gemenv.make("game:GuessTheNumber"))
    env.reset(seed=1)
    snapshot = env.snapshot()
    env.step(r"\boxed{1}")
    env.restore(snapshot)
    env.step("nothing")
    assert [turn["action"] for turn in env.episodes[0]["turns"]] == ["nothing"]


def test_forks_record_their_own_episodes_in_the_same_place() -> None:
    env = Record(gemenv.make("game:GuessTheNumber"))
    env.reset(seed=0)
    for twin in env.fork(3):
        twin.step("nothing")
    assert [len(episode["turns"]) for episode in env.episodes] == [1, 1, 1]
    assert env.state["turns"] == []
