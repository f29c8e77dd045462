"""The network that is trained: a causal language model, with a turn-level critic where needed.

One forward pass gives log-probs, entropies and values, and nothing else leaves it. So it can be
sharded as a whole (FSDP2's `fully_shard` gathers parameters around `forward`), and logits exist
only for the tokens that are trained on.

Shapes: b rows of a micro-batch, T slots, M tokens asked for, S states asked for, D the width.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from gemenv.train.losses.entropy import entropy_from_logits


class TokenOutputs(NamedTuple):
    """What one forward pass says."""

    logp_M: Tensor
    """[M] log-probs of the tokens asked for, each given all before it, at the temperature."""
    entropy_M: Tensor
    """[M] entropies of the distributions that those tokens were drawn from, in nats."""
    value_S: Tensor
    """[S] the critic's values of the states asked for; empty without a critic."""


class PolicyNetwork(nn.Module):
    """A language model and an optional value head on its last hidden state.

    The head shares the trunk: its gradient shapes the features too, which a small model needs. It
    starts at 0, so that a fresh critic says nothing.

    Args:
        model: a causal language model; the same object may serve an engine in this process.
        has_critic: whether to add the value head.
    """

    def __init__(self, model: PreTrainedModel, *, has_critic: bool = False) -> None:
        super().__init__()
        self.model: Any = model
        self.value_head: nn.Linear | None = None
        if has_critic:
            width: int = self.model.config.get_text_config().hidden_size
            head = nn.Linear(width, 1, device="meta")  # so that no random number is drawn
            self.value_head = head.to_empty(device=self.model.device)
            nn.init.zeros_(self.value_head.weight)
            nn.init.zeros_(self.value_head.bias)

    @property
    def device(self) -> torch.device:
        """Where the weights live."""
        return self.model.device

    @property
    def has_critic(self) -> bool:
        """Whether there is a value head."""
        return self.value_head is not None

    def forward(
        self,
        ids_bT: Tensor,
        token_M: tuple[Tensor, Tensor],
        state_S: tuple[Tensor, Tensor],
        temperature: float,
    ) -> TokenOutputs:
        """Run the model once.

        Args:
            ids_bT: [b, T] token ids, padded on the right with any id.
            token_M: row and slot of each token asked for; slots from 1 on.
            state_S: row and slot of each state asked for: its last prompt token.
            temperature: divides the logits, as it did in sampling.

        Returns:
            Log-probs, entropies and values, with gradient.
        """
        hidden_bTD: Tensor = self.model.base_model(input_ids=ids_bT, use_cache=False)[0]
        row_M, slot_M = token_M
        logit_MV: Tensor = self.model.get_output_embeddings()(hidden_bTD[row_M, slot_M - 1])
        logit_MV = logit_MV.float() / temperature
        every_M = torch.arange(len(row_M), device=ids_bT.device)
        logp_M = logit_MV.log_softmax(dim=-1)[every_M, ids_bT[row_M, slot_M]]
        if self.value_head is None:
            value_S = hidden_bTD.new_empty(0)
        else:  # a sum over the one column, since FSDP2 wants no views
            value_S = self.value_head(hidden_bTD[state_S]).sum(dim=-1, dtype=torch.float32)
        return TokenOutputs(logp_M, entropy_from_logits(logit_MV), value_S)


def no_positions(device: torch.device) -> tuple[Tensor, Tensor]:
    """Return rows and slots that ask for nothing."""
    nothing = torch.empty(0, dtype=torch.long, device=device)
    return nothing, nothing
