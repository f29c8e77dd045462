"""From trajectories to rows of tokens: what one update learns from.

A segment is a row. Shapes: B rows, T token slots (padded on the right), N turns.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gemenv.errors import TrainingError
from gemenv.rollout.episode import conversation_of
from gemenv.rollout.renderer import Renderer
from gemenv.rollout.trajectory import Trajectory
from gemenv.train.advantage import FloatArray
from gemenv.train.turn_table import TurnTable

IntArray = npt.NDArray[np.int64]

PADDING = -1
"""The turn of a slot that no turn sampled; also fills `turn_BT` beyond a row's length."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Everything that was collected and has a return, on one machine, whole."""

    ids_BT: IntArray
    """[B, T] token ids; 0 beyond a row's length."""
    length_B: IntArray
    """[B] tokens of each row."""
    turn_BT: IntArray
    """[B, T] which turn of the table sampled the token; -1 where none did."""
    logp_sampler_BT: FloatArray
    """[B, T] log-probs that the engine reported; NaN where the token was not sampled."""
    episode_B: IntArray
    """[B] the episode of each row: its position among the trajectories."""
    group_B: IntArray
    """[B] episodes of one group share their initial state."""
    turns: TurnTable
    """The turns, for credit."""
    state_row_N: IntArray
    """[N] the row in which a turn's prompt stands."""
    state_slot_N: IntArray
    """[N] the slot of the last prompt token of a turn: where a critic reads its state."""

    @property
    def mask_BT(self) -> npt.NDArray[np.bool_]:
        """[B, T] True for tokens that the policy sampled."""
        return self.turn_BT >= 0

    def spread(self, value_N: FloatArray) -> FloatArray:
        """Give each sampled token the value of its turn.

        Args:
            value_N: [N] one number a turn.

        Returns:
            [B, T]; 0 where no turn sampled the token.
        """
        return np.where(self.mask_BT, value_N[self.turn_BT], 0.0)


def make_batch(trajectories: Sequence[Trajectory]) -> Batch:
    """Build the rows and the table of turns; episodes without a return are left out.

    Args:
        trajectories: of one iteration, each turn with its sampled tokens.

    Returns:
        The batch.

    Raises:
        TrainingError: if there is nothing to learn from; it says how the episodes ended.
    """
    usable = [(e, t) for e, t in enumerate(trajectories) if t.has_return and t.segments]
    if not usable:
        raise _nothing_to_learn(trajectories)
    offset_of = _first_turns(usable)
    segments = [(e, t, segment) for e, t in usable for segment in t.segments]
    shape = len(segments), max(len(segment.token_ids) for _, _, segment in segments)
    ids_BT, turn_BT = np.zeros(shape, np.int64), np.full(shape, PADDING)
    logp_BT = np.full(shape, np.nan)
    num_turns = sum(len(t.turns) for _, t in usable)
    state_row_N, state_slot_N = np.full(num_turns, PADDING), np.full(num_turns, PADDING)
    for row, (e, _, segment) in enumerate(segments):
        ids_BT[row, : len(segment.token_ids)] = segment.token_ids
        for span in segment.spans:
            turn = offset_of[e] + span.turn
            turn_BT[row, span.start : span.end] = turn
            logp_BT[row, span.start : span.end] = segment.logprobs[span.start : span.end]
            state_row_N[turn], state_slot_N[turn] = row, span.start - 1
    return Batch(
        ids_BT=ids_BT,
        length_B=np.array([len(segment.token_ids) for _, _, segment in segments]),
        turn_BT=turn_BT,
        logp_sampler_BT=logp_BT,
        episode_B=np.array([e for e, _, _ in segments]),
        group_B=np.array([t.group for _, t, _ in segments]),
        turns=_turn_table(usable, np.bincount(turn_BT[turn_BT >= 0], minlength=num_turns)),
        state_row_N=state_row_N,
        state_slot_N=state_slot_N,
    )


def final_contexts(
    trajectories: Sequence[Trajectory], turns: TurnTable, renderer: Renderer, max_tokens: int
) -> dict[int, list[int]]:
    """Write down the states in which episodes were cut, for a critic to judge.

    Args:
        trajectories: those that the table was made from.
        turns: the table.
        renderer: of the policy that played.
        max_tokens: the longest context; a state beyond it is left out, and so is worth 0.

    Returns:
        For each cut episode, by the position of its last turn: the tokens of the prompt that
        would have followed.
    """
    contexts: dict[int, list[int]] = {}
    for last in np.flatnonzero(turns.is_truncated_N).tolist():
        trajectory = trajectories[int(turns.episode_N[last])]
        if trajectory.truncation_reason != "context_overflow":
            context = _next_prompt(trajectory, renderer)
            if len(context) <= max_tokens:
                contexts[last] = context
    return contexts


def _first_turns(usable: Sequence[tuple[int, Trajectory]]) -> dict[int, int]:
    """Say where in the table each episode's turns begin."""
    ends = np.cumsum([len(t.turns) for _, t in usable])
    return {e: int(end) - len(t.turns) for (e, t), end in zip(usable, ends, strict=True)}


def _turn_table(usable: Sequence[tuple[int, Trajectory]], num_tokens_N: IntArray) -> TurnTable:
    rows = [(e, t, i) for e, t in usable for i in range(len(t.turns))]
    is_last_N = np.array([i == len(t.turns) - 1 for _, t, i in rows])
    is_completed_N = np.array([t.outcome == "completed" for _, t, _ in rows])
    return TurnTable(
        reward_N=np.array([t.turns[i].reward for _, t, i in rows], np.float64),
        episode_N=np.array([e for e, _, _ in rows]),
        turn_N=np.array([i for _, _, i in rows]),
        group_N=np.array([t.group for _, t, _ in rows]),
        is_terminated_N=is_last_N & is_completed_N,
        is_truncated_N=is_last_N & ~is_completed_N,
        num_tokens_N=num_tokens_N,
    )


def _next_prompt(trajectory: Trajectory, renderer: Renderer) -> list[int]:
    segment, reason = trajectory.segments[-1], trajectory.turns[-1].stop_reason
    start = segment.spans[-1].start
    context_ids, sampled_ids = segment.token_ids[:start], segment.token_ids[start:]
    following = renderer.extend(context_ids, sampled_ids, reason, trajectory.final_messages)
    if following is None:
        return renderer.start(conversation_of(trajectory))
    return [*segment.token_ids, *following]


def _nothing_to_learn(trajectories: Sequence[Trajectory]) -> TrainingError:
    errors = [t.error for t in trajectories if t.error]
    return TrainingError(
        problem="None of the episodes can be learned from.",
        expected="completed or truncated episodes with sampled tokens",
        got=dict(Counter(t.outcome for t in trajectories)),
        fix=f"the first error was: {errors[0]}" if errors else "let the model answer at least once",
    )
