"""Tiny tokenizers with the chat formats that the tests render; nothing is downloaded."""

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)
from transformers import PreTrainedTokenizerFast

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHATML_WITHOUT_OLD_THINKING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{{ m.content.split('</think>')[-1].lstrip('\n') if m.role == 'assistant' else m.content }}"
    "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA3 = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
CHATML_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
LLAMA3_TOKENS = [
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
]
QWEN3_WORDS = [
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
]
SAMPLE = [
    "system user assistant Guess the number between 1 and 10. Higher! Lower!\n\nassistant\n",
    "<think> </think> <| |> im end start observation",
]


def byte_level(special: list[str], template: str | None, **options: object):
    """Byte-level BPE: every text can be encoded, and decodes to itself."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SAMPLE * 4, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=template, **options)


def chatml(template: str | None = CHATML):
    return byte_level(CHATML_TOKENS, template, eos_token="<|im_end|>", pad_token="<|endoftext|>")


def llama3():
    return byte_level(LLAMA3_TOKENS, LLAMA3, bos_token="<|begin_of_text|>", eos_token="<|eot_id|>")


def qwen3():
    tokenizer = byte_level(CHATML_TOKENS, CHATML, eos_token="<|im_end|>")
    tokenizer.add_tokens([AddedToken(word, special=False) for word in QWEN3_WORDS])
    return tokenizer


def word_level():
    """Words between spaces, in any case; the special tokens are in the vocabulary as words, too."""
    words = ["[UNK]", *CHATML_TOKENS, "system", "user", "assistant", "guess", "7", "higher!"]
    model = models.WordLevel({word: id_ for id_, word in enumerate(words)}, unk_token="[UNK]")
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        chat_template=CHATML,
        unk_token="[UNK]",
        eos_token="<|im_end|>",
    )
    wrapped.add_special_tokens({"additional_special_tokens": CHATML_TOKENS[:2]})
    return wrapped


def chatml_whose_markers_are_not_special():
    """As some fine-tunes have it: the markers are added tokens, but not marked special."""
    tokenizer = byte_level(["<|endoftext|>"], CHATML, eos_token="<|endoftext|>")
    tokenizer.add_tokens([AddedToken(word, special=False) for word in CHATML_TOKENS[1:]])
    return tokenizer
