"""Ways to render conversations: by hand-written rules, or by the tokenizer's chat template."""
