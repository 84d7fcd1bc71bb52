"""Checkpoints: a folder with weights in safetensors and everything else in JSON; never pickle.

    update-00000500/
        checkpoint.json        format, config, rules, observation layout, network, step, ...
        model.safetensors      the network
        trainer.safetensors    what only a resumed training needs

A checkpoint appears under its name in one move when it is whole, so one cut off in the middle of writing
never counts.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from santase_env.observation import LAYOUT_VERSION, OBSERVATION_SIZE, observation_size
from santase_env.rules import mixture_of

from .network import NETWORKS, Network, make_network

FORMAT = 1
PRETRAINED = "pretrained"
"""Stands for the released network wherever a path of a checkpoint is asked for."""
META, MODEL, TRAINER = "checkpoint.json", "model.safetensors", "trainer.safetensors"
META_KEYS = ("rules", "canonical_suits", "network", "config", "update", "step")
Tensors = Mapping[str, torch.Tensor]


class CheckpointError(ValueError):
    """A checkpoint that is missing, broken or foreign; the message says which and why."""


def layout() -> dict[str, int]:
    """The observation layout that this version of santase_env writes."""
    return {"version": LAYOUT_VERSION, "size": OBSERVATION_SIZE}


def save_checkpoint(folder: Path, meta: Mapping[str, Any], model: Tensors, trainer: Tensors | None = None) -> None:
    """Write a checkpoint as ``folder``; raises CheckpointError when the disk refuses."""
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        save_file({name: tensor.contiguous() for name, tensor in model.items()}, partial / MODEL)
        if trainer is not None:
            save_file({name: tensor.contiguous() for name, tensor in trainer.items()}, partial / TRAINER)
        text = json.dumps({"format": FORMAT, "layout": layout(), **meta}, indent=1)
        (partial / META).write_text(text + "\n", encoding="utf-8")
        aside = folder.with_name(f".{folder.name}.old")
        shutil.rmtree(aside, ignore_errors=True)
        if folder.exists():
            os.replace(folder, aside)
        os.replace(partial, folder)
        shutil.rmtree(aside, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise CheckpointError(f"cannot write the checkpoint {folder}: {error}; earlier ones are untouched") from None


def find_checkpoint(path: str | Path) -> Path:
    """The checkpoint folder that a path means: itself, a file in it, the newest of a run, or the released network."""
    place = Path(path)
    if str(path) == PRETRAINED and not place.exists():
        place = Path(__file__).parent / PRETRAINED
    if place.name in (META, MODEL):
        place = place.parent
    if (place / META).is_file():
        return place
    root = place / "checkpoints" if (place / "checkpoints").is_dir() else place
    found = sorted(folder for folder in root.glob("update-*") if (folder / META).is_file())
    if not found:
        raise CheckpointError(f"there is no checkpoint at {path}: give a run folder or a checkpoint folder")
    return found[-1]


def read_meta(folder: Path) -> dict[str, Any]:
    """checkpoint.json of a checkpoint folder; refuses another format or observation layout, naming both."""
    try:
        meta: dict[str, Any] = json.loads((folder / META).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"cannot read {folder / META}: {error}") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise CheckpointError(f"{folder} is not a checkpoint of format {FORMAT}")
    if meta.get("layout") != layout():
        theirs = meta.get("layout")
        raise CheckpointError(f"{folder} reads observation layout {theirs}, but this version writes {layout()}")
    missing = [key for key in META_KEYS if key not in meta]
    if missing:
        raise CheckpointError(f"{folder / META} lacks {', '.join(missing)}")
    network, config = meta["network"], meta["config"]
    hidden = network.get("hidden") if isinstance(network, dict) else None
    if not isinstance(hidden, list) or not all(type(size) is int and size > 0 for size in hidden):
        raise CheckpointError(f"{folder / META}: network.hidden must list the sizes of the layers, not {hidden!r}")
    if network.get("kind") not in NETWORKS:
        kinds = ", ".join(NETWORKS)
        raise CheckpointError(f"{folder / META}: network.kind must be one of {kinds}, not {network.get('kind')!r}")
    if not isinstance(network.get("recall", False), bool):
        raise CheckpointError(f"{folder / META}: network.recall must be true or false, not {network['recall']!r}")
    if not isinstance(config, dict):
        raise CheckpointError(f"{folder / META}: config must be an object, not {config!r}")
    try:
        mixture_of(meta["rules"])
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{folder / META}: {error}") from None
    return meta


def read_tensors(file: Path) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file; raises CheckpointError when it is missing or broken."""
    try:
        tensors: dict[str, torch.Tensor] = load_file(file)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"cannot read {file}: {error}") from None
    return tensors


def load_network(path: str | Path) -> tuple[Network, dict[str, Any]]:
    """The network of a checkpoint (or the newest one of a run), and its checkpoint.json."""
    folder = find_checkpoint(path)
    meta = read_meta(folder)
    network = network_of(meta)
    fill_network(network, read_tensors(folder / MODEL), folder)
    return network, meta


def network_of(meta: Mapping[str, Any]) -> Network:
    """A network of the shape that a checkpoint.json names, with random weights."""
    shape = meta["network"]
    return make_network(shape["kind"], shape["hidden"], observation_size(shape.get("recall", False)))


def digest_of(path: str | Path) -> str:
    """16 hexadecimal digits that stand for the two files of a checkpoint (or the newest one of a run) that
    ``load_network`` reads; raises CheckpointError."""
    folder = find_checkpoint(path)
    try:
        contents = (folder / META).read_bytes() + (folder / MODEL).read_bytes()
    except OSError as error:
        raise CheckpointError(f"cannot read {folder}: {error}") from None
    return hashlib.sha256(contents).hexdigest()[:16]


def fill_network(network: torch.nn.Module, tensors: Tensors, where: Path) -> None:
    """Load weights; raises CheckpointError when they belong to another network."""
    try:
        network.load_state_dict(dict(tensors))
    except RuntimeError as error:
        raise CheckpointError(f"the weights in {where} do not fit the network: {str(error).splitlines()[-1]}") from None
