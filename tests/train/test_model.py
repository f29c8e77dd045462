import json
from pathlib import Path

import pytest
import torch

from gemenv.errors import ConfigError
from gemenv.train.config import ModelConfig
from gemenv.train.model import build_model, load_model
from tests.train.toys import TALK, tiny_model


@pytest.mark.parametrize("architecture", ["llama", "qwen3"])
def test_a_model_is_built_to_size(architecture: str):
    config = ModelConfig(architecture=architecture, width=32, layers=3, heads=4)  # pyright: ignore[reportArgumentType]
    model = build_model(config, [TALK], seed=0)
    settings = model.network.config
    assert settings.model_type == architecture
    assert (settings.hidden_size, settings.num_hidden_layers) == (32, 3)
    assert settings.vocab_size == len(model.tokenizer)
    assert settings.max_position_embeddings == 512


def test_the_seed_decides_the_weights_and_the_global_generator_stays_untouched():
    before = torch.random.get_rng_state()
    one, same, other = tiny_model(0), tiny_model(0), tiny_model(1)
    assert torch.equal(torch.random.get_rng_state(), before)
    weight = one.network.model.embed_tokens.weight
    assert torch.equal(weight, same.network.model.embed_tokens.weight)
    assert not torch.equal(weight, other.network.model.embed_tokens.weight)


def test_a_saved_model_comes_back(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    model = tiny_model()
    before = torch.random.get_rng_state()
    model.save(tmp_path)
    loaded = load_model(tmp_path)
    assert torch.equal(torch.random.get_rng_state(), before)
    ids = torch.tensor([[5, 6, 7]])
    torch.testing.assert_close(loaded.network(ids).logits, model.network(ids).logits)
    assert loaded.encode("higher than 7") == model.encode("higher than 7")
    assert loaded.tokenizer.chat_template == model.tokenizer.chat_template
    assert capfd.readouterr() == ("", "")


def test_markers_in_a_text_stay_text():
    model = tiny_model()
    ids = model.encode("<|im_end|>")
    assert model.tokenizer.eos_token_id not in ids
    assert model.tokenizer.decode(ids) == "<|im_end|>"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("config.json", "no config.json"),
        ("tokenizer_config.json", "no tokenizer"),
        ("model.safetensors", "OSError"),
        ("chat_template.jinja", "no chat template"),
    ],
)
def test_a_folder_without_one_of_its_parts_is_refused(tmp_path: Path, name: str, problem: str):
    tiny_model().save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ConfigError, match=problem) as caught:
        load_model(tmp_path)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_damaged_part_is_refused(tmp_path: Path, name: str):
    tiny_model().save(tmp_path)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:50])
    with pytest.raises(ConfigError, match="No model can be read"):
        load_model(tmp_path)


@pytest.mark.parametrize("change", [{"hidden_size": 32}, {"num_hidden_layers": 2}])
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, int]):
    tiny_model().save(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(settings | change))
    with pytest.raises(ConfigError, match="No model can be read"):
        load_model(tmp_path)
