"""Every published case in `vectors.json`, in float64 and float32, through the public functions.

A case of kind "loss" takes the trainer's road: table of turns, advantages, weights, policy loss.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gemenv.train.admission import row_staleness, staleness_capacity
from gemenv.train.advantage import discounted_returns, gae, group_advantage, standardize
from gemenv.train.aggregation import Aggregation, token_weights
from gemenv.train.algorithms import Algorithm, turn_advantages
from gemenv.train.credit import GroupRelative, Standardize
from gemenv.train.lora import LoraLinear
from gemenv.train.losses.covariance import kl_cov_mask, token_covariance
from gemenv.train.losses.entropy import entropy_from_logits
from gemenv.train.losses.kl import kl_terms
from gemenv.train.losses.log_ratio import log_ratio, sequence_log_ratio
from gemenv.train.losses.off_policy import OffPolicy
from gemenv.train.losses.surrogate import Cispo, Gmpo, ImportanceSampling, Ppo, Reinforce
from gemenv.train.losses.twin_critic import twin_advantage, twin_critic_loss, twin_q_targets
from gemenv.train.losses.verifree import verifree_loss
from gemenv.train.outcome_credit import correctness_advantage, semantic_entropy, uncertainty_scale
from gemenv.train.policy_loss import TokenStreams, policy_loss
from gemenv.train.presets import (
    dr_grpo,
    grpo,
    gspo,
    importance_sampling,
    loop,
    reinforce_pp_baseline,
    reinforce_rebn,
    rloo,
)
from gemenv.train.reward_shaping import relative_length_reward
from gemenv.train.schedule import LossScale
from gemenv.train.turn_table import TurnTable

CASES = {
    c["id"]: c for c in json.loads((Path(__file__).parent / "vectors.json").read_text())["cases"]
}
TOKEN_MEAN = Aggregation("batch", "tokens")
EPISODE_SUM = Aggregation("traj", "none")
DTYPES = {"float64": torch.float64, "float32": torch.float32}

Got = dict[str, Any]


class Case:
    """One case's inputs as tensors of one dtype, and its settings."""

    def __init__(self, case: dict[str, Any], dtype: torch.dtype) -> None:
        self.dtype, self.algo, self.kind = dtype, case["algo"], case["kind"]
        self.inputs, self.params = case["inputs"], case["params"]

    def __getitem__(self, name: str) -> Any:
        return self.inputs[name]

    def tensor(self, name: str) -> torch.Tensor:
        value = torch.tensor(self.inputs[name], dtype=self.dtype)
        return value.bool() if name.endswith("mask") else value

    def array(self, name: str) -> np.ndarray:
        return self.tensor(name).numpy()

    def optional(self, name: str) -> torch.Tensor | None:
        return self.tensor(name) if name in self.inputs else None


def one_turn_each(reward_N: np.ndarray, group_N: Any, num_tokens_N: Any) -> TurnTable:
    num = len(reward_N)
    return TurnTable(
        reward_N=reward_N,
        episode_N=np.arange(num),
        turn_N=np.zeros(num, int),
        group_N=np.asarray(group_N),
        is_terminated_N=np.ones(num, bool),
        is_truncated_N=np.zeros(num, bool),
        num_tokens_N=np.asarray(num_tokens_N),
    )


def many_turns(case: Case) -> TurnTable:
    episodes = case["episodes"]
    lengths = [len(e["r"]) for e in episodes]
    episode_N = np.repeat(np.arange(len(episodes)), lengths)
    is_last_N = np.concatenate([np.arange(n) == n - 1 for n in lengths])
    is_term_N = np.repeat([e["term"] for e in episodes], lengths)
    return TurnTable(
        reward_N=np.concatenate([np.asarray(e["r"], float) for e in episodes]),
        episode_N=episode_N,
        turn_N=np.concatenate([np.arange(n) for n in lengths]),
        group_N=np.asarray(case.inputs.get("traj_group", range(len(episodes))))[episode_N],
        is_terminated_N=is_last_N & is_term_N,
        is_truncated_N=is_last_N & ~is_term_N,
    )


def clip_of(p: dict[str, Any]) -> Ppo:
    low, high = p.get("eps_low", p.get("clip", 0.2)), p.get("eps_high", p.get("clip", 0.2))
    return Ppo(clip_low=low, clip_high=high, dual_clip=p.get("dual_clip"))


def off_policy_of(p: dict[str, Any], numerator: str) -> OffPolicy:
    bounds = {"low": p.get("lo", 0.0), "high": p["hi"]}
    return OffPolicy(level=p["level"], mode=p["mode"], numerator=numerator, **bounds)


def gem_grpo(p: dict[str, Any]) -> Algorithm:
    credit = GroupRelative(scale="group_std", ddof=p["ddof"], eps=p["eps"])
    return replace(grpo(kl_coef=0), rule=Reinforce(), credit=credit, aggregation=EPISODE_SUM)


def gem_rebn(p: dict[str, Any]) -> Algorithm:
    standardizing = Standardize(ddof=p["ddof"], eps=p["eps"])
    return replace(reinforce_rebn(), standardize=standardizing, aggregation=EPISODE_SUM)


def seq_tis(p: dict[str, Any]) -> Algorithm:
    correction = off_policy_of(p, "current")
    return replace(rloo(), off_policy=correction, aggregation=Aggregation("row", "const"))


ALGORITHM_OF: dict[str, Callable[[dict[str, Any]], Algorithm]] = {
    "grpo": lambda p: replace(grpo(kl_coef=p["beta"]), rule=clip_of(p)),
    "grpo_nokl": lambda p: replace(grpo(kl_coef=p["beta"]), rule=clip_of(p)),
    "grpo_dualclip": lambda p: replace(
        grpo(kl_coef=p["beta"]), rule=clip_of(p), aggregation=TOKEN_MEAN
    ),
    "gspo": lambda p: gspo(clip_low=p["eps_low"], clip_high=p["eps_high"]),
    "loop": lambda p: loop(clip=p["eps_low"]),
    "rloo": lambda _: rloo(),
    "reinforce_pp_baseline": lambda p: reinforce_pp_baseline(clip=p["clip"]),
    "importance_sampling": lambda _: importance_sampling(),
    "reinforce_rebn": gem_rebn,
    "seq_tis": seq_tis,
}


def algorithm_of(case: Case) -> Algorithm:
    p = case.params
    if case.algo.startswith("grpo+"):
        return replace(grpo(kl_coef=0), rule=clip_of(p), off_policy=off_policy_of(p, "old"))
    if case.algo == "grpo" and "episodes" in case.inputs:
        return gem_grpo(p)
    return ALGORITHM_OF[case.algo](p)


def policy_gradient(case: Case) -> Got:
    """The trainer's road; each token's loss is the derivative of the loss by its weight."""
    algorithm, mask_BT = algorithm_of(case), case.tensor("mask")
    if "episodes" in case.inputs:
        turns = many_turns(case)
    else:
        turns = one_turn_each(case.array("rewards"), case["group"], mask_BT.sum(dim=1))
    advantage_N = turn_advantages(algorithm, turns).advantage_N
    weight_BT = algorithm.aggregation.weights(
        mask_BT, episode_B=turns.episode_N, max_tokens=case.params.get("C")
    )
    logp_BT = case.tensor("logp").requires_grad_()
    streams = TokenStreams(
        mask_BT=mask_BT,
        advantage_BT=torch.tensor(advantage_N, dtype=case.dtype)[:, None].expand(mask_BT.shape),
        weight_BT=torch.tensor(weight_BT, dtype=case.dtype).requires_grad_(),
        logp_old_BT=case.optional("logp_old"),
        logp_sampler_BT=case.optional("logp_roll"),
        logp_ref_BT=case.optional("logp_ref"),
    )
    loss, metrics = policy_loss(algorithm, logp_BT, streams)
    assert loss.dtype == case.dtype
    assert metrics["sum/num_tokens"] == mask_BT.sum()
    grad_BT, token_loss_BT = torch.autograd.grad(loss, (logp_BT, streams.weight_BT))
    got = {
        "advantages": streams.advantage_BT * mask_BT,
        "traj_advantages": [
            advantage_N[turns.episode_N == e][0] for e in np.unique(turns.episode_N)
        ],
        "W": weight_BT,
        "token_loss": token_loss_BT,
        "loss": loss,
        "grad_logp": grad_BT,
    }
    if algorithm.off_policy is not None:
        over = streams.logp_old_BT if algorithm.off_policy.numerator == "old" else logp_BT
        w_off_BT = algorithm.off_policy.weights(over, streams.logp_sampler_BT, mask_BT)
        # the vectors give the token loss before the off-policy weight
        surrogate = algorithm.rule(logp_BT, over, streams.advantage_BT, mask_BT)
        got |= {"w_off": w_off_BT, "token_loss": surrogate.loss_BT}
        torch.testing.assert_close(token_loss_BT, w_off_BT * surrogate.loss_BT)
    if case.algo == "gspo":
        both = (logp_BT, streams.logp_old_BT, mask_BT)
        got["seq_ratio"] = sequence_log_ratio(*both, is_mean=True).exp()[:, 0]
    return got


def rule_loss(case: Case) -> Got:
    """Rules whose cases give the advantage of each row, or need a batch statistic."""
    logp_BT, old_BT = case.tensor("logp").requires_grad_(), case.tensor("logp_old")
    mask_BT, rows = case.tensor("mask"), case.params.get("A_rows")
    if rows is None:
        rows = group_advantage(case["rewards"], case["group"], scale="group_std")
    advantage_B = torch.tensor(rows, dtype=case.dtype)
    advantage_BT = advantage_B[:, None].expand(mask_BT.shape)
    unit, rule, got = TOKEN_MEAN, Cispo(cap_high=4.0), {"advantages": advantage_BT * mask_BT}
    if case.algo == "gmpo":
        unit, rule = Aggregation("row", "tokens"), Gmpo()
    if case.algo == "kl_cov":
        rule = ImportanceSampling()
    token_loss_BT = rule(logp_BT, old_BT, advantage_BT, mask_BT).loss_BT
    if case.algo == "gmpo":
        got = {"advantages": advantage_B}
        got["row_ratio"] = torch.where(
            mask_BT.any(1), -token_loss_BT[:, 0] / advantage_B, torch.ones_like(advantage_B)
        )
    if case.algo == "kl_cov":
        cov_BT = token_covariance(logp_BT, advantage_BT, mask_BT)
        selected_BT = kl_cov_mask(cov_BT, mask_BT, fraction=case.params["ratio"])
        penalty_BT = case.params["kl_coef"] * log_ratio(logp_BT, old_BT, mask_BT).abs()
        token_loss_BT = token_loss_BT + torch.where(selected_BT, penalty_BT, 0.0)
        got |= {"cov": cov_BT, "selected": selected_BT}
    weight_BT = torch.tensor(unit.weights(mask_BT), dtype=case.dtype)
    loss = (weight_BT * token_loss_BT).sum()
    (grad_BT,) = torch.autograd.grad(loss, logp_BT)
    return got | {"W": weight_BT, "token_loss": token_loss_BT, "loss": loss, "grad_logp": grad_BT}


def entropy_bonus(case: Case) -> Got:
    logit_BTV = case.tensor("logits").requires_grad_()
    token_BT, mask_BT = torch.tensor(case["tokens"]), case.tensor("mask")
    logp_BT = logit_BTV.log_softmax(-1).gather(-1, token_BT[..., None])[..., 0]
    entropy_BT = entropy_from_logits(logit_BTV)
    algorithm = replace(rloo(), aggregation=TOKEN_MEAN, entropy_coef=case.params["ent_coef"])
    advantage_B = case.tensor("A_rows")
    streams = TokenStreams(
        mask_BT=mask_BT,
        advantage_BT=advantage_B[:, None].expand(mask_BT.shape),
        weight_BT=torch.tensor(algorithm.aggregation.weights(mask_BT), dtype=case.dtype),
        entropy_BT=entropy_BT,
    )
    loss, _ = policy_loss(algorithm, logp_BT, streams)
    (grad,) = torch.autograd.grad(loss, logit_BTV)
    return {"logp": logp_BT, "entropy": entropy_BT, "loss": loss, "grad_logits": grad}


def verifree(case: Case) -> Got:
    logp_BT = case.tensor("logp").requires_grad_()
    masks = case.tensor("think_mask"), case.tensor("answer_mask")
    loss, reward_B, advantage_B = verifree_loss(logp_BT, *masks, case["group"])
    (grad,) = torch.autograd.grad(loss, logp_BT)
    return {"R": reward_B, "advantages": advantage_B, "loss": loss, "grad_logp": grad}


def archer(case: Case) -> Got:
    def pair(name: str) -> torch.Tensor:
        return torch.stack([case.tensor(name.replace("?", k)) for k in "12"])

    done = torch.tensor(case["done"]).bool()
    gamma = case.params["gamma"]
    target_KN = twin_q_targets(case.tensor("reward"), done, pair("v?_next_target"), gamma=gamma)
    return {
        "q_target1": target_KN[0],
        "q_target2": target_KN[1],
        "q_loss": twin_critic_loss(pair("q?"), target_KN),
        "v_loss": twin_critic_loss(pair("v?"), pair("q?_target")),
        "advantage": twin_advantage(pair("q?"), pair("v?")),
    }


def advantage(case: Case) -> Got:
    p = case.params
    match case.algo:
        case "reinforce_rebn":
            if "episodes" not in case.inputs:
                return {
                    "advantages": standardize(case.array("returns"), ddof=p["ddof"], eps=p["eps"])
                }
            rebn = algorithm_of(case)
            plain = replace(rebn, standardize=None)
            return {
                "returns": turn_advantages(plain, many_turns(case)).advantage_N,
                "advantages": turn_advantages(rebn, many_turns(case)).advantage_N,
            }
        case "psr":
            return {"advantages": correctness_advantage(case["correct"], positive=1, negative=0)}
        case "ppo_turn":
            A, target = gae(
                case.array("rewards"),
                case.array("values"),
                gamma=p["gamma"],
                lam=p["lam"],
                is_terminated=case["terminated"],
                bootstrap_value=case["v_boot"],
            )
            return {"advantages": A, "value_targets": target}
        case _:
            settings = {k: p[k] for k in ("baseline", "scale", "ddof", "eps") if k in p}
            return {"advantages": group_advantage(case.array("rewards"), case["group"], **settings)}


def primitive(case: Case) -> Got:
    returns = discounted_returns(
        case.array("rewards"), gamma=case.params["gamma"], bootstrap_value=case["bootstrap"]
    )
    return {"returns": returns}


def aggregation(case: Case) -> Got:
    p = case.params
    unit_B = case.inputs.get("unit_id")
    const = p.get("const")
    W = token_weights(case["mask"], unit=p["unit"], norm=p["norm"], unit_B=unit_B, const=const)
    return {"W": W}


def weights(case: Case) -> Got:
    p = case.params
    if case.algo != "seed_grpo":
        both = case.tensor("logp_old"), case.tensor("logp_roll")
        return {"w": off_policy_of(p, "old").weights(*both, case.tensor("mask"))}
    entropy = semantic_entropy(case["clusters"], estimator=p["estimator"])
    size = len(case["clusters"])
    scales = {
        shape: uncertainty_scale(entropy, group_size=size, alpha=p["alpha"], shape=shape)
        for shape in ("linear", "exp")
    }
    return {"semantic_entropy": entropy, **scales}


def kl(case: Case) -> Got:
    logp_BT = case.tensor("logp").requires_grad_()
    kind = {"fwd": "forward"}.get(case.algo, case.algo)
    value_BT = kl_terms(logp_BT, case.tensor("logp_ref"), case.tensor("mask"), kind=kind)
    (dlogp_BT,) = torch.autograd.grad(value_BT.sum(), logp_BT)
    return {"value": value_BT, "dlogp": dlogp_BT}


def identity(case: Case) -> Got:
    if case.algo == "ppo_turn":
        rewards, gamma = case.array("rewards"), case.params["gamma"]
        A, _ = gae(rewards, 0 * rewards, gamma=gamma, lam=1.0, is_terminated=True)
        return {"advantages": A, "returns": discounted_returns(rewards, gamma=gamma)}
    theta, ref = case.tensor("theta").requires_grad_(), case.tensor("ref_logits").log_softmax(-1)
    logp = theta.log_softmax(-1)
    p = logp.exp()
    all_tokens = torch.ones_like(p, dtype=torch.bool)
    forward, backward = (p * (logp - ref)).sum(), (ref.exp() * (ref - logp)).sum()
    got: Got = {"kl_pi_ref": forward, "kl_ref_pi": backward}
    got["grad_kl_pi_ref"] = torch.autograd.grad(forward, theta, retain_graph=True)[0]
    got["grad_kl_ref_pi"] = torch.autograd.grad(backward, theta, retain_graph=True)[0]
    for kind, name in (("k1", "k1"), ("k2", "k2"), ("k3", "k3"), ("forward", "fwd")):
        terms = kl_terms(logp[None], ref[None], all_tokens[None], kind=kind)[0]
        got[f"E_{name}"] = (p * terms).sum()
        as_loss = (p.detach() * terms).sum()  # tokens are drawn, then the term is differentiated
        got[f"E_grad_{name}_loss"] = torch.autograd.grad(as_loss, theta, retain_graph=True)[0]
    return got


def reward(case: Case) -> Got:
    bonus = relative_length_reward(case["correct"], case["length"])
    return {"reward": case.params.get("w", 1.0) * bonus + case.inputs.get("base_reward", 0.0)}


def schedule(case: Case) -> Got:
    if case.algo == "async":
        columns = zip(case["eta"], case["version"], case["batch"], case["started"], strict=True)
        capacity = [
            staleness_capacity(max_staleness=e, version=v, batch_size=b, num_started=s)
            for e, v, b, s in columns
        ]
        return {"capacity": capacity}
    p, found = case.params, []
    scale = LossScale(
        scale=p["init"], growth=p["growth"], backoff=p["backoff"], interval=p["interval"]
    )
    for found_inf in case["found_inf"]:
        scale = scale.after(found_inf=bool(found_inf))
        found.append(scale.scale)
    return {"scale_after": found}


def staleness_filter(case: Case) -> Got:
    staleness = row_staleness(case["versions"], current=case["current"])
    return {"staleness": staleness, "keep": staleness <= case.params["eta"]}


def lora(case: Case) -> Got:
    W0, A, B = (case.tensor(name) for name in ("W0", "A", "B"))
    base = torch.nn.Linear(W0.shape[1], W0.shape[0], bias=False, dtype=case.dtype)
    base.weight.data = W0
    draw = torch.Generator().manual_seed(0)
    layer = LoraLinear(base, rank=case.params["r"], alpha=case.params["alpha"], generator=draw)
    x, dy = case.tensor("x").requires_grad_(), case.tensor("dy")
    layer.lora_a.data = A
    at_start = torch.autograd.grad((dy * layer(x)).sum(), (layer.lora_a, layer.lora_b))
    layer.lora_b.data = B
    y = layer(x)
    grad_A, grad_B, grad_x = torch.autograd.grad((dy * y).sum(), (layer.lora_a, layer.lora_b, x))
    found = {"y": y, "grad_A": grad_A, "grad_B": grad_B, "grad_x": grad_x}
    found |= {"merged": layer.merged_weight()}
    return found | {"grad_A_at_B0": at_start[0], "grad_B_at_B0": at_start[1]}


def antipattern(case: Case) -> Got:
    """Ours under the name of the right value; the test also keeps it away from the wrong one."""
    centred = replace(dr_grpo(), rule=Reinforce())
    mask_BT = case.tensor("mask")
    turns = one_turn_each(case.array("rewards"), case["group"], mask_BT.sum(dim=1))
    advantage_N = torch.tensor(turn_advantages(centred, turns).advantage_N, dtype=case.dtype)
    found = {}
    for name, unit in (("right", Aggregation("row", "none")), ("right_token_mean", TOKEN_MEAN)):
        streams = TokenStreams(
            mask_BT=mask_BT,
            advantage_BT=advantage_N[:, None].expand(mask_BT.shape),
            weight_BT=torch.tensor(unit.weights(mask_BT), dtype=case.dtype),
        )
        found[name], _ = policy_loss(centred, case.tensor("logp"), streams)
    return found


def loss(case: Case) -> Got:
    special: dict[str, Callable[[Case], Got]] = {
        "cispo4": rule_loss,
        "gmpo": rule_loss,
        "kl_cov": rule_loss,
        "entropy": entropy_bonus,
        "verifree": verifree,
    }
    return special.get(case.algo, policy_gradient)(case)


RUN: dict[str, Callable[[Case], Got]] = {
    "primitive": primitive,
    "advantage": advantage,
    "aggregation": aggregation,
    "loss": loss,
    "weights": weights,
    "kl": kl,
    "identity": identity,
    "reward": reward,
    "value": archer,
    "schedule": schedule,
    "numerics": lora,
    "filter": staleness_filter,
    "antipattern": antipattern,
}


def tolerance(name: str, case_id: str) -> dict[str, float]:
    if name == "float64":
        return {"rtol": 1e-10, "atol": 1e-12}
    return {"rtol": 1e-4 if case_id.startswith("huge_ratio") else 2e-5, "atol": 1e-6}


def as_array(value: Any) -> np.ndarray:
    return np.asarray(value.detach() if isinstance(value, torch.Tensor) else value, np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case_id", CASES)
def test_every_expected_value_is_reproduced(case_id: str, dtype: str) -> None:
    case = CASES[case_id]
    found = RUN[case["kind"]](Case(case, DTYPES[dtype]))
    for name, expected in case["expected"].items():
        if name != "WRONG":
            close = tolerance(dtype, case_id)
            np.testing.assert_allclose(as_array(found[name]), expected, **close, err_msg=name)
    if "WRONG" in case["expected"]:
        right = next(name for name in case["expected"] if name.startswith("right"))
        assert abs(float(found[right]) - case["expected"]["WRONG"]) > 1e-3


def test_the_file_holds_all_its_cases() -> None:
    assert len(CASES) == 71
