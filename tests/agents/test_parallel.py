"""parallel: every row is done once, and a fault in one block lets no other begin."""

import threading
import time

import pytest

from santase_agents.parallel import cores, in_blocks


@pytest.mark.parametrize("threads", [0, 1, 2, 7])
def test_every_row_is_done_once_each_thread_with_a_scratch_of_its_own(threads: int) -> None:
    done: list[int] = []
    owners: dict[int, set[int]] = {}

    def work(block: slice, scratch: list[int]) -> None:
        owners.setdefault(id(scratch), set()).add(threading.get_ident())
        done.extend(range(block.start, block.stop))

    made: list[list[int]] = []

    def scratch() -> list[int]:
        made.append([])
        return made[-1]

    in_blocks(30, 4, threads, scratch, work)
    assert sorted(done) == list(range(30))
    assert len(made) <= (threads or cores())
    assert all(len(idents) == 1 for idents in owners.values())


def test_no_rows_are_no_work() -> None:
    in_blocks(0, 4, 2, list, lambda block, scratch: pytest.fail("there is nothing to do"))


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("bad", [0, 1, 5])
@pytest.mark.parametrize("threads", [1, 3])
def test_after_a_fault_no_other_block_begins(threads: int, bad: int, fault: type[BaseException]) -> None:
    begun: list[int] = []

    def work(block: slice, scratch: list[int]) -> None:
        begun.append(block.start)
        if block.start == bad:
            raise fault
        time.sleep(0.002)

    with pytest.raises(fault):
        in_blocks(10_000, 1, threads, list, work)
    assert len(begun) < 100
