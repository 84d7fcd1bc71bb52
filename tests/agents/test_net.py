"""Networks as agents, and the checkpoints they come from."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from santase_agents.checkpoint import CheckpointError, digest_of, find_checkpoint, load_network, save_checkpoint
from santase_agents.net import NetPolicy, in_fixed_blocks
from santase_agents.network import PolicyValueNet, make_network, masked_log_softmax
from santase_env import SantaseVectorEnv, load_policy, sample_state, view_of
from santase_env.compiled import Array
from santase_env.observation import encode_batch, observation_size
from santase_env.policy import random_action
from santase_training.evaluate import evaluate

META = {
    "rules": "classic",
    "canonical_suits": True,
    "network": {"kind": "mlp", "hidden": [16]},
    "config": {},
    "update": 1,
    "step": 10,
}


def checkpoint(folder: Path, seed: int = 0) -> PolicyValueNet:
    torch.manual_seed(seed)
    network = PolicyValueNet((16,))
    with torch.no_grad():
        network.head.weight.mul_(300)  # opinions strong enough to differ
    save_checkpoint(folder, META, network.state_dict())
    return network


def positions(count: int = 300, steps: int = 9, seed: int = 1) -> tuple[SantaseVectorEnv, Array, Array, Array]:
    env = SantaseVectorEnv(count, "classic")
    env.reset(seed=seed)
    for t in range(steps):
        masks = env.masks()
        env.step(np.array([random_action(masks[i], np.uint64(1000 * t + i)) for i in range(count)]))
    return env, env.views(), env.masks(), np.arange(count, dtype=np.uint64)


@pytest.mark.parametrize("mode", ["best", "sample"])
def test_a_decision_does_not_depend_on_its_neighbours(tmp_path: Path, mode: str) -> None:
    checkpoint(tmp_path / "c")
    policy = load_policy(f"net:{tmp_path / 'c'},mode={mode}")
    _, views, masks, keys = positions(700)
    together = policy.act(views, masks, keys)
    assert masks[np.arange(700), together].all()
    backwards = policy.act(views[::-1], masks[::-1], keys[::-1])[::-1]
    assert np.array_equal(together, backwards)
    for i in range(40):
        row = slice(i, i + 1)
        assert policy.act(views[row], masks[row], keys[row])[0] == together[i]


def test_it_acts_on_the_view_alone(tmp_path: Path) -> None:
    """rlcard 297: the observation saw hidden cards."""
    checkpoint(tmp_path / "c")
    policy = load_policy(f"net:{tmp_path / 'c'}")
    env, views, masks, keys = positions()
    worlds = [sample_state(views[i], 99 + i) for i in range(len(views))]
    assert any(world.hands.tolist() != state.hands.tolist() for world, state in zip(worlds, env.states, strict=True))
    again = np.array([view_of(world, int(world.player)) for world in worlds], views.dtype)
    assert np.array_equal(policy.act(views, masks, keys), policy.act(again, masks, keys))


def test_sampling_follows_the_policy(tmp_path: Path) -> None:
    network = checkpoint(tmp_path / "c")
    policy = NetPolicy(network, canonical_suits=False, mode="sample")
    _, views, masks, _ = positions(1)
    count = 4000
    drawn = policy.act(np.repeat(views, count), np.repeat(masks, count, axis=0), np.arange(count, dtype=np.uint64))
    scores = masked_log_softmax(in_fixed_blocks(network, _observation(views))[0], torch.from_numpy(masks).bool())
    expected = scores.detach().exp().numpy()[0]
    np.testing.assert_allclose(np.bincount(drawn, minlength=31) / count, expected, atol=0.03)


def _observation(views: Array) -> Array:
    from santase_env.observation import encode_batch

    return encode_batch(views, np.zeros((len(views), 31), np.int8))[0]


def test_masked_actions_have_no_probability_and_no_nan() -> None:
    """acme 87, open_spiel 845: minus infinity times zero, and masks that let illegal moves through."""
    logits = torch.full((4, 31), 1e30)
    logits[:, 3] = -1e30
    mask = torch.zeros(4, 31, dtype=torch.bool)
    mask[:, 3] = True
    scores = masked_log_softmax(logits.clamp(-1e4, 1e4), mask)
    assert scores[:, 3].tolist() == [0.0] * 4
    assert (-(scores.exp() * scores).sum(dim=1)).tolist() == [0.0] * 4


def test_an_empty_mask_is_refused_with_a_sentence() -> None:
    """entity-neural-network 186: an opaque crash on an all-zero mask."""
    with pytest.raises(ValueError, match="all zero"):
        masked_log_softmax(torch.zeros(2, 31), torch.tensor([[True] * 31, [False] * 31]))


def test_a_saved_network_is_the_same_again(tmp_path: Path) -> None:
    network = checkpoint(tmp_path / "c")
    loaded, meta = load_network(tmp_path / "c")
    assert meta["rules"] == "classic"
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), loaded.parameters(), strict=True))


def test_a_run_stands_for_its_newest_whole_checkpoint(tmp_path: Path) -> None:
    for number in (2, 10):
        checkpoint(tmp_path / "checkpoints" / f"update-{number:08d}")
    (tmp_path / "checkpoints" / ".update-00000011.partial").mkdir()
    (tmp_path / "checkpoints" / "update-00000012").mkdir()
    assert find_checkpoint(tmp_path).name == "update-00000010"


def test_the_identity_is_that_of_the_contents(tmp_path: Path) -> None:
    network = checkpoint(tmp_path / "c")
    checkpoint(tmp_path / "run" / "checkpoints" / "update-00000001")
    first = load_policy(f"net:{tmp_path / 'c'}").identity
    assert first == digest_of(tmp_path / "c" / "checkpoint.json") == digest_of(tmp_path / "run")
    assert first == load_policy(f"net:{tmp_path / 'run'},mode=sample").identity
    checkpoint(tmp_path / "c", seed=1)
    assert first != digest_of(tmp_path / "c") == load_policy(f"net:{tmp_path / 'c'}").identity
    save_checkpoint(tmp_path / "c", {**META, "canonical_suits": False}, network.state_dict())
    assert first != digest_of(tmp_path / "c")
    checkpoint(tmp_path / "c")
    save_checkpoint(tmp_path / "trained", META, network.state_dict(), {"momentum": torch.zeros(2)})
    assert first == digest_of(tmp_path / "c") == digest_of(tmp_path / "trained")
    assert NetPolicy(network, canonical_suits=False).identity == ""
    (tmp_path / "c" / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="cannot read "):
        digest_of(tmp_path / "c")
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        digest_of(tmp_path / "nothing")


def test_missing_broken_and_foreign_checkpoints_give_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        load_policy(f"net:{tmp_path / 'nothing'}")
    checkpoint(tmp_path / "c")
    (tmp_path / "c" / "model.safetensors").write_bytes(b"short")
    with pytest.raises(CheckpointError, match="cannot read"):
        load_network(tmp_path / "c")
    checkpoint(tmp_path / "other")
    path = tmp_path / "other" / "checkpoint.json"
    meta = json.loads(path.read_text())
    path.write_text(json.dumps({**meta, "network": {"kind": "mlp", "hidden": [8]}}))
    with pytest.raises(CheckpointError, match="do not fit"):
        load_network(tmp_path / "other")
    path.write_text(json.dumps({**meta, "layout": {"version": 0, "size": 188}}))
    with pytest.raises(CheckpointError, match=r"layout \{'version': 0, 'size': 188\}, but this version writes"):
        load_network(tmp_path / "other")
    path.write_text(json.dumps({**meta, "format": 99}))
    with pytest.raises(CheckpointError, match="not a checkpoint of format"):
        load_network(tmp_path / "other")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rules": "clasic"}, "did you mean|unknown"),
        ({"rules": None}, "checkpoint.json: "),
        ({"network": None}, "network.hidden must list the sizes of the layers, not None"),
        ({"network": {}}, "network.hidden must list the sizes of the layers, not None"),
        ({"network": {"hidden": "abc"}}, "network.hidden must list the sizes of the layers, not 'abc'"),
        ({"network": {"hidden": [-3]}}, r"network.hidden must list the sizes of the layers, not \[-3\]"),
        ({"config": None}, "config must be an object, not None"),
    ],
)
@pytest.mark.parametrize("agent", ["net:", "search:net="])
def test_a_checkpoint_that_says_nonsense_is_refused(tmp_path: Path, agent: str, change: object, sentence: str) -> None:
    checkpoint(tmp_path / "c")
    path = tmp_path / "c" / "checkpoint.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))  # type: ignore[dict-item]
    with pytest.raises(CheckpointError, match=sentence):
        load_policy(f"{agent}{tmp_path / 'c'}")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match=r"cannot read .*checkpoint.json"):
        load_policy(f"{agent}{tmp_path / 'c'}")


def test_no_pickle_is_ever_read(tmp_path: Path) -> None:
    """SB3 1852, sample-factory 313: unsafe loading of pickled weights."""
    sources = Path(__file__).parents[2]
    for package in ("santase_env", "agents", "training"):
        for file in (sources / package).rglob("*.py"):
            text = file.read_text()
            assert "torch.load" not in text, file
            assert "import pickle" not in text, file


@pytest.mark.parametrize("recall", [False, True])
@pytest.mark.parametrize(
    ("kind", "hidden"), [("mlp", (16,)), ("separate", (8, 8)), ("residual", (16, 24)), ("cards", (32, 16))]
)
def test_every_kind_of_network_is_saved_loaded_and_plays(
    tmp_path: Path, kind: str, hidden: tuple[int, ...], recall: bool
) -> None:
    torch.manual_seed(1)
    network = make_network(kind, hidden, observation_size(recall))
    save_checkpoint(tmp_path / "c", {**META, "network": network.describe()}, network.state_dict())
    policy = load_policy(f"net:{tmp_path / 'c'}")
    assert isinstance(policy, NetPolicy)
    assert policy.network.describe() == network.describe()
    _, views, masks, keys = positions(60)
    actions = policy.act(views, masks, keys)
    assert masks[np.arange(60), actions].all()
    rows, _ = encode_batch(views, masks, True, recall)
    logits, value = network(torch.from_numpy(rows))
    assert logits.shape == (60, 31)
    assert value.shape == (60,)
    assert logits.abs().max() < 0.2, "play begins nearly uniform"
    logits.sum().backward(retain_graph=True)
    value.sum().backward()
    assert all(p.grad is not None for p in network.parameters()), "every weight is used"


def test_the_attention_network_reads_every_entry() -> None:
    for recall in (False, True):
        network = make_network("cards", (32, 16), observation_size(recall))
        rows = torch.rand(4, network.inputs, requires_grad=True)
        logits, value = network(rows)
        (slope,) = torch.autograd.grad((logits.square().sum() + value.square().sum()), rows)
        assert (slope.abs().sum(dim=0) > 0).all()


def test_an_unknown_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="network must be one of mlp, separate, residual, cards, not 'lstm'"):
        make_network("lstm", (8,))
    with pytest.raises(ValueError, match="must be a multiple of 16"):
        make_network("cards", (20, 8))
    network = checkpoint(tmp_path / "c")
    save_checkpoint(tmp_path / "d", {**META, "network": {"kind": "lstm", "hidden": [8]}}, network.state_dict())
    with pytest.raises(ValueError, match=r"network\.kind must be one of"):
        load_policy(f"net:{tmp_path / 'd'}")


def test_the_released_network_plays_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    policy = load_policy("pretrained")
    assert isinstance(policy, NetPolicy)
    assert isinstance(load_policy("net:pretrained"), NetPolicy)
    result = evaluate("pretrained", "greedy", 400, "classic")
    assert result.ci95[0] > 0
    (tmp_path / "pretrained").mkdir()
    with pytest.raises(ValueError, match="there is no checkpoint at pretrained"):
        load_policy("net:pretrained")
