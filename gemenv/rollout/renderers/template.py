"""Rendering by the tokenizer's own chat template, which is tested before it is trusted."""

import re
from collections.abc import Sequence
from typing import Any

from gemenv.core.message import Message
from gemenv.errors import ArgumentError
from gemenv.rollout.engine import FinishReason
from gemenv.rollout.renderers.plain_text import PlainTokenizer, as_text, spoken_text

_ANSWER = "gemenvanswer"
"""An answer that can be found again in the rendered text."""

_THOUGHTFUL_ANSWER = f"<think>\nWhy not?\n</think>\n\n{_ANSWER}"

_PASTS = (("user",), ("system", "user"), ("user", "assistant", "user"))
"""The roles of conversations after which a template has to go on in the same way."""

_MARK = "\ufdd0"
"""Stands around the number of a reserved word while a template runs (Unicode keeps this code point
free for such uses)."""


class TemplateRenderer:
    """A `Renderer` that proves of a chat template that it only ever appends.

    What the template writes after an answer must be the same whatever came before, must leave what
    came before as it is (thinking included, unless `keep_thinking`), and must begin with a token
    that ends the turn. This is checked once for each sequence of new roles. Where it fails,
    `extend` returns None.

    Args:
        tokenizer: a Hugging Face tokenizer with a chat template.
        keep_thinking: leave earlier thinking in the context, as it was sampled, where the template
            would strip it.

    Attributes:
        stop_token_ids: the token that ends a turn, and the tokenizer's end of sequence.
        instability: why no user message can be appended; None if it can.

    Raises:
        ArgumentError: if there is no template, it refuses a plain conversation, or no token ends a
            turn.
    """

    def __init__(self, tokenizer: Any, *, keep_thinking: bool = False) -> None:
        self._tokenizer = tokenizer
        self._keep_thinking = keep_thinking
        self._faults: dict[tuple[str, ...], str | None] = {}
        if not tokenizer.chat_template:
            raise _unusable("there is none")
        text = self._rendered([*_example("user"), _answer(_ANSWER), *_example("user")])
        if text is None:
            raise _unusable("it refuses a user, an assistant and a user message")
        after_answer = self._ids(text.partition(_ANSWER)[2])
        added = [id_ for id_ in after_answer if id_ in tokenizer.added_tokens_decoder]
        self._end_of_turn = added[0] if added and added[0] == after_answer[0] else None
        self._plain = PlainTokenizer(tokenizer, reserved_ids=added[:2])  # close a turn, open one
        self._hidden = re.compile(f"{self._plain.reserved.pattern}|{_MARK}", re.IGNORECASE)
        stops = dict.fromkeys([self._end_of_turn, tokenizer.eos_token_id])
        self.stop_token_ids = tuple(id_ for id_ in stops if id_ is not None)
        if not self.stop_token_ids:
            raise _unusable("no token of its own ends a turn")
        self.instability = self._fault(("user",))

    @property
    def is_prefix_stable(self) -> bool:
        """Whether a user message can be appended."""
        return self.instability is None

    def start(self, messages: Sequence[Message]) -> list[int]:
        """Render a whole conversation; see `Renderer.start`."""
        ids = self._conversation_ids(messages)
        if ids is None:
            raise ArgumentError(
                problem="The chat template refuses this conversation.",
                expected="messages in an order that the template allows",
                got=[message["role"] for message in messages],
                fix="start with one system or user message, and then take turns",
            )
        return ids

    def extend(
        self,
        context_ids: Sequence[int],
        sampled_ids: Sequence[int],
        finish_reason: FinishReason,
        new_messages: Sequence[Message],
    ) -> list[int] | None:
        """Continue a conversation; see `Renderer.extend`."""
        roles = tuple(message["role"] for message in new_messages)
        if finish_reason == "abort" or self._fault(roles):
            return None
        past: list[Message] = [*_example("user"), _answer(_ANSWER)]
        ids = self._conversation_ids([*past, *new_messages], after=_ANSWER)
        if ids and list(sampled_ids[-1:]) == ids[:1]:  # the model ended its turn itself
            return ids[1:]
        return ids

    def decode(self, sampled_ids: Sequence[int]) -> str:
        """Return what the assistant said; see `Renderer.decode`."""
        return spoken_text(self._tokenizer, sampled_ids, self.stop_token_ids)

    def _fault(self, roles: tuple[str, ...]) -> str | None:
        if roles not in self._faults:
            self._faults[roles] = self._find_fault(roles)
        return self._faults[roles]

    def _find_fault(self, roles: tuple[str, ...]) -> str | None:
        """Say why messages of these roles cannot be appended to an answer; None if they can."""
        if "assistant" in roles:
            return "an answer is sampled, not rendered"
        tails: set[str] = set()
        for past in (_example(*roles) for roles in _PASTS):
            prompt = self._rendered(past)
            if prompt is None:  # a format without system messages, for example
                continue
            for answer in (_ANSWER, _THOUGHTFUL_ANSWER):
                text = self._rendered([*past, _answer(answer), *_example(*roles)])
                if text is None:
                    return "the template refuses them"
                if not self._keep_thinking and not text.startswith(prompt + answer):
                    return "the template rewrites what came before"
                tails.add(text.partition(_ANSWER)[2])
        if len(tails) != 1:
            return "what the template writes after an answer depends on what came before"
        if self._ids(tails.pop())[:1] != [self._end_of_turn]:
            return "what the template writes after an answer begins with no token of its own"
        return None

    def _conversation_ids(self, messages: Sequence[Message], after: str = "") -> list[int] | None:
        """Return the ids of what the template writes, or of its part after a text."""
        words: list[str] = []

        def hide(match: re.Match[str]) -> str:
            words.append(match[0])
            return f"{_MARK}{len(words) - 1}{_MARK}"

        safe = as_text(messages)
        for message in safe:
            message["content"] = self._hidden.sub(hide, message["content"])
        text = self._rendered(safe)
        if text is None:
            return None
        if after:
            text = text.partition(after)[2]
        ids: list[int] = []
        for index, piece in enumerate(re.split(f"{_MARK}(\\d+){_MARK}", text)):
            ids += self._plain.encode(words[int(piece)]) if index % 2 else self._ids(piece)
        return ids

    def _rendered(self, messages: Sequence[Any]) -> str | None:
        """Return the text up to the assistant's next turn; None if the template refuses."""
        from jinja2 import TemplateError

        try:
            return self._tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True
            )
        except TemplateError:
            return None

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False)


def _example(*roles: str) -> list[Any]:
    return [{"role": role, "content": f"{role} {index}"} for index, role in enumerate(roles)]


def _answer(content: str) -> Message:
    return {"role": "assistant", "content": content}


def _unusable(fault: str) -> ArgumentError:
    return ArgumentError(
        problem="The tokenizer's chat template cannot be used.",
        expected="a template for several turns, each ended by a token of its own",
        got=fault,
        fix="set tokenizer.chat_template to the one that the model was trained with",
    )
