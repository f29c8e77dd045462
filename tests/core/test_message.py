"""Observations as text."""

from gemenv.core.message import text_of


def test_text_is_itself() -> None:
    assert text_of("Guess.") == "Guess."


def test_parts_are_joined_and_images_marked() -> None:
    parts = [
        {"type": "text", "text": "Left: "},
        {"type": "image_url", "image_url": {"url": "data:"}},
        {"type": "text", "text": " Right?"},
    ]
    assert text_of(parts) == "Left: [image] Right?"
    assert text_of([]) == ""
