"""YAML deltas on typed defaults."""

from pathlib import Path

import pytest

from santase_training.config import ConfigError, TrainConfig, config_from, config_values, load_config


def test_the_shipped_configs_load() -> None:
    folder = Path(__file__).parents[2] / "configs"
    for path in set(folder.glob("*.yaml")) - {folder / "compare.yaml", folder / "sweep.yaml"}:  # of several configs
        assert isinstance(load_config(path), TrainConfig)


def test_numbers_are_read_as_people_write_them(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("total_steps: 1e6\nlearning_rate: 2e-3\nnum_envs: 2_048\nhidden: [64, 32]\n")
    config = load_config(path)
    assert (config.total_steps, config.learning_rate, config.num_envs, config.hidden) == (10**6, 2e-3, 2048, (64, 32))


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("# nothing\n")
    assert load_config(path) == TrainConfig()


def test_resolved_values_make_the_same_config_again() -> None:
    config = TrainConfig(seed=4, hidden=(32, 16), expected={"random": 2.0})
    assert config_from(config_values(config), "json") == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rat: 1\n", "unknown key 'learning_rat'; did you mean 'learning_rate'"),
        ("zzz: 1\n", "unknown key 'zzz'"),
        ("num_envs: many\n", "num_envs cannot be 'many'"),
        ("num_envs: 1.5\n", "num_envs cannot be 1.5"),
        ("seed: true\n", "seed cannot be True"),
        ("hidden: 256\n", "hidden cannot be 256"),
        ("hidden: []\n", "hidden must be some positive widths"),
        ("rules: onlin\n", "did you mean 'online'"),
        ("precision: half\n", "one of auto, float32, bfloat16"),
        ("rollout: 0\n", "rollout must be above 0"),
        ("trace: 1.5\n", "trace must lie between 0 and 1"),
        ("final_deals: 7\n", "final_deals must be an even number"),
        ("- a\n- b\n", "key: value"),
        ("a: [1\n", "is not YAML"),
    ],
)
def test_a_bad_file_is_refused_with_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"bad\.yaml") as error:
        load_config(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match=r"cannot read nowhere\.yaml"):
        load_config("nowhere.yaml")
