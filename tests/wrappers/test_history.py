"""History shows the whole prompt as one observation."""

import pytest

import gemenv
from gemenv.core.env import Env, Info, Step
from gemenv.errors import ArgumentError
from gemenv.wrappers import History

_HIGHER = ["The hidden number is higher than 1.", "The hidden number is higher than 2."]
_GUESSES = [r"I try \boxed{1}", r"and \boxed{2}"]


def _observations(actions=_GUESSES, **how) -> list[str]:
    env = History(gemenv.make("game:GuessTheNumber-v0-hard"), **how)
    first, _ = env.reset(seed=1)
    return [first, *(env.step(action).observation.removeprefix(first) for action in actions)]


def test_the_first_observation_is_the_environment_s() -> None:
    assert _observations()[0] == gemenv.make("game:GuessTheNumber-v0-hard").reset(seed=1)[0]


def test_every_observation_so_far_is_shown_in_order() -> None:
    assert _observations()[1:] == [f"\n{_HIGHER[0]}", f"\n{_HIGHER[0]}\n{_HIGHER[1]}"]


def test_answers_stand_before_what_they_led_to() -> None:
    expected = f"\n{_GUESSES[0]}\n{_HIGHER[0]}\n{_GUESSES[1]}\n{_HIGHER[1]}"
    assert _observations(with_actions=True)[2] == expected


def test_only_the_last_turns_are_kept_but_always_the_first_observation() -> None:
    assert _observations(num_turns=1)[2] == f"\n{_HIGHER[1]}"
    answered = _observations(num_turns=1, with_actions=True)[2]
    assert answered == f"\n{_GUESSES[1]}\n{_HIGHER[1]}"
    assert _observations(num_turns=2) == _observations(num_turns=None)


def test_a_reset_forgets() -> None:
    env = History(gemenv.make("game:GuessTheNumber"))
    first, _ = env.reset(seed=1)
    env.step(r"\boxed{1}")
    again, _ = env.reset(seed=2)
    assert again == first
    assert env.step(r"\boxed{1}").observation == f"{first}\n{_HIGHER[0]}"


def test_a_fork_s_history_is_its_own() -> None:
    env = History(gemenv.make("game:GuessTheNumber-v0-hard"))
    env.reset(seed=1)
    (twin,) = env.fork()
    env.step(r"\boxed{1}")
    assert twin.step(r"\boxed{2}").observation.splitlines()[1:] == [_HIGHER[1]]


@pytest.mark.parametrize("num_turns", [0, -3])
def test_at_least_one_turn_is_shown(num_turns) -> None:
    with pytest.raises(ArgumentError, match="at least the latest turn"):
        History(gemenv.make("game:GuessTheNumber"), num_turns=num_turns)


class Gallery(Env):
    """Every observation is an image, but for the answer to the first action."""

    def __init__(self) -> None:
        super().__init__(actions=gemenv.make("game:GuessTheNumber").actions, max_turns=3)

    def _image(self) -> list[dict]:
        return [{"type": "image_url", "image_url": {"url": f"{self.turn}.png"}}]

    def begin(self, options):
        return self._image(), Info()

    def advance(self, action):
        return Step("Seen." if self.turn == 1 else self._image(), 0.0, False, False, Info())


def test_images_make_the_history_a_list_of_content_parts() -> None:
    env = History(Gallery(), with_actions=True)
    env.reset(seed=1)
    env.step("Look.")
    observation = env.step("Again.").observation
    assert [part.get("text") or part["image_url"]["url"] for part in observation] == [
        "0.png", "Look.", "Seen.", "Again.", "2.png"
    ]  # fmt: skip


def test_changing_what_was_shown_does_not_change_the_history() -> None:
    env = History(Gallery())
    first, _ = env.reset(seed=1)
    first[0]["image_url"]["url"] = "forged.png"
    second = env.step("Look.").observation
    second[0]["image_url"]["url"] = "forged.png"
    assert env.step("Again.").observation[0]["image_url"]["url"] == "0.png"
