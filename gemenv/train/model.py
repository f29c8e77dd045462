"""The language model of a run: read from a folder, or built from scratch."""
# transformers is typed in part only:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.utils import logging as progress

from gemenv.core.message import Message
from gemenv.errors import ConfigError
from gemenv.train.config import ModelConfig
from gemenv.train.tokenizer import train_tokenizer

_ARCHITECTURES: dict[str, tuple[type[Any], type[Any]]] = {
    "llama": (LlamaConfig, LlamaForCausalLM),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
}
_HIDDEN_RATIO = 3  # feed-forward width over model width, as in Qwen3-0.6B


@dataclass(frozen=True)
class LanguageModel:
    """A network and the tokenizer that belongs to it.

    Args:
        network: a causal language model in float32, or whatever its folder says.
        tokenizer: with a chat template.
    """

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text; markers such as `<|im_end|>` inside it stay text."""
        encoded: Any = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)
        return list(encoded["input_ids"])

    def to(self, device: str) -> Self:
        """Move the network to a device."""
        network: Any = self.network
        network.to(device)
        return self

    def save(self, folder: Path) -> None:
        """Write both in Hugging Face's format, so that `load_model` and others can read them."""
        with _undisturbed():
            self.network.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)


def load_model(path: str | Path) -> LanguageModel:
    """Read a folder in Hugging Face's format; nothing is downloaded.

    Raises:
        ConfigError: if the folder, or one of its parts, is missing or cannot be read.
    """
    folder = Path(path)
    if not (folder / "config.json").is_file():
        raise _unusable(folder, "there is no config.json in it")
    if not (folder / "tokenizer_config.json").is_file():
        raise _unusable(folder, "there is no tokenizer in it")
    try:
        with _undisturbed():
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                folder, local_files_only=True, output_loading_info=True
            )
            tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise _unusable(folder, f"{type(error).__name__}: {error}") from error
    network, found = loaded
    if found["missing_keys"]:  # transformers would go on with random ones
        raise _unusable(folder, f"weights are missing: {sorted(found['missing_keys'])[:3]}")
    if tokenizer.chat_template is None:
        raise _unusable(folder, "its tokenizer has no chat template")
    return LanguageModel(network, tokenizer)


def build_model(
    config: ModelConfig, transcripts: Iterable[Sequence[Message]], seed: int
) -> LanguageModel:
    """Build a small model from scratch: the same arguments give the same weights.

    Args:
        config: its size.
        transcripts: what the tokenizer learns its phrases from.
        seed: of the initial weights.

    Example:
        >>> talk = [Message(role="user", content="Guess a number.")]
        >>> model = build_model(ModelConfig(width=16, heads=2), [talk], seed=0)
        >>> type(model.network).__name__
        'LlamaForCausalLM'
    """
    tokenizer = train_tokenizer(transcripts, config.vocabulary)
    make_config, make_network = _ARCHITECTURES[config.architecture]
    settings = make_config(
        vocab_size=len(tokenizer),
        hidden_size=config.width,
        intermediate_size=_HIDDEN_RATIO * config.width,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        head_dim=config.width // config.heads,
        max_position_embeddings=config.context_tokens,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with _undisturbed():
        torch.default_generator.manual_seed(seed)  # transformers draws initial weights from it
        network = make_network(settings)
    return LanguageModel(network, tokenizer)


@contextmanager
def _undisturbed() -> Generator[None]:
    """Put torch's global generator back at the end, and keep transformers from drawing bars."""
    had_bars = progress.is_progress_bar_enabled()
    progress.disable_progress_bar()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        if had_bars:
            progress.enable_progress_bar()


def _unusable(folder: Path, reason: str) -> ConfigError:
    return ConfigError(
        problem=f"No model can be read from {folder}: {reason}.",
        expected="a folder with config.json, weights, and a tokenizer with a chat template",
        got=str(folder),
        fix="save both with save_pretrained, or leave model.path out to build one from scratch",
    )
