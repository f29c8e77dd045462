"""Messages to token ids, such that a conversation is only ever extended.

A rollout renders the first messages (`start`), samples, and from then on appends ids (`extend`):
what was sampled is never decoded and encoded again. Where a model's chat format cannot go on
without changing the past (it strips old thinking, say), `extend` returns None, and the caller
starts a new segment from the messages.

Special tokens that are written inside a message (`<|im_end|>` in an observation) are encoded as
the ordinary text that they are, so that nobody can forge a turn.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from gemenv.core.message import Message
from gemenv.rollout.engine import FinishReason
from gemenv.rollout.renderers.family import FamilyRenderer, family_of
from gemenv.rollout.renderers.template import TemplateRenderer


class Renderer(Protocol):
    """Turns a conversation into the token ids that an engine is fed."""

    @property
    def stop_token_ids(self) -> tuple[int, ...]:
        """The tokens with which the model ends its turn; the engine must stop at them."""
        ...

    @property
    def is_prefix_stable(self) -> bool:
        """Whether `extend` can append a user message; if not, every such turn starts anew."""
        ...

    def start(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of a whole conversation, ending where the assistant begins to speak.

        Raises:
            ArgumentError: if the chat format refuses the messages, or one of them is not text.
        """
        ...

    def extend(
        self,
        context_ids: Sequence[int],
        sampled_ids: Sequence[int],
        finish_reason: FinishReason,
        new_messages: Sequence[Message],
    ) -> list[int] | None:
        """Return the ids that follow the sampled ones, up to the assistant's next turn.

        They close the turn if sampling did not (it was cut by length), and hold `new_messages`.
        The next prompt is `context_ids + sampled_ids +` these.

        Args:
            context_ids: the prompt of the turn that was just sampled.
            sampled_ids: what the engine sampled, its stop token included.
            finish_reason: why sampling ended.
            new_messages: what came since, such as an observation; none of the assistant's.

        Returns:
            The ids, or None if it is not certain that the next prompt extends this one.

        Raises:
            ArgumentError: if a message is not text.
        """
        ...

    def decode(self, sampled_ids: Sequence[int]) -> str:
        """Return what the assistant said, without the token that ended its turn."""
        ...


def make_renderer(
    tokenizer: Any, model_name: str | None = None, *, keep_thinking: bool = False
) -> Renderer:
    """Choose how to render for a model: by hand-written rules if any, else by its chat template.

    Args:
        tokenizer: a Hugging Face tokenizer.
        model_name: the model whose format to follow, such as "Qwen/Qwen3-8B" for a fine-tune of
            it; None: the one that the tokenizer was loaded from.
        keep_thinking: leave earlier thinking in the context, as it was sampled, even where the
            model's format strips it; its conversations can then be extended.

    Raises:
        MissingExtraError: if the package `renderers` cannot be imported.
        ArgumentError: if the tokenizer has no usable chat template.
    """
    family = family_of(model_name or tokenizer.name_or_path)
    if family is None:
        return TemplateRenderer(tokenizer, keep_thinking=keep_thinking)
    return FamilyRenderer(tokenizer, family, keep_thinking=keep_thinking)
