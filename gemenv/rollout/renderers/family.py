"""Rendering by the hand-written rules that the `renderers` package has for many models."""

from collections.abc import Sequence
from typing import Any

from gemenv.core.message import Message
from gemenv.errors import ArgumentError, MissingExtraError
from gemenv.rollout.engine import FinishReason
from gemenv.rollout.renderers.plain_text import PlainTokenizer, as_text, spoken_text


class FamilyRenderer:
    """A `Renderer` for one of the model families that the `renderers` package knows.

    Args:
        tokenizer: the model's Hugging Face tokenizer.
        family: the package's name for the rules, such as "qwen3".
        keep_thinking: leave earlier thinking in the context, as it was sampled, where the rules
            would strip it and start anew.

    Attributes:
        stop_token_ids: the tokens with which the model ends its turn.
        is_prefix_stable: whether a user message can be appended.

    Raises:
        MissingExtraError: if the package cannot be imported.
        ArgumentError: if the rules write special tokens as text, so that messages could, too.
    """

    def __init__(self, tokenizer: Any, family: str, *, keep_thinking: bool = False) -> None:
        package = _package()
        config = package.config_from_name(family)
        if keep_thinking:
            config = type(config)(thinking_retention="all")
        self._tokenizer = tokenizer
        self._rules = package.create_renderer(PlainTokenizer(tokenizer), config)
        self.stop_token_ids: tuple[int, ...] = tuple(self._rules.get_stop_token_ids())
        question: list[Message] = [{"role": "user", "content": "Ready?"}]
        context = self.start(question)
        trusting = package.create_renderer(tokenizer, config)
        if context != trusting.render_ids(question, add_generation_prompt=True):
            raise ArgumentError(
                problem=f"The rules for {family!r} write special tokens as text.",
                expected="rules under which no message can hold a special token",
                got=family,
                fix="use TemplateRenderer(tokenizer)",
            )
        answer = [self.stop_token_ids[0]]
        self.is_prefix_stable = self.extend(context, answer, "stop", question) is not None

    def start(self, messages: Sequence[Message]) -> list[int]:
        """Render a whole conversation; see `Renderer.start`."""
        return self._rules.render_ids(as_text(messages), add_generation_prompt=True)

    def extend(
        self,
        context_ids: Sequence[int],
        sampled_ids: Sequence[int],
        finish_reason: FinishReason,
        new_messages: Sequence[Message],
    ) -> list[int] | None:
        """Continue a conversation; see `Renderer.extend`."""
        if finish_reason == "abort":
            return None
        past = [*context_ids, *sampled_ids]
        whole = self._rules.bridge_to_next_turn(
            list(context_ids), list(sampled_ids), as_text(new_messages)
        )
        if whole is None or whole.token_ids[: len(past)] != past:
            return None
        return whole.token_ids[len(past) :]

    def decode(self, sampled_ids: Sequence[int]) -> str:
        """Return what the assistant said; see `Renderer.decode`."""
        return spoken_text(self._tokenizer, sampled_ids, self.stop_token_ids)


def family_of(model_name: str) -> str | None:
    """Return the name of the rules for a model; None if the package does not know it.

    Raises:
        MissingExtraError: if the package cannot be imported.

    Example:
        >>> family_of("Qwen/Qwen3-0.6B"), family_of("my/model")
        ('qwen3', None)
    """
    return _package().base.MODEL_RENDERER_MAP.get(model_name)


def _package() -> Any:
    try:
        import renderers  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise MissingExtraError(
            problem="The package 'renderers' cannot be imported.",
            expected="the package that knows how many models write conversations",
            got=str(error),
            fix='pip install "gemenv[train]", or use TemplateRenderer(tokenizer)',
        ) from error
    return renderers
