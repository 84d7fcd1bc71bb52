"""Imports point one way, and the core needs no more than it says."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from santase_env import compiled, engine

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "santase_env": ROOT / "santase_env",
    "santase_agents": ROOT / "agents" / "santase_agents",
    "santase_training": ROOT / "training" / "santase_training",
}
LEVELS = (
    ("cards", "rules", "actions"),
    ("state",),
    ("engine",),
    ("possible",),
    ("view",),
    ("observation",),
    ("game", "record"),
    ("aec", "santase_v0", "vector", "versus", "sb3"),
)
"""The modules of santase_env from the bottom up; those not named are helpers, bound by what imports them."""


def modules() -> dict[str, Path]:
    """Every module of the three packages by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((package, *(part for part in parts if part != "__init__")))] = path
    return found


MODULES = modules()


@cache
def imports_of(name: str, *, everywhere: bool = True) -> set[str]:
    """Dotted names that a module imports; with ``everywhere``, inside functions too. Typing-only imports apart."""
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            return
        if not everywhere and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])
            source = base if node.level else str(node.module)
            submodules = {f"{source}.{alias.name}" for alias in node.names} & set(MODULES)
            found.update(submodules)
            if len(submodules) < len(node.names):
                found.add(source)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text("utf-8")))
    return found


def own_imports(name: str, *, everywhere: bool = True) -> set[str]:
    """The modules of the three packages that a module imports."""
    return {imported for imported in imports_of(name, everywhere=everywhere) if imported in MODULES}


def reach_of(name: str, *, everywhere: bool = True) -> set[str]:
    """All modules of the three packages that come along with a module."""
    reached, waiting = set(), [name]
    while waiting:
        for imported in own_imports(waiting.pop(), everywhere=everywhere) - reached:
            reached.add(imported)
            waiting.append(imported)
    return reached


def top(name: str) -> str:
    return name.partition(".")[0]


def test_the_parser_sees_imports() -> None:
    assert "santase_env.rng" in own_imports("santase_env.engine")
    assert "numba" in imports_of("santase_env.compiled")
    assert "santase_env.engine" in own_imports("santase_env.view")  # from . import engine
    assert "santase_env.view" in reach_of("santase_env.record") - own_imports("santase_env.record")


def test_imports_within_the_environment_point_one_way() -> None:
    for level, names in enumerate(LEVELS):
        above = {f"santase_env.{name}" for higher in LEVELS[level + 1 :] for name in higher}
        for name in names:
            if f"santase_env.{name}" in MODULES:
                assert reach_of(f"santase_env.{name}") & above == set(), name


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {name: own_imports(name, everywhere=False) - {name} for name in MODULES}
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_packages_import_downward_only(name: str) -> None:
    allowed = {
        "santase_env": {"santase_env"},
        "santase_agents": {"santase_env", "santase_agents"},
        "santase_training": set(PACKAGES),
    }[top(name)]
    assert {top(imported) for imported in imports_of(name)} & set(PACKAGES) <= allowed


def test_the_environment_needs_numpy_numba_gymnasium_and_pettingzoo_only() -> None:
    core = reach_of("santase_env", everywhere=False) | {"santase_env"}
    assert "santase_env.engine" in core
    outside = {top(imported) for name in core for imported in imports_of(name, everywhere=False)}
    allowed = {"santase_env", "numpy", "numba", "gymnasium", "pettingzoo"}
    assert outside - set(sys.stdlib_module_names) <= allowed


def test_torch_is_nowhere_in_the_environment() -> None:
    for name in MODULES:
        if top(name) == "santase_env":
            assert "torch" not in {top(imported) for imported in imports_of(name)}, name


def test_cached_machine_code_is_stamped_with_every_file_of_the_package(tmp_path: Path) -> None:
    """numba alone would keep a loop that inlined an old rule when only the rule's file has changed."""
    stamp = engine.advance._cache._cache_file._version  # type: ignore[attr-defined]
    named = {entry[0] for folder in stamp[1:] for entry in folder}
    assert named >= {path.name for path in PACKAGES["santase_env"].glob("*.py")}

    file = tmp_path / "rule.py"
    file.write_text("a = 1\n")
    first = compiled._folder_stamp(tmp_path)
    file.write_text("a = 100\n")
    compiled._folder_stamp.cache_clear()
    assert compiled._folder_stamp(tmp_path) != first


def test_machine_code_of_an_older_version_is_compiled_anew_even_if_its_types_are_gone(tmp_path: Path) -> None:
    """numba alone would fail to read the index of its cache, and so would every program after an upgrade."""
    source = """
from typing import NamedTuple
from santase_env.compiled import jit

class {name}(NamedTuple):
    number: int

@jit
def double(pair: {name}) -> int:
    return pair.number * 2

print(double({name}(21)))
"""
    for name in ("Pair", "Twin"):
        (tmp_path / "upgraded.py").write_text(source.format(name=name))
        done = subprocess.run([sys.executable, "-c", "import upgraded"], cwd=tmp_path, capture_output=True, text=True)
        assert (done.stdout, done.returncode) == ("42\n", 0), done.stderr
