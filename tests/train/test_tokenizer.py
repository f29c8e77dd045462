from hypothesis import given
from hypothesis import strategies as st

from gemenv import Message
from gemenv.rollout.renderers.template import TemplateRenderer
from gemenv.train.tokenizer import train_tokenizer

TALK = [
    Message(role="user", content=f"The hidden number is {word} than {n}.")
    for word in ("higher", "lower")
    for n in (5, 10, 12)
]
TOKENIZER = train_tokenizer([TALK] * 3, 350)


@given(st.text())
def test_every_text_survives(text: str):
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_frequent_phrases_and_numbers_are_single_tokens():
    assert TOKENIZER.tokenize("The hidden number is higher than 10.") == [
        "TheĠhiddenĠnumberĠisĠhigherĠthanĠ",
        "10",
        ".",
    ]


def test_a_number_is_never_merged_with_its_surroundings():
    tokens = train_tokenizer([[Message(role="user", content="7+8=15;")]] * 50, 400).get_vocab()
    assert [t for t in tokens if any(map(str.isdigit, t)) and not t.isdigit()] == []


def test_training_is_deterministic():
    again = train_tokenizer([TALK] * 3, 350)
    assert again.backend_tokenizer.to_str() == TOKENIZER.backend_tokenizer.to_str()


def test_conversations_only_ever_extend():
    renderer = TemplateRenderer(TOKENIZER)
    assert renderer.is_prefix_stable
    assert renderer.stop_token_ids[0] == TOKENIZER.eos_token_id
