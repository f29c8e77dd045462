import numpy as np
import pytest

from gemenv.errors import TrainingError
from gemenv.rollout.renderers.template import TemplateRenderer
from gemenv.train.batch import final_contexts, make_batch
from tests.train.toys import episode, episodes, sampled_episodes, tiny_model


def test_each_segment_is_a_row_with_its_tokens_and_log_probs():
    trajectories = episodes()
    batch = make_batch(trajectories)
    segments = [(e, s) for e, t in enumerate(trajectories) for s in t.segments]
    assert len(batch.ids_BT) == len(segments) > len(trajectories)
    for row, (e, segment) in enumerate(segments):
        length = len(segment.token_ids)
        assert batch.length_B[row] == length
        assert batch.ids_BT[row, :length].tolist() == segment.token_ids
        assert batch.mask_BT[row, :length].tolist() == segment.sampled_mask
        assert not batch.mask_BT[row, length:].any()
        sampled = batch.mask_BT[row]
        expected = np.array(segment.logprobs)[sampled[:length]]
        assert batch.logp_sampler_BT[row, sampled].tolist() == expected.tolist()
        assert batch.episode_B[row] == e
        assert batch.group_B[row] == trajectories[e].group


def test_a_token_gets_the_number_of_its_turn_in_the_table():
    batch = make_batch([episode([1.0, 2.0]), episode([3.0], group=1, seed=1)])
    assert batch.turns.reward_N.tolist() == [1.0, 2.0, 3.0]
    assert batch.turns.episode_N.tolist() == [0, 0, 1]
    assert batch.turns.turn_N.tolist() == [0, 1, 0]
    reward_BT = batch.spread(batch.turns.reward_N)
    assert set(reward_BT[0].tolist()) == {0.0, 1.0, 2.0}
    assert set(reward_BT[1].tolist()) == {0.0, 3.0}
    counts = [int((reward_BT == reward).sum()) for reward in (1.0, 2.0, 3.0)]
    assert batch.turns.num_tokens_N is not None
    assert batch.turns.num_tokens_N.tolist() == counts


def test_the_state_of_a_turn_is_the_last_token_of_its_prompt():
    for trajectory in (episode([0.0, 1.0]), episode([0.0, 1.0], split=True)):
        batch = make_batch([trajectory])
        for n, (row, slot) in enumerate(zip(batch.state_row_N, batch.state_slot_N, strict=True)):
            assert batch.turn_BT[row, slot] == -1
            assert batch.turn_BT[row, slot + 1] == n


def test_a_cut_episode_is_truncated_and_a_finished_one_terminated():
    batch = make_batch([episode([0.0, 1.0]), episode([0.0, 1.0], outcome="truncated")])
    assert batch.turns.is_terminated_N.tolist() == [False, True, False, False]
    assert batch.turns.is_truncated_N.tolist() == [False, False, False, True]


def test_episodes_without_a_return_are_left_out():
    good, bad = episode([1.0]), episode([5.0], outcome="env_error")
    batch = make_batch([bad, good])
    assert batch.turns.reward_N.tolist() == [1.0]
    assert batch.episode_B.tolist() == [1]


def test_a_batch_of_failures_is_an_error_that_tells_the_first():
    broken = episode([1.0], outcome="env_error")
    broken.error = "OSError: no sandbox"
    with pytest.raises(TrainingError, match="None of the episodes") as caught:
        make_batch([broken, episode([1.0], outcome="timeout")])
    assert caught.value.got == "{'env_error': 1, 'timeout': 1}"
    assert "OSError: no sandbox" in caught.value.fix


def test_the_state_after_a_cut_is_the_prompt_that_would_have_followed():
    model = tiny_model()
    renderer = TemplateRenderer(model.tokenizer)
    trajectories = sampled_episodes(model, num=3)
    batch = make_batch(trajectories)
    contexts = final_contexts(trajectories, batch.turns, renderer, 512)
    assert list(contexts) == np.flatnonzero(batch.turns.is_truncated_N).tolist() != []
    for last, context in contexts.items():
        trajectory = trajectories[int(batch.turns.episode_N[last])]
        seen = trajectory.segments[-1].token_ids
        assert context[: len(seen)] == seen
        text = model.tokenizer.decode(context[len(seen) :])
        assert trajectory.final_messages[0]["content"] in text
        assert text.endswith("<|im_start|>assistant\n")
    assert final_contexts(trajectories, batch.turns, renderer, 10) == {}
    trajectories[0].truncation_reason = "context_overflow"
    assert len(final_contexts(trajectories, batch.turns, renderer, 512)) == len(contexts) - 1
