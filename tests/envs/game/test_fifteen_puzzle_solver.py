"""The search for slides: as short as can be, and bounded."""

from gemenv.envs.game.fifteen_puzzle_solver import Direction, first_slide, slide, slides


def _distances_3x3(most: int) -> dict[bytes, int]:
    """Count the slides from the solved board to every board, breadth first, up to `most`."""
    queue = [bytes([1, 2, 3, 4, 5, 6, 7, 8, 0])]
    found = {queue[0]: 0}
    for board in queue:
        gap = board.index(0)
        for source in slides(3)[gap].values():
            after = slide(board, gap, source)
            if after not in found and found[board] < most:
                found[after] = found[board] + 1
                queue.append(after)
    return found


def _after(board: bytes, size: int, direction: Direction) -> bytes:
    gap = board.index(0)
    return slide(board, gap, slides(size)[gap][direction])


def test_in_a_corner_two_tiles_can_slide_and_in_the_middle_four() -> None:
    assert slides(3)[0] == {"up": 3, "left": 1}
    assert slides(3)[4] == {"up": 7, "down": 1, "left": 5, "right": 3}
    assert slides(4)[15] == {"down": 11, "right": 14}


def test_a_slide_changes_tile_and_gap() -> None:
    assert slide(bytes([1, 2, 3, 4, 5, 6, 7, 0, 8]), 7, 8) == bytes([1, 2, 3, 4, 5, 6, 7, 8, 0])


def test_each_slide_brings_the_board_one_nearer() -> None:
    distances = _distances_3x3(12)
    assert len(distances) > 1500
    for board, distance in distances.items():
        if distance:
            assert distances[_after(board, 3, first_slide(board, 3))] == distance - 1


def test_a_search_that_is_cut_short_still_answers() -> None:
    board = bytes([15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 1, 2, 0])
    assert first_slide(board, 4, max_boards=1) in slides(4)[15]
    assert first_slide(board, 4, max_boards=50) in slides(4)[15]
