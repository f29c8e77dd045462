import asyncio
from pathlib import Path

import pytest

from gemenv import Message
from gemenv.cli.policy_option import PolicyOptions, open_policy
from gemenv.rollout.policies.token_policy import TokenPolicy
from gemenv.rollout.renderers.family import FamilyRenderer
from gemenv.rollout.renderers.template import TemplateRenderer
from gemenv.train.config import ModelConfig, TrainConfig
from gemenv.train.model import LanguageModel, load_model
from gemenv.train.rollouts import ModelPlayer
from tests.rollout.chat_tokenizers import qwen3
from tests.train.toys import tiny_model


async def opened(folder: str) -> TokenPolicy:
    async with open_policy(PolicyOptions(policy=f"model:{folder}")) as policy:
        assert isinstance(policy, TokenPolicy)
        return policy


@pytest.mark.parametrize(
    ("folder", "kind"), [("Qwen/Qwen3-0.6B", FamilyRenderer), ("run/model", TemplateRenderer)]
)
def test_a_model_reads_its_conversations_as_in_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, kind: type
):
    monkeypatch.chdir(tmp_path)
    LanguageModel(tiny_model().network, qwen3()).save(Path(folder))
    trainer = ModelPlayer(TrainConfig(model=ModelConfig(path=folder)), load_model(folder))
    renderer = asyncio.run(opened(folder)).renderer
    assert type(renderer) is type(trainer.renderer) is kind
    conversation = [Message(role="user", content="Guess.")]
    assert renderer.start(conversation) == trainer.renderer.start(conversation)


def test_what_is_left_out_of_the_options_has_its_default():
    sampling = PolicyOptions(policy="model:m").sampling
    assert (sampling.temperature, sampling.max_new_tokens) == (1.0, 512)
    greedy = PolicyOptions(policy="chat:m", temperature=0.0, max_new_tokens=7).sampling
    assert (greedy.temperature, greedy.max_new_tokens) == (0.0, 7)


@pytest.mark.parametrize(
    ("policy", "is_person"),
    [
        ("human", True),
        ("mixture:human=1,random=2", True),
        ("random", False),
        ("model:human", False),
    ],
)
def test_a_person_is_known_by_name(policy: str, is_person: bool):
    assert PolicyOptions(policy=policy).is_person is is_person
