"""From the learner to the engine: the weights, whole and by name."""

from torch.distributed.tensor import DTensor

from gemenv.rollout.engine import Engine
from gemenv.train.network import PolicyNetwork


async def sync_weights(network: PolicyNetwork, engine: Engine, version: int) -> None:
    """Let an engine sample with the present weights.

    Sharded weights are gathered, so every rank of a sharded network must call this. An engine on
    the very same model copies nothing.

    Args:
        network: what is trained; a critic stays behind.
        engine: what samples.
        version: what the engine calls these weights.
    """
    state = {
        name: tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
        for name, tensor in network.model.state_dict().items()
    }
    await engine.update_weights(state, version)
