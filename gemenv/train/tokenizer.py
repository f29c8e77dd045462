"""A small tokenizer learned from sample transcripts, for models built from scratch."""

from collections.abc import Iterable, Sequence
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from gemenv.core.message import Message, text_of

PAD, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""The chat template of Qwen and many others, without tools."""


def train_tokenizer(
    transcripts: Iterable[Sequence[Message]], vocabulary: int
) -> PreTrainedTokenizerFast:
    r"""Learn byte-pair merges that may cross spaces, so that a frequent phrase is one token.

    Every text can be encoded, since all 256 bytes are tokens. Numbers are never merged with what
    stands around them, and neither are two lines.

    Args:
        transcripts: conversations such as the model will read and write.
        vocabulary: the most tokens; fewer if not enough phrases occur twice.

    Returns:
        A tokenizer with the ChatML template.

    Example:
        >>> hint = Message(role="user", content="The number is higher than 7.")
        >>> tokenizer = train_tokenizer([[hint]] * 9, 300)
        >>> tokenizer.tokenize("The number is higher than 12.")
        ['TheĠnumberĠisĠhigherĠthanĠ', '1', '2', '.']
        >>> tokenizer.decode(tokenizer.encode("naïve 🙂"))
        'naïve 🙂'

    Source: merges across spaces: arXiv:2503.13423.
    """
    tokenizer: Any = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d+"), "isolated"),
            pre_tokenizers.Split("\n", "merged_with_previous"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer: Any = trainers.BpeTrainer(
        vocab_size=vocabulary,
        min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[PAD, TURN_START, TURN_END],
        show_progress=False,
    )
    texts = (f"{m['role']}\n{text_of(m['content'])}" for talk in transcripts for m in talk)
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=TURN_END,
        pad_token=PAD,
        additional_special_tokens=[TURN_START],
        chat_template=CHATML,
    )
