"""What passes between an environment and an agent: observations and chat messages."""

from typing import Any, Literal, TypeAlias, TypedDict

ContentPart: TypeAlias = dict[str, Any]
"""One OpenAI content part: `{"type": "text", "text": ...}` or `{"type": "image_url", ...}`."""

Observation: TypeAlias = str | list[ContentPart]
"""What the agent sees: text, or content parts where there are images."""

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class Message(TypedDict):
    """One chat message."""

    role: Role
    content: Observation


def text_of(observation: Observation) -> str:
    """Return the text of an observation; images become `[image]`.

    Example:
        >>> text_of([{"type": "text", "text": "Area? "}, {"type": "image_url", "image_url": {}}])
        'Area? [image]'
    """
    if isinstance(observation, str):
        return observation
    return "".join(part["text"] if part["type"] == "text" else "[image]" for part in observation)
