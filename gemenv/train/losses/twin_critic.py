"""Two Q and two V critics over turns, trained off-policy. Shapes: K = 2 critics, N transitions."""

from torch import Tensor


def twin_q_targets(
    reward_N: Tensor, is_terminated_N: Tensor, next_value_KN: Tensor, *, gamma: float
) -> Tensor:
    """Compute what each Q should say: the reward, then its own V of the next state.

    Args:
        reward_N: [N] rewards of the turns.
        is_terminated_N: [N] bool; the next state's value is then not read.
        next_value_KN: [K, N] of the slowly following (target) V critics.
        gamma: discount per turn, 0 to 1.

    Returns:
        [K, N] without gradient.

    Example:
        >>> import torch
        >>> ended = torch.tensor([False, True])
        >>> twin_q_targets(torch.zeros(2), ended, torch.ones(1, 2), gamma=0.5).tolist()
        [[0.5, 0.0]]

    Source: ArCHer, arXiv:2402.19446.
    """
    future_KN = next_value_KN.detach().masked_fill(is_terminated_N, 0.0)
    return reward_N + gamma * future_KN


def twin_critic_loss(prediction_KN: Tensor, target_KN: Tensor) -> Tensor:
    """Sum the mean squared errors of the two critics.

    Args:
        prediction_KN: [K, N] with gradient: Q of the turns taken, or V of their states.
        target_KN: [K, N]: `twin_q_targets` for Q; for V, the target Q of actions of the policy.

    Returns:
        A scalar.

    Example:
        >>> import torch
        >>> twin_critic_loss(torch.ones(2, 3), torch.zeros(2, 3)).item()
        2.0

    Source: ArCHer, arXiv:2402.19446.
    """
    return ((prediction_KN - target_KN.detach()) ** 2).mean(dim=1).sum()


def twin_advantage(q_KN: Tensor, value_KN: Tensor) -> Tensor:
    """Compare the lower Q with the lower V.

    Args:
        q_KN: [K, N] Q of the turns taken.
        value_KN: [K, N] V of their states.

    Returns:
        [N] advantages without gradient.

    Example:
        >>> import torch
        >>> twin_advantage(torch.tensor([[2.0], [1.0]]), torch.tensor([[0.0], [0.5]])).tolist()
        [1.0]

    Source: ArCHer, arXiv:2402.19446.
    """
    return (q_KN.amin(dim=0) - value_KN.amin(dim=0)).detach()
