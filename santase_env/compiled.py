"""How this project compiles: one decorator for numba, and a copy of the fields that two records share.

Integers in records are signed, and a set of cards is an int32, on purpose: numba widens an expression of
uint32 to 64 bits silently, and one of uint64 with int64 to a float.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

Array: TypeAlias = np.ndarray[Any, Any]
Record: TypeAlias = Any
"""A numpy record of dtype STATE or VIEW; its fields are attributes, which numpy's stubs cannot know."""

if TYPE_CHECKING:

    def int64(value: Any) -> int:
        """In compiled code: the value of a narrower field as 64 bits, so that sums and shifts have room."""
        return 0
else:
    int64 = np.int64


def jit(function: Function) -> Function:
    """Compile ``function`` on its first call and keep the machine code on disk.

    numba's cache notices a change of the function's own file only, so a changed rule would leave the loops
    that inlined it stale. The stamp of a cached function here covers every file of this package, of the
    function's own folder, and of the folders of compiled functions that its module imports. It stands where numba
    looks first, since an index that names a class which is gone cannot be read any further.
    """
    dispatcher: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    cache_file = dispatcher._cache._cache_file
    used = [getattr(value, "py_func", None) for value in function.__globals__.values()]
    folders = {Path(code.__code__.co_filename).parent for code in (jit, function, *used) if code is not None}
    cache_file._version = (cache_file._version, *(_folder_stamp(folder) for folder in sorted(folders)))
    compiled: Function = dispatcher
    return compiled


@cache
def _folder_stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    with os.scandir(folder) as entries:
        files = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(".py")]
    return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in files))


def shared_size(first: Any, second: Any) -> int:
    """Bytes at the start of two record dtypes that hold the same fields at the same places."""
    size = 0
    for name, other in zip(first.names, second.names, strict=False):
        if name != other or first.fields[name] != second.fields[name]:
            break
        size = first.fields[name][1] + first.fields[name][0].itemsize
    return size


def _copy_bytes(typing_context: Any, target: Any, source: Any, size: Any) -> Any:
    """In compiled code: copy the first ``size`` bytes (a constant) of one record to another."""
    if not (isinstance(target, types.Record) and isinstance(source, types.Record)):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        copy: Any = cgutils.raw_memcpy
        copy(builder, arguments[0], arguments[1], arguments[2], 1)
        return context.get_dummy_value()

    return types.void(target, source, size), generate


copy_bytes: Any = intrinsic(_copy_bytes)


def _bit_count(typing_context: Any, bits: Any) -> Any:
    """In compiled code: the number of elements of a set (int64)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


def _lowest_bit(typing_context: Any, bits: Any) -> Any:
    """In compiled code: the smallest element of a set (int64) that is not empty."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.int64(types.int64), generate


bit_count: Any = intrinsic(_bit_count)
lowest_bit: Any = intrinsic(_lowest_bit)
