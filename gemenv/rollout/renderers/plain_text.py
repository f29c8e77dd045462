"""Text that is only text: messages without structure, and ids that end or open no turn."""

import re
from collections.abc import Collection, Sequence
from typing import Any

from gemenv.core.message import Message
from gemenv.errors import ArgumentError


class PlainTokenizer:
    """A tokenizer that reads special tokens as the characters that they are written with.

    In all else it is the tokenizer that it is given.

    Args:
        tokenizer: a Hugging Face tokenizer.
        reserved_ids: added tokens to treat as special although they are not marked so.
    """

    def __init__(self, tokenizer: Any, reserved_ids: Collection[int] = ()) -> None:
        self._tokenizer = tokenizer
        words = [
            token.content
            for id_, token in tokenizer.added_tokens_decoder.items()
            if token.special or id_ in reserved_ids
        ]
        pattern = f"({'|'.join(map(re.escape, words))})" if words else "((?!))"
        self.reserved = re.compile(pattern, re.IGNORECASE)  # a tokenizer may fold case

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # protocols look methods up on the instance: promise none
            raise AttributeError(name)
        return getattr(self._tokenizer, name)

    def encode(self, text: str, **_: Any) -> list[int]:
        """Return the ids of a text, none of them special; options are accepted and ignored."""
        ids: list[int] = []
        for index, piece in enumerate(self.reserved.split(text)):
            for part in piece if index % 2 else [piece]:  # a reserved word: letter by letter
                ids += self._tokenizer.encode(part, add_special_tokens=False)
        return ids


def as_text(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return copies of the messages in which every content is one string.

    Raises:
        ArgumentError: if a message holds an image.

    Example:
        >>> as_text([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}])
        [{'role': 'user', 'content': 'Hi'}]
    """
    return [{**message, "content": _content(message)} for message in messages]


def spoken_text(tokenizer: Any, sampled_ids: Sequence[int], stop_ids: Sequence[int]) -> str:
    """Return the text of sampled tokens as it is, without the stop token that ended them."""
    ids = list(sampled_ids)
    if ids and ids[-1] in stop_ids:
        ids.pop()
    return tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)


def _content(message: Message) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    kinds = {part["type"] for part in content}
    if kinds - {"text"}:
        raise ArgumentError(
            problem="A message holds more than text.",
            expected="content that is a string, or parts of type 'text'",
            got=sorted(kinds),
            fix="use an environment that observes text, or describe the images in words",
        )
    return "".join(part["text"] for part in content)
