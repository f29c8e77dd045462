"""The search for moves: around walls, past dead ends, and never for long."""

from gemenv.envs.game.sokoban_level import offsets
from gemenv.envs.game.sokoban_solver import first_move

_ROOM = """\
# # # # # #
# . - - - #
# - # # - #
# - - - - #
# - - - - #
# # # # # #"""


def _cell(row: int, column: int) -> int:
    return 2 * (6 * row + column)


def _moves_to_solve(box: int, player: int) -> list[str]:
    boxes, moves = frozenset([box]), list[str]()
    while _ROOM[min(boxes)] != ".":
        direction = first_move(_ROOM, 6, boxes, player)
        assert direction is not None
        offset = offsets(6)[direction]
        player += offset
        boxes = frozenset(cell + offset if cell == player else cell for cell in boxes)
        moves.append(direction)
    return moves


def test_the_player_walks_around_to_push() -> None:
    moves = _moves_to_solve(_cell(3, 1), _cell(3, 2))
    assert moves == ["down", "left", "up", "up"]


def test_a_box_that_must_turn_a_corner_is_led_around() -> None:
    moves = _moves_to_solve(_cell(3, 2), _cell(3, 3))
    assert moves == ["left", "down", "left", "up", "up"]


def test_a_box_in_a_corner_or_at_a_wall_without_goals_leaves_no_move_to_make() -> None:
    assert first_move(_ROOM, 6, frozenset([_cell(4, 4)]), _cell(3, 3)) is None
    assert first_move(_ROOM, 6, frozenset([_cell(3, 4)]), _cell(3, 3)) is None


def test_a_search_that_is_cut_short_heads_for_the_nearest_position() -> None:
    assert first_move(_ROOM, 6, frozenset([_cell(3, 1)]), _cell(4, 1), max_positions=2) == "up"
    assert first_move(_ROOM, 6, frozenset([_cell(3, 1)]), _cell(4, 1), max_positions=1) is None
