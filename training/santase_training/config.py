"""Settings of a training run: typed defaults, and YAML files that say only what differs from them."""

import dataclasses
import difflib
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_origin, get_type_hints

import tyro
import yaml

from santase_env.policy import load_policy
from santase_env.rules import mixture_of


class ConfigError(ValueError):
    """A setting that is unknown or impossible; the message names it."""


_ABOVE_0 = (
    "total_steps",
    "num_envs",
    "rollout",
    "epochs",
    "minibatch",
    "learning_rate",
    "clip",
    "max_gradient_norm",
    "reward_scale",
    "pool_every",
    "magnet_every",
    "evaluate_every",
    "evaluate_deals",
    "final_deals",
    "checkpoint_every",
    "keep_checkpoints",
)
_AT_LEAST_0 = (
    "learning_rate_end",
    "threads",
    "pool_size",
    "value_coefficient",
    "entropy_start",
    "entropy_end",
    "magnet_start",
    "magnet_end",
)
_SHARES = ("pool_share", "pool_first", "discount", "trace", "magnet_rate", "explore_start", "explore_end")


@dataclass(frozen=True)
class TrainConfig:
    """Self-play training. Steps are actions of one player, forced ones included.

    Values that change from a start to an end do so linearly in the steps of the whole run.
    """

    algorithm: Literal["ppo", "dmc", "distill", "sb3"] = "ppo"
    """How it learns; each is one file of this package."""
    rules: str = "online,false_claim=illegal"
    """Rules of the game; several with "|" between are a mixture, each played in an equal share of the games."""
    seed: int = 1
    """Of everything: deals, initial weights, sampling, minibatches."""
    total_steps: int = 10_000_000
    """Steps after which training ends."""
    init: str = ""
    """A checkpoint, or a run, whose weights the network begins with."""

    num_envs: int = 1024
    """Games side by side."""
    rollout: int = 32
    """Decisions per game and update."""
    epochs: int = 2
    """Passes over the decisions of an update."""
    minibatch: int = 2048
    """Decisions per gradient step. 1,024 was a fifth slower on two cores without bfloat16."""
    learning_rate: float = 2e-3
    """Adam's, at the start."""
    learning_rate_end: float = 0.0
    """... and at the end."""
    clip: float = 0.2
    """PPO's bound on the probability ratio."""
    discount: float = 1.0
    """Gamma, per decision. A deal is short and has one reward, so nothing is discounted."""
    trace: float = 0.95
    """Lambda of the generalised advantage estimates."""
    value_coefficient: float = 0.5
    """Weight of the squared value error."""
    entropy_start: float = 0.05
    """Weight of the entropy bonus at the start."""
    entropy_end: float = 0.005
    """... and at the end."""
    max_gradient_norm: float = 0.5
    """Gradients are scaled down to this norm."""
    reward_scale: float = 1 / 3
    """Game points times this are the reward, so that returns lie in [-1, 1]."""

    magnet: Literal["none", "uniform", "start", "moving", "periodic"] = "none"
    """The policy that the learner is held near, by its KL divergence from it: uniform over legal actions (magnetic
    mirror descent), the policy at the start, a moving average of the weights, or a copy renewed now and then (as Nash
    policy gradients do)."""
    magnet_start: float = 0.05
    """Weight of that divergence at the start."""
    magnet_end: float = 0.05
    """... and at the end."""
    magnet_rate: float = 0.01
    """moving: how far the magnet goes towards the learner per update."""
    magnet_every: int = 100
    """periodic: updates between two copies."""

    critic: Literal["own", "full"] = "own"
    """What advantages are measured against: the network's own value, or a second network, in training only, that sees
    all cards."""
    explore_start: float = 0.1
    """Deep Monte-Carlo: share of random actions at the start."""
    explore_end: float = 0.01
    """... and at the end."""

    teacher: str = "ismcts:iterations=200,threads=1"
    """Distillation: the search agent to learn from."""

    network: Literal["mlp", "separate", "residual", "cards"] = "mlp"
    """Kind of network, see santase_agents/network.py."""
    hidden: tuple[int, ...] = (256, 256)
    """Its sizes; for an mlp the widths of the ReLU layers that policy and value share."""
    recall: bool = False
    """Let it read the public log, and in which order its cards came: perfect recall."""
    canonical_suits: bool = True
    """Rename suits so that trumps come first: nothing has to be learned four times."""

    pool_share: float = 0.2
    """Share of deals in which one seat is played by a frozen past self."""
    pool_first: float = 0.5
    """Of these deals, share against the untrained first self: who meets only strong play forgets to punish weak."""
    pool_size: int = 8
    """Past selves kept, the first one apart."""
    pool_every: int = 20
    """Updates between two of them."""

    opponents: tuple[str, ...] = ("random", "greedy", "heuristic")
    """Baselines for evaluation while it trains."""
    evaluate_every: int = 500_000
    """Steps between evaluations."""
    evaluate_deals: int = 2000
    """Deals per baseline then."""
    final_deals: int = 10_000
    """Deals per baseline after the last update."""
    checkpoint_every: int = 1_000_000
    """Steps between checkpoints."""
    keep_checkpoints: int = 3
    """Newest checkpoints that are kept."""

    device: str = "cpu"
    """Where networks, buffers and updates live: cpu, cuda or cuda:1. The games stay on the CPU."""
    threads: int = 0
    """Threads that share the rows; 0: as many as a short probe finds fastest, kept when the run is resumed."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of matrix products in training; auto takes bfloat16 where the processor has instructions for it.
    Logits and losses are float32 always."""
    expected: Annotated[dict[str, float], tyro.conf.Suppress] = field(default_factory=dict)
    """Game points per deal that this config reached against each baseline, printed beside what a run reached."""

    def __post_init__(self) -> None:
        mixture_of(self.rules)
        for opponent in self.opponents:
            load_policy(opponent)
        for field_ in dataclasses.fields(self):
            value = getattr(self, field_.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ConfigError(f"{field_.name} must be a finite number, not {value}")
        for name in _AT_LEAST_0:
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} must be at least 0, not {getattr(self, name)}")
        for name in _ABOVE_0:
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be above 0, not {getattr(self, name)}")
        for name in _SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} must lie between 0 and 1, not {getattr(self, name)}")
        if not 0 <= self.seed < 2**31:
            raise ConfigError(f"seed must lie between 0 and 2**31 - 1, not {self.seed}")
        if not self.hidden or min(self.hidden) < 1:
            raise ConfigError(f"hidden must be some positive widths, not {self.hidden}")
        if not re.fullmatch(r"cpu|cuda(:\d+)?", self.device):
            raise ConfigError(f"device must be cpu, cuda or cuda:NUMBER, not {self.device!r}")
        for name in ("evaluate_deals", "final_deals"):
            if getattr(self, name) % 2 or getattr(self, name) < 4:
                raise ConfigError(f"{name} must be an even number of at least 4, not {getattr(self, name)}")


def load_config(path: str | Path) -> TrainConfig:
    """The defaults with the changes of a YAML file; raises ConfigError that names an unknown or impossible key."""
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values or {}, dict):
        raise ConfigError(f"{path} must hold lines of the form key: value")
    return config_from(values or {}, str(path))


def config_from(values: dict[str, Any], where: str) -> TrainConfig:
    """The defaults with these changes; ``where`` names their source in errors."""
    hints = get_type_hints(TrainConfig)
    changes = {}
    for key, value in values.items():
        if key not in hints:
            close = difflib.get_close_matches(str(key), list(hints), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ConfigError(f"{where}: unknown key {key!r}{hint}")
        changes[key] = _convert(key, value, hints[key], where)
    try:
        return TrainConfig(**changes)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None


def config_values(config: TrainConfig) -> dict[str, Any]:
    """All fields as JSON holds them."""
    values = dataclasses.asdict(config)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def _convert(key: str, value: Any, kind: Any, where: str) -> Any:
    """``value`` as the field's type; YAML reads 2e-3 as a text and 1e7 as a float."""
    try:
        if kind is int and float(value) == int(float(value)) and not isinstance(value, bool):
            return int(float(value))
        if kind is float and not isinstance(value, bool):
            return float(value)
        if get_origin(kind) is tuple and isinstance(value, (list, tuple)):
            item = int if key == "hidden" else str
            if all(isinstance(entry, item) for entry in value):
                return tuple(value)
        if kind is str and isinstance(value, str):
            return value
        if kind is bool and isinstance(value, bool):
            return value
        if get_origin(kind) is dict and isinstance(value, dict):
            return {str(name): float(number) for name, number in value.items()}
        if get_origin(kind) is Literal and value in kind.__args__:
            return value
    except (TypeError, ValueError):
        pass
    raise ConfigError(f"{where}: {key} cannot be {value!r}; it is {_type_text(kind)}")


def _type_text(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(kind.__args__)
    return kind.__name__ if isinstance(kind, type) and get_origin(kind) is None else str(kind)
