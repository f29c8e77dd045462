"""From an id to an environment, and to a helpful error."""

from collections.abc import Iterator

import gymnasium
import pytest

import gemenv
from gemenv.core import registry
from gemenv.envs.game.guess_the_number import GuessTheNumber
from gemenv.errors import ArgumentError, RegistrationError, UnknownEnvError, UnknownKeywordError

_CLASS = "gemenv.envs.game.guess_the_number:GuessTheNumber"


@pytest.fixture(autouse=True)
def _forget_what_is_registered(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_specs", dict(registry._specs))
    monkeypatch.setattr(registry, "_by_alias", dict(registry._by_alias))
    before = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


def _meaning(env_id: str) -> str:
    return str(gemenv.spec(env_id).id)


def test_every_spelling_of_an_id_means_the_full_one() -> None:
    assert _meaning("game:GuessTheNumber") == "game:GuessTheNumber-v0-easy"
    assert _meaning("game:GuessTheNumber-v0") == "game:GuessTheNumber-v0-easy"
    assert _meaning("game:GuessTheNumber-hard") == "game:GuessTheNumber-v0-hard"
    assert _meaning("game:GuessTheNumber-v0-hard") == "game:GuessTheNumber-v0-hard"


def test_an_environment_knows_what_it_was_made_from() -> None:
    env = gemenv.make("game:GuessTheNumber-hard", max_turns=9)
    assert (env.env_id, env.env_kwargs) == ("game:GuessTheNumber-v0-hard", {"max_turns": 9})
    assert (env.high, env.max_turns) == (50, 9)
    assert gemenv.make(env.env_id, **env.env_kwargs).max_turns == 9
    assert repr(env) == "<GuessTheNumber game:GuessTheNumber-v0-hard>"


def test_each_environment_is_independent() -> None:
    one, other = gemenv.make("game:GuessTheNumber"), gemenv.make("game:GuessTheNumber")
    one.reset(seed=0)
    assert other.state is None
    assert one.env_kwargs is not other.env_kwargs


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_without_a_version_the_newest_is_meant(order) -> None:
    for version in order:
        gemenv.register(f"mine:Guess-v{version}", _CLASS, kwargs={"max_turns": 10 + version})
    assert gemenv.make("mine:Guess").max_turns == 12
    assert gemenv.make("mine:Guess-v1").max_turns == 11


def test_the_first_variant_is_the_default_unless_another_is_named() -> None:
    variants = {"small": {"high": 5}, "large": {"high": 500}}
    gemenv.register("mine:First-v0", _CLASS, variants=variants)
    gemenv.register("mine:Named-v0", _CLASS, variants=variants, default_variant="large")
    assert gemenv.make("mine:First").high == 5
    assert gemenv.make("mine:Named").high == gemenv.make("mine:Named-v0-large").high == 500
    listed = [spec.id.variant for spec in gemenv.list_envs("mine")]
    assert listed == ["small", "large", "large", "small"]


def test_a_default_variant_that_is_none_of_them_is_refused() -> None:
    with pytest.raises(RegistrationError, match="has no variant 'huge'"):
        gemenv.register("mine:A-v0", _CLASS, variants={"small": {}}, default_variant="huge")
    with pytest.raises(UnknownEnvError):
        gemenv.spec("mine:A-small")


def test_keywords_go_from_common_to_variant_to_caller() -> None:
    gemenv.register(
        "mine:Guess-v0",
        _CLASS,
        kwargs={"high": 20, "max_turns": 6},
        variants={"": {}, "short": {"max_turns": 2}},
    )
    assert gemenv.make("mine:Guess").max_turns == 6
    assert gemenv.make("mine:Guess-short").max_turns == 2
    env = gemenv.make("mine:Guess-short", max_turns=3)
    assert (env.high, env.max_turns) == (20, 3)


def test_a_class_can_be_registered_as_well_as_its_name() -> None:
    gemenv.register("mine:Direct-v0", GuessTheNumber, kwargs={"high": 3})
    assert gemenv.make("mine:Direct").high == 3


def test_nothing_is_imported_until_it_is_made() -> None:
    gemenv.register("mine:Missing-v0", "no_such_module:Env")
    assert _meaning("mine:Missing") == "mine:Missing-v0"
    with pytest.raises(RegistrationError, match="no_such_module"):
        gemenv.make("mine:Missing")


def test_an_id_is_registered_once() -> None:
    gemenv.register("mine:Once-v0", _CLASS)
    with pytest.raises(RegistrationError, match=r"mine:Once-v0.* is registered already"):
        gemenv.register("mine:Once-v0", _CLASS)


def test_a_registration_that_fails_leaves_nothing_behind() -> None:
    with pytest.raises(RegistrationError):
        gemenv.register("mine:Half-v0", _CLASS, variants={"a": {}, "b b": {}})
    gemenv.register("mine:Half-v0", _CLASS, variants={"a": {}, "b": {}})
    assert _meaning("mine:Half-b") == "mine:Half-v0-b"


def test_a_variant_is_not_registered_on_its_own() -> None:
    with pytest.raises(RegistrationError, match="Variants are registered together"):
        gemenv.register("mine:Lone-v0-hard", _CLASS)


def test_a_variant_means_the_newest_version_that_has_it_in_any_order() -> None:
    gemenv.register("mine:New-v1", _CLASS, variants={"easy": {}})
    gemenv.register("mine:New-v0", _CLASS, variants={"easy": {}, "hard": {}})
    assert _meaning("mine:New-hard") == "mine:New-v0-hard"
    assert _meaning("mine:New-easy") == _meaning("mine:New") == "mine:New-v1-easy"


def test_a_short_form_that_names_something_else_is_refused() -> None:
    gemenv.register("mine:Clash-v0", _CLASS, variants={"easy": {}})
    with pytest.raises(RegistrationError, match="mine:Clash-v0-easy"):
        gemenv.register("mine:Clash-easy-v0", _CLASS)


def test_a_value_of_the_wrong_type_is_a_clear_error() -> None:
    with pytest.raises(ArgumentError, match="cannot be made with these values"):
        gemenv.make("game:GuessTheNumber", high="10")


def test_a_factory_with_free_keywords_takes_them_all() -> None:
    gemenv.register("mine:Free-v0", lambda **kwargs: GuessTheNumber(**kwargs))
    assert gemenv.make("mine:Free", high=3).high == 3


def test_gymnasium_passes_our_errors_on() -> None:
    with pytest.raises(gymnasium.error.Error, match="did you mean 'high'"):
        gymnasium.make("gemenv:game/GuessTheNumber-v0", hihg=3)


def test_only_full_ids_are_registered() -> None:
    with pytest.raises(RegistrationError, match="not a full environment id"):
        gemenv.register("mine:Once", _CLASS)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("game:GuessTheNumbr", "game:GuessTheNumber"),
        ("game:guessthenumber", "game:GuessTheNumber"),
        ("GuessTheNumber", "game:GuessTheNumber"),
        ("game:GuessTheNumber-v0-hrad", "game:GuessTheNumber-v0-hard"),
        ("gmae:GuessTheNumber", "game:GuessTheNumber"),
    ],
)
def test_an_unknown_id_suggests_the_nearest(wrong, meant) -> None:
    with pytest.raises(UnknownEnvError) as caught:
        gemenv.make(wrong)
    assert f"did you mean '{meant}" in caught.value.fix
    assert caught.value.problem == f"No environment is registered as {wrong!r}."


def test_an_id_like_none_points_to_the_list() -> None:
    with pytest.raises(UnknownEnvError) as caught:
        gemenv.spec("zzz:Qqq")
    assert caught.value.fix == "`gemenv list` shows all of them"


def test_an_unknown_keyword_suggests_the_nearest_and_names_all() -> None:
    with pytest.raises(UnknownKeywordError) as caught:
        gemenv.make("game:GuessTheNumber", hihg=3)
    error = caught.value
    assert error.problem == "game:GuessTheNumber-v0-easy does not take the keyword 'hihg'."
    assert error.fix == "did you mean 'high'?"
    for name in ("low", "high", "max_turns", "format_error_reward", "format_error_ends"):
        assert name in error.expected


def test_a_value_out_of_its_domain_is_refused_by_the_environment() -> None:
    with pytest.raises(ArgumentError, match="no number to hide"):
        gemenv.make("game:GuessTheNumber", low=5, high=4)


def test_environments_are_listed_by_family_sorted_with_the_default_first() -> None:
    gemenv.register("mine:B-v0", _CLASS, variants={"z": {}, "a": {}}, summary="Guess.")
    gemenv.register("mine:A-v1", _CLASS)
    gemenv.register("mine:A-v0", _CLASS)
    listed = [str(spec.id) for spec in gemenv.list_envs("mine")]
    assert listed == ["mine:A-v0", "mine:A-v1", "mine:B-v0-z", "mine:B-v0-a"]
    assert gemenv.spec("mine:B").summary == "Guess."
    everything = [str(spec.id) for spec in gemenv.list_envs()]
    assert set(listed) < set(everything)
    with pytest.raises(UnknownEnvError, match="no family of environments 'no_such_family'"):
        gemenv.list_envs("no_such_family")


def test_what_is_registered_here_is_registered_in_gymnasium() -> None:
    gemenv.register("mine:Guess-v0", _CLASS, variants={"a": {}, "b": {"high": 77}})
    for spelling in ("mine/Guess-v0", "mine/Guess-v0-a", "mine/Guess-v0-b"):
        env = gymnasium.make(spelling)
        assert isinstance(env.unwrapped, GuessTheNumber)
    assert env.unwrapped.high == 77
    assert gymnasium.make("mine/Guess-v0", high=8).unwrapped.env_kwargs == {"high": 8}
